"""A score of the new model from each judge alone, averaged over judges."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal

import numpy as np

from skanchor._btl import BTLRegressor
from skanchor._judges import JudgeCalibrator
from skanchor._refits import SCORE_BOUND, Arrivals, BaseFits
from skanchor._typing import Array
from skanchor.baselines._base import PlugIn


class PerJudgeBTL(PlugIn):
    """Average over judges of the score that each judge alone would give.

    A judge's score of a new model comes from a BTL model of all its rows, the new model
    included. It is divided by the judge's sensitivity, which is calibrated without
    features. With ``plug_in_average`` it is the judge's plug-in score instead, which
    maximises the likelihood of its arrival rows given its sensitivity and bias. A judge
    whose rows do not connect the new model to the historical ones is left out of the
    average. Compared in the paper's Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
        Its ridge and bound also apply to the BTL models of judges.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    plug_in_average : bool, default=False
        Whether a judge's score is its plug-in score.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import PerJudgeBTL
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> PerJudgeBTL(plug_in_average=True).fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _parameter_constraints: ClassVar = {
        **PlugIn._parameter_constraints,
        "plug_in_average": ["boolean"],
    }

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        calibrator: JudgeCalibrator | None = None,
        *,
        plug_in_average: bool = False,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        super().__init__(btl, calibrator, new_models=new_models, unseen=unseen)
        self.plug_in_average = plug_in_average

    @property
    def uses_features(self) -> bool:
        """Whether the method uses the features of the responses."""
        return self.plug_in_average

    def _place(self, fits: BaseFits, arrivals: Arrivals) -> Array:
        judges = np.unique(arrivals.judge[arrivals.judge >= 0]).tolist()
        if self.plug_in_average:
            return _mean(
                [arrivals.of_judge(m).root("sensitivity") for m in judges], fits
            )
        own = []
        for m in judges:
            # A BTL score is in judge logits; division by c_m gives human logits.
            scores = fits.btl_scores(fits.cells.of_judge(m))[:, fits.new]
            slope = arrivals.of_judge(m).sensitivities[:, :1]
            # A judge of sensitivity zero, which was warned of, gives the score zero.
            scores = np.divide(
                scores, slope, out=np.zeros_like(scores), where=slope != 0
            )
            own.append(np.clip(scores, -SCORE_BOUND, SCORE_BOUND))
        return _mean(own, fits)


def _mean(scores: list[Array], fits: BaseFits) -> Array:
    """Mean over the judges with a finite score, of shape (n_replicates, n_new)."""
    if not scores:
        return np.full((len(fits.weights), len(fits.new)), np.nan)
    stacked = np.stack(scores)
    known = np.isfinite(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
