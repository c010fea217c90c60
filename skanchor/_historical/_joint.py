"""The minimum of the joint loss of the historical rows, found from a two-step fit."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from skanchor._historical._identification import Placement
from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE
from skanchor._model.logistic import fit_logistic
from skanchor._pipeline_fit import PipelineFit
from skanchor.exceptions import ConvergenceWarning
from skanchor.warning_log import warn

FARTHEST = 5.0
"""Factor by which the scale of the scores may move before the fit."""

EXACT, NEAR = 1e-10, 1e-6
"""Squared Newton decrement, in squared standard errors, of the last step: of the fit of
all rows, and of a training set, whose error the correction squares."""


def fit_jointly(
    start: PipelineFit,
    alpha: float = 0.0,
    *,
    tol: float = EXACT,
    excluded_judges: Collection[Any] = (),
) -> PipelineFit:
    """Fit historical scores and judges together.

    Minimises the loss of all rows without a new model, of votes and verdicts, over
    scores, sensitivities, position effects and linear bias coefficients. The loss is
    not convex, but it only falls from where the fit starts.

    Parameters
    ----------
    start : PipelineFit
        Where to start. What of learners is linear in coefficients (the span, or the
        last stage) is fitted again; the rest is held fixed.
    alpha : float
        Its ridge of the scores, as in :class:`skanchor.BTLRegressor`.
    tol : float
        Squared Newton decrement of the last step, in squared standard errors.
    excluded_judges : collection of labels
        Judges that are excluded from the scores: without a finite sensitivity they
        would measure scores without error. They are calibrated to the scores that the
        others determine.

    Returns
    -------
    PipelineFit
        With the historical scores and the parameters of judges.

    Raises
    ------
    DisconnectedError
        If votes and verdicts together do not place all models on one scale.
    """
    excluded = start.codes(excluded_judges)
    first, *others = start.steps(excluded_judges, is_joint=True)[:-1]
    found = start.moved(_rescaled(start, excluded)).fitted([first], tol)
    if not found.fit.converged:
        warn(
            ConvergenceWarning(
                "The joint fit of the history did not converge.",
                code="history-not-converged",
            )
        )
    Placement.of(found, first).check(alpha > 0)
    return found.fitted(others, tol) if others else found


def _rescaled(known: PipelineFit, excluded: Collection[int]) -> Fit:
    """Move scores and sensitivities along the curve that judges cannot see.

    Verdicts know scores only times sensitivities, so that people alone decide the
    scale. Along its curve the loss of verdicts is flat, and straight steps are short.
    """
    fit, layout = known.fit, known.layout
    votes = [
        rows for rows in known.sources if rows.source == PEOPLE and not rows.is_new
    ]
    x = fit.x.copy()
    for rows in votes:
        delta = rows.differences(fit.scores)
        scale = fit_logistic(
            delta[:, None],
            rows.y,
            rows.weight,
            offset=fit.logits(rows) - delta,
            lower=np.array([1.0 / FARTHEST]),
            upper=np.array([FARTHEST]),
            start=np.ones(1),
        ).coef[0]
        x[layout.scores] *= scale
        # Excluded judges keep their sensitivity.
        moved = np.ones(layout.n_sources, dtype=bool)
        moved[[PEOPLE, *excluded]] = False
        x[layout.sensitivities][moved] /= scale
    return fit.moved(x)
