"""Base classes of baselines: parameters, the two steps, and probabilities of rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from skanchor._admission import admit_to_ranking
from skanchor._base import ComparisonEstimator
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons, count_rows
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.arrivals import SCORE_BOUND
from skanchor._ranking import ScoreEstimator
from skanchor._typing import Array
from skanchor.baselines._fits import Arrivals, Fits
from skanchor.exceptions import BattlesError, BoundWarning
from skanchor.results import PointResult
from skanchor.sample import Sample
from skanchor.warning_log import warn


class TwoStages(ComparisonEstimator):
    """Parameters and probabilities of methods with a BTL model and a calibrator."""

    btl_: BTLRegressor
    calibrator_: JudgeCalibrator
    new_models_: NDArray[Any]
    result_: Any

    _stands_for: ClassVar = {
        "btl": lambda value: BTLRegressor(),
        "calibrator": lambda value: JudgeCalibrator(),
    }
    _parameter_constraints: ClassVar = {
        **ScoreEstimator._parameter_constraints,
        "btl": [BTLRegressor, None],
        "calibrator": [JudgeCalibrator, None],
    }
    _features: ClassVar[bool] = True
    _pooled: ClassVar[bool] = False

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        calibrator: JudgeCalibrator | None = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.btl = btl
        self.calibrator = calibrator
        self.new_models = new_models
        self.unseen = unseen

    @property
    def uses_features(self) -> bool:
        """Whether the method uses the features of the responses."""
        return self._features

    def _admit(self, sample: Sample) -> Sample:
        """The sample with roles decided, and without features if none are used."""
        if not self.uses_features:
            sample = sample.without_features()
        return admit_to_ranking(sample, self.new_models)

    def _keep(self, sample: Sample, fits: Fits) -> None:
        """Store labels and fitted stages as attributes."""
        assert fits.calibrator_ is not None
        self.btl_, self.calibrator_ = fits.btl_, fits.calibrator_
        self.models_, self.judges_ = sample.X.models, sample.X.judges
        self.new_models_ = sample.X.models[sample.X.is_new]

    def _annotate(self, X: Comparisons) -> Comparisons:
        known = with_fitted_scores(X, self)
        # Where judges are pooled, the calibrator was fitted on rows of one judge.
        view = known.of_one_judge() if self._pooled else known
        view = view if self.uses_features else view.without_features()
        learned = self.calibrator_.transform(view)
        # Each judge of X gets its own entry or, where pooled, that of the one judge.
        every = np.zeros(len(X.judges), dtype=np.intp) if self._pooled else slice(None)
        position = learned.position_effects
        return known.with_columns(
            sensitivities=np.asarray(learned.sensitivities)[every],
            position_effects=None if position is None else position[every],
            biases=learned.biases,
        )


class PlugIn(TwoStages, ScoreEstimator):
    """Methods in steps: human scores, then judges, then an equation for new scores.

    A subclass states its equation in ``_place``.
    """

    def _place(self, fits: Fits, arrivals: Arrivals) -> Array:
        """Scores of the new models, of shape (n_new,).

        By default those of the likelihood, which weights rows by their sensitivity.
        """
        return arrivals.root("sensitivity")

    def _weights(self, fits: Fits) -> Array:
        """Weights of the rows, of shape (n_rows,), in the fit of the judges."""
        return fits.weight

    def _estimate(self, fits: Fits) -> Array:
        """Scores of all models, of shape (n_models,)."""
        known = fits.calibrate(
            features=self.uses_features,
            pooled=self._pooled,
            weight=self._weights(fits),
        )
        # Historical models keep their human scores, new models get those of `_place`.
        scores = fits.scores.copy()
        scores[fits.X.is_new] = self._place(fits, fits.arrivals(known))
        return scores

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._admit(sample)
        fits = Fits(sample, self._part("btl"), self._part("calibrator"), start)
        scores = self._estimate(fits)
        check_scores(sample.X, scores)
        self._keep(sample, fits)
        self.result_ = point_result(sample, scores)


def point_result(sample: Sample, estimates: Array) -> PointResult:
    """Result of a method that has estimates of all models and no errors."""
    X = sample.X
    counts = count_rows(X, sample.weight)
    return PointResult(X.models, X.is_new, estimates, *counts, sample.inputs)


def with_fitted_scores(X: Comparisons, fitted: Any) -> Comparisons:
    """Battles with the scores and the new models of a fitted baseline."""
    scores = fitted.result_.all_scores.reindex(X.models).to_numpy(dtype=np.float64)
    return X.with_columns(scores=scores, new_models=tuple(fitted.new_models_.tolist()))


def check_scores(X: Comparisons, scores: Array) -> None:
    """Raise for new models without a score; warn of scores on the bounds."""
    lost = X.models[X.is_new & ~np.isfinite(scores)].tolist()
    if lost:
        raise BattlesError(
            f"New models {lost} have no comparison that joins them to the historical "
            "models, so they cannot be placed."
        )
    # Scores within a relative 1e-6 of the bound count as on it.
    far = X.is_new & (np.abs(scores) >= SCORE_BOUND * (1.0 - 1e-6))
    if far.any():
        warn(
            BoundWarning(
                f"Scores of new models {X.models[far].tolist()} lie on the bounds "
                f"{(-SCORE_BOUND, SCORE_BOUND)}: they won or lost every comparison.",
                code="new-scores-at-bound",
                subject=X.models[far],
            )
        )
