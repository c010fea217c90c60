"""The covariance of item effects, by expectation and maximisation on historical rows.

The likelihood is expanded to second order around the mode of all parameters. There the
posterior moments of the effects are known (Laplace), and give a next covariance, which
is pulled to the prior and shrunk towards equal judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import Fit
from skanchor._model.item_effects import (
    LARGEST,
    LEAST,
    ItemCovariance,
    ItemPrior,
    count_independent,
    shrunk,
    signs_of,
    with_item_effects,
)
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.newton import Hessian, minimise
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

TOLERANCE, ENOUGH = 3e-5, 1e-2
"""Change of Sigma by a step that ends the iteration, and below which it has converged
where it takes too long: in units of variances of single effects with their sampling
error, so that little depends on it, however small Sigma is."""

MODE_TOLERANCE = 1e-8
"""Squared Newton decrement of the last step to a mode around which the likelihood is
expanded, in squared standard errors."""

WORSE, SLOW = 2.0, 5.0
"""Factor by which a residual may be longer than the shortest one so far; and of the
tolerance where steps are plain."""

MOST_EXPANSIONS, MOST_STEPS, MEMORY = 20, 100, 10
"""Most expansions of the likelihood, most steps by one of them, and how many past steps
enter the extrapolation of one."""

NEAR, ALIKE = 0.1, 0.1
"""Relative change of Sigma below which steps are extrapolated: far from the limit the
past says little of what follows. And the size of past changes that are told apart, in
that of all."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Item effects of the historical models under one covariance.

    Attributes
    ----------
    effects : ndarray of shape (n_judges, n_models)
        Where the likelihood of all parameters has its mode.
    spread : ndarray of shape (n_judges, n_judges)
        Their covariance, summed over models.
    slopes : ndarray of shape (n_judges,)
        Sensitivities at the mode.
    """

    effects: Array
    spread: Array
    slopes: Array

    def shown(self, sigma: Array) -> float:
        """Share of the variance of an effect under ``sigma`` that rows remove."""
        left = self.spread.trace() / (self.effects.shape[1] * sigma.trace())
        return max(1.0 - float(left), 0.0)

    def maximised(self, sigma: Array, prior: ItemPrior) -> Array:
        """Sigma that is most likely, under moments that were taken at ``sigma``."""
        n_models = self.effects.shape[1]
        sums = self.effects @ self.effects.T + self.spread
        # Judges of negative sensitivity dislike what people like. Their effects are
        # turned round, since Sigma is shrunk towards a positive common correlation.
        turn = signs_of(self.slopes)
        turned = np.outer(turn, turn)
        scale = np.sqrt(np.maximum(sums.diagonal(), LEAST))
        correlation = turned * sums / np.outer(scale, scale)
        variances = prior.variances(
            sums.diagonal(), n_models, count_independent(correlation)
        )
        # Posterior moments are in part those of Sigma, which is shrunk already.
        shown = self.shown(sigma)
        return turned * shrunk(variances, correlation, n_models, shown)

    def change(self, sigma: Array, after: Array) -> float:
        """Size of a step from ``sigma``, in the units of ``TOLERANCE``."""
        scale = np.sqrt(sigma.diagonal())
        relative = np.abs((after - sigma) / np.outer(scale, scale)).max()
        return min(1.0, self.shown(sigma) * float(relative))


def estimate_covariance(
    history: RowsOfHistory, slopes: Array, prior: ItemPrior
) -> ItemCovariance:
    """Estimate the covariance of the item effects from the historical rows.

    Parameters
    ----------
    history : RowsOfHistory
        The rows.
    slopes : ndarray of shape (n_judges,)
        Sensitivities of a fit without item effects.
    prior : ItemPrior
        Prior of the size.

    Returns
    -------
    ItemCovariance
        Without what its estimation adds.
    """
    turn = signs_of(slopes)
    sigma = prior.covariance(len(turn)) * np.outer(turn, turn)
    is_mode, path, n_expansions = history.expand(sigma), _Path(), 1
    while True:
        found = history.posterior(sigma)
        after = found.maximised(sigma, prior)
        change = found.change(sigma, after)
        ahead = path.step(sigma, after)
        if change <= path.tolerance:
            # It has converged if this is so at the mode, too, where the first step is.
            if path.n_steps == 1 or not is_mode or n_expansions == MOST_EXPANSIONS:
                break
            is_mode, path = history.expand(sigma), _Path(path.is_plain)
            n_expansions += 1
        elif path.n_steps == MOST_STEPS:
            break
        else:
            sigma = ahead
    n_models = found.effects.shape[1]
    # Features that tell models apart explain a part of the effects. What remains is the
    # number of effects that rows show beside spans, over that without spans.
    inverse = np.linalg.inv(sigma)
    shown, alone = (
        len(sigma) * n_models - float(np.vdot(inverse, spread))
        for spread in (found.spread, history.spread_without_spans(sigma))
    )
    share = shown / alone if alone > 0.0 else 1.0
    return ItemCovariance(
        after,
        found.slopes,
        n_models,
        (n_models - 2.0) * share + prior.df,
        converged=change <= ENOUGH and is_mode,
    )


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
        """Expand around the mode under a covariance, see :class:`History`."""
        start, hessian = with_item_effects(self.fit, sigma), None
        if self.information is not None:
            at = np.flatnonzero(self.free)
            hessian = Hessian(start.penalised(self.information)[at[:, None], at])
        self.fit, _ = minimise(
            start,
            self.sources,
            self.weights,
            self.free,
            bounds=self.bounds,
            hessian=hessian,
            tolerance=MODE_TOLERANCE,
        )
        self.information = self.fit.information(
            (rows.source, rows.information(weight, self.fit.probabilities(rows)))
            for rows, weight in zip(self.sources, self.weights, strict=True)
        )
        return self.fit.converged

    def posterior(self, sigma: Array) -> Posterior:
        """Posterior under a covariance, see :class:`History`."""
        fit = with_item_effects(self.fit, sigma)
        at, root = self._root(fit, self.free)
        # At the mode the gradient of the rows is minus that of its prior.
        gradient = ((fit.precision - self.fit.precision) @ fit.x)[at]
        x = fit.x.copy()
        x[at] -= root @ (root.T @ gradient)
        return Posterior(
            x[self.at_effects].reshape(len(sigma), -1),
            self._spread(at, root, len(sigma)),
            x[fit.layout.sensitivities][1:],
        )

    def spread_without_spans(self, sigma: Array) -> Array:
        """Spread if spans were known, see :class:`History`."""
        fit = with_item_effects(self.fit, sigma)
        return self._spread(*self._root(fit, self.free & ~self.spans), len(sigma))

    def _root(
        self, fit: Fit, free: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp], Array]:
        """Free parameters that are not on a bound, and a root of their covariance."""
        low, high = self.bounds
        at = np.flatnonzero(free & (low < fit.x) & (fit.x < high))
        assert self.information is not None
        matrix = fit.penalised(self.information)[at[:, None], at]
        return at, SymmetricSystem.of(matrix).inverse_root

    def _spread(self, at: NDArray[np.intp], root: Array, n_judges: int) -> Array:
        """Covariance of the effects on a model, summed over models."""
        by_judge = root[self.at_effects[at]].reshape(n_judges, -1)
        return by_judge @ by_judge.T


def _logarithm(sigma: Array) -> Array:
    """Matrix logarithm: all symmetric matrices are one of a covariance."""
    values, vectors = np.linalg.eigh(sigma)
    return np.asarray((vectors * np.log(np.maximum(values, LEAST**2))) @ vectors.T)


def _exponential(logarithm: Array) -> Array:
    """Covariance of a matrix logarithm, within the limits of variances."""
    values, vectors = np.linalg.eigh(logarithm)
    limits = LEAST / 100.0, LARGEST * len(values)
    return np.asarray((vectors * np.clip(np.exp(values), *limits)) @ vectors.T)


class _Path:
    """Steps of a fixed-point iteration for Sigma, and where to go next.

    Far from the limit a step goes where it leads. Near it plain steps are slow where
    rows say little of a variance or a correlation; Anderson's extrapolation of past
    steps is not. Where that goes wrong, steps are plain from there on, also on a later
    expansion: what ends them must be the same.
    """

    def __init__(self, is_plain: bool = False) -> None:
        self.points: list[Array] = []
        self.residuals: list[Array] = []
        self.n_steps, self.shortest, self.is_plain = 0, np.inf, is_plain

    @property
    def tolerance(self) -> float:
        """Change of Sigma that ends the iteration."""
        return SLOW * TOLERANCE if self.is_plain else TOLERANCE

    def step(self, sigma: Array, after: Array) -> Array:
        """The next Sigma, once a step has led from one to another."""
        point = _logarithm(sigma)
        residual = _logarithm(after) - point
        norm = float(np.abs(residual).max())
        self.is_plain |= norm > WORSE * self.shortest
        self.shortest = min(self.shortest, norm)
        self.n_steps += 1
        self.points = [*self.points[1 - MEMORY :], point]
        self.residuals = [*self.residuals[1 - MEMORY :], residual]
        if self.n_steps == 1 or self.is_plain or norm > NEAR:
            return _exponential(point + residual)
        # Affine combination of the points with the smallest residual. A ridge keeps
        # the difference of nearly equal changes from being taken for a direction, and
        # unlike a cut it does not amplify rounding.
        moves = np.array([(past - point).ravel() for past in self.points[:-1]])
        changes = np.array([(past - residual).ravel() for past in self.residuals[:-1]])
        sizes = np.linalg.norm(changes, axis=1)
        scaled = changes.T / sizes
        gram = scaled.T @ scaled
        gram += np.diag(np.full(len(gram), ALIKE**2 * len(gram)))
        mixture = np.linalg.solve(gram, -scaled.T @ residual.ravel()) / sizes
        ahead = mixture @ (moves + changes)
        return _exponential(point + residual + ahead.reshape(point.shape))
