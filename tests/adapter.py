"""Rows of numbers as battles, so that scikit-learn's checks reach every stage.

An array row becomes one battle by its content alone: the first column says who votes
(a human, a judge on historical models, a judge on the new model), the second which
model stands on the left, and all columns are the features of the left response. Labels
and weights pass through; nothing is caught.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from skanchor.comparisons import Comparisons, EncodedRows

MODELS = np.array(["new", "strong", "weak"], dtype=object)
NEW, STRONG, WEAK = range(3)
LEARNED = {
    "scores": np.array([0.0, 1.0, -1.0]),
    "sensitivities": np.array([1.0]),
    "new_models": ("new",),
}


def as_battles(values, learned=None, human=False):
    """Map rows of an array to battles; ``human`` makes every row a human vote."""
    # 47 = 3k + 2 takes whole numbers to all three roles, too.
    role = np.floor(np.abs(values[:, 0]) * 47).astype(np.int64) % 3
    turned = values[:, min(1, values.shape[1] - 1)] > 0
    upper = np.where(role == 1, NEW, STRONG)
    lower = np.full(len(values), WEAK)
    rows = EncodedRows(
        MODELS,
        np.array(["judge"], dtype=object),
        np.where(turned, lower, upper).astype(np.intp),
        np.where(turned, upper, lower).astype(np.intp),
        np.where((role == 0) | human, -1, 0).astype(np.intp),
        np.ones(len(values)),
        values,
        np.zeros_like(values),
        feature_names=tuple(f"x{i}" for i in range(values.shape[1])),
        named=False,
    )
    return Comparisons(rows).with_columns(**(learned or {}))


class RowAdapter(ClassifierMixin, BaseEstimator):
    """Let an estimator of battles read arrays of numbers.

    Parameters
    ----------
    estimator : estimator
        Reads battles.
    learned : bool, default=False
        Whether the battles carry the constants of earlier stages.
    human : bool, default=False
        Whether all rows are human votes.
    """

    def __init__(self, estimator, learned=False, human=False):
        self.estimator = estimator
        self.learned = learned
        self.human = human

    def _battles(self, X, **options):
        values = validate_data(self, X, dtype=np.float64, **options)
        learned = LEARNED if self.learned else None
        return as_battles(values, learned, self.human)

    def _inner(self):
        return clone(self.estimator)

    def fit(self, X, y, sample_weight=None):
        battles = self._battles(X)
        self.estimator_ = self._inner().fit(battles, y, sample_weight)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.estimator_.predict(self._battles(X, reset=False))

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.estimator_.predict_proba(self._battles(X, reset=False))

    def decision_function(self, X):
        check_is_fitted(self)
        return self.estimator_.decision_function(self._battles(X, reset=False))

    def score(self, X, y, sample_weight=None):
        check_is_fitted(self)
        battles = self._battles(X, reset=False)
        return self.estimator_.score(battles, y, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class FoldedRowAdapter(RowAdapter):
    """The same for an estimator with folds, which stay a parameter named ``cv``."""

    def __init__(self, estimator, learned=False, human=False, cv=2):
        super().__init__(estimator, learned, human)
        self.cv = cv

    def _inner(self):
        return super()._inner().set_params(cv=self.cv)
