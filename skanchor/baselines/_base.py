"""What baselines share: parameters, the two steps, and probabilities of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skanchor.base import ComparisonEstimator
from skanchor.btl import BTLRegressor
from skanchor.comparisons import Comparisons
from skanchor.exceptions import BattlesError, BoundWarning
from skanchor.inference import PointResult
from skanchor.judges import JudgeCalibrator
from skanchor.ranking import ScoreEstimator, count_rows, decide_ranking
from skanchor.refits import (
    SCORE_BOUND,
    Arrivals,
    Fits,
    StageFits,
    one_judge,
    without_features,
)

__all__ = ["PlugIn", "TwoStages", "check_scores"]

Array = NDArray[np.float64]


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
        new_models: Sequence[Any] | None = None,
        unseen: str = "warn",
    ):
        self.btl = btl
        self.calibrator = calibrator
        self.new_models = new_models
        self.unseen = unseen

    def _stage_fits(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None,
    ) -> StageFits:
        return StageFits(
            X,
            y,
            weight,
            groups,
            self.btl if self.btl is not None else BTLRegressor(),
            self.calibrator if self.calibrator is not None else JudgeCalibrator(),
        )

    def _annotate(self, X: Comparisons) -> Comparisons:
        scores = self.result_.all_scores.reindex(X.models).to_numpy(dtype=np.float64)
        known = X.with_columns(
            scores=scores, new_models=tuple(self.new_models_.tolist())
        )
        view = one_judge(known) if self._pooled else known
        view = view if self._features else without_features(view)
        learned = self.calibrator_._annotate(view)
        every = np.zeros(len(X.judges), dtype=np.intp) if self._pooled else slice(None)
        position = learned.position_effects
        return known.with_columns(
            sensitivities=np.asarray(learned.sensitivities)[every],
            position_effects=None if position is None else position[every],
            biases=learned.biases,
        )


class PlugIn(TwoStages, ScoreEstimator):
    """Human scores, then judges, then the new scores in an equation of the method's.

    A subclass states its equation in ``_place``, on arrays with a leading axis of
    replicates; see :mod:`skanchor.refits`.
    """

    # ---------------------------------------------------------------------- definition
    def _place(self, fits: Fits, arrivals: Arrivals) -> Array:
        """Scores of the new models, of shape (n_replicates, n_new)."""
        raise NotImplementedError

    def _emphasis(self, fits: Fits) -> Array | None:
        """Factors of the weights of historical judge rows."""
        return None

    def _estimate(self, fits: Fits) -> Array:
        """Scores of all models, of shape (n_replicates, n_models)."""
        fits.emphasis = self._emphasis(fits)
        judges = fits.judges(features=self._features, pooled=self._pooled)
        scores = fits.human_scores().copy()
        scores[:, fits.new] = self._place(
            fits, fits.arrivals(judges, pooled=self._pooled)
        )
        return scores

    def _remember(self, fits: Fits) -> None:
        """Keep what else the definition has found."""

    # ----------------------------------------------------------------------------- fit
    def _fit(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None = None,
        start: Any = None,
    ) -> list[Warning]:
        X = X if self._features else without_features(X)
        X, notices = decide_ranking(X, weight, self.new_models)
        fits = self._stage_fits(X, y, weight, groups)
        scores = self._estimate(fits)[0]
        self._remember(fits)
        notices += check_scores(X, scores)
        assert fits.calibrator_ is not None
        self.btl_, self.calibrator_ = fits.btl_, fits.calibrator_
        self.models_, self.judges_ = X.models, X.judges
        self.new_models_ = X.models[X.is_new]
        self.result_ = PointResult(X.models, X.is_new, scores, *count_rows(X, weight))
        return notices + fits.notices


def check_scores(X: Comparisons, scores: Array) -> list[Warning]:
    """Refuse new models that nothing places; tell of those at a bound."""
    lost = X.models[X.is_new & ~np.isfinite(scores)].tolist()
    if lost:
        raise BattlesError(
            f"New models {lost} have no comparison that joins them to the historical "
            "models; nothing places them."
        )
    far = X.is_new & (np.abs(scores) >= SCORE_BOUND * (1.0 - 1e-6))
    if not far.any():
        return []
    return [
        BoundWarning(
            f"Scores of new models {X.models[far].tolist()} lie on the bounds "
            f"{(-SCORE_BOUND, SCORE_BOUND)}: they won or lost every comparison."
        )
    ]
