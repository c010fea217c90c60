"""BTL with a sensitivity for each judge, and no human anchor."""

from __future__ import annotations

from skanchor.baselines._joint import JointLikelihood


class JudgeAwareBTL(JointLikelihood):  # numpydoc ignore=PR02
    """One ranking of all models by the judges, each with its own sensitivity.

    Fits ``sigma(c_m (theta_a - theta_b))`` to all judge rows by maximum likelihood.
    Human rows only decide which models are historical. The scale is fixed by a mean
    sensitivity of one. The method follows the judge-aware rankings cited in the paper's
    introduction (Xu et al., 2026). Features are not used.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the scores from which the joint fit starts; None stands for
        ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Defines position effects (its bias is not used); None stands for
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
        Sensitivities of the joint fit, of mean one.
    result_ : RankingResult
        Scores in logits of the mean judge, centred over the historical models, with
        the sandwich covariance.

    Examples
    --------
    >>> from skanchor.baselines import JudgeAwareBTL
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> aware = JudgeAwareBTL().fit(data.X, data.y)
    >>> float(aware.calibrator_.sensitivities_.mean().round(6))
    1.0
    """

    _features = False
    _human = False
