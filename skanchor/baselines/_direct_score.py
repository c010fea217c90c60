"""The plug-in with the plain arrival equation."""

from __future__ import annotations

from skanchor._typing import Array
from skanchor.baselines._base import PlugIn
from skanchor.baselines._fits import Arrivals, Fits


class DirectScore(PlugIn):  # numpydoc ignore=PR02
    """Plug-in score from the unweighted arrival equation, without correction.

    With sensitivities c and biases h from the historical rows, the score t of a new
    model solves ``sum [Y - sigma(c (t - theta_J) + h)] = 0`` over its arrival rows.
    Each row is oriented so that the new model comes first. In the paper's words
    (Section 5), a "plug-in arrival equation, without joint orthogonal correction".

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
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> DirectScore().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    def _place(self, fits: Fits, arrivals: Arrivals) -> Array:
        # "equal": rows are not weighted by the sensitivity c of their judge.
        return arrivals.root("equal")
