"""Joint maximum likelihood in the linear class."""

from __future__ import annotations

from skanchor.baselines._joint import JointLikelihood

__all__ = ["JointMLE"]


class JointMLE(JointLikelihood):  # numpydoc ignore=PR02
    """Scores, sensitivities and linear biases by one likelihood of all rows.

    Human rows ``sigma(theta_a - theta_b)``, judge rows ``sigma(c_m (theta_a - theta_b)
    + b_m' (phi(x_a) - phi(x_b)) + o p_m)``, arrivals included
    (eq:human-model-new, eq:hist-surrogate-model-new, eq:arrival-surrogate-model-new).
    With linear biases that hold, it is efficient, and ``AnchorPipeline`` agrees with it
    to first order.

    Parameters
    ----------
    btl : BTLRegressor, optional
        First scores of the historical models; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Its linear biases and position effect; None stands for ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        Models to place; None means those without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels.
    btl_ : BTLRegressor
        The human rows alone, from which the likelihood was climbed.
    calibrator_ : JudgeCalibrator
        Sensitivities and biases of the joint fit.
    result_ : RankingResult
        Scores in logits, centred over the historical models, with the sandwich
        covariance.

    Examples
    --------
    >>> from skanchor.baselines import JointMLE
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=1)
    >>> joint = JointMLE().fit(data.X, data.y)
    >>> bool(joint.standard_errors_["new-model"] < 0.15)
    True
    """
