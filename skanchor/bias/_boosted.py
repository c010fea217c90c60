"""Bias learned by stage-wise boosting."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skanchor._model.logistic import LogisticFit
from skanchor._typing import Array
from skanchor.bias.fitting import (
    LINEAR_RIDGE,
    StagedLearner,
    TrainingRows,
    fit_exactly,
    loss_terms,
    response_moments,
)
from skanchor.exceptions import LearnerError

WEIGHT_ROUNDS = 4
"""Rounds of the Riesz weights for each round of psi."""

PATIENCE = 5
"""Rounds without a lower validation loss after which boosting stops."""


class BoostedBias(StagedLearner):
    """Bias as the sum of a linear part and weak learners.

    Each round has three steps. A weak learner is fitted to the pseudo-residuals of all
    responses: r for the first response of a comparison, -r for the second. A
    one-dimensional Newton step is taken along its contrast, multiplied by
    ``learning_rate``. Then the parametric columns and the linear part are fitted
    exactly, with the weak learners fixed.

    Parameters
    ----------
    weak_learner : regressor, optional
        Any scikit-learn regressor; None means a ``DecisionTreeRegressor`` of depth
        three whose splits are random: the best of one random threshold for each
        feature. Each leaf has at least a hundredth of the rows' weight. Weak learners
        get centred features.
    learning_rate : float, default=0.2
        Factor of each step.
    max_rounds : int, default=100
        Largest number of rounds.
    validation_fraction : float, default=0.2
        Share of the rows whose loss determines the number of rounds: boosting stops
        after five rounds without a lower loss. The final fit uses all rows. With zero
        there are always ``max_rounds``.
    random_state : int, RandomState or None, default=0
        Seed of the validation rows, and of weak learners with a ``random_state``.
    loss : {"logistic", "squared"}, default="logistic"
        Loss of the contrasts.

    Attributes
    ----------
    n_rounds_ : int
        Rounds of the final fit.
    parametric_coef_ : ndarray of shape (n_parametric,)
        Coefficients of the parametric columns.
    coef_ : ndarray of shape (n_features,) or (n_features, n_targets)
        Coefficients of the linear part.
    converged_ : bool
        Whether the last exact step converged.
    at_bound_ : ndarray of shape (n_parametric,)
        Parametric coefficients that lie on their bound.

    Notes
    -----
    The contrast of a weak learner fitted to (+r, -r) is about 2 r, so the Newton step
    is about one half. With several targets (the Riesz step) weak learners that support
    several, such as trees, fit them together, each in units of its own. Others are
    fitted to one target after another.

    The Riesz weights use four times the rounds of psi, because they must balance the
    part that psi misses by stopping early. If psi is linear, both use hardly any.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import BoostedBias
    >>> from skanchor._battles import FeaturePairs
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
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
        "loss": [StrOptions({"logistic", "squared"})],
    }

    def __init__(
        self,
        weak_learner: BaseEstimator | None = None,
        *,
        learning_rate: float = 0.2,
        max_rounds: int = 100,
        validation_fraction: float = 0.2,
        random_state: Any = 0,
        loss: str = "logistic",
    ):
        self.weak_learner = weak_learner
        self.learning_rate = learning_rate
        self.max_rounds = max_rounds
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.loss = loss

    def _fit(self, rows: TrainingRows, start: Any) -> None:
        rows, unit = rows.counted().in_units_of_targets(self.loss)
        responses = rows.pairs.left, rows.pairs.right
        self._mean, variance = response_moments(*responses, rows.weight)
        self._ridge = LINEAR_RIDGE * variance
        varied = variance > 0
        self._varied = np.flatnonzero(varied if varied.any() else ~varied)
        random = check_random_state(self.random_state)
        n_rounds, held_out = self.max_rounds, np.zeros(len(rows))
        n_validation = round(self.validation_fraction * len(rows))
        if 0 < n_validation < len(rows):
            out = random.permutation(len(rows))[:n_validation]
            held_out[out] = rows.weight[out]
            training = replace(rows, weight=rows.weight - held_out)
            *_, losses = self._boost(training, n_rounds, random, held_out)
            n_rounds = int(np.argmin(losses))
        stages, fit, _ = self._boost(rows, n_rounds, random, 0.0 * held_out)
        self.n_rounds_ = len(stages)
        # Back from targets of mean square one to their units.
        self._stages = [
            (weak, step.reshape(unit.shape) * unit) for weak, step in stages
        ]
        self._store(fit, rows, unit)

    def _boost(
        self, rows: TrainingRows, n_rounds: int, random: Any, held_out: Array
    ) -> tuple[list[tuple[Any, Array]], LogisticFit, list[float]]:
        """Boost for a number of rounds, or until the validation loss rises.

        Returns the stages (weak learner and step), the exact fit beside them, and the
        loss before the first round and after each of them, with the weights of the rows
        ``held_out``; these, of weight zero in ``rows``, count for nothing else.
        """
        responses = self._centred(np.vstack([rows.pairs.left, rows.pairs.right]))
        contrast, both = rows.pairs.contrast, np.tile(rows.weight, 2)
        design, used = np.hstack([rows.parametric, contrast]), np.flatnonzero(both > 0)
        stages: list[tuple[Any, Array]] = []
        losses: list[float] = []
        boosted, start = np.zeros_like(rows.y), None
        while True:
            fit = fit_exactly(
                rows, contrast, self._ridge, self.loss, offset=boosted, start=start
            )
            start, eta = fit.coef, boosted + design @ fit.coef
            losses.append(np.sum(held_out @ loss_terms(self.loss, rows.y, eta)))
            has_risen = held_out.any() and len(losses) > PATIENCE + np.argmin(losses)
            if has_risen or len(stages) == n_rounds:
                return stages, fit, losses
            mean, curvature = eta, np.ones_like(eta)
            if self.loss == "logistic":
                mean = expit(eta)
                curvature = mean * (1.0 - mean)
            # The weak learner f is fitted to pseudo-residuals r = -dL/d eta, by single
            # responses: the first one of a row gets r, the second -r. A row sees its
            # contrast f(x_a) - f(x_b), (n_rows, n_targets).
            residual = rows.y - mean
            targets = np.vstack([residual, -residual])
            weak = self._fit_weak(responses[used], targets[used], both[used], random)
            values = self._predict_weak(weak, responses).reshape(len(responses), -1)
            moved = values[: len(rows)] - values[len(rows) :]
            # Newton step along the contrast, one for each target: the sum of w r f over
            # that of w V f^2, with the curvature V of the loss.
            slope = rows.weight @ (residual * moved)
            bend = rows.weight @ (curvature * moved**2)
            step = np.divide(slope, bend, out=np.zeros_like(slope), where=bend > 1e-12)
            # A tree without a split has the step zero; the next one may find a split.
            step *= self.learning_rate
            boosted = boosted + step * moved
            stages.append((weak, step))

    def _centred(self, features: Array) -> Array:
        """Features for weak learners: centred, and without constant ones."""
        return (features - self._mean)[:, self._varied]

    def _fit_weak(
        self, responses: Array, targets: Array, weight: Array, random: Any
    ) -> Any:
        """Fit a weak learner to targets of shape (n_responses, n_targets)."""
        # A tenth of the time of a short command, which mostly fits no trees.
        from sklearn.ensemble._base import _set_random_states
        from sklearn.multioutput import MultiOutputRegressor
        from sklearn.tree import DecisionTreeRegressor

        weak: Any = DecisionTreeRegressor(
            splitter="random", max_depth=3, min_weight_fraction_leaf=0.01
        )
        if self.weak_learner is not None:
            weak = clone(self.weak_learner)
        extra: dict[str, Any] = {}
        if has_fit_parameter(weak, "sample_weight"):
            extra["sample_weight"] = weight / weight.mean()
        elif not np.allclose(weight, weight[0]):
            raise LearnerError(
                f"the weak learner {type(weak).__name__} takes no sample_weight, but "
                "the rows have different weights."
            )
        if targets.shape[1] == 1:
            targets = targets[:, 0]
        elif not get_tags(weak).target_tags.multi_output:
            weak = MultiOutputRegressor(weak)
        _set_random_states(weak, random)
        return weak.fit(responses, targets, **extra)

    def _predict_weak(self, weak: Any, responses: Array) -> Array:
        """Return values of shape (n_responses,) or (n_responses, n_targets)."""
        values = np.asarray(weak.predict(responses), dtype=np.float64)
        if len(values) != len(responses) or not np.isfinite(values).all():
            raise LearnerError(
                f"the weak learner {type(self.weak_learner).__name__} predicted NaN, "
                f"infinite values, or shape {values.shape} for {len(responses)} rows."
            )
        return values

    def for_riesz_weights(self) -> Self:
        """Unfitted copy for the Riesz weights, with four times the chosen rounds.

        Returns
        -------
        BoostedBias
        """
        check_is_fitted(self, "coef_")
        return clone(self).set_params(
            max_rounds=WEIGHT_ROUNDS * self.n_rounds_, validation_fraction=0.0
        )

    def _rest(self, features: Array) -> Array:
        """Sum of the weak learners, (n_rows,) or (n_rows, n_targets)."""
        responses = self._centred(features)
        total = np.zeros((len(features), *self.coef_.shape[1:]))
        for weak, step in self._stages:
            total += step * self._predict_weak(weak, responses).reshape(total.shape)
        return total
