"""Judges whose bias on arrival rows is one number."""

from __future__ import annotations

from skanchor._refits import Arrivals, BaseFits
from skanchor._typing import Array
from skanchor.baselines._base import PlugIn

__all__ = ["MeanShift"]


class MeanShift(PlugIn):  # numpydoc ignore=PR02
    """Plug-in with the mean bias of each judge in place of the bias of each row.

    Sensitivities c and biases h come from the historical rows. On arrival rows the mean
    of the fitted h over the judge's arrival rows, seen from the new model's side, takes
    the place of h itself; the likelihood weighs a row by its sensitivity. Compared in
    the paper's Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Scores of the historical models; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Sensitivities and biases; None stands for ``JudgeCalibrator()``.
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
    >>> from skanchor.baselines import MeanShift
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> MeanShift().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    def _place(self, fits: BaseFits, arrivals: Arrivals) -> Array:
        return arrivals.root("sensitivity", biases=arrivals.mean_biases())
