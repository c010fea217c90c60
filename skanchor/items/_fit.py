"""Item effects fitted, with their covariance given."""

from __future__ import annotations

import numpy as np

from skanchor._numerics.linalg import covariance_factor
from skanchor._typing import Array
from skanchor.comparisons import Comparisons
from skanchor.exceptions import ConvergenceWarning
from skanchor.items._likelihood import ItemLikelihood
from skanchor.judges import JudgeCalibrator
from skanchor.sample import Sample
from skanchor.warning_log import warn

__all__ = ["fit_deviations"]


ARRIVAL_DECREMENT = 1e-20
"""Squared Newton decrement, in standard errors, before the last step of their fit."""


def fit_deviations(
    sample: Sample,
    calibrator: JudgeCalibrator,
    covariance: Array,
    near: tuple[Comparisons, JudgeCalibrator] | None = None,
    *,
    joint: bool = False,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Comparisons, JudgeCalibrator]:
    """Fit the deviations, and with them the judges and the new scores.

    Historical rows decide the judges and the deviations of historical models, with the
    scores fixed unless the history is fitted jointly; arrival rows then decide the new
    scores and their deviations. Without historical rows, what the others carry stays
    as it is.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in of the earlier stages, outcomes and weights.
    calibrator : JudgeCalibrator
        Fitted. What of its learners is linear in coefficients (the span, or the last
        stage) is fitted again beside the deviations; the rest is held fixed.
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u.
    near : tuple of (Comparisons, JudgeCalibrator), optional
        What this function returned on nearly the same rows: where to start.
    joint : bool
        Whether votes and verdicts decide the scores of historical models together.
    bounds : tuple of (low, high)
        Bounds of the new scores.

    Returns
    -------
    X : Comparisons
        Rows with updated parameters and ``deviations``.
    calibrator : JudgeCalibrator
        A copy with the updated judge parameters.
    """
    model = ItemLikelihood(sample, calibrator)
    factor = covariance_factor(covariance)
    historical, arrival = model.masks(joint=joint)
    cells = model.X
    old = ~cells.involves_new & cells.is_usable
    parameters, settled = model.start(factor, near), True
    if old.any():
        parameters, settled = model.newton(parameters, factor, old, historical)
    if arrival.any():
        late = model.part(cells.involves_new & cells.is_usable)
        every = np.ones(len(late.X), dtype=bool)
        # Few rows and parameters: as near as rounding lets it come, from anywhere.
        found = late.minimum(
            parameters,
            factor,
            every,
            arrival,
            tol=ARRIVAL_DECREMENT,
            bounds=_of_new_scores(bounds, len(parameters), int(model.X.is_new.sum())),
        )
        parameters = parameters.copy()
        parameters[arrival] = found.coef
        settled = settled and found.converged
    if not settled:
        warn(ConvergenceWarning("The fit of the item effects did not settle."))
    fitted = model.annotate(parameters, factor, sample.X)
    return (
        fitted.with_columns(item_covariance=covariance),
        model.calibrated(parameters, calibrator),
    )


def _of_new_scores(
    bounds: tuple[float, float], size: int, n_new: int
) -> tuple[Array, Array]:
    """Bounds of all parameters, of which the new scores come first."""
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    low[:n_new], high[:n_new] = bounds
    return low, high
