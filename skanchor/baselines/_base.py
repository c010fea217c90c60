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
from skanchor._model.graph import pair_sums
from skanchor._model.sources import sigmoid
from skanchor._sample.admission import admit_to_ranking
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.results import PointResult, RankingResult
from skanchor.results.estimators import ScoreEstimator


class Baseline(ComparisonEstimator):
    """A method that ranks new models among the historical ones."""

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
            self.result_ = RankingResult(
                *labels,
                values[None],
                covariance[None],
                unbounded,
                *counts,
                inputs=inputs,
                open_rows=open_rows,
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
    # Whether features of the responses are used.
    _features = False

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

    def _admit(self, sample: Sample) -> Sample:
        """Decide roles; leave out features that the method does not use."""
        if not self._features:
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
    _features = True
    # Whether all judges are one judge.
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
        return X if self._features else X.without_features()

    def _annotate(self, X: Comparisons) -> Comparisons:
        return self.calibrator_.transform(self._as_calibrated(super()._annotate(X)))


# ------------------------------------------------------------------------------ rows
def in_mean_units(sample: Sample) -> Sample:
    """The rows with weights of mean one: decrements and squares have no unit."""
    return sample.in_units(float(sample.weight[sample.counts].mean()))


def with_outcomes(sample: Sample, y: Array) -> Sample:
    """The rows with other outcomes, which need not lie in [0, 1]."""
    return replace(sample, outcomes=replace(sample.outcomes, values=y))


def placed(sample: Sample, equation: str = "likelihood") -> Sample:
    """Fit the new scores of rows that carry all else, and let the rows carry them.

    ``equation`` is that of :class:`ArrivalScorer`.
    """
    scorer = ArrivalScorer(equation=equation).fit_sample(in_mean_units(sample))
    return sample.with_battles(scorer.transform(sample.X))


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
