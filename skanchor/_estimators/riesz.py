"""Riesz weights: how much the residual of each row corrects each score."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, Interval

from skanchor._battles import Comparisons, Outcomes, usable_features
from skanchor._estimators.base import ComparisonEstimator
from skanchor._estimators.pipeline_fit import PipelineFit, carried
from skanchor._estimators.weighing import Weighing, WeightFunctions
from skanchor._model.riesz import Solution
from skanchor._model.sources import sigmoid, variance_of
from skanchor._sample.sample import Battles, Sample, check_weight
from skanchor._typing import Array
from skanchor.bias import BiasLearner
from skanchor.bias.registry import LEARNER_CONSTRAINT, make_learner
from skanchor.exceptions import BattlesError, SkanchorWarning
from skanchor.warning_log import warn


def _own_learner(learner: Any) -> Any:
    """The learner that a string names, if it is not another stage's."""
    if learner == "calibrator":
        raise ValueError(
            "The learner 'calibrator' is that of AnchorPipeline's calibrator, and "
            "has no parameters of its own here: set those of calibrator__bias, or "
            "first set debiaser__learner to a learner."
        )
    return make_learner(learner)


class RieszDebiaser(ComparisonEstimator):
    """Riesz weights of every score, from rows with a complete plug-in.

    Parameters
    ----------
    learner : str, learner or dict, default="linear"
        Learner of the functions gamma of the Riesz weights, as in
        :class:`JudgeCalibrator`. Inside :class:`AnchorPipeline` it may be
        ``"calibrator"``, which means the learner of the calibrator. If the learner has
        a linear span, the weights are exact. If it has none, the gradient columns are
        regressed on its contrasts by weighted least squares, one fit for every target.
    inner_folds : int, default=2
        Inner folds of these regressions. The information uses out-of-fold residuals,
        and other rows are corrected by the mean over the folds' learners. With one fold
        it uses in-sample residuals, which is valid for learners that cannot overfit.
    human_bias : learner, optional
        Fitted bias of people, which :class:`AnchorPipeline` sets to ``bias_`` of its
        :class:`BTLRegressor`; None if people have none.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_ : ndarray of shape (n_models,)
        Targets: the score of each model, historical ones centred.
    information_ : ndarray of shape (p, p)
        Information of all parameters that rows decide, with its prior.
    solution_ : Solution
        The solved system: weights and information of all parameters.
    learners_ : tuple of WeightFunctions
        Functions gamma in the weights of each source, people first.
    undetermined_ : ndarray of shape (n_models,)
        Whether the rows leave a score undetermined.
    identity_error_ : float
        Largest entry of ``|sum omega a V xi - l|``; zero up to rounding for linear
        spans.

    Raises
    ------
    BattlesError
        If the rows lack scores, sensitivities or biases.

    Notes
    -----
    Minimises eq:direct-riesz-objective-v2 for all targets in one factorisation.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from skanchor import ArrivalScorer, BTLRegressor, JudgeCalibrator, RieszDebiaser
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> chain = make_pipeline(BTLRegressor(), JudgeCalibrator(), ArrivalScorer())
    >>> plugged = chain.fit(data.X, data.y).transform(data.X)
    >>> debiaser = RieszDebiaser().fit(plugged, data.y)
    >>> debiaser.influence(plugged, data.y).shape
    (8500, 11)
    """

    _stands_for: ClassVar = {"learner": _own_learner}
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        "learner": LEARNER_CONSTRAINT,
        "inner_folds": [Interval(Integral, 1, None, closed="left")],
        "human_bias": [HasMethods(["contrast", "set_params"]), None],
    }

    def __init__(
        self,
        learner: str | BiasLearner = "linear",
        *,
        inner_folds: int = 2,
        human_bias: str | BiasLearner | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.learner = learner
        self.inner_folds = inner_folds
        self.human_bias = human_bias
        self.unseen = unseen

    def _fit(
        self, sample: Sample, start: PipelineFit | None = None, seed_offset: int = 0
    ) -> None:
        """Solve for the weights; ``start`` may have laid out the rows already."""
        X, eta = sample.X, sample.X.logits()
        used = sample.counts & np.isfinite(eta)
        is_whole = bool((used == sample.counts).all())
        by_features = used if self.human_bias is not None else used & ~X.is_human
        X = usable_features(X, by_features)
        sample = sample.with_battles(X).weighted(np.where(used, sample.weight, 0.0))
        curvature = sample.weight * variance_of(sigmoid(np.where(used, eta, 0.0)))
        learner = self._part("learner")
        weighing = Weighing.of(
            sample, curvature, learner, self.human_bias, self.inner_folds, seed_offset
        )
        if start is not None and is_whole and weighing.are_biases(start.learners):
            # The columns of the weights are those of the biases.
            rows = [replace(a, offset=start.fit.bias(a)) for a in start.sources]
        else:
            rows = weighing.rows(sample)
        fit = carried(X, covariance=X.item_covariance)
        fit = fit.with_spans(weighing.widths)
        self.keep(X, weighing, Solution.of(fit, rows, weighing.prior(fit)))
        totals = np.bincount(X.sources + 1, sample.weight)[1:].tolist()
        self._source_totals = dict(zip(X.source_keys, totals, strict=True))

    def keep(self, X: Comparisons, weighing: Weighing, solution: Solution) -> Self:
        """Store solved weights, and warn of scores that these leave open.

        Parameters
        ----------
        X : Comparisons
            Rows with the models and judges of the weights.
        weighing : Weighing
            Columns of the weights.
        solution : Solution
            The weights.

        Returns
        -------
        self
        """
        self.models_, self.judges_ = X.models, X.judges
        self.weighing_, self.solution_ = weighing, solution
        self.information_ = solution.information.matrix
        self.identity_error_ = float(np.abs(solution.gap).max(initial=0.0))
        self.undetermined_ = solution.weights.undetermined
        if self.undetermined_.any():
            warn_of_unidentified(X.models[self.undetermined_])
        return self

    @property
    def learners_(self) -> tuple[WeightFunctions, ...]:
        """Functions in the weights of each source, people first."""
        return self.weighing_.functions

    def _aligned(self, X: Battles) -> Comparisons:
        aligned = self._encode(X).relabel(self.models_, self.judges_)
        lacks_judges = len(self.judges_) > 0 and aligned.sensitivities is None
        if aligned.scores is None or lacks_judges:
            raise BattlesError(
                "RieszDebiaser needs comparisons that carry scores, sensitivities and "
                "biases; transform them with the fitted earlier stages first."
            )
        return aligned

    def weights(self, X: Battles) -> Array:
        """Riesz weights of rows.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.

        Returns
        -------
        ndarray of shape (n_rows, n_models)
            Weight a of each row's residual in the score of each of ``models_``, in
            logits; zero for rows that cannot be used.
        """
        aligned = self._aligned(X)
        one = np.ones(len(aligned))
        sample = Sample(aligned, Outcomes(0.0 * one, np.array([0, 1]), 1), one)
        weights = np.zeros((len(aligned), len(self.models_)))
        for part in self.weighing_.rows(sample, is_training=False):
            local = self.solution_.weights.local(part.source)
            weights[part.rows] = part.products(local)
        return weights

    def influence(self, X: Battles, y: ArrayLike) -> Array:
        """Weight times residual of each row, the terms of the correction.

        Their sum is that of eq:arrival-residual-correction-v2.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.
        y : array-like of shape (n_rows,)
            Outcomes.

        Returns
        -------
        ndarray of shape (n_rows, n_models)
            In logits of each score.
        """
        aligned = self._aligned(X)
        residual = self._outcome_values(aligned, y) - sigmoid(aligned.logits())
        used = self._valid(aligned)
        return self.weights(X) * np.where(used, residual, 0.0)[:, None]

    @staticmethod
    def _valid(X: Comparisons) -> NDArray[np.bool_]:
        return X.is_usable & np.isfinite(X.logits())

    def _annotate(self, X: Comparisons) -> Comparisons:
        return X

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return self._valid(X)

    def score(
        self, X: Battles, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the Riesz criterion on the given rows, summed over the targets.

        The mean over the given rows of a source is multiplied by the number of its rows
        in ``fit``, so that values on held-out rows and on training rows are comparable.
        The prior of item effects has no rows and is left out.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.
        y : ignored
            The criterion does not read outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        float
            Higher is better.
        """
        aligned = self._aligned(X)
        weight = check_weight(sample_weight, aligned)
        rows = self._valid(aligned) & (weight > 0)
        if not rows.any():
            raise BattlesError("RieszDebiaser.score found no row that it can weigh.")
        p = sigmoid(np.nan_to_num(aligned.logits()))
        squares = np.sum(self.weights(X) ** 2, axis=1)
        values = weight * p * (1.0 - p) * squares
        total = 0.0
        for code, key in enumerate(aligned.source_keys):
            own = rows & (aligned.sources == code)
            if own.any():
                mean = float(values[own].sum() / weight[own].sum())
                total += self._source_totals.get(key, 0.0) * mean
        targets = self.solution_.layout.targets
        return float(2.0 * np.sum(targets * self.solution_.weights.values) - total)


def warn_of_unidentified(models: NDArray[Any]) -> None:
    """Warn of models whose scores the rows of a fit do not determine."""
    warn(
        SkanchorWarning(
            f"The rows do not determine the scores of {models[:5].tolist()}; their "
            "intervals are not valid.",
            code="unidentified-scores",
            subject=models,
        )
    )
