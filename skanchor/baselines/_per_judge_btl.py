"""A score of the new model from each judge alone, averaged over judges."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal

import numpy as np

from skanchor._btl import BTLRegressor
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.arrivals import SCORE_BOUND
from skanchor._typing import Array
from skanchor.baselines._base import PlugIn
from skanchor.baselines._fits import Arrivals, Fits


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

    def _place(self, fits: Fits, arrivals: Arrivals) -> Array:
        found = [np.full(np.count_nonzero(fits.X.is_new), np.nan)]
        for m in np.unique(arrivals.judge[arrivals.judge >= 0]):
            rows = arrivals.judge == m
            if self.plug_in_average:
                found.append(arrivals.root("sensitivity", rows=rows))
                continue
            # A BTL score is in judge logits; division by c_m gives human logits.
            wins = fits.wins(fits.sample.counts & (fits.X.judge == m))
            scores = fits.common_scores([(wins, 1.0)])[fits.X.is_new]
            slope = arrivals.slope[rows][0]
            # A judge of sensitivity zero, which was warned of, gives the score zero.
            scores = scores / slope if slope else np.zeros_like(scores)
            found.append(np.clip(scores, -SCORE_BOUND, SCORE_BOUND))
        # Mean over the judges that give a finite score, NaN where none does.
        known = np.isfinite(found)
        total = np.where(known, found, 0.0).sum(axis=0)
        with np.errstate(invalid="ignore"):
            return np.asarray(total / known.sum(axis=0))
