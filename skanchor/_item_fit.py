"""Fit of the item effects, with their covariance given."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from skanchor._comparisons import Comparisons
from skanchor._judges import JudgeCalibrator
from skanchor._pipeline_fit import PipelineFit
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn


def fit_deviations(
    sample: Sample,
    calibrator: JudgeCalibrator,
    covariance: Array,
    *,
    joint: bool = False,
    alpha: float = 0.0,
    human_bias: Any = None,
    excluded_judges: Collection[Any] = (),
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Comparisons, JudgeCalibrator, Any]:
    """Fit the item effects together with the judges and the new scores.

    Historical rows decide the parameters of the judges and the effects of historical
    models, with the scores fixed unless the history is fitted jointly. Rows of new
    models then decide their scores and effects. Without historical rows, the parameters
    of the history stay as the rows carry them.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in of the earlier stages, outcomes and weights.
    calibrator : JudgeCalibrator
        Fitted calibrator. The part of its learners that is linear in coefficients (the
        span, or the last stage) is fitted again together with the effects; the rest
        is held fixed.
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u, in squared logits.
    joint : bool
        Whether votes and verdicts decide the scores of historical models together.
    alpha : float
        Ridge of these scores, beside the mean loss of votes.
    human_bias : learner, optional
        Fitted bias of people. It is fitted again where the scores are.
    excluded_judges : collection of labels
        Judges excluded from these scores. They are calibrated to the scores that the
        others determine.
    bounds : tuple of (low, high)
        Bounds of the new scores, in logits.

    Returns
    -------
    X : Comparisons
        Rows with updated parameters and ``deviations``.
    calibrator : JudgeCalibrator
        A copy with the updated judge parameters; without historical rows, the given
        calibrator.
    human_bias : learner or None
        A copy with the updated coefficients, None where people have no bias.
    """
    known = PipelineFit.of(
        sample,
        calibrator,
        human_bias,
        covariance=covariance,
        alpha=alpha,
        score_bounds=bounds,
    )
    steps = known.steps(excluded_judges, is_joint=joint)
    if not known.has_history:
        steps = steps[-1:]
    elif not joint:
        # Votes have decided the scores already.
        steps = steps[1:]
    found = known.fitted(steps)
    if not found.fit.converged:
        warn(
            ConvergenceWarning(
                "The fit of the item effects did not converge.",
                code="item-effects-not-converged",
            )
        )
    X = found.annotate(sample.X).with_columns(item_covariance=covariance)
    if known.has_history:
        calibrator = found.calibrated()
    return X, calibrator, found.voters()
