"""One answer from each judge, averaged."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal

import numpy as np

from skanchor._btl import BTLRegressor
from skanchor._judges import JudgeCalibrator
from skanchor._refits import SCORE_BOUND, Arrivals, BaseFits
from skanchor._typing import Array
from skanchor.baselines._base import PlugIn

__all__ = ["PerJudgeBTL"]


class PerJudgeBTL(PlugIn):
    """Average over judges of the score that each judge alone would give.

    A judge's score of a new model is that of a BTL model of the judge's rows, the new
    model included, divided by the judge's sensitivity from a calibration without
    features. With ``plug_in_average`` it is the judge's plug-in score instead: the
    likelihood of its arrival rows given its sensitivity and bias. Judges that do not
    join the new model to the historical ones are left out of the average. Compared in
    the paper's Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Scores of the historical models; None stands for ``BTLRegressor()``. Its ridge
        and bound serve the judges' models, too.
    calibrator : JudgeCalibrator, optional
        Sensitivities and biases; None stands for ``JudgeCalibrator()``.
    plug_in_average : bool, default=False
        Whether a judge's score is its plug-in score.
    new_models : sequence of labels, optional
        Models to place; None means those without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels.
    btl_, calibrator_ : estimators
        The stages fitted on all rows.
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
        """Whether the definition reads the features of the responses."""
        return self.plug_in_average

    def _place(self, fits: BaseFits, arrivals: Arrivals) -> Array:
        judges = np.unique(arrivals.judge[arrivals.judge >= 0]).tolist()
        if self.plug_in_average:
            return _mean(
                [arrivals.of_judge(m).root("sensitivity") for m in judges], fits
            )
        own = []
        for m in judges:
            scores = fits.btl_scores(fits.cells.of_judge(m))[:, fits.new]
            slope = arrivals.of_judge(m).sensitivities[:, :1]
            # A judge without any sensitivity, which has been warned of, says nothing.
            scores = np.divide(
                scores, slope, out=np.zeros_like(scores), where=slope != 0
            )
            own.append(np.clip(scores, -SCORE_BOUND, SCORE_BOUND))
        return _mean(own, fits)


def _mean(scores: list[Array], fits: BaseFits) -> Array:
    """Mean over the judges that have a score."""
    if not scores:
        return np.full((len(fits.weights), len(fits.new)), np.nan)
    stacked = np.stack(scores)
    known = np.isfinite(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
