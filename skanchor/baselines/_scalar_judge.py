"""Judges with a sensitivity and no bias."""

from __future__ import annotations

from skanchor.baselines._base import PlugIn


class ScalarJudge(PlugIn):  # numpydoc ignore=PR02
    """Plug-in with a sensitivity for each judge and no feature-dependent bias.

    Fits ``eta = c_m (theta_a - theta_b)`` to each judge's historical rows, then the new
    scores by the likelihood of the arrival rows. Features are not used. Compared in
    the paper's Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities (and position effects; its bias is not used); None
        stands for ``JudgeCalibrator()``.
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
    >>> from skanchor.baselines import ScalarJudge
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> ScalarJudge().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _features = False
