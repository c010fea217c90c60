"""Riesz weights of all scores (eq:direct-riesz-objective-v2), by one linear system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.linalg import SymmetricSystem, with_eigenvalues
from skanchor._model.sources import SourceRows, variance_of
from skanchor._typing import Array

_MISSED = 1e-5
"""Part of a target that weights miss, from which the rows leave it undetermined."""


@dataclass(frozen=True, eq=False)
class RieszWeights:
    """Weights W with (J + R) W = L, for the information J and the prior R.

    Attributes
    ----------
    fit : Fit
        Where the information was taken.
    values : ndarray of shape (size, n_items)
        W; the weight of a row of source m is its local columns times T_m W.
    undetermined : ndarray of shape (n_items,)
        Scores that the rows leave open.
    """

    fit: Fit
    values: Array
    undetermined: NDArray[np.bool_]

    def local(self, source: int) -> Array:
        """What the local columns of a source's rows are multiplied with."""
        return self.fit.local_weights(source, self.values)

    def expected_parts(self, grams: Iterable[tuple[int, Array]]) -> Array:
        """Parts of the sampling covariance if outcomes were independent votes.

        Returns
        -------
        ndarray of shape (3, n_items, n_items)
            Of people's rows, of judges' rows, and of both together, which is zero.
        """
        n_items = self.values.shape[1]
        parts = np.zeros((3, n_items, n_items))
        for source, gram in grams:
            local = self.local(source)
            parts[0 if source == PEOPLE else 1] += local.T @ gram @ local
        return parts

    @property
    def of_item_effects(self) -> Array:
        """Weights of the item effects, (n_effects, n_items)."""
        return np.asarray(self.values[self.fit.layout.item_effects])

    @property
    def prior_score(self) -> Array:
        """Correction by the prior's own score, -(R u)' W_u, of shape (n_items,)."""
        at = self.fit.layout.item_effects
        slope = self.fit.precision[at, at] @ self.fit.x[at]
        return np.asarray(-slope @ self.of_item_effects)

    @property
    def item_covariance(self) -> Array:
        """Covariance that the item effects leave in the scores, W_u' R W_u."""
        at, weights = self.fit.layout.item_effects, self.of_item_effects
        return np.asarray(weights.T @ self.fit.precision[at, at] @ weights)


@dataclass(frozen=True, eq=False)
class Information:
    """Information of all parameters with their prior, J + R, factorised once.

    Attributes
    ----------
    fit : Fit
        Where it was taken.
    at : ndarray of shape (n_estimated,)
        Parameters that rows decide.
    matrix : ndarray of shape (n_estimated, n_estimated)
        J + R of these, with the zero of the scores fixed.
    system : SymmetricSystem
        Its factor.
    grams : dict of int to ndarray of shape (n_columns, n_columns)
        By source, sum of ``weight V`` times products of the local columns of its rows.
    crosses : dict of int to ndarray of shape (n_columns, n_columns)
        The same products of the columns in the logit with those of the weights, which
        differ where functions of the features are taken off the latter.
    prior : ndarray of shape (size, size)
        R, the precision of the prior of the item effects, and ridges of spans.
    """

    fit: Fit
    at: NDArray[np.intp]
    matrix: Array
    system: SymmetricSystem
    grams: dict[int, Array]
    crosses: dict[int, Array]
    prior: Array

    @classmethod
    def of(cls, fit: Fit, grams: Iterable[tuple[int, Array]], prior: Array) -> Self:
        """Add up sources and their sums, of which a source may have several."""
        totals: dict[int, Array] = {}
        for source, gram in grams:
            totals[source] = totals[source] + gram if source in totals else gram
        whole = fit.centred(fit.information(totals.items())) + prior
        at = np.flatnonzero(fit.layout.estimated)
        matrix = whole[at[:, None], at]
        return cls(fit, at, matrix, SymmetricSystem.of(matrix), totals, totals, prior)

    @classmethod
    def of_rows(cls, fit: Fit, sources: Sequence[SourceRows], prior: Array) -> Self:
        """Add up the information of rows, which have the columns of the weights."""
        grams: list[tuple[int, Array]] = []
        crosses: dict[int, Array] = {}
        for rows in sources:
            values = rows.weight * variance_of(fit.probabilities(rows))
            grams.append((rows.source, rows.gram(values)))
            crosses[rows.source] = crosses.get(rows.source, 0.0) + rows.cross(values)
        return replace(cls.of(fit, grams, prior), crosses=crosses)

    def solve(self, right: Array) -> Array:
        """Solve for right-hand sides, (size, k); zero where rows say nothing."""
        solution = np.zeros_like(right)
        solution[self.at] = self.system.solve(right[self.at])
        return solution

    def variances(self, chosen: slice) -> Array:
        """Diagonal of the inverse at some parameters."""
        spread = np.zeros(self.layout.size)
        spread[self.at] = np.sum(self.system.inverse_root**2, axis=1)
        return spread[chosen]

    @cached_property
    def weights(self) -> RieszWeights:
        """Riesz weights of all scores."""
        targets = self.layout.targets
        values = self.solve(targets)
        # Targets are of scores alone: other columns have units of their own.
        scores = self.at < self.layout.n_items
        reached = self.matrix[scores] @ values[self.at]
        missed = np.abs(reached - targets[self.at[scores]]).max(axis=0)
        return RieszWeights(self.fit, values, missed > _MISSED)

    @property
    def layout(self) -> Layout:
        """Where each parameter lies."""
        return self.fit.layout

    def beside_span(self, source: int) -> Array:
        """Information on items and display order that a source's span leaves.

        Returns
        -------
        ndarray of shape (n_items + 1, n_items + 1)
            Zero for a source without rows.
        """
        head, at = self.layout.n_items + 1, self.layout.span(source)
        size = head + at.stop - at.start
        gram = self.grams.get(source, np.zeros((size, size)))
        cross = gram[:head, head:]
        inner = SymmetricSystem.of(gram[head:, head:] + self.prior[at, at])
        return np.asarray(gram[:head, :head] - cross @ inner.solve(cross.T))

    # -------------------------------------------------------------- single parameters
    @property
    def sensitivity_errors(self) -> Array:
        """Standard error of the sensitivity of each judge; inf without information."""
        variances = self.variances(self.layout.sensitivities)[1:]
        return np.where(variances > 0.0, np.sqrt(variances), np.inf)

    @property
    def item_effect_variances(self) -> Array:
        """Variances of the item effects given the rows, (n_judges, n_items)."""
        variances = self.variances(self.layout.item_effects)
        by_model = variances.reshape(-1, self.layout.n_models)
        return np.asarray(by_model[:, self.layout.model])

    @property
    def scale_error(self) -> float:
        """Standard error of the log of the scale of the historical scores.

        It is ``(l' J^-1 l)^(1/2)`` for ``l = theta / |theta|^2``; NaN where all scores
        are zero.
        """
        theta = np.where(self.layout.is_new, 0.0, self.fit.scores)
        square = float(theta @ theta)
        if not square > 0.0:
            return np.nan
        direction = np.zeros((self.layout.size, 1))
        direction[self.layout.scores, 0] = theta / square
        return float((direction * self.solve(direction)).sum()) ** 0.5

    @property
    def lower_bound(self) -> Array:
        """Lower bound of each score's variance, however many judge rows there are.

        ``B_l = (l'v0)^2 / (v0' J_H v0)`` of thm:human-scale-information-limit-v2, with
        v0 the direction of the scale of the scores, on which judge rows carry no
        information.
        """
        n, scores = self.layout.n_items, self.fit.scores
        moved = scores**2
        information = float(scores @ self.beside_span(PEOPLE)[:n, :n] @ scores)
        if information > 0.0:
            return np.asarray(moved / information)
        # Without votes on the scale nothing bounds what depends on it.
        return np.where(moved > 0.0, np.inf, 0.0)

    # ------------------------------------------------------------------- item effects
    @cached_property
    def item_errors(self) -> Array:
        """Errors that each item effect brings into the scores, one at a time.

        Effects of a model are made uncorrelated by the symmetric root of their
        precision.

        Returns
        -------
        ndarray of shape (n_judges, n_models, n_items)
            Products of them, summed over judges and models, are the covariance that
            item effects leave. Without item effects there are no judges.
        """
        layout, at = self.layout, self.layout.item_effects
        shape = at.stop - at.start, layout.n_models, layout.n_items
        tail = self.weights.of_item_effects.reshape(shape[0] // shape[1], *shape[1:])
        # All models have the same precision: that of the first one tells it.
        precision = self.fit.precision[at, at][:: layout.n_models, :: layout.n_models]
        root = with_eigenvalues(
            precision, lambda values: np.sqrt(np.maximum(values, 0.0))
        )
        return np.einsum("ml,lit->mit", root, tail)

    @property
    def own_item_variance(self) -> Array:
        """Variance that the effects on a model leave in its own score, (n_items,)."""
        of_model = self.item_errors[
            :, self.layout.model, np.arange(self.layout.n_items)
        ]
        return np.asarray(np.sum(of_model**2, axis=0))

    def exposures(self) -> Array:
        """Change of each score by a favour of each source for each item.

        Returns
        -------
        ndarray of shape (n_sources, n_items, n_items)
            ``sum a V (1{left = i} - 1{right = i})`` over the rows of a source, first by
            the item i and last by score.
        """
        n = self.layout.n_items
        exposures = np.zeros((self.layout.n_sources, n, n))
        for source, cross in self.crosses.items():
            exposures[source] = cross[:n] @ self.weights.local(source)
        return exposures

    @property
    def gap(self) -> Array:
        """``sum a V xi + R w - L``, what the weights leave of the identity."""
        layout, values = self.layout, self.weights.values
        reached = np.zeros_like(values)
        for source, cross in self.crosses.items():
            local = self.fit.chain(source, cross @ self.weights.local(source))
            reached[layout.parameters_of[source]] += local
        gap = reached + self.prior @ values - layout.targets
        return np.asarray(gap[self.at])
