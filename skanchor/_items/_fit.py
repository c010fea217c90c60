"""Fit of the item effects, with their covariance given."""

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

ARRIVAL_DECREMENT = 1e-20
"""Squared Newton decrement, in squared standard errors, before the last step of the fit
of the arrivals."""


ARRIVAL_ERROR = 1e-14
"""Error that the last step of the fit of the arrivals may leave, up to rounding."""

_DENSE = 1 << 22
"""Largest number of entries of the dense matrix of the arrivals' columns."""


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
    """Fit the deviations together with the judges and the new scores.

    Historical rows decide the parameters of the judges and the deviations of historical
    models, with the scores fixed unless the history is fitted jointly. Arrival rows
    then decide the new scores and the deviations of new models. Without historical
    rows, the parameters of the history stay as the rows carry them.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in of the earlier stages, outcomes and weights.
    calibrator : JudgeCalibrator
        Fitted calibrator. The part of its learners that is linear in coefficients (the
        span, or the last stage) is fitted again together with the deviations; the rest
        is held fixed.
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u, in squared logits.
    near : tuple of (Comparisons, JudgeCalibrator), optional
        Start: what this function returned on nearly the same rows.
    joint : bool
        Whether votes and verdicts decide the scores of historical models together.
    human_bias : learner, optional
        Fitted bias of people. It is fitted again where the scores are.
    excluded_judges : collection of labels
        Judges excluded from these scores. Their sensitivity, position effect and bias
        stay as they are: the rows bound none of them.
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
    factor = covariance_factor(covariance)
    model = ItemLikelihood(sample, calibrator, human_bias=human_bias)
    model = model.for_factor(factor)
    # ``historical`` and ``arrival`` are masks of parameters, ``old`` and ``included``
    # masks of rows, some of which the model has merged.
    historical, arrival = model.masks()
    # Scores, and people's bias where there is one, are free in a joint fit alone.
    scores = model.masks(joint=joint)[0] & ~historical
    cells = model.X
    old = ~cells.involves_new & cells.is_usable
    parameters, converged = model.start(factor, near), True
    included = np.ones(len(cells), dtype=bool)
    left_out = np.flatnonzero(np.isin(cells.judges, list(excluded_judges))).tolist()
    # Excluded judges have the parameters that the rows carry, not those of ``near``.
    own = model.start(factor) if left_out else parameters
    for m in left_out:
        included[cells.by_judge(m).rows] = False
        held = model.layout.of_judge(m)
        historical[held], parameters[held] = False, own[held]
    if old.any() and joint:
        free = historical | scores
        found = model.minimum(parameters, factor, old & included, free)
        parameters[free], converged = found.coef, found.converged
    if old.any() and not (joint and included.all()):
        # Excluded judges get deviations at the scores that the others determine.
        found = model.minimum(parameters, factor, old, historical)
        parameters[historical] = found.coef
        converged = converged and found.converged
    if arrival.any():
        limits = _of_new_scores(bounds, len(parameters), int(model.X.is_new.sum()))
        parameters, again = _fit_new_scores(
            model.arrivals(), parameters, factor, arrival, limits
        )
        converged = converged and again
    if not converged:
        warn(
            ConvergenceWarning(
                "The fit of the item effects did not converge.",
                code="item-effects-not-converged",
            )
        )
    fitted = model.annotate(parameters, factor, sample.X)
    if old.any():
        calibrator = model.calibrated(parameters, calibrator)
    known = fitted.with_columns(item_covariance=covariance)
    return known, calibrator, model.voters(parameters)


def _fit_new_scores(
    model: ItemLikelihood,
    parameters: Array,
    factor: Array,
    arrival: NDArray[np.bool_],
    bounds: tuple[Array, Array],
) -> tuple[Array, bool]:
    """Fit new scores and deviations up to rounding, so that the start does not matter.

    ``model`` has the arrival rows alone, and ``arrival`` is the mask of their
    parameters. Returns all parameters, and whether the fit converged.
    """
    parameters = parameters.copy()
    if len(model.X) * np.count_nonzero(arrival) > _DENSE:
        # A dense matrix of the columns would be too large: fit from blocks by source.
        every = np.ones(len(model.X), dtype=bool)
        found = model.minimum(
            parameters, factor, every, arrival, tol=ARRIVAL_DECREMENT, bounds=bounds
        )
        parameters[arrival] = found.coef
        return parameters, found.converged
    # The logit is linear in the new scores and their deviations: a penalised logistic
    # regression, whose mean loss needs the prior divided by the sum of the weights.
    offset, columns = model.arrival_columns(parameters, factor)
    low, high = bounds
    fit = fit_logistic(
        columns,
        model.y,
        model.weight,
        offset=offset,
        penalty=model.prior(factor)[arrival] / model.weight.sum(),
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
    """Bounds of all parameters: infinite but for the new scores, which come first."""
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    low[:n_new], high[:n_new] = bounds
    return low, high
