"""What baselines take from the one likelihood: rows, free parameters, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import Comparisons
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.pipeline_fit import carried
from skanchor._model.btl_errors import LEAST_NOISE
from skanchor._model.fit import Fit
from skanchor._model.graph import components, pair_sums
from skanchor._model.influence import influence_of
from skanchor._model.layout import PEOPLE
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.newton import minimise
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows, sigmoid
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, BoundWarning
from skanchor.warning_log import warn

SCORE_BOUND = 15.0
"""Bound on the absolute score of a new model, in logits."""

EXACT = 1e-14
"""Squared Newton decrement of the last step, in squared standard errors."""

FARTHEST = 100.0
"""Bound on parameters that are fitted together: it keeps separated ones finite."""

_LOST = 1e-6
"""Largest error in J J^+ t = t by which a target t counts as determined."""


def in_mean_units(sample: Sample) -> Sample:
    """The rows with weights of mean one: decrements and squares have no unit."""
    weight = sample.weight[sample.counts]
    return sample.in_units(float(weight.mean())) if len(weight) else sample


def arrivals_of(sample: Sample) -> Sample:
    """The rows, of which only those with a new model have a weight."""
    return sample.weighted(np.where(sample.X.involves_new, sample.weight, 0.0))


def with_outcomes(sample: Sample, y: Array) -> Sample:
    """The rows with other outcomes, which need not lie in [0, 1]."""
    return replace(sample, outcomes=replace(sample.outcomes, values=y))


def laid_out(sample: Sample) -> tuple[Fit, list[SourceRows]]:
    """Parameters that rows carry, and the rows by source, with their bias fixed."""
    sample = in_mean_units(sample)
    return carried(sample.X), source_rows(sample)


def minimum(
    start: Fit,
    sources: Sequence[SourceRows],
    free: NDArray[np.bool_],
    bound: float,
    tolerance: float = EXACT,
) -> Fit:
    """Fit parameters of a mask within a bound of their size; see :func:`minimise`."""
    weights, most = [rows.weight for rows in sources], np.full(len(start.x), bound)
    fit, _ = minimise(
        start, sources, weights, free, bounds=(-most, most), tolerance=tolerance
    )
    return fit


def placed(sample: Sample, *, is_unweighted: bool = False) -> Array:
    """Scores of all models: those that rows carry, and fitted ones of new models.

    Parameters
    ----------
    sample : Sample
        Rows that carry historical scores and all that concerns judges.
    is_unweighted : bool
        Whether the sum of the residuals of each new model is zero, instead of the
        derivative of the likelihood, which weighs a residual by its judge's
        sensitivity. Judges of negative sensitivity enter with the opposite sign, so
        that there is one solution.

    Returns
    -------
    ndarray of shape (n_models,)
        NaN for a new model without rows.
    """
    fit, sources = laid_out(arrivals_of(sample))
    layout = fit.layout
    if is_unweighted:
        # A judge without any sensitivity has no say.
        slopes = np.abs(fit.x[layout.sensitivities])
        share = np.divide(1.0, slopes, out=np.zeros_like(slopes), where=slopes > 0)
        sources = [replace(r, weight=share[r.source] * r.weight) for r in sources]
    fit = minimum(fit, sources, layout.of_scores(layout.is_new), SCORE_BOUND)
    met = np.zeros(layout.n_items, dtype=bool)
    for rows in sources:
        met[rows.left] = met[rows.right] = True
    return np.where(layout.is_new & ~met, np.nan, fit.scores)


def with_new_scores(sample: Sample) -> Sample:
    """Rows that carry the scores of new models, too, as :func:`placed` finds them."""
    scores = placed(sample)
    check_scores(sample.X, scores)
    return sample.with_battles(sample.X.with_columns(scores=scores))


def check_scores(X: Comparisons, scores: Array) -> None:
    """Raise for new models without a score; warn of scores on the bounds."""
    lost = X.models[X.is_new & ~np.isfinite(scores)].tolist()
    if lost:
        raise BattlesError(
            f"New models {lost} have no comparison that joins them to the historical "
            "models, so they cannot be placed."
        )
    # Scores within a relative 1e-6 of the bound count as on it.
    far = X.is_new & (np.abs(scores) >= SCORE_BOUND * (1.0 - 1e-6))
    if far.any():
        warn(
            BoundWarning(
                f"Scores of new models {X.models[far].tolist()} lie on the bounds "
                f"{(-SCORE_BOUND, SCORE_BOUND)}: they won or lost every comparison.",
                code="new-scores-at-bound",
                subject=X.models[far],
            )
        )


def common_scores(sample: Sample, slopes: Array, btl: BTLRegressor) -> Array:
    """BTL scores of all rows together, centred over the historical models.

    Parameters
    ----------
    sample : Sample
        The rows.
    slopes : ndarray of shape (n_judges,)
        Factors of the score differences in the logits of judges.
    btl : BTLRegressor
        Its ridge and bound are used.

    Returns
    -------
    ndarray of shape (n_models,)
        NaN for models that nothing connects with the historical ones. A score that
        the rows do not limit lies on the bound.
    """
    X = sample.X.with_columns(sensitivities=slopes, position_effects=None, biases=None)
    fit, sources = laid_out(sample.with_battles(X))
    layout = fit.layout
    free = layout.of_scores(np.ones(layout.n_items, dtype=bool))
    ridge = btl.alpha * sum(float(rows.weight.sum()) for rows in sources)
    fit = replace(fit, precision=np.diag(ridge * free))
    fit = minimum(fit, sources, free, btl.score_bound)
    part, old = components(wins_of(sample, sample.counts) > 0, "weak"), ~layout.is_new
    scores = np.where(part == part[old][0], fit.scores, np.nan)
    return np.asarray(scores - scores[old].mean())


def sandwich(
    fit: Fit, sources: Sequence[SourceRows], free: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """Sandwich covariance of all scores, from the influence of rows or groups.

    Parameters
    ----------
    fit : Fit
        The maximum of the likelihood.
    sources : sequence of SourceRows
        The rows.
    free : ndarray of shape (size,)
        Mask of the parameters that were fitted.

    Returns
    -------
    covariance : ndarray of shape (n_models, n_models)
    undetermined : ndarray of shape (n_models,)
        Scores that the rows do not determine, or of whose error they show nothing:
        every outcome is what the fit predicts, or residuals cancel within groups.
    """
    layout, grams, squares = fit.layout, [], []
    mixed = np.zeros((layout.size, layout.size))
    for rows in sources:
        p = fit.probabilities(rows)
        grams.append((rows.source, rows.information(rows.weight, p)))
        squares.append((rows.source, rows.gram(rows.weight**2 * p * (1.0 - p))))
        # The coefficients c s of the items have a second derivative by c and s, which
        # the residuals multiply. People's c is one.
        if rows.source != PEOPLE:
            slope = layout.sensitivities.start + rows.source
            residual = rows.weight * (rows.y - p)
            mixed[layout.scores, slope] += rows.sums(residual)[: layout.n_items]
    # J, minus the second derivative of the log likelihood of all parameters.
    second = fit.penalised(fit.information(grams)) - mixed - mixed.T
    at = np.flatnonzero(free)
    second, targets = second[at[:, None], at], layout.targets[at]
    values = np.zeros((layout.size, layout.n_items))
    values[at] = SymmetricSystem.of(second).solve(targets)
    undetermined = np.abs(second @ values[at] - targets).max(axis=0) > _LOST
    weights = RieszWeights(fit, values, undetermined)
    # Rows of a group depend on each other: their influences are summed, then squared.
    covariance = influence_of(weights, sources, 0).parts.sum(axis=0)
    independent = weights.expected_parts(squares).sum(axis=0).diagonal()
    noiseless = covariance.diagonal() <= LEAST_NOISE * independent
    return covariance, undetermined | (noiseless & (independent > 0))


def wins_of(sample: Sample, rows: NDArray[np.bool_]) -> Array:
    """(Half) wins of the row model over the column model, (n_models, n_models)."""
    X, rows = sample.X, rows & sample.counts
    sides, size = (X.left[rows], X.right[rows]), len(X.models)
    weight, y = sample.weight[rows], sample.y[rows]
    won = pair_sums(*sides, weight * y, size)
    return won + pair_sums(*sides, weight * (1.0 - y), size).T


def mean_residual(sample: Sample, rows: NDArray[np.bool_]) -> float:
    """Mean of outcome minus ``sigma(score difference)``, rows as recorded."""
    rows = rows & sample.counts
    gap = sample.X.score_differences[rows]
    return float(np.average(sample.y[rows] - sigmoid(gap), weights=sample.weight[rows]))
