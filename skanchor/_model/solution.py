"""Riesz weights of all rows, and what the same information says of the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.riesz import Information, RieszWeights
from skanchor._model.sources import SourceRows, variance_of
from skanchor._typing import Array


@dataclass(frozen=True, eq=False)
class Solution:
    """The Riesz system of all rows, solved for all scores.

    Attributes
    ----------
    information : Information
        Of all parameters.
    weights : RieszWeights
        Of all scores.
    grams : dict of int to ndarray of shape (n_columns, n_columns)
        By source, sum of ``weight V`` times products of the local columns of its rows.
    crosses : dict of int to ndarray of shape (n_columns, n_columns)
        The same products of the columns in the logit with those of the weights, which
        differ where functions of the features are taken off the latter.
    prior : ndarray of shape (size, size)
        Precision of the prior of the item effects, and ridges of spans.
    """

    information: Information
    weights: RieszWeights
    grams: dict[int, Array]
    crosses: dict[int, Array]
    prior: Array

    @classmethod
    def of(cls, fit: Fit, sources: Sequence[SourceRows], prior: Array) -> Self:
        """Solve for the weights of rows, which have the columns of the weights."""
        grams: dict[int, Array] = {}
        crosses: dict[int, Array] = {}
        for rows in sources:
            values = rows.weight * variance_of(fit.probabilities(rows))
            gram, cross = rows.gram(values), rows.cross(values)
            grams[rows.source] = grams.get(rows.source, 0.0) + gram
            crosses[rows.source] = crosses.get(rows.source, 0.0) + cross
        return cls.of_grams(fit, grams, prior, crosses)

    @classmethod
    def of_grams(
        cls,
        fit: Fit,
        grams: dict[int, Array],
        prior: Array,
        crosses: dict[int, Array] | None = None,
    ) -> Self:
        """Solve for the weights from sums over rows."""
        information = Information.of(fit, grams.items(), prior)
        return cls(information, information.weights(), grams, crosses or grams, prior)

    @property
    def fit(self) -> Fit:
        """Where the information was taken."""
        return self.information.fit

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
        head = self.layout.n_items + 1
        gram = self.grams.get(source)
        if gram is None:
            return np.zeros((head, head))
        at = self.layout.span(source)
        cross = gram[:head, head:]
        inner = SymmetricSystem.of(gram[head:, head:] + self.prior[at, at])
        return np.asarray(gram[:head, :head] - cross @ inner.solve(cross.T))

    # -------------------------------------------------------------- single parameters
    @property
    def sensitivity_errors(self) -> Array:
        """Standard error of the sensitivity of each judge; inf without information."""
        variances = self.information.variances(self.layout.sensitivities)[1:]
        return np.where(variances > 0.0, np.sqrt(variances), np.inf)

    @property
    def item_effect_variances(self) -> Array:
        """Variances of the item effects given the rows, (n_judges, n_items)."""
        variances = self.information.variances(self.layout.item_effects)
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
        return float((direction * self.information.solve(direction)).sum()) ** 0.5

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
    def _standardised(self) -> Array:
        """Change of each score by one standard deviation of an effect of a model.

        Of shape (n_judges, n_models, n_items). Effects of a model are made uncorrelated
        by the symmetric root of their precision.
        """
        layout = self.layout
        tail = self.weights.of_item_effects
        tail = tail.reshape(-1, layout.n_models, tail.shape[-1])
        at = layout.item_effects
        # All models have the same precision: that of the first one tells it.
        precision = self.fit.precision[at, at][:: layout.n_models, :: layout.n_models]
        values, vectors = np.linalg.eigh(precision)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return np.einsum("ml,lit->mit", root, tail)

    @property
    def item_errors(self) -> Array | None:
        """Errors that each item effect brings into the scores, one at a time.

        Returns
        -------
        ndarray of shape (n_judges, n_models, n_items) or None
            Products of them, summed over judges and models, are the covariance that
            item effects leave. None without item effects.
        """
        return self._standardised if self.layout.has_item_effects else None

    @property
    def own_item_variance(self) -> Array:
        """Variance that the effects on a model leave in its own score, (n_items,)."""
        layout = self.layout
        if not layout.has_item_effects:
            return np.zeros(layout.n_items)
        each = np.arange(layout.n_items)
        own = self._standardised[:, layout.model, each]
        return np.asarray(np.sum(own**2, axis=0))

    def exposures(self) -> Array:
        """Change of each score by a favour of each source for each item.

        Returns
        -------
        ndarray of shape (n_sources, n_items, n_items)
            ``sum a V (1{left = i} - 1{right = i})`` over the rows of a source, first by
            the item i and last by score.
        """
        n = self.layout.n_items
        found = np.zeros((self.layout.n_sources, n, n))
        for source, cross in self.crosses.items():
            found[source] = cross[:n] @ self.weights.local(source)
        return found

    @property
    def gap(self) -> Array:
        """``sum a V xi + R w - L``, what the weights leave of the identity."""
        sums = (
            (source, cross @ self.weights.local(source))
            for source, cross in self.crosses.items()
        )
        layout, values = self.layout, self.weights.values
        reached = np.zeros_like(values)
        for source, local in sums:
            reached[layout.parameters_of[source]] += self.fit.chain(source, local)
        gap = reached + self.prior @ values - layout.targets
        return np.asarray(gap[self.information.at])
