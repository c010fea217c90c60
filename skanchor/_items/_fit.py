"""Item effects fitted, with their covariance given."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor._items._likelihood import ItemLikelihood
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.logistic import fit_logistic
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning
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
    human_bias: Any = None,
    excluded_judges: Collection[Any] = (),
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Comparisons, JudgeCalibrator, Any]:
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
    human_bias : learner, optional
        Fitted bias of people; decided with the scores, where rows decide these.
    excluded_judges : collection of labels
        Judges excluded from these scores. Their sensitivity, position effect and bias
        stay as they are: the rows bound none of them.
    bounds : tuple of (low, high)
        Bounds of the new scores.

    Returns
    -------
    X : Comparisons
        Rows with updated parameters and ``deviations``.
    calibrator : JudgeCalibrator
        A copy with the updated judge parameters; as it was without historical rows.
    human_bias : learner or None
        A copy with the updated coefficients.
    """
    model = ItemLikelihood(sample, calibrator, human_bias=human_bias)
    factor = covariance_factor(covariance)
    historical, arrival = model.masks()
    cells = model.X
    old = ~cells.involves_new & cells.is_usable
    parameters, settled = model.start(factor, near), True
    included = np.ones(len(cells), dtype=bool)
    left_out = np.flatnonzero(np.isin(cells.judges, list(excluded_judges))).tolist()
    own = model.start(factor) if left_out else parameters
    for m in left_out:
        included[cells.by_judge(m).rows] = False
        held = model.layout.of_judge(m)
        historical[held], parameters[held] = False, own[held]
    if old.any() and joint:
        scores = model.masks(joint=True)[0] & ~model.masks()[0]
        parameters, settled = model.newton(
            parameters, factor, old & included, historical | scores
        )
    if old.any() and not (joint and included.all()):
        # Excluded judges get deviations at the scores that the others determine.
        parameters, again = model.newton(parameters, factor, old, historical)
        settled = settled and again
    if arrival.any():
        late = model.part(cells.involves_new & cells.is_usable)
        limits = _of_new_scores(bounds, len(parameters), int(model.X.is_new.sum()))
        parameters, again = _fit_new_scores(late, parameters, factor, arrival, limits)
        settled = settled and again
    if not settled:
        warn(ConvergenceWarning("The fit of the item effects did not settle."))
    fitted = model.annotate(parameters, factor, sample.X)
    if old.any():
        calibrator = model.calibrated(parameters, calibrator)
    known = fitted.with_columns(item_covariance=covariance)
    return known, calibrator, model.voters(parameters)


def _fit_new_scores(
    late: ItemLikelihood,
    parameters: Array,
    factor: Array,
    arrival: NDArray[np.bool_],
    bounds: tuple[Array, Array],
) -> tuple[Array, bool]:
    """Fit new scores and deviations, as near as rounding lets them come, from anywhere.

    Returns the parameters, and whether the fit settled.
    """
    parameters = parameters.copy()
    if len(late.X) * np.count_nonzero(arrival) > _DENSE:
        every = np.ones(len(late.X), dtype=bool)
        found = late.minimum(
            parameters, factor, every, arrival, tol=ARRIVAL_DECREMENT, bounds=bounds
        )
        parameters[arrival] = found.coef
        return parameters, found.converged
    # Of these few the logit is linear, and columns are fewer than what all would take.
    offset, columns = late.arrival_columns(parameters, factor)
    low, high = bounds
    fit = fit_logistic(
        columns,
        late.y,
        late.weight,
        offset=offset,
        penalty=late.prior(factor)[arrival] / late.weight.sum(),
        lower=low[arrival],
        upper=high[arrival],
        start=parameters[arrival],
        tol=ARRIVAL_ERROR,
    )
    parameters[arrival] = fit.coef
    return parameters, fit.converged


def _of_new_scores(
    bounds: tuple[float, float], size: int, n_new: int
) -> tuple[Array, Array]:
    """Bounds of all parameters, of which the new scores come first."""
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    low[:n_new], high[:n_new] = bounds
    return low, high
