"""The parameter vector: its layout by source, its values, and the chain rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from skanchor._model.sources import SourceRows, sigmoid
from skanchor._typing import Array

PEOPLE = 0
"""Code of people among the sources of comparisons; judges have the codes 1, 2, ..."""


LEAST_SENSITIVITY = 1e-10
"""Sensitivity below which a judge is uninformative: what is left is rounding."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Layout of the parameter vector x = (scores s, c, p, b, u).

    Here c are sensitivities, p position effects, b the coefficients of spans, and u
    item effects. People are a source like the judges. Their sensitivity is fixed at
    one, they have no position effect and no item effects, and a span only where they
    have a style.

    Attributes
    ----------
    is_new : ndarray of shape (n_items,)
        Which items, that is models or models in a context, are new.
    context : ndarray of shape (n_items,)
        Code of the context of each item; scores are zero-sum over the historical items
        of each context.
    model : ndarray of shape (n_items,)
        Code of the model of each item, which without contexts is the item. What a
        judge likes or dislikes in a model is the same in all contexts, so that item
        effects are those of models.
    widths : tuple of int
        Number of span columns of each source.
    positions : tuple of bool
        Whether each source has a position effect.
    has_item_effects : bool
        Whether judges have item effects u.
    """

    is_new: Annotated[NDArray[np.bool_], "models"]
    context: Annotated[NDArray[np.intp], "models"]
    model: Annotated[NDArray[np.intp], "models"]
    widths: tuple[int, ...]
    positions: tuple[bool, ...]
    has_item_effects: bool = False

    @cached_property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.is_new)

    @cached_property
    def n_models(self) -> int:
        """Number of models."""
        return int(self.model.max(initial=-1)) + 1

    @cached_property
    def has_contexts(self) -> bool:
        """Whether models have several items, one in each context."""
        return self.n_models < self.n_items

    @cached_property
    def n_sources(self) -> int:
        """Number of sources: people and the judges."""
        return len(self.widths)

    @cached_property
    def _edges(self) -> NDArray[np.intp]:
        n_effects = (self.n_sources - 1) * self.n_models * self.has_item_effects
        sizes = [self.n_items, *[self.n_sources] * 2, *self.widths, n_effects]
        return np.cumsum([0, *sizes])

    @cached_property
    def size(self) -> int:
        """Length of x."""
        return int(self._edges[-1])

    @cached_property
    def scores(self) -> slice:
        """Scores of the items."""
        return slice(0, self.n_items)

    @cached_property
    def sensitivities(self) -> slice:
        """Sensitivity of each source."""
        return slice(*self._edges[1:3])

    @cached_property
    def position_effects(self) -> slice:
        """Position effect of each source."""
        return slice(*self._edges[2:4])

    def span(self, source: int) -> slice:
        """Coefficients of a source's span."""
        return slice(*self._edges[3 + source : 5 + source])

    @cached_property
    def item_effects(self) -> slice:
        """Item effects: those of the first judge on all models, then of the second."""
        return slice(*self._edges[-2:])

    @cached_property
    def parameters_of(self) -> list[NDArray[np.intp]]:
        """Indices in x of the parameters that the rows of each source touch.

        Their order is that of :meth:`Fit.chain`: scores, sensitivity, position effect,
        span, item effects.
        """
        indices = []
        for source in range(self.n_sources):
            has_effects = self.has_item_effects and source != PEOPLE
            first = self.item_effects.start + (source - 1) * self.n_models
            parts = [
                self.scores,
                self.sensitivities.start + source,
                self.position_effects.start + source,
                self.span(source),
                slice(first, first + self.n_models * has_effects),
            ]
            indices.append(np.r_[tuple(parts)])
        return indices

    # ---------------------------------------------------------------------- masks of x
    def of_scores(self, items: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mask of the scores of some items."""
        mask = np.zeros(self.size, dtype=bool)
        mask[self.scores] = items
        return mask

    def of_source(self, source: int) -> NDArray[np.bool_]:
        """Mask of a source's own parameters, item effects apart.

        Those of people are their span, those of a judge its sensitivity, its position
        effect if it has one, and its span.
        """
        mask = np.zeros(self.size, dtype=bool)
        mask[self.span(source)] = True
        if source != PEOPLE:
            mask[self.sensitivities.start + source] = True
            mask[self.position_effects.start + source] = self.positions[source]
        return mask

    def of_item_effects(self, items: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mask of the effects of the models of some items under all judges."""
        mask = np.zeros(self.size, dtype=bool)
        if self.has_item_effects:
            models = np.isin(np.arange(self.n_models), self.model[items])
            mask[self.item_effects] = np.tile(models, self.n_sources - 1)
        return mask

    def bounds_of_new(self, bounds: tuple[float, float]) -> tuple[Array, Array]:
        """Lower and upper bounds of all parameters, of which new scores have these."""
        limits = np.full((2, self.size), [[-np.inf], [np.inf]])
        limits[:, self.of_scores(self.is_new)] = np.array(bounds)[:, None]
        return limits[0], limits[1]

    def by_model(self, by_item: Array) -> Array:
        """Sum of what the items of each model have, of shape (n_models, ...)."""
        if not self.has_contexts:
            return by_item
        total = np.zeros((self.n_models, *by_item.shape[1:]))
        np.add.at(total, self.model, by_item)
        return total

    @cached_property
    def estimated(self) -> NDArray[np.bool_]:
        """Mask of all parameters that rows decide, of history and of new models."""
        every = np.ones(self.n_items, dtype=bool)
        mask = self.of_scores(every) | self.of_item_effects(every)
        for source in range(self.n_sources):
            mask |= self.of_source(source)
        return mask

    @cached_property
    def centring(self) -> Array:
        """Indicators of the historical scores of each context, (n_contexts, size).

        Logits depend on differences of scores alone, so along these directions the
        information is zero. Their outer product, added to it, fixes the zero of the
        scores of each context and changes nothing else.
        """
        n_contexts = int(self.context.max(initial=0)) + 1
        rows = np.zeros((n_contexts, self.size))
        items = np.flatnonzero(~self.is_new)
        rows[self.context[items], items] = 1.0
        return rows

    @cached_property
    def targets(self) -> Array:
        """L: the score of each item, less the historical mean of its context.

        It has the shape (size, n_items).
        """
        shares = self.centring / self.centring.sum(axis=1, keepdims=True)
        unit = np.eye(self.size)[:, self.scores]
        return np.asarray(unit - shares[self.context].T)


@dataclass(frozen=True, eq=False)
class Fit:
    """Values of all parameters, and the precision of their prior.

    The logit of a row of source m is
    ``c_m (s_a - s_b) + order p_m + span' b_m + u_ma - u_mb + offset``; for people c is
    one, and p and u are zero.

    Attributes
    ----------
    layout : Layout
        Where each parameter lies in ``x``.
    x : ndarray of shape (size,)
        All parameters; scores, position effects, spans and item effects in logits.
    precision : ndarray of shape (size, size)
        Precision of the prior of x: that of the item effects, and ridges.
    converged : bool
        Whether the last minimisation met its tolerance.
    centre : ndarray of shape (size,) or float
        Centre of the prior.
    """

    layout: Layout
    x: Array
    precision: Array
    converged: bool = True
    centre: Array | float = 0.0

    @classmethod
    def start(cls, layout: Layout) -> Fit:
        """Scores of zero and sensitivities of one, without a prior."""
        x = np.zeros(layout.size)
        x[layout.sensitivities] = 1.0
        return cls(layout, x, np.zeros((layout.size, layout.size)))

    @property
    def scores(self) -> Array:
        """Score of each item."""
        return self.x[self.layout.scores]

    def sensitivity(self, source: int) -> float:
        """Sensitivity of a source; one for people."""
        return float(self.x[self.layout.sensitivities][source])

    def _has_effects(self, source: int) -> bool:
        return self.layout.has_item_effects and source != PEOPLE

    def coefficients(self, source: int) -> Array:
        """Coefficients of the local columns of a source's rows in their logits."""
        layout, x = self.layout, self.x
        by_item = self.sensitivity(source) * self.scores
        if self._has_effects(source):
            effects = x[layout.parameters_of[source][-layout.n_models :]]
            by_item = by_item + effects[layout.model]
        position = x[layout.position_effects][source]
        return np.concatenate([by_item, [position], x[layout.span(source)]])

    def logits(self, rows: SourceRows) -> Array:
        """Logit of each row."""
        return rows.logits(self.coefficients(rows.source))

    def bias(self, rows: SourceRows) -> Array:
        """Part of the logit of each row that depends on its features."""
        span = self.layout.span(rows.source)
        return np.asarray(rows.offset + rows.span @ self.x[span])

    def probabilities(self, rows: SourceRows) -> Array:
        """Probability that the left item is preferred, by row."""
        return sigmoid(self.logits(rows))

    def with_spans(self, widths: tuple[int, ...]) -> Fit:
        """The same fit with other spans, whose coefficients are zero."""
        layout = replace(self.layout, widths=widths)
        old, new = (
            np.r_[0 : one.position_effects.stop, one.item_effects]
            for one in (self.layout, layout)
        )
        fit = Fit.start(layout)
        fit.x[new] = self.x[old]
        fit.precision[np.ix_(new, new)] = self.precision[np.ix_(old, old)]
        return replace(fit, converged=self.converged)

    # ------------------------------------------------------------------ the chain rule
    def chain(self, source: int, local: Array) -> Array:
        """T' local: sums by local column, of shape (n_columns, ...), by parameter.

        T is the matrix of derivatives of the local columns' coefficients in the logit
        by the parameters: those of the items are ``c s + u``, those of order and span
        the parameters p and b themselves.
        """
        items, extra = local[: self.layout.n_items], local[self.layout.n_items :]
        parts = [self.sensitivity(source) * items, (self.scores @ items)[None], extra]
        if self._has_effects(source):
            parts.append(self.layout.by_model(items))
        return np.concatenate(parts)

    def local_weights(self, source: int, weights: Array) -> Array:
        """T weights: what weights of all parameters, (size, k), are by local column."""
        n = self.layout.n_items
        of_source = weights[self.layout.parameters_of[source]]
        items = self.sensitivity(source) * of_source[:n]
        items += np.multiply.outer(self.scores, of_source[n])
        stop = len(of_source)
        if self._has_effects(source):
            items += of_source[-self.layout.n_models :][self.layout.model]
            stop -= self.layout.n_models
        return np.concatenate([items, of_source[n + 1 : stop]])

    def gradient(self, sums: Iterable[tuple[int, Array]]) -> Array:
        """Sums by local column of several sources, added up by parameter."""
        total = np.zeros(self.layout.size)
        for source, local in sums:
            total[self.layout.parameters_of[source]] += self.chain(source, local)
        return total

    def information(self, grams: Iterable[tuple[int, Array]]) -> Array:
        """T' gram T of several sources, added up in one dense matrix."""
        total = np.zeros((self.layout.size, self.layout.size))
        for source, gram in grams:
            at = self.layout.parameters_of[source]
            half = self.chain(source, gram)
            total[at[:, None], at] += self.chain(source, half.T)
        return total

    def centred(self, information: Array) -> Array:
        """Information with the zero of the scores fixed."""
        at = self.layout.scores
        centring, centred = self.layout.centring[:, at], information.copy()
        # Of the size of the information on scores, whatever the units of other columns
        # are, so that the system is well conditioned.
        scores = information.diagonal()[at]
        # Any size will do where rows say nothing of them.
        size = float(scores.mean()) or 1.0
        centred[at, at] += size * centring.T @ centring
        return centred

    @property
    def prior_slope(self) -> Array:
        """Derivative of half the penalty of the prior, (size,)."""
        return np.asarray(self.precision @ (self.x - self.centre))

    def loss(self, sources: Sequence[SourceRows], weights: Sequence[Array]) -> float:
        """Weighted log loss of rows, and half the penalty of the prior."""
        total = 0.5 * float((self.x - self.centre) @ self.prior_slope)
        for rows, weight in zip(sources, weights, strict=True):
            total += rows.loss(weight, self.logits(rows))
        return total

    def moved(self, x: Array, converged: bool = True) -> Fit:
        """The same fit at other parameters."""
        # Called for each step of a fit; ``replace`` takes several times as long.
        return Fit(self.layout, x, self.precision, converged, self.centre)


def without_rounding(sensitivities: Array) -> Array:
    """Sensitivities with values that are rounding set to zero.

    Otherwise even the smallest one would identify scores, by rounding alone.

    Parameters
    ----------
    sensitivities : ndarray of shape (n_judges,)
        Fitted sensitivities.

    Returns
    -------
    ndarray of shape (n_judges,)
    """
    return np.where(np.abs(sensitivities) < LEAST_SENSITIVITY, 0.0, sensitivities)
