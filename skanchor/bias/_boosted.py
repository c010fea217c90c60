"""Bias learned by stage-wise boosting."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import fit_logistic, log_loss_terms
from skanchor.bias._rows import enter_pairs
from skanchor.bias._trees import Bins, Tree, grow_tree
from skanchor.bias.protocol import ContrastMixin, LastStage
from skanchor.comparisons import FeaturePairs
from skanchor.exceptions import LearnerError

__all__ = ["BoostedBias"]

Array = NDArray[np.float64]


LINEAR_RIDGE = 1e-4
"""Ridge of the linear part on standardised features, beside the mean weighted loss."""

WEIGHT_ROUNDS = 4
"""Rounds of the Riesz weights for one of psi."""

GUIDES = 4
"""Mixtures of targets that choose the splits of the default trees."""


class BoostedBias(ContrastMixin, BaseEstimator):
    """Bias as a sum of weak learners beside a linear part.

    Each round fits a weak learner to the pseudo-residuals stacked by response (the
    first response of a comparison gets r, the second -r), takes the exact
    one-dimensional Newton step along its contrast, shrunk by ``learning_rate``, and
    then fits the parametric columns and the linear part exactly, the rest fixed.

    Parameters
    ----------
    weak_learner : regressor, optional
        Any scikit-learn regressor; None is a histogram tree of depth ``max_depth`` on
        features cut into at most ``max_bins`` bins.
    learning_rate : float, default=0.2
        Share of each step that is taken.
    max_rounds : int, default=100
        Most rounds.
    max_depth : int, default=3
        Depth of the default trees.
    max_bins : int, default=32
        Bins of each feature of the default trees.
    max_features : int, default=4
        Features that a default tree may split on, drawn at random for each tree.
    min_leaf : float, default=0.01
        Least share of the rows' weight in a leaf of the default trees.
    validation_fraction : float, default=0.2
        Share of the rows whose loss decides the number of rounds. The final fit uses
        all rows. Zero runs ``max_rounds``.
    patience : int, default=5
        Rounds without a better validation loss after which boosting stops.
    linear : bool, default=True
        Whether psi has a linear part, which trees would need many steps to follow.
    bound : float, default=10.0
        psi is clipped to ``[-bound, bound]`` about its mean, in judge logits (logistic
        loss only).
    random_state : int, RandomState or None, default=0
        Seed of the validation rows, and of weak learners that take one.
    loss : {"logistic", "squared"}, default="logistic"
        Loss of the contrasts.

    Attributes
    ----------
    n_rounds_ : int
        Rounds of the final fit.
    parametric_coef_ : ndarray of shape (n_parametric,)
        Coefficients of the parametric columns.
    coef_ : ndarray of shape (n_features, n_targets)
        Coefficients of the linear part.
    converged_ : bool
        Whether the last exact step converged.
    at_bound_ : ndarray of shape (n_parametric,)
        Parametric coefficients that lie on their bound.

    Notes
    -----
    The contrast of a weak learner fitted to (+r, -r) is about 2 r: the Newton step
    halves it. With several targets (the Riesz step) the default trees share their
    splits; other weak learners are fitted target by target unless they take several.

    The Riesz weights take four times the rounds of psi: they must balance what psi, in
    stopping early, has left out. Where psi is linear both take next to none.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import BoostedBias
    >>> from skanchor.comparisons import FeaturePairs
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(2, 2000, 1))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(right**2 - left**2)[:, 0])
    >>> boosted = BoostedBias().fit(FeaturePairs(left, right), y)
    >>> low, high = boosted.psi(np.array([[0.0], [1.5]]))
    >>> bool(1.0 < high - low < 3.5)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weak_learner": [HasMethods(["fit", "predict"]), None],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_rounds": [Interval(Integral, 0, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "max_bins": [Interval(Integral, 2, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left")],
        "min_leaf": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "linear": ["boolean"],
        "bound": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "loss": [StrOptions({"logistic", "squared"})],
    }

    def __init__(
        self,
        weak_learner: Any = None,
        *,
        learning_rate: float = 0.2,
        max_rounds: int = 100,
        max_depth: int = 3,
        max_bins: int = 32,
        max_features: int = 4,
        min_leaf: float = 0.01,
        validation_fraction: float = 0.2,
        patience: int = 5,
        linear: bool = True,
        bound: float = 10.0,
        random_state: Any = 0,
        loss: str = "logistic",
    ):
        self.weak_learner = weak_learner
        self.learning_rate = learning_rate
        self.max_rounds = max_rounds
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.max_features = max_features
        self.min_leaf = min_leaf
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.linear = linear
        self.bound = bound
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
        start: BoostedBias | None = None,
    ) -> Self:
        """Fit by boosting; see :class:`skanchor.bias.BiasLearner`.

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
            A sum of steps has no start that would leave no trace of other rows.

        Returns
        -------
        self
        """
        self._validate_params()
        pairs, y, weight = enter_pairs(self, X, y, sample_weight)
        used = np.flatnonzero(weight > 0)
        pairs, weight = pairs[used], weight[used]
        self._single = y.ndim == 1
        targets = y[used].reshape(len(used), -1)
        n_parametric = 0 if parametric is None else parametric.shape[1]
        exact = [np.empty((len(used), 0)) if parametric is None else parametric[used]]
        if self.linear:
            exact.append(pairs.contrast)
        weight = weight / weight.sum()
        responses = np.vstack([pairs.left, pairs.right])
        share = np.tile(weight, 2) / 2.0
        penalty = np.zeros(n_parametric)
        if self.linear:
            variance = share @ (responses - share @ responses) ** 2
            penalty = np.concatenate([penalty, LINEAR_RIDGE * variance])
        low, high = (-np.inf, np.inf) if bounds is None else bounds
        problem = _Rows(
            pairs,
            targets,
            weight,
            np.hstack(exact),
            penalty,
            np.broadcast_to(low, n_parametric).astype(float),
            np.broadcast_to(high, n_parametric).astype(float),
        )
        random = check_random_state(self.random_state)
        self._seed = int(random.randint(2**31 - 1))
        self._bins = Bins.of(responses, self.max_bins)
        rounds = self.max_rounds
        held = np.zeros(len(used), dtype=bool)
        size = round(self.validation_fraction * len(used))
        held[random.permutation(len(used))[:size]] = True
        if size and not held.all():
            rounds = self._boost(problem, ~held, rounds).best
        final = self._boost(problem, np.ones(len(used), dtype=bool), rounds)
        self._stages = final.stages
        self._ridge = penalty[n_parametric:]
        self.n_rounds_ = len(final.stages)
        self.parametric_coef_ = final.coef[:n_parametric, 0]
        self.at_bound_ = final.at_bound[:n_parametric]
        self.coef_ = final.coef[n_parametric:]
        self.converged_ = final.converged
        self._centre = np.zeros(targets.shape[1])
        self._centre = share @ self._raw(responses)
        return self

    def last_stage(self, pairs: FeaturePairs, sample_weight: Array) -> LastStage:
        """Linear part; the weak learners are the rest.

        Parameters
        ----------
        pairs : FeaturePairs
            Features of the two responses.
        sample_weight : ignored
            The penalty is that of the fit.

        Returns
        -------
        LastStage
        """
        check_is_fitted(self, "coef_")
        rest = (self._stage_sum(pairs.left) - self._stage_sum(pairs.right))[:, 0]
        if not self.linear:
            return LastStage(np.empty((len(pairs), 0)), np.empty(0), np.empty(0), rest)
        return LastStage(pairs.contrast, self._ridge, self.coef_[:, 0], rest)

    def rejoined(self, coef: Array) -> Self:
        """Copy with another linear part.

        Parameters
        ----------
        coef : ndarray of shape (n_columns,)
            Coefficients of :meth:`last_stage`.

        Returns
        -------
        BoostedBias
        """
        updated = copy(self)
        updated.coef_ = coef[:, None]
        return updated

    def settled(self) -> Self:
        """Unfitted copy for the Riesz weights, with four times the chosen rounds.

        Returns
        -------
        BoostedBias
        """
        check_is_fitted(self, "coef_")
        return clone(self).set_params(
            max_rounds=WEIGHT_ROUNDS * self.n_rounds_, validation_fraction=0.0
        )

    def _boost(self, rows: _Rows, train: NDArray[np.bool_], rounds: int) -> _Boosted:
        """Boost on the training rows, and watch the loss of the others."""
        logistic = self.loss == "logistic"
        weight = np.where(train, rows.weight, 0.0)
        weight = weight / weight.sum()
        watched = np.where(train, 0.0, rows.weight)
        n, n_targets = rows.targets.shape
        scale = np.ones(n_targets)
        if not logistic:
            # Every target counts alike for the splits, whatever its unit.
            spread = np.sqrt(weight @ rows.targets**2)
            scale = np.where(spread > 0, spread, 1.0)
        targets = rows.targets / scale
        codes = None
        if self.weak_learner is None:
            codes = (
                self._bins.codes(rows.pairs.left),
                self._bins.codes(rows.pairs.right),
            )
        gram = None
        if not logistic:
            gram = SymmetricSolver.factorise(
                rows.exact.T @ (rows.exact * weight[:, None]) + np.diag(rows.penalty)
            )
        boosted = np.zeros((n, n_targets))
        stages: list[_Stage] = []
        best, best_loss, since = rounds, np.inf, 0
        coef = np.zeros((rows.exact.shape[1], n_targets))
        at_bound, converged = np.zeros(len(coef), dtype=bool), True
        for number in range(rounds + 1):
            # The exact step: parametric columns and linear part, given the rest.
            if logistic:
                free = np.full(len(coef) - len(rows.low), np.inf)
                fit = fit_logistic(
                    rows.exact,
                    targets[:, 0],
                    weight,
                    offset=boosted[:, 0],
                    penalty=rows.penalty,
                    lower=np.concatenate([rows.low, -free]),
                    upper=np.concatenate([rows.high, free]),
                    start=coef[:, 0],
                )
                coef = fit.coef[:, None]
                at_bound, converged = fit.at_bound, fit.converged
            elif gram is not None:
                rest = (targets - boosted) * weight[:, None]
                coef = gram.solve(rows.exact.T @ rest)
            eta = boosted + rows.exact @ coef
            if watched.any():
                loss, since = self._loss(targets, eta, watched), since + 1
                if loss < best_loss:
                    best, best_loss, since = number, loss, 0
                if since >= self.patience:
                    break
            if number == rounds:
                break
            mean = expit(eta) if logistic else eta
            residual = targets - mean
            curvature = mean * (1.0 - mean) if logistic else np.ones_like(mean)
            stage, contrast = self._stage(rows, codes, residual, weight, number)
            slope = weight @ (residual * contrast)
            bend = weight @ (curvature * contrast**2)
            step = np.divide(slope, bend, out=np.zeros_like(slope), where=bend > 1e-12)
            if not step.any():
                break
            step *= self.learning_rate
            boosted += step * contrast
            stages.append(_Stage(stage, step * scale))
        if not np.isfinite(eta).all():
            raise LearnerError("boosting returned NaN or infinite values.")
        return _Boosted(stages, coef * scale, at_bound, converged, best)

    def _loss(self, targets: Array, eta: Array, weight: Array) -> float:
        if self.loss == "logistic":
            return float(weight @ log_loss_terms(targets[:, 0], eta[:, 0]))
        return float(np.sum(weight @ (targets - eta) ** 2))

    def _stage(
        self, rows: _Rows, codes: Any, residual: Array, weight: Array, number: int
    ) -> tuple[Any, Array]:
        """Fit one weak learner; return it and its contrasts (n_rows, n_targets)."""
        trained = np.flatnonzero(weight > 0)
        stacked = np.vstack([residual[trained], -residual[trained]])
        row_weight = np.tile(weight[trained], 2) / 2.0
        if self.weak_learner is None:
            left, right = codes
            random = np.random.default_rng(self._seed + number)
            guide = stacked
            if stacked.shape[1] > GUIDES:
                # Many targets share splits that a few random mixtures can choose.
                guide = stacked @ random.normal(size=(stacked.shape[1], GUIDES))
            n_features = len(left)
            chosen = np.sort(random.permutation(n_features)[: self.max_features])
            tree = grow_tree(
                np.hstack(
                    [left[np.ix_(chosen, trained)], right[np.ix_(chosen, trained)]]
                ),
                self._bins.size,
                stacked,
                row_weight,
                guide=guide,
                max_depth=self.max_depth,
                min_weight=self.min_leaf,
            )
            tree = replace(tree, feature=chosen[tree.feature])
            return tree, tree.predict(left) - tree.predict(right)
        responses = np.vstack([rows.pairs.left[trained], rows.pairs.right[trained]])
        parts = self._fit_weak(responses, stacked, row_weight, number)
        contrast = _predict_weak(parts, rows.pairs.left)
        return parts, contrast - _predict_weak(parts, rows.pairs.right)

    def _fit_weak(
        self, responses: Array, targets: Array, weight: Array, number: int
    ) -> list[Any]:
        weak = clone(self.weak_learner)
        if "random_state" in weak.get_params():
            weak.set_params(random_state=(self._seed + number) % (2**31 - 1))
        extra: dict[str, Any] = {}
        if has_fit_parameter(weak, "sample_weight"):
            extra["sample_weight"] = weight * (len(weight) / weight.sum())
        elif not np.allclose(weight, weight[0]):
            raise LearnerError(
                f"the weak learner {type(weak).__name__} takes no sample_weight, but "
                "the rows have different weights."
            )
        if targets.shape[1] == 1 or get_tags(weak).target_tags.multi_output:
            y = targets[:, 0] if targets.shape[1] == 1 else targets
            return [weak.fit(responses, y, **extra)]
        return [clone(weak).fit(responses, y, **extra) for y in targets.T]

    def _raw(self, features: Array) -> Array:
        total = self._stage_sum(features)
        if self.linear:
            total += features @ self.coef_
        return total - self._centre

    def _stage_sum(self, features: Array) -> Array:
        """Sum of the weak learners, of shape (n_rows, n_targets)."""
        total = np.zeros((len(features), len(self._centre)))
        codes = self._bins.codes(features)
        for stage in self._stages:
            values = (
                stage.learner.predict(codes)
                if isinstance(stage.learner, Tree)
                else _predict_weak(stage.learner, features)
            )
            total += stage.step * values
        return total

    def psi(self, features: Array) -> Array:
        """Bias of single responses.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            Bias in judge logits, about its mean over the responses of the fit.
        """
        check_is_fitted(self, "coef_")
        values = self._raw(features)
        if self.loss == "logistic":
            values = np.clip(values, -self.bound, self.bound)
        return values[:, 0] if self._single else values


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of positive weight, which sums to one."""

    pairs: FeaturePairs
    targets: Array
    weight: Array
    exact: Array
    penalty: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True)
class _Stage:
    """A weak learner and its step for each target."""

    learner: Any
    step: Array


@dataclass(frozen=True, slots=True)
class _Boosted:
    """What :meth:`BoostedBias._boost` found."""

    stages: list[_Stage]
    coef: Array
    at_bound: NDArray[np.bool_]
    converged: bool
    best: int


def _predict_weak(parts: list[Any], features: Array) -> Array:
    """Predictions of shape (n_rows, n_targets); refuse what cannot be used."""
    n = len(features)
    columns = [np.asarray(part.predict(features), dtype=np.float64) for part in parts]
    for part, values in zip(parts, columns, strict=True):
        if values.ndim > 2 or len(values) != n:
            raise LearnerError(
                f"the weak learner {type(part).__name__} predicted shape "
                f"{values.shape} for {n} rows."
            )
        if not np.isfinite(values).all():
            raise LearnerError(
                f"the weak learner {type(part).__name__} predicted NaN or infinite "
                "values."
            )
    return np.column_stack(columns)
