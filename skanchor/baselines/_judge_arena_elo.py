"""Human battles and the new model's judge battles on one Elo scale."""

from __future__ import annotations

from skanchor._typing import Array
from skanchor.baselines._base import PlugIn
from skanchor.baselines._fits import Fits


class JudgeArenaElo(PlugIn):  # numpydoc ignore=PR02
    """One BTL model of the human battles and the new models' judge battles.

    A judge battle is treated as a human one, except for a temperature T common to all
    judges: ``P(a preferred) = sigma((theta_a - theta_b) / T)``. T is estimated from the
    judges' battles between historical models, with scores fixed at those of the human
    battles; these battles are used for nothing else. Scores of historical and new
    models are then fitted together. Ratings on the Elo scale are 400 / log(10) points
    per logit.

    Follows JudgeArena (Lushtaku et al., 2026), which "approximates LMArena Elo by
    fitting a common BTL model to historical human and target-model judge comparisons"
    (the paper, Section 1).

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of the temperature; None stands for ``JudgeCalibrator()``. Its bias is
        not used, and a position effect only improves the temperature.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    temperature_ : float
        Human logits per judge logit.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
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

    def _estimate(self, fits: Fits) -> Array:
        # 1 / T, the sensitivity of all judges read as one.
        known = fits.calibrate(features=False, pooled=True)
        assert known.sensitivities is not None
        people = fits.sample.counts & fits.X.is_human
        return fits.common_scores(
            [
                (fits.wins(people), 1.0),
                (fits.wins(fits.arrived), float(known.sensitivities[0])),
            ]
        )
