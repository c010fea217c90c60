"""The covariance of item effects, by expectation and maximisation on historical rows.

The likelihood is expanded to second order around the mode of all parameters, and all
but the item effects are profiled out. The posterior moments of the effects are then
known (Laplace), and give a next covariance, which is pulled to the prior and shrunk
towards equal judges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import Fit
from skanchor._model.item_effects import (
    LARGEST,
    LEAST,
    ItemCovariance,
    ItemPrior,
    count_independent,
    precision_of,
    shrunk,
    signs_of,
    with_item_effects,
)
from skanchor._model.linalg import SymmetricSystem, with_eigenvalues
from skanchor._model.newton import grams_of, minimise
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

TOLERANCE, ENOUGH = 3e-5, 1e-2
"""Change of Sigma by a step that ends the iteration, and below which it has converged
where it takes too long: in units of variances of single effects with their sampling
error, so that little depends on it, however small Sigma is."""

MODE_TOLERANCE = 1e-8
"""Squared Newton decrement of the last step to a mode around which the likelihood is
expanded, in squared standard errors."""

MOST_EXPANSIONS, MOST_STEPS, MEMORY = 20, 100, 10
"""Most expansions of the likelihood, most steps by one of them, and how many past steps
enter the extrapolation of one."""

WORSE, SLOW = 2.0, 5.0
"""Factor by which a change may exceed the least one so far; and of the tolerance where
steps are plain."""

NEAR, ALIKE = 0.1, 0.1
"""Relative change of Sigma below which steps are extrapolated: far from the limit the
past says little of what follows. And the size of past changes that are told apart, in
that of all."""


def estimate_covariance(
    fit: Fit,
    sources: Sequence[SourceRows],
    bounds: tuple[Array, Array],
    prior: ItemPrior,
) -> ItemCovariance:
    """Estimate the covariance of the item effects from the historical rows.

    Parameters
    ----------
    fit : Fit
        Fitted to the historical rows without item effects, beside effects of zero.
    sources : sequence of SourceRows
        Rows; those of new models are not used.
    bounds : tuple of ndarray
        Lower and upper bounds of all parameters.
    prior : ItemPrior
        Prior of the size.

    Returns
    -------
    ItemCovariance
        Without what its estimation adds.
    """
    at = fit.layout.sensitivities
    turn = signs_of(fit.x[at][1:])
    sigma = prior.covariance(len(turn)) * np.outer(turn, turn)
    past: list[tuple[Array, Array]] | None = []
    for _ in range(MOST_EXPANSIONS):
        past, n_steps = None if past is None else [], 0
        fit, effects, information, beside_spans = expanded(fit, sources, bounds, sigma)
        # The mode of the effects solves (S + R) u = target, whatever their prior R is.
        n_models = effects.size // len(sigma)
        target = (information + precision_of(sigma, n_models)) @ effects
        while n_steps < MOST_STEPS:
            moments, spread = posterior(information, target, sigma)
            after, change = _most_likely(sigma, moments, spread, fit.x[at][1:], prior)
            ahead, past = _extrapolated(past, sigma, after)
            n_steps += 1
            if change <= TOLERANCE * (SLOW if past is None else 1.0):
                break
            sigma = ahead
        # It has converged if this is so at the mode, too, where the first step is.
        if n_steps in (1, MOST_STEPS) or not fit.converged:
            break
    # Features that tell models apart explain a part of the effects. What remains is the
    # number of effects that rows show beside spans, over that without spans.
    inverse = np.linalg.inv(sigma)
    shown, alone = (
        effects.size - float(np.vdot(inverse, posterior(one, target, sigma)[1]))
        for one in (information, beside_spans)
    )
    free = (n_models - 2.0) * (shown / alone if alone > 0.0 else 1.0) + prior.df
    converged = change <= ENOUGH and fit.converged
    return ItemCovariance(after, fit.x[at][1:], n_models, free, converged=converged)


def expanded(
    fit: Fit, sources: Sequence[SourceRows], bounds: tuple[Array, Array], sigma: Array
) -> tuple[Fit, Array, Array, Array]:
    """Expand the likelihood of historical rows around the mode under a covariance.

    Parameters
    ----------
    fit : Fit
        Where to start.
    sources, bounds
        As in :func:`estimate_covariance`.
    sigma : ndarray of shape (n_judges, n_judges)
        The covariance.

    Returns
    -------
    fit : Fit
        The mode.
    effects : ndarray of shape (n_effects,)
        Effects of all judges on historical models there.
    information, beside_spans : ndarray of shape (n_effects, n_effects)
        Information of the rows on them, all else profiled out; and all but the spans,
        as if these were known.
    """
    sources = [rows for rows in sources if not rows.is_new]
    weights = [rows.weight for rows in sources]
    start = with_item_effects(fit, sigma)
    layout, is_old = start.layout, ~start.layout.is_new
    is_effect = layout.of_item_effects(is_old)
    free, spans = layout.of_scores(is_old) | is_effect, np.zeros_like(is_effect)
    # Rows decide the parameters of their sources.
    for rows in sources:
        free |= layout.of_source(rows.source)
        spans[layout.span(rows.source)] = True
    fit, _ = minimise(
        start, sources, weights, free, bounds=bounds, tolerance=MODE_TOLERANCE
    )
    matrix, at = fit.information(grams_of(fit, sources, weights)), np.flatnonzero
    effects = at(is_effect)
    inner = matrix[effects[:, None], effects]
    matrix, (low, high) = fit.centred(matrix) + fit.precision, bounds
    others = free & ~is_effect & (low < fit.x) & (fit.x < high)

    def beside(profiled: NDArray[np.bool_]) -> Array:
        other = at(profiled)
        cross = matrix[other[:, None], effects]
        system = SymmetricSystem.of(matrix[other[:, None], other])
        return np.asarray(inner - cross.T @ system.solve(cross))

    return fit, fit.x[effects], beside(others), beside(others & ~spans)


def posterior(information: Array, target: Array, sigma: Array) -> tuple[Array, Array]:
    """Posterior moments of the effects under a covariance.

    Their modes, (n_judges, n_models), and their covariance, (n_judges, n_judges),
    summed over models.
    """
    n_judges = len(sigma)
    precision = precision_of(sigma, len(target) // n_judges)
    system = SymmetricSystem.of(information + precision)
    by_judge = system.inverse_root.reshape(n_judges, -1)
    return system.solve(target).reshape(n_judges, -1), by_judge @ by_judge.T


def _most_likely(
    sigma: Array, effects: Array, spread: Array, slopes: Array, prior: ItemPrior
) -> tuple[Array, float]:
    """Sigma that is most likely under posterior moments at another, and their distance.

    The moments are those of :func:`posterior`; the distance is in the units of
    ``TOLERANCE``.
    """
    n_models = effects.shape[1]
    sums = effects @ effects.T + spread
    # Judges of negative sensitivity dislike what people like. Their effects are turned
    # round, since Sigma is shrunk towards a positive common correlation.
    turn = signs_of(slopes)
    turned = np.outer(turn, turn)
    scale = np.sqrt(np.maximum(sums.diagonal(), LEAST))
    correlation = turned * sums / np.outer(scale, scale)
    n_judges = count_independent(correlation)
    variances = prior.variances(sums.diagonal(), n_models, n_judges)
    # Share of the variance of an effect that rows remove. The rest of posterior moments
    # is that of Sigma, which is shrunk already.
    shown = max(1.0 - float(spread.trace() / (n_models * sigma.trace())), 0.0)
    after = turned * shrunk(variances, correlation, n_models, shown)
    unit = np.sqrt(sigma.diagonal())
    relative = float(np.abs((after - sigma) / np.outer(unit, unit)).max())
    return after, min(1.0, shown * relative)


def _extrapolated(
    past: list[tuple[Array, Array]] | None, sigma: Array, after: Array
) -> tuple[Array, list[tuple[Array, Array]] | None]:
    """The next Sigma, once a step has led from one to another; and the past with it.

    Far from the limit a step goes where it leads. Near it plain steps are slow where
    rows say little of a variance or a correlation; Anderson's extrapolation of past
    steps is not. Where that goes wrong the past is None, and steps are plain from there
    on, also on a later expansion: what ends them must be the same.
    """
    # All symmetric matrices are the logarithm of a covariance.
    point, end = (
        with_eigenvalues(one, lambda values: np.log(np.maximum(values, LEAST**2)))
        for one in (sigma, after)
    )
    residual = end - point
    norm, sizes = np.abs(residual).max(), [np.abs(one).max() for _, one in past or ()]
    if past is None or norm > WORSE * min(sizes, default=np.inf):
        return after, None
    if past and norm <= NEAR:
        # Affine combination of the points with the smallest residual. A ridge keeps the
        # difference of nearly equal changes from being taken for a direction, and
        # unlike a cut it does not amplify rounding.
        recent = past[1 - MEMORY :]
        moves = np.array([(one - point).ravel() for one, _ in recent])
        changes = np.array([(one - residual).ravel() for _, one in recent])
        gram = changes @ changes.T
        gram[np.diag_indices_from(gram)] *= 1.0 + ALIKE**2 * len(gram)
        mixture = np.linalg.solve(gram, -changes @ residual.ravel())
        end = end + (mixture @ (moves + changes)).reshape(point.shape)
    # Within the limits of variances.
    limits = LEAST / 100.0, LARGEST * len(sigma)
    ahead = with_eigenvalues(end, lambda values: np.clip(np.exp(values), *limits))
    return ahead, [*past, (point, residual)]
