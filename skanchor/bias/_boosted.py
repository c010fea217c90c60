"""Bias learned by stage-wise boosting."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._comparisons import FeaturePairs
from skanchor._documented import DocumentedMixin
from skanchor._typing import Array
from skanchor.bias._boosting import Boosting, BoostingFit, BoostingRows
from skanchor.bias._rows import TrainingRows
from skanchor.bias._trees import Bins
from skanchor.bias._weak_learners import HistogramTrees, Regressors, WeakLearners
from skanchor.bias.fitting import FitTask
from skanchor.bias.protocol import ContrastMixin, LastStage

LINEAR_RIDGE = 1e-4
"""Ridge of the linear part on standardised features, beside the mean weighted loss."""

WEIGHT_ROUNDS = 4
"""Rounds of the Riesz weights for each round of psi."""


class BoostedBias(DocumentedMixin, ContrastMixin, BaseEstimator):
    """Bias as the sum of a linear part and weak learners.

    Each round has three steps. A weak learner is fitted to the pseudo-residuals of all
    responses: r for the first response of a comparison, -r for the second. A
    one-dimensional Newton step is taken along its contrast, multiplied by
    ``learning_rate``. Then the parametric columns and the linear part are fitted
    exactly, with the weak learners fixed.

    Parameters
    ----------
    weak_learner : regressor, optional
        Any scikit-learn regressor; None means a histogram tree of depth ``max_depth``
        on features with at most ``max_bins`` bins.
    learning_rate : float, default=0.2
        Factor of each step.
    max_rounds : int, default=100
        Largest number of rounds.
    max_depth : int, default=3
        Depth of the default trees.
    max_bins : int, default=32
        Largest number of bins of each feature, for the default trees.
    max_features : int, default=4
        Number of features that a default tree may split on, drawn at random for each
        tree.
    min_leaf : float, default=0.01
        Smallest share of the rows' weight in a leaf of the default trees.
    validation_fraction : float, default=0.2
        Share of the rows whose loss determines the number of rounds. The final fit uses
        all rows. With zero there are always ``max_rounds``.
    patience : int, default=5
        Boosting stops after this number of rounds without a lower validation loss.
    linear : bool, default=True
        Whether psi has a linear part. Trees alone need many steps to approximate one.
    bound : float, default=10.0
        psi is clipped to ``[-bound, bound]`` about its mean, in judge logits (logistic
        loss only).
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
    coef_ : ndarray of shape (n_features, n_targets)
        Coefficients of the linear part.
    converged_ : bool
        Whether the last exact step converged.
    at_bound_ : ndarray of shape (n_parametric,)
        Parametric coefficients that lie on their bound.

    Notes
    -----
    The contrast of a weak learner fitted to (+r, -r) is about 2 r, so the Newton step
    is about one half. With several targets (the Riesz step) the default trees share
    their splits. Other weak learners are fitted to one target after another, unless
    they support several.

    The Riesz weights use four times the rounds of psi, because they must balance the
    part that psi misses by stopping early. If psi is linear, both use hardly any.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import BoostedBias
    >>> from skanchor._comparisons import FeaturePairs
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
        weak_learner: BaseEstimator | None = None,
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
            A fit that started from another one would depend on that fit's rows.

        Returns
        -------
        self
        """
        self._validate_params()
        task = FitTask(X, y, sample_weight, parametric, bounds)
        admitted = TrainingRows.of(self, task)
        self._single = admitted.y.ndim == 1
        # Both responses of each row, (2 n_rows, n_features), with half its weight each.
        responses = np.vstack([admitted.pairs.left, admitted.pairs.right])
        share = np.tile(admitted.weight, 2) / 2.0
        rows = self._with_linear_part(admitted, responses, share)
        random = check_random_state(self.random_state)
        self._weak = self._weak_learners(responses, int(random.randint(2**31 - 1)))
        found = self._boost(rows, random)
        self._stages = found.stages
        self.n_rounds_ = len(found.stages)
        n_parametric = admitted.parametric.shape[1]
        self._ridge = rows.penalty[n_parametric:]
        self.parametric_coef_ = found.linear.coef[:n_parametric, 0]
        self.at_bound_ = found.linear.at_bound[:n_parametric]
        self.coef_ = found.linear.coef[n_parametric:]
        self.converged_ = found.linear.converged
        # ``_raw`` takes the centre off, so that it is zero while the mean is computed.
        self._centre = np.zeros(rows.targets.shape[1])
        self._centre = share @ self._raw(responses)
        return self

    def _boost(self, rows: BoostingRows, random: np.random.RandomState) -> BoostingFit:
        """Choose the number of rounds on validation rows; boost on all rows."""
        boosting = Boosting(
            rows,
            self._weak,
            self.loss == "logistic",
            self.learning_rate,
            self.patience,
        )
        n_rows, rounds = len(rows.weight), self.max_rounds
        n_held = round(self.validation_fraction * n_rows)
        train = np.ones(n_rows, dtype=bool)
        train[random.permutation(n_rows)[:n_held]] = False
        if 0 < n_held < n_rows:
            rounds = boosting.run(train, rounds).n_best
        return boosting.run(np.ones(n_rows, dtype=bool), rounds)

    def _with_linear_part(
        self, rows: TrainingRows, responses: Array, share: Array
    ) -> BoostingRows:
        """Join the parametric columns and the linear part of psi."""
        columns = [rows.parametric]
        penalty = [np.zeros(rows.parametric.shape[1])]
        if self.linear:
            columns.append(rows.pairs.contrast)
            variance = share @ (responses - share @ responses) ** 2
            penalty.append(LINEAR_RIDGE * variance)
        # Bounds are those of the parametric columns; psi is free.
        joined = np.hstack(columns)
        free = np.full(joined.shape[1] - len(rows.lower), np.inf)
        return BoostingRows(
            rows.pairs,
            rows.y.reshape(len(rows.y), -1),
            rows.weight,
            joined,
            np.concatenate(penalty),
            np.concatenate([rows.lower, -free]),
            np.concatenate([rows.upper, free]),
        )

    def _weak_learners(self, responses: Array, seed: int) -> WeakLearners:
        if self.weak_learner is not None:
            return Regressors(self.weak_learner, seed)
        bins = Bins.of(responses, self.max_bins)
        return HistogramTrees(
            bins, seed, self.max_depth, self.max_features, self.min_leaf
        )

    def last_stage(self, pairs: FeaturePairs, sample_weight: Array) -> LastStage:
        """The linear part, with the sum of the weak learners as ``rest``.

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

    def _raw(self, features: Array) -> Array:
        """Psi before it is clipped, of shape (n_rows, n_targets)."""
        total = self._stage_sum(features)
        if self.linear:
            total += features @ self.coef_
        return total - self._centre

    def _stage_sum(self, features: Array) -> Array:
        """Sum of the weak learners, of shape (n_rows, n_targets)."""
        total = np.zeros((len(features), len(self._centre)))
        encoded = self._weak.encode(features)
        for stage in self._stages:
            total += stage.step * self._weak.predict(stage.learner, encoded)
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
