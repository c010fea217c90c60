"""A bias learner chosen from a short list by held-out loss."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._comparisons import FeaturePairs
from skanchor._documented import DocumentedMixin
from skanchor._numerics.logistic import log_loss_terms
from skanchor._typing import Array
from skanchor.bias._boosted import BoostedBias
from skanchor.bias._linear import LinearBias
from skanchor.bias._network import NetworkBias
from skanchor.bias._rows import enter_pairs
from skanchor.bias.fitting import FitTask, fit_all
from skanchor.bias.protocol import ContrastMixin, named_learner

CANDIDATES: dict[str, type] = {
    "linear": LinearBias,
    "network": NetworkBias,
    "boosted": BoostedBias,
}
"""Learner of each candidate, by its name."""


class AutoBias(DocumentedMixin, ContrastMixin, BaseEstimator):
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
    >>> from skanchor._comparisons import FeaturePairs
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

    def fit(
        self,
        X: FeaturePairs,
        y: Array,
        sample_weight: Array | None = None,
        *,
        parametric: Array | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        start: Any = None,
    ) -> Self:
        """Choose and fit; see :class:`skanchor.bias.BiasLearner`.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.
        y : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Outcomes in [0, 1] (logistic) or targets (squared).
        sample_weight : ndarray of shape (n_rows,), optional
            Row weights.
        parametric : ndarray of shape (n_rows, n_parametric), optional
            Further columns, fitted jointly (logistic loss only).
        bounds : (low, high), optional
            Bounds of their coefficients, for all or for each.
        start : ignored
            The choice is made again.

        Returns
        -------
        self
        """
        self.fit_many([self], [FitTask(X, y, sample_weight, parametric, bounds)])
        return self

    @classmethod
    def fit_many(cls, learners: Sequence[AutoBias], tasks: Sequence[FitTask]) -> None:
        """Choose for several judges; the fits of each candidate are made together.

        Parameters
        ----------
        learners : sequence of AutoBias
            Unfitted and of equal parameters, one for each task.
        tasks : sequence of FitTask
            What each would be fitted on.
        """
        whole = [
            learner._enter(task) for learner, task in zip(learners, tasks, strict=True)
        ]
        first = learners[0]
        candidates = first._candidates()
        splits = [(number, train, test) for number, learner in enumerate(learners)
                  for train, test in learner._folds(len(whole[number].y))]  # fmt: skip
        # Every candidate is fitted to the training rows of all judges and inner folds
        # in one call, because networks are then trained together.
        inner = [_part(whole[number], train) for number, train, _ in splits]
        terms = [np.zeros((len(task.y), len(candidates))) for task in whole]
        for c, candidate in enumerate(candidates.values()):
            fits = [clone(candidate).set_params(loss=first.loss) for _ in splits]
            fit_all(fits, inner, [number for number, _, _ in splits])
            for fit, (number, _, test) in zip(fits, splits, strict=True):
                terms[number][test, c] = first._terms(fit, _part(whole[number], test))
        for learner, task, rows in zip(learners, whole, terms, strict=True):
            learner._choose(candidates, rows, task.sample_weight)
        fit_all([learner.learner_ for learner in learners], whole, range(len(whole)))
        for learner in learners:
            for name in ("parametric_coef_", "at_bound_", "converged_"):
                if hasattr(learner.learner_, name):
                    setattr(learner, name, getattr(learner.learner_, name))

    def _candidates(self) -> dict[str, Any]:
        given = self.candidates
        if given is None:
            has_torch = find_spec("torch") is not None and find_spec("skorch")
            given = ["linear", *(["network"] if has_torch else []), "boosted"]
        named: dict[str, Any] = {}
        for one in given:
            if isinstance(one, AutoBias) or one == "auto":
                raise ValueError("An automatic choice cannot be a candidate itself.")
            name = one if isinstance(one, str) else repr(one)
            named[name] = named_learner(one, CANDIDATES)
        if not named:
            raise ValueError("candidates must not be empty.")
        return named

    def _enter(self, task: FitTask) -> FitTask:
        """Check the parameters and the task; keep the rows of positive weight."""
        self._validate_params()
        pairs, y, weight = enter_pairs(self, task.X, task.y, task.sample_weight)
        entered = FitTask(pairs, y, weight, task.parametric, task.bounds)
        return _part(entered, np.flatnonzero(weight > 0))

    def _folds(self, n: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        if n < self.n_splits:
            raise ValueError(
                f"Cannot choose a learner with n_splits={self.n_splits} inner folds "
                f"from n_samples = {n} rows."
            )
        order = check_random_state(self.random_state).permutation(n)
        fold = np.empty(n, dtype=np.intp)
        fold[order] = np.arange(n) % self.n_splits
        return [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
            for k in range(self.n_splits)
        ]

    def _terms(self, fit: Any, held: FitTask) -> Array:
        """Loss of each held-out row."""
        eta = np.asarray(fit.contrast(held.X))
        if self.loss == "logistic":
            if held.parametric is not None:
                eta = eta + held.parametric @ fit.parametric_coef_
            return log_loss_terms(held.y, eta)
        # Mean over the targets of the squared error in units of each target's square.
        y = held.y.reshape(len(held.y), -1)
        scale = np.mean(y**2, axis=0)
        share = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        return np.asarray(np.mean((y - eta.reshape(y.shape)) ** 2 * share, axis=1))

    def _choose(self, candidates: dict[str, Any], terms: Array, weight: Array) -> None:
        """Choose by the held-out losses, of shape (n_rows, n_candidates)."""
        share = weight / weight.sum()
        losses = share @ terms
        best = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
        names = list(candidates)
        # Standard error of the weighted mean difference to the best candidate.
        gaps = terms - terms[:, [best]]
        spread = np.sqrt(share**2 @ (gaps - share @ gaps) ** 2)
        # Within one standard error the order of the list decides.
        best = int(np.argmax(losses - losses[best] <= spread))
        self.losses_ = dict(zip(names, losses.tolist(), strict=True))
        self.gap_error_ = dict(zip(names, spread.tolist(), strict=True))
        self.picked_ = names[best]
        self.learner_ = clone(candidates[names[best]]).set_params(loss=self.loss)

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


def _part(task: FitTask, rows: NDArray[np.intp]) -> FitTask:
    """Some rows of a task."""
    parametric = task.parametric
    return FitTask(
        task.X[rows],
        task.y[rows],
        task.sample_weight[rows],
        None if parametric is None else parametric[rows],
        task.bounds,
    )
