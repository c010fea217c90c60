"""Names of learners, the choice among them, and the learner that each judge gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import FeaturePairs
from skanchor._typing import Array
from skanchor.bias._boosted import BoostedBias
from skanchor.bias._linear import LinearBias
from skanchor.bias._network import NetworkBias
from skanchor.bias.fitting import (
    PairsLearner,
    TrainingRows,
    loss_terms,
    simplest_within_error,
)
from skanchor.bias.protocol import BiasLearner

HOW_TO_WRAP = (
    "BoostedBias(regressor) makes a learner of a regressor, LinearBias(transformer) "
    "one of a transformer."
)
"""What to do with estimators that are no learners themselves."""


class _LearnerMethods(HasMethods):
    """The methods of a learner, and how other estimators become one."""

    def __str__(self) -> str:
        return f"{super().__str__()} ({HOW_TO_WRAP.rstrip('.')})"


# Names are checked by make_learner, the one place that knows them.
ONE_LEARNER: list[Any] = [str, _LearnerMethods(["fit", "contrast", "set_params"])]
LEARNER_CONSTRAINT: list[Any] = [*ONE_LEARNER, dict]


class AutoBias(PairsLearner):
    """The candidate with the lowest cross-validated loss, fitted on all rows.

    It chooses the first candidate of the list whose loss is within one standard error
    of the lowest, so list simpler candidates first.

    Parameters
    ----------
    candidates : sequence of str or learners, optional
        Names or learners; None means linear, network (if torch and skorch are
        installed) and boosted.
    n_splits : int, default=3
        Folds of the inner cross-validation.
    random_state : int, RandomState or None, default=0
        Seed of the inner folds.
    loss : {"logistic", "squared"}, default="logistic"
        Loss of the contrasts: log loss, or the mean over targets of the squared error
        as a share of the target's variance.

    Attributes
    ----------
    picked_ : str
        Name of the chosen candidate.
    losses_ : dict
        Held-out loss by candidate, nats per row for the logistic loss.
    gap_error_ : dict
        By candidate, the standard error of its loss minus the lowest.
    learner_ : learner
        The chosen learner, fitted on all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import AutoBias, BoostedBias, LinearBias
    >>> from skanchor._battles import FeaturePairs
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(2, 2000, 1))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(right**2 - left**2)[:, 0])
    >>> auto = AutoBias(["linear", "boosted"]).fit(FeaturePairs(left, right), y)
    >>> auto.picked_
    'boosted'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "candidates": ["array-like", None],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
        "loss": [StrOptions({"logistic", "squared"})],
    }

    def __init__(
        self,
        candidates: Sequence[Any] | None = None,
        *,
        n_splits: int = 3,
        random_state: Any = 0,
        loss: str = "logistic",
    ):
        self.candidates = candidates
        self.n_splits = n_splits
        self.random_state = random_state
        self.loss = loss

    def _fit(self, rows: TrainingRows, start: Any) -> None:
        candidates = self.candidates
        if candidates is None:
            has_torch = find_spec("torch") is not None and find_spec("skorch")
            candidates = ["linear", *(["network"] if has_torch else []), "boosted"]
        names = [one if isinstance(one, str) else repr(one) for one in candidates]
        learners = [make_learner(one) for one in candidates]
        if not names or any(isinstance(one, AutoBias) for one in learners):
            raise ValueError(
                "candidates must not be empty, nor an automatic choice a candidate."
            )
        learners = [clone(one).set_params(loss=self.loss) for one in learners]
        # Held-out loss of each row under each candidate.
        rows = rows.counted()
        terms = np.zeros((len(rows), len(learners)))
        # The splitters of scikit-learn are slow to import.
        from sklearn.model_selection import KFold

        folds = KFold(self.n_splits, shuffle=True, random_state=self.random_state)
        for train, test in folds.split(rows.y):
            for c, learner in enumerate(learners):
                terms[test, c] = self._terms(rows[train].fitted(learner), rows[test])
        chosen, losses, errors = simplest_within_error(terms, rows.weight)
        self.losses_ = dict(zip(names, losses.tolist(), strict=True))
        self.gap_error_ = dict(zip(names, errors.tolist(), strict=True))
        self.picked_, self.learner_ = names[chosen], rows.fitted(learners[chosen])

    def _terms(self, fit: Any, test: TrainingRows) -> Array:
        """Loss of each held-out row; the mean over targets of mean square one."""
        eta = np.asarray(fit.contrast(test.pairs))
        if test.parametric.shape[1]:
            eta = eta + test.parametric @ fit.parametric_coef_
        scaled, unit = test.counted().in_units_of_targets(self.loss)
        terms = loss_terms(self.loss, scaled.y, (eta / unit).reshape(scaled.y.shape))
        return np.asarray(terms.mean(axis=1))

    def psi(self, features: Array) -> Array:
        """Bias of single responses.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            The value of the chosen learner.
        """
        check_is_fitted(self, "learner_")
        return np.asarray(self.learner_.psi(features))

    def contrast(self, X: FeaturePairs) -> Array:
        """Bias of the first response minus that of the second.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        check_is_fitted(self, "learner_")
        return np.asarray(self.learner_.contrast(FeaturePairs.of(X)))


LEARNERS: dict[str, type] = {
    "linear": LinearBias,
    "network": NetworkBias,
    "boosted": BoostedBias,
    "auto": AutoBias,
}
"""Learner of each name."""


def make_learner(bias: Any) -> BiasLearner:
    """Turn the name of a learner into a learner; return a learner unchanged.

    Parameters
    ----------
    bias : {"linear", "network", "boosted", "auto"} or learner
        Name or learner.

    Returns
    -------
    BiasLearner
        A new, unfitted one for a name.

    Examples
    --------
    >>> from skanchor.bias import make_learner
    >>> make_learner("linear")
    LinearBias()
    """
    if isinstance(bias, str):
        if bias not in LEARNERS:
            raise ValueError(
                f"Unknown bias learner {bias!r}; known names are {list(LEARNERS)}."
            )
        return LEARNERS[bias]()  # type: ignore[no-any-return]
    missing = [m for m in ("fit", "contrast", "set_params") if not hasattr(bias, m)]
    if missing:
        raise TypeError(
            f"bias learner {bias!r} lacks {', '.join(missing)}(). {HOW_TO_WRAP}"
        )
    return bias  # type: ignore[no-any-return]


def learner_for(bias: Any, judge: Any) -> BiasLearner:
    """Pick the learner of one judge from a name, a learner or a dict by judge.

    Parameters
    ----------
    bias : str, learner or dict
        As the parameter ``bias`` of :class:`skanchor.JudgeCalibrator`.
    judge : hashable
        Label of the judge.

    Returns
    -------
    BiasLearner
    """
    if isinstance(bias, Mapping):
        if judge not in bias:
            raise ValueError(
                f"The dict of bias learners has no entry for judge {judge!r}; it has "
                f"{list(bias)}."
            )
        bias = bias[judge]
    return make_learner(bias)
