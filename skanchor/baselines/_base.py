"""What baselines share: stages of votes and of judges, and fits of the one likelihood.

A baseline is a mask of the parameters of that likelihood, and weights of its rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import Comparisons, count_rows
from skanchor._estimators.arrivals import ArrivalScorer
from skanchor._estimators.base import ComparisonEstimator
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import carried
from skanchor._model.btl_errors import LEAST_NOISE
from skanchor._model.fit import Fit
from skanchor._model.graph import components, pair_sums
from skanchor._model.influence import influence_of
from skanchor._model.layout import PEOPLE
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.newton import minimise
from skanchor._model.riesz import Information
from skanchor._model.sources import SourceRows, sigmoid
from skanchor._sample.admission import admit_to_ranking
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.results import PointResult, RankingResult
from skanchor.results.estimators import ScoreEstimator

SCORE_BOUND = 15.0
"""Bound on the absolute score of a new model, in logits, as that of ArrivalScorer."""

EXACT = 1e-14
"""Squared Newton decrement of the last step, in squared standard errors."""


class Baseline(ComparisonEstimator):
    """A method that ranks new models among the historical ones."""

    models_: NDArray[Any]
    new_models_: NDArray[Any]
    judges_: NDArray[Any]
    result_: Any

    def _conclude(
        self, sample: Sample, values: Array, *errors: Any, open_rows: Any = None
    ) -> None:
        """Set labels, and the result: values of all models.

        ``errors`` are their covariance and the mask of those that are unbounded.
        """
        X, inputs = sample.X, sample.inputs
        self.models_, self.judges_ = X.models, X.judges
        self.new_models_ = X.models[X.is_new]
        labels, counts = (X.models, X.is_new), count_rows(X, sample.weight)
        if errors:
            covariance, unbounded = errors
            repeat = values[None], covariance[None]
            self.result_ = RankingResult(
                *labels, *repeat, unbounded, *counts, inputs=inputs, open_rows=open_rows
            )
            return
        lost = X.models[X.is_new & ~np.isfinite(values)].tolist()
        if lost:
            raise BattlesError(
                f"New models {lost} have no comparison that joins them to the "
                "historical models, so they cannot be placed."
            )
        # Scores on the bounds are warned of there.
        ArrivalScorer().with_scores(self.new_models_, values[X.is_new])
        self.result_ = PointResult(*labels, values, *counts, inputs)

    def _annotate(self, X: Comparisons) -> Comparisons:
        scores = self.result_.all_scores.reindex(X.models).to_numpy(dtype=np.float64)
        new_models = tuple(self.new_models_.tolist())
        return X.with_columns(scores=scores, new_models=new_models)


class OfVotes(Baseline):
    """A method whose historical scores are those of a BTL model of votes."""

    btl_: BTLRegressor

    _stands_for: ClassVar[dict[str, Any]] = {"btl": lambda value: BTLRegressor()}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ScoreEstimator._parameter_constraints,
        "btl": [BTLRegressor, None],
    }
    _features: ClassVar[bool] = False

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.btl = btl
        self.new_models = new_models
        self.unseen = unseen

    @property
    def uses_features(self) -> bool:
        """Whether the method uses the features of the responses."""
        return self._features

    def _admit(self, sample: Sample) -> Sample:
        """Decide roles; leave out features that the method does not use."""
        if not self.uses_features:
            sample = sample.without_features()
        return admit_to_ranking(sample, self.new_models)

    def _fit_votes(self, sample: Sample, start: Any) -> Sample:
        """Fit ``btl_``; the rows carry its scores, zero for new models."""
        btl = self._part("btl")
        if btl.bias is not None:
            raise ValueError(
                "Baselines have no bias of people: give a BTLRegressor with bias=None. "
                "AnchorPipeline(human_bias=...) controls for style."
            )
        self.btl_ = clone(btl).fit_sample(sample, None if start is None else start.btl_)
        X = sample.X
        scores = np.nan_to_num(self.btl_.scores_for(X.models))
        scores[X.is_new] = 0.0
        return sample.with_battles(X.with_columns(scores=scores))


class OfJudges(OfVotes):
    """A method that also calibrates judges to the scores of the votes."""

    calibrator_: JudgeCalibrator

    _stands_for: ClassVar[dict[str, Any]] = {
        **OfVotes._stands_for,
        "calibrator": lambda value: JudgeCalibrator(),
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OfVotes._parameter_constraints,
        "calibrator": [JudgeCalibrator, None],
    }
    # Whether judges have a bias, and whether all of them are one judge.
    _features = True
    _pooled: ClassVar[bool] = False

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        calibrator: JudgeCalibrator | None = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        super().__init__(btl, new_models=new_models, unseen=unseen)
        self.calibrator = calibrator

    def _fit_judges(self, sample: Sample, start: Any) -> Sample:
        """Fit ``btl_`` and ``calibrator_``; the rows carry what both have learned."""
        sample = self._fit_votes(sample, start)
        sample = sample.with_battles(self._as_calibrated(sample.X))
        near = None if start is None else start.calibrator_
        self.calibrator_ = clone(self._part("calibrator")).fit_sample(sample, near)
        return sample.with_battles(self.calibrator_.transform(sample.X))

    def _as_calibrated(self, X: Comparisons) -> Comparisons:
        """Rows with the judges and features that the calibrator knows."""
        if self._pooled:
            # Codes 0, 1, ... become 0; -1 (human) and -2 (unknown) stay.
            one = np.array(["judges"], dtype=object)
            X = X.with_columns(judge=np.minimum(X.judge, 0), judges=one)
        return X if self.uses_features else X.without_features()

    def _annotate(self, X: Comparisons) -> Comparisons:
        return self.calibrator_.transform(self._as_calibrated(super()._annotate(X)))


# ------------------------------------------------------------------ the one likelihood
def in_mean_units(sample: Sample) -> Sample:
    """The rows with weights of mean one: decrements and squares have no unit."""
    weight = sample.weight[sample.counts]
    return sample.in_units(float(weight.mean())) if len(weight) else sample


def with_outcomes(sample: Sample, y: Array) -> Sample:
    """The rows with other outcomes, which need not lie in [0, 1]."""
    return replace(sample, outcomes=replace(sample.outcomes, values=y))


def placed(sample: Sample, equation: str = "likelihood") -> Sample:
    """Fit the new scores of rows that carry all else, and let the rows carry them.

    ``equation`` is that of :class:`ArrivalScorer`.
    """
    scorer = ArrivalScorer(equation=equation).fit_sample(in_mean_units(sample))
    return sample.with_battles(scorer.transform(sample.X))


def minimum(
    start: Fit,
    sources: Sequence[SourceRows],
    free: NDArray[np.bool_],
    bound: float,
    tolerance: float = EXACT,
) -> Fit:
    """Fit parameters of a mask within a bound of their size; see :func:`minimise`."""
    weights, most = [rows.weight for rows in sources], np.full(len(start.x), bound)
    fit, _ = minimise(
        start, sources, weights, free, bounds=(-most, most), tolerance=tolerance
    )
    return fit


def common_scores(sample: Sample, slopes: Array, btl: BTLRegressor) -> Array:
    """BTL scores of all rows together, centred over the historical models.

    Parameters
    ----------
    sample : Sample
        The rows.
    slopes : ndarray of shape (n_judges,)
        Factors of the score differences in the logits of judges.
    btl : BTLRegressor
        Its ridge and bound are used.

    Returns
    -------
    ndarray of shape (n_models,)
        NaN for models that nothing connects with the historical ones. A score that
        the rows do not limit lies on the bound.
    """
    X = sample.X.with_columns(sensitivities=slopes, position_effects=None, biases=None)
    fit, sources = carried(X), source_rows(in_mean_units(sample.with_battles(X)))
    free = fit.layout.of_scores(np.ones(len(X.models), dtype=bool))
    ridge = btl.alpha * sum(float(rows.weight.sum()) for rows in sources)
    fit = replace(fit, precision=np.diag(ridge * free))
    fit = minimum(fit, sources, free, btl.score_bound)
    part = components(wins_of(sample, sample.counts) > 0, "weak")
    scores = np.where(part == part[~X.is_new][0], fit.scores, np.nan)
    return np.asarray(scores - scores[~X.is_new].mean())


def sandwich(
    fit: Fit, sources: Sequence[SourceRows], free: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """Sandwich covariance of all scores, from the influence of rows or groups.

    Parameters
    ----------
    fit : Fit
        The maximum of the likelihood.
    sources : sequence of SourceRows
        The rows.
    free : ndarray of shape (size,)
        Mask of the parameters that were fitted.

    Returns
    -------
    covariance : ndarray of shape (n_models, n_models)
    undetermined : ndarray of shape (n_models,)
        Scores that the rows do not determine, or of whose error they show nothing:
        every outcome is what the fit predicts, or residuals cancel within groups.
    """
    layout, grams, squares = fit.layout, [], []
    mixed = np.zeros((layout.size, layout.size))
    for rows in sources:
        p = fit.probabilities(rows)
        grams.append((rows.source, rows.information(rows.weight, p)))
        squares.append((rows.source, rows.gram(rows.weight**2 * p * (1.0 - p))))
        # The coefficients c s of the items have a second derivative by c and s, which
        # the residuals multiply. People's c is one.
        if rows.source != PEOPLE:
            slope = layout.sensitivities.start + rows.source
            residual = rows.weight * (rows.y - p)
            mixed[layout.scores, slope] += rows.sums(residual)[: layout.n_items]
    # J, minus the second derivative of the log likelihood, by the free parameters.
    second, at = fit.penalised(fit.information(grams)), np.flatnonzero(free)
    second = (second - mixed - mixed.T)[at[:, None], at]
    weights = Information(fit, at, second, SymmetricSystem.of(second)).weights()
    # Rows of a group depend on each other: their influences are summed, then squared.
    covariance = influence_of(weights, sources, 0).parts.sum(axis=0)
    independent = weights.expected_parts(squares).sum(axis=0).diagonal()
    noiseless = covariance.diagonal() <= LEAST_NOISE * independent
    return covariance, weights.undetermined | (noiseless & (independent > 0))


# --------------------------------------------------------------------- sums over rows
def wins_of(sample: Sample, rows: NDArray[np.bool_]) -> Array:
    """(Half) wins of the row model over the column model, (n_models, n_models)."""
    X, rows = sample.X, rows & sample.counts
    sides, size = (X.left[rows], X.right[rows]), len(X.models)
    weight, y = sample.weight[rows], sample.y[rows]
    won = pair_sums(*sides, weight * y, size)
    return won + pair_sums(*sides, weight * (1.0 - y), size).T


def mean_residual(sample: Sample, rows: NDArray[np.bool_]) -> float:
    """Mean of outcome minus ``sigma(score difference)``, rows as recorded."""
    rows = rows & sample.counts
    gap = sample.X.score_differences[rows]
    return float(np.average(sample.y[rows] - sigmoid(gap), weights=sample.weight[rows]))
