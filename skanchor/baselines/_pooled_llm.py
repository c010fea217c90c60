"""The plug-in with all judges treated as one judge."""

from __future__ import annotations

from skanchor.baselines._base import PlugIn


class PooledLLM(PlugIn):  # numpydoc ignore=PR02
    """Plug-in that treats all judges as one judge.

    Fits one sensitivity c and one bias h to the historical rows of all judges, then the
    new scores by the likelihood of the arrival rows. Compared in the paper's
    Supplementary Section A.2.

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
    >>> from skanchor.baselines import PooledLLM
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> PooledLLM().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _pooled = True
