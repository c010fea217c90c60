"""Joint maximum likelihood with linear biases."""

from __future__ import annotations

from skanchor.baselines._joint import JointLikelihood


class JointMLE(JointLikelihood):  # numpydoc ignore=PR02
    """Scores, sensitivities and linear biases from one likelihood of all rows.

    Human rows have probability ``sigma(theta_a - theta_b)``, judge rows ``sigma(c_m
    (theta_a - theta_b) + b_m' (phi(x_a) - phi(x_b)) + o p_m)``, arrivals included
    (eq:human-model-new, eq:hist-surrogate-model-new, eq:arrival-surrogate-model-new).
    If the biases are linear, the estimate is efficient, and ``AnchorPipeline`` agrees
    with it to first order.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores from which the joint fit starts; None
        stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Defines linear biases and position effects; None stands for
        ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_ : BTLRegressor
        The fit of human rows alone, from which the joint fit started.
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
