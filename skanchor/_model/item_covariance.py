"""The covariance of item effects, by expectation and maximisation on historical rows.

The likelihood is expanded to second order around the mode of all parameters. There the
posterior moments of the effects are known (Laplace), and give a next covariance, which
is pulled to the prior and shrunk towards equal judges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skanchor._model.fit import Fit
from skanchor._model.item_effects import (
    LARGEST,
    LEAST,
    ItemCovariance,
    ItemPrior,
    count_independent,
    inverse_of,
    precision_of,
    shrunk,
    signs_of,
    with_item_effects,
)
from skanchor._model.linalg import SymmetricSystem, with_eigenvalues
from skanchor._model.newton import Hessian, grams_of, minimise
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


def estimate_covariance(history: RowsOfHistory, prior: ItemPrior) -> ItemCovariance:
    """Estimate the covariance of the item effects from the historical rows.

    Parameters
    ----------
    history : RowsOfHistory
        The rows.
    prior : ItemPrior
        Prior of the size.

    Returns
    -------
    ItemCovariance
        Without what its estimation adds.
    """
    turn = signs_of(history.fit.x[history.fit.layout.sensitivities][1:])
    sigma = prior.covariance(len(turn)) * np.outer(turn, turn)
    is_mode, n_expansions = history.expand(sigma), 1
    past: list[tuple[Array, Array]] | None = []
    n_steps = 0
    while True:
        effects, spread, slopes = history.posterior(sigma)
        after, change = _most_likely(sigma, effects, spread, slopes, prior)
        ahead, past = _extrapolated(past, sigma, after)
        n_steps += 1
        if change <= TOLERANCE * (SLOW if past is None else 1.0):
            # It has converged if this is so at the mode, too, where the first step is.
            if n_steps == 1 or not is_mode or n_expansions == MOST_EXPANSIONS:
                break
            is_mode, n_expansions = history.expand(sigma), n_expansions + 1
            past, n_steps = None if past is None else [], 0
        elif n_steps == MOST_STEPS:
            break
        else:
            sigma = ahead
    # Features that tell models apart explain a part of the effects. What remains is the
    # number of effects that rows show beside spans, over that without spans.
    inverse, n_models = np.linalg.inv(sigma), effects.shape[1]
    shown, alone = (
        effects.size - float(np.vdot(inverse, one))
        for one in (spread, history.spread_without_spans(sigma))
    )
    share = shown / alone if alone > 0.0 else 1.0
    return ItemCovariance(
        after,
        slopes,
        n_models,
        (n_models - 2.0) * share + prior.df,
        converged=change <= ENOUGH and is_mode,
    )


def _most_likely(
    sigma: Array, effects: Array, spread: Array, slopes: Array, prior: ItemPrior
) -> tuple[Array, float]:
    """Sigma that is most likely under posterior moments at another, and their distance.

    The moments are those of :meth:`RowsOfHistory.posterior`; the distance is in the
    units of ``TOLERANCE``.
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
    if sizes and norm > WORSE * min(sizes):
        past = None
    if past and norm <= NEAR:
        # Affine combination of the points with the smallest residual. A ridge keeps the
        # difference of nearly equal changes from being taken for a direction, and
        # unlike a cut it does not amplify rounding.
        recent = past[1 - MEMORY :]
        moves = np.array([(one - point).ravel() for one, _ in recent])
        changes = np.array([(one - residual).ravel() for _, one in recent])
        lengths = np.linalg.norm(changes, axis=1)
        scaled = changes.T / lengths
        gram = scaled.T @ scaled
        gram += np.diag(np.full(len(gram), ALIKE**2 * len(gram)))
        mixture = np.linalg.solve(gram, -scaled.T @ residual.ravel()) / lengths
        end = end + (mixture @ (moves + changes)).reshape(point.shape)
    # Within the limits of variances.
    limits = LEAST / 100.0, LARGEST * len(sigma)
    ahead = with_eigenvalues(end, lambda values: np.clip(np.exp(values), *limits))
    return ahead, past if past is None else [*past, (point, residual)]


class RowsOfHistory:
    """Likelihood of historical rows by source.

    Parameters
    ----------
    fit : Fit
        Fitted to the historical rows without item effects, beside effects of zero.
    sources : sequence of SourceRows
        Rows; those of new models are not used.
    bounds : tuple of ndarray
        Lower and upper bounds of all parameters.
    """

    def __init__(
        self,
        fit: Fit,
        sources: Sequence[SourceRows],
        bounds: tuple[Array, Array],
    ):
        self.fit = fit
        self.sources = [rows for rows in sources if not rows.is_new]
        self.weights = [rows.weight for rows in self.sources]
        self.bounds = bounds
        self.information: Array | None = None
        layout = self.fit.layout
        is_old, self.spans = ~layout.is_new, np.zeros(layout.size, dtype=bool)
        self.at_effects = layout.of_item_effects(is_old)
        self.free = layout.of_scores(is_old) | self.at_effects
        # Rows decide the parameters of their sources.
        for rows in self.sources:
            self.free |= layout.of_source(rows.source)
            self.spans[layout.span(rows.source)] = True

    def expand(self, sigma: Array) -> bool:
        """Expand around the mode under a covariance."""
        start, hessian = with_item_effects(self.fit, sigma), None
        rows = self.sources, self.weights
        if self.information is not None:
            at = np.flatnonzero(self.free)
            hessian = Hessian(start.penalised(self.information)[at[:, None], at])
        self.fit, _ = minimise(
            start, *rows, self.free,
            bounds=self.bounds, hessian=hessian, tolerance=MODE_TOLERANCE,
        )  # fmt: skip
        self.information = self.fit.information(grams_of(self.fit, *rows))
        # All but the prior of the item effects is the same under every covariance.
        x, (low, high) = self.fit.x, self.bounds
        self.at = np.flatnonzero(self.free & (low < x) & (x < high))
        matrix = self.fit.centred(self.information)
        others = slice(0, self.fit.layout.item_effects.start)
        matrix[others, others] += self.fit.precision[others, others]
        self.matrix = matrix[self.at[:, None], self.at]
        self.precision = inverse_of(sigma)
        return self.fit.converged

    def posterior(self, sigma: Array) -> tuple[Array, Array, Array]:
        """Posterior moments of the effects under a covariance.

        Their modes, (n_judges, n_models), their covariance, (n_judges, n_judges),
        summed over models, and the sensitivities at the mode of all parameters.
        """
        system, spread = self._system(sigma, self.matrix.copy())
        x, shape = self.fit.x.copy(), (len(sigma), -1)
        gradient = np.zeros(len(x))
        # At the mode the gradient of the rows is minus that of its prior.
        change = inverse_of(sigma) - self.precision
        gradient[self.at_effects] = (change @ x[self.at_effects].reshape(shape)).ravel()
        x[self.at] -= system.solve(gradient[self.at])
        slopes = x[self.fit.layout.sensitivities][1:]
        return x[self.at_effects].reshape(shape), spread, slopes

    def spread_without_spans(self, sigma: Array) -> Array:
        """Covariance of the effects, as in `posterior`, if spans were known."""
        is_other = ~self.spans[self.at]
        return self._system(sigma, self.matrix[is_other][:, is_other])[1]

    def _system(self, sigma: Array, matrix: Array) -> tuple[SymmetricSystem, Array]:
        """Posterior information, from that without the prior, which is changed.

        And the covariance of the effects on a model, summed over models.
        """
        n_effects = int(self.at_effects.sum())
        # Item effects come last, by judge and model.
        last = slice(len(matrix) - n_effects, None)
        matrix[last, last] += precision_of(sigma, n_effects // len(sigma))
        system = SymmetricSystem.of(matrix)
        by_judge = system.inverse_root_of_last(n_effects).reshape(len(sigma), -1)
        return system, by_judge @ by_judge.T
