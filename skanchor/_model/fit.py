"""Parameters at their values, and the chain rule from local columns to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.sources import SourceRows, sigmoid
from skanchor._typing import Array


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

    def penalised(self, information: Array) -> Array:
        """Information with the prior, and with the zero of the scores fixed."""
        return self.centred(information) + self.precision

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
        return replace(self, x=x, converged=converged)
