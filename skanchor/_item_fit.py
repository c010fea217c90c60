"""Fit of the item effects, with their covariance given."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from skanchor._pipeline_fit import PipelineFit
from skanchor.exceptions import ConvergenceWarning
from skanchor.warning_log import warn


def fit_item_effects(
    start: PipelineFit, *, is_joint: bool, excluded_judges: Collection[Any] = ()
) -> PipelineFit:
    """Fit the item effects together with the judges and the new scores.

    Historical rows decide the parameters of the judges and the effects of historical
    models, with the scores fixed unless the history is fitted jointly. Rows of new
    models then decide their scores and effects. Without historical rows, the parameters
    of the history stay as they are.

    Parameters
    ----------
    start : PipelineFit
        The plug-in of the earlier stages, with the prior of the item effects. What of
        its learners is linear in coefficients is fitted again; the rest is held fixed.
    is_joint : bool
        Whether votes and verdicts decide the scores of historical models together.
    excluded_judges : collection of labels
        Judges excluded from these scores. They are calibrated to the scores that the
        others determine.

    Returns
    -------
    PipelineFit
    """
    steps = start.steps(excluded_judges, is_joint=is_joint)
    if not start.has_history:
        steps = steps[-1:]
    elif not is_joint:
        # Votes have decided the scores already.
        steps = steps[1:]
    found = start.fitted(steps)
    if not found.fit.converged:
        warn(
            ConvergenceWarning(
                "The fit of the item effects did not converge.",
                code="item-effects-not-converged",
            )
        )
    return found
