"""Item effects fitted, with their covariance given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.logistic import fit_logistic
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


ARRIVAL_ERROR = 1e-14
"""Error that the last step of their fit may leave, as far as rounding lets it."""

_DENSE = 1 << 22
"""Entries of the columns of arrivals up to which they are made."""


def fit_deviations(
    sample: Sample,
    calibrator: JudgeCalibrator,
    covariance: Array,
    near: tuple[Comparisons, JudgeCalibrator] | None = None,
    *,
    joint: bool = False,
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

    Returns
    -------
    X : Comparisons
        Rows with updated parameters and ``deviations``.
    calibrator : JudgeCalibrator
        A copy with the updated judge parameters; as it was without historical rows.
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
        parameters, again = _fit_arrivals(late, parameters, factor, arrival)
        settled = settled and again
    if not settled:
        warn(ConvergenceWarning("The fit of the item effects did not settle."))
    fitted = model.annotate(parameters, factor, sample.X)
    if old.any():
        calibrator = model.calibrated(parameters, calibrator)
    return fitted.with_columns(item_covariance=covariance), calibrator


def _fit_arrivals(
    late: ItemLikelihood, parameters: Array, factor: Array, arrival: NDArray[np.bool_]
) -> tuple[Array, bool]:
    """Fit new scores and deviations, as near as rounding lets them come, from anywhere.

    Returns the parameters, and whether the fit settled.
    """
    if len(late.X) * np.count_nonzero(arrival) > _DENSE:
        every = np.ones(len(late.X), dtype=bool)
        return late.newton(parameters, factor, every, arrival, tol=ARRIVAL_DECREMENT)
    # Of these few the logit is linear, and columns are fewer than what all would take.
    offset, columns = late.arrival_columns(parameters, factor)
    fit = fit_logistic(
        columns,
        late.y,
        late.weight,
        offset=offset,
        penalty=late.prior(factor)[arrival] / late.weight.sum(),
        start=parameters[arrival],
        tol=ARRIVAL_ERROR,
    )
    found = parameters.copy()
    found[arrival] = fit.coef
    return found, fit.converged
