"""Prediction-powered inference with the historical human residuals."""

from __future__ import annotations

from skanchor._typing import Array
from skanchor.baselines._base import PlugIn
from skanchor.baselines._fits import Arrivals, Fits


class HistoricalPPI(PlugIn):  # numpydoc ignore=PR02
    """Plug-in whose arrival equation is shifted by the mean historical human residual.

    The score t of a new model solves ``mean [Y - sigma(c (t - theta_J) + h)] + mean [Y
    - sigma(theta_i - theta_j)] = 0``. The first mean is over its arrival rows, oriented
    so that the new model comes first. The second is over the historical human rows as
    recorded. The method
    "adapts prediction-powered inference by adding an average residual correction from
    historical human labels, without transporting it to the arrival feature
    distribution" (the paper, Section 5, after Angelopoulos et al., 2023).

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
    >>> from skanchor.baselines import HistoricalPPI
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> HistoricalPPI().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    def _place(self, fits: Fits, arrivals: Arrivals) -> Array:
        return arrivals.root("equal", shift=fits.mean_residual(fits.votes))
