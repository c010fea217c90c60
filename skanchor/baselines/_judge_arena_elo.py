"""Human battles and the new model's judge battles on one Elo scale."""

from __future__ import annotations

import numpy as np

from skanchor._refits import BaseFits
from skanchor._typing import Array
from skanchor.baselines._base import PlugIn

__all__ = ["JudgeArenaElo"]


class JudgeArenaElo(PlugIn):  # numpydoc ignore=PR02
    """One BTL model of the human battles and the new models' judge battles.

    A judge battle counts like a human one but for a temperature T, one for all judges:
    ``P(a preferred) = sigma((theta_a - theta_b) / T)``. T comes from the judges'
    battles between historical models, with the scores of the human battles held fixed;
    these battles serve for nothing else. Scores of old and new models are then fitted
    together. Ratings on the Elo scale are 400 / log(10) points per logit.

    Follows JudgeArena (Lushtaku et al., 2026), which "approximates LMArena Elo by
    fitting a common BTL model to historical human and target-model judge comparisons"
    (the paper, Section 1).

    Parameters
    ----------
    btl : BTLRegressor, optional
        Scores of the historical models; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Temperature; None stands for ``JudgeCalibrator()``. Its bias is not used, and a
        position effect serves the temperature alone.
    new_models : sequence of labels, optional
        Models to place; None means those without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels.
    temperature_ : float
        Human logits per judge logit.
    btl_, calibrator_ : estimators
        The stages fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import JudgeArenaElo
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> JudgeArenaElo().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _features = False
    _pooled = True

    @property
    def temperature_(self) -> float:
        """Human logits per judge logit."""
        return float(1.0 / self.calibrator_.sensitivities_.iloc[0])

    def _estimate(self, fits: BaseFits) -> Array:
        slope = fits.judges(features=False, pooled=True).sensitivities
        cells = fits.cells
        cells = cells[(cells.judge == -1) | cells.involves_new]
        return fits.btl_scores(cells, np.where(cells.judge >= 0, slope, 1.0))
