"""The minimum of the joint loss of the historical rows, found from a two-step fit."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor._historical._identification import Placement
from skanchor._items import ItemLikelihood
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.arrow import among
from skanchor._numerics.logistic import fit_logistic
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn

FARTHEST = 5.0
"""Factor by which the scale of the scores may move before the fit."""

EXACT, NEAR = 1e-8, 1e-4
"""Squared Newton decrement, in squared standard errors, of the last step: of the fit of
all rows, and of a training set, whose error the correction squares."""


def fit_jointly(
    sample: Sample,
    calibrator: JudgeCalibrator,
    alpha: float = 0.0,
    *,
    tol: float = EXACT,
    excluded_judges: Collection[Any] = (),
    human_bias: Any = None,
) -> tuple[Comparisons, JudgeCalibrator, Any]:
    """Fit historical scores and judges together.

    Minimises the loss of all rows without a new model, of votes and verdicts, over
    scores, sensitivities, position effects and linear bias coefficients. The loss is
    not convex, but it only falls from where the fit starts.

    Parameters
    ----------
    sample : Sample
        Rows that carry the scores and the judges to start from, outcomes and weights.
    calibrator : JudgeCalibrator
        Fitted. What of its learners is linear in coefficients (the span, or the last
        stage) is fitted again; the rest is held fixed.
    alpha : float
        Ridge of the scores, as in :class:`skanchor.BTLRegressor`.
    tol : float
        Squared Newton decrement of the last step, in squared standard errors.
    excluded_judges : collection of labels
        Judges that are excluded from the scores, and stay as they are: without a finite
        sensitivity they would measure scores without error.
    human_bias : learner, optional
        Fitted bias of people; what of it is linear in coefficients is fitted again.

    Returns
    -------
    X : Comparisons
        Rows with the updated historical scores and judge parameters.
    calibrator : JudgeCalibrator
        A copy with the updated judge parameters.
    human_bias : learner or None
        A copy with the updated coefficients.

    Raises
    ------
    DisconnectedError
        If votes and verdicts together do not place all models on one scale.
    """
    X = sample.X
    assert X.scores is not None
    # Rows of new models have no part in it, and their scores no value yet.
    known = X.with_columns(scores=np.where(X.is_new, 0.0, X.scores))
    model = ItemLikelihood(
        sample.with_battles(known),
        calibrator,
        has_deviations=False,
        human_bias=human_bias,
    )
    # Without deviations their covariance factor is zero.
    factor = np.zeros((model.n_judges, model.n_judges))
    rows = ~model.X.involves_new & model.X.is_usable
    # Masks over the parameter vector: what is fitted, and where rows take part.
    free, _ = model.masks(joint=True)
    start = model.start(factor)
    for m in np.flatnonzero(np.isin(X.judges, list(excluded_judges))).tolist():
        rows[model.X.by_judge(m).rows] = False
        free[model.layout.of_judge(m)] = False
    votes = rows & model.X.is_human
    # The ridge of the scores is alpha beside the mean loss of the votes; here losses
    # are summed.
    model.ridge[model.at["scores"]] = alpha * model.weight[votes].sum()
    parameters = start.copy()
    _rescale(model, parameters, votes)
    # Excluded judges keep their parameters, which the change of scale has moved.
    judged = np.arange(model.at["sensitivity"].start, model.size)
    held = judged[~free[judged]]
    parameters[held] = start[held]
    minimum = model.minimum(parameters, factor, rows, free, tol=tol)
    parameters[free] = minimum.coef
    if not minimum.converged:
        warn(
            ConvergenceWarning(
                "The joint fit of the history did not converge.",
                code="history-not-converged",
            )
        )
    # Of all parameters; zero for those that were held.
    assert minimum.hessian is not None
    hessian = among(minimum.hessian, free)
    Placement.of(model, parameters, rows, hessian).check(alpha > 0)
    found = model.annotate(parameters, factor, X)
    assert found.scores is not None
    scores = np.where(X.is_new, X.scores, found.scores)
    return (
        found.with_columns(scores=scores),
        model.calibrated(parameters, calibrator),
        model.voters(parameters),
    )


def _rescale(
    model: ItemLikelihood, parameters: Array, votes: NDArray[np.bool_]
) -> None:
    """Move scores and sensitivities along the curve that judges cannot see, in place.

    Verdicts know scores only times sensitivities, so that people alone decide the
    scale. Along its curve the loss of verdicts is flat, and straight steps are short.
    """
    scores, slopes = model.at["scores"], model.at["sensitivity"]
    cut = model.X.by_judge(-1)
    used = votes[cut.rows]
    delta = cut.differences(model.items @ parameters[scores])[used]
    y, weight = model.y[cut.rows][used], model.weight[cut.rows][used]
    biases = model.X.biases
    scale = fit_logistic(
        delta[:, None],
        y,
        weight,
        offset=None if biases is None else biases[cut.rows][used],
        lower=np.array([1.0 / FARTHEST]),
        upper=np.array([FARTHEST]),
        start=np.ones(1),
    ).coef[0]
    parameters[scores] *= scale
    parameters[slopes] /= scale
