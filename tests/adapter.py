"""Rows of numbers as battles, so that scikit-learn's checks reach every stage.

The classes here are the package's own, and their own code reads and refuses what the
checks give them: only *behind* it does a row of numbers become one battle, by its
content alone. The first column says who votes (a human, a judge on historical models, a
judge on the new model), the second which model stands on the left, and all columns are
the features of the left response. Nothing here validates, and nothing is caught.
"""

import numpy as np

import skanchor.bootstrap
from skanchor._battles import Comparisons
from skanchor.baselines import BASELINES

MODELS = np.array(["new", "strong", "weak"], dtype=object)
NEW, STRONG, WEAK = range(3)
LEARNED = {
    "scores": np.array([0.0, 1.0, -1.0]),
    "sensitivities": np.array([1.0]),
    "new_models": ("new",),
}


def as_battles(read, learned=None, human=False):
    """Turn the rows that were read of an array into battles.

    ``learned`` are columns of earlier stages; ``human`` makes every row a human vote.
    """
    ids = np.column_stack([read.models[read.left], read.models[read.right]])
    values = np.hstack([ids.astype(np.float64), read.features_left])
    # Takes whole numbers to all three roles, too, and multiples of three.
    role = np.floor(np.abs(values[:, 0]) * 47.32).astype(np.int64) % 3
    turned = values[:, 1] > 0
    upper = np.where(role == 1, NEW, STRONG)
    lower = np.full(len(values), WEAK)
    rows = Comparisons(
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
    return rows.with_columns(**(learned or {}))


class Rows:
    """Put before an estimator of battles, let it learn from arrays of numbers."""

    learned = None
    human = False

    def fit_sample(self, sample, start=None, seed_offset=0):
        battles = as_battles(sample.X, self.learned, self.human)
        super().fit_sample(sample.with_battles(battles), start, seed_offset)
        # The columns that were counted on admission: the ids are features here as well.
        self.n_features_in_ = sample.X.shape[1]
        return self

    def _encode(self, X):
        read = super()._encode(X)
        if isinstance(X, Comparisons):
            return read
        return as_battles(read, self.learned, self.human)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # The ids are numbers here: rounded to labels they would hold few battles.
        tags.input_tags.categorical = False
        return tags


def _of_rows(kind, **how):
    """Subclass under the same name, in this module so that it can be pickled."""
    made = type(kind.__name__, (Rows, kind), {"__module__": __name__, **how})
    globals()[kind.__name__] = made
    return made


OF_ROWS = {
    **{name: _of_rows(BASELINES[name]) for name in ("JointMLE", "DirectScore")},
    "Bootstrapped": _of_rows(skanchor.bootstrap.Bootstrapped),
    "JudgeCalibrator": _of_rows(skanchor.JudgeCalibrator, learned=LEARNED),
    "ArrivalScorer": _of_rows(skanchor.ArrivalScorer, learned=LEARNED),
    "RieszDebiaser": _of_rows(skanchor.RieszDebiaser, learned=LEARNED),
    "AnchorPipeline": _of_rows(skanchor.AnchorPipeline),
}
"""Classes that read rows of numbers, by the name they share with the package's."""
