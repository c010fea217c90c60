"""The plug-in with one mean bias of each judge on arrival rows."""

from __future__ import annotations

from skanchor._typing import Array
from skanchor.baselines._base import PlugIn
from skanchor.baselines._fits import Arrivals, Fits


class MeanShift(PlugIn):  # numpydoc ignore=PR02
    """Plug-in with the mean bias of each judge in place of the bias of each row.

    Sensitivities c and biases h come from the historical rows. On arrival rows h is
    replaced by its mean over the judge's arrival rows, oriented so that the new model
    comes first. The likelihood weights a row by its sensitivity. Compared in the
    paper's Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
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
    >>> from skanchor.baselines import MeanShift
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> MeanShift().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    def _place(self, fits: Fits, arrivals: Arrivals) -> Array:
        return arrivals.root("sensitivity", biases=arrivals.mean_biases())
