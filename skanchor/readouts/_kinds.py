"""Kinds of rows on a new model: by source and opponent, what a row of each says.

All rows of a kind compare a new model with one opponent, so that they share their
score difference. A row is turned so that the new model is on the left. Then its local
columns are the same but for ``z = (1, order, span)``, and the mean of ``V z z'`` is all
that is needed of a further row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from skanchor._battles import Comparisons, FeaturePairs
from skanchor._model.fit import Fit
from skanchor._model.sources import SourceRows, variance_of
from skanchor._typing import Array
from skanchor.readouts._fitted import FittedRows

DRAWS = 64
"""Responses of each model from which those of an untried pair are drawn."""

ROUNDING = 1e-12
"""Share of the largest eigenvalue below which an eigenvalue of a row is rounding."""

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of rows that new models may get, of all sources in one list.

    Attributes
    ----------
    source, model, opponent : ndarray of shape (n_kinds,)
        Codes of the source, of the new model, and of what it is compared with.
    roots : csr_array of shape (p, n_roots)
        Columns f by the p parameters that rows decide. The information of a row is the
        sum of ``f f'`` over the columns of its kind.
    kind : ndarray of shape (n_roots,)
        Kind of each column.
    """

    source: Indices
    model: Indices
    opponent: Indices
    roots: csr_array
    kind: Indices

    @classmethod
    def of(cls, fitted: FittedRows, fit: Fit, rows: Sequence[SourceRows]) -> Kinds:
        """Each new model against all other models, by every source of a fit.

        Parameters
        ----------
        fitted : FittedRows
            Whose weights are linear in fixed columns.
        fit : Fit
            Where its information was taken; biases are part of the rows' offset.
        rows : sequence of SourceRows
            Rows with a new model.

        Returns
        -------
        Kinds
            Without pairs whose responses have no features anywhere.
        """
        assert fitted.debiaser is not None
        solution = fitted.debiaser.solution_
        found = [_of_source(fitted, fit, rows, m) for m in sorted(solution.grams)]
        columns = zip(*found, strict=True)
        source, model, opponent, roots, kind = (list(one) for one in columns)
        starts = np.cumsum([0, *map(len, source)])
        joined = hstack(roots, format="csr")[solution.information.at]
        return cls(
            np.concatenate(source),
            np.concatenate(model),
            np.concatenate(opponent),
            joined,
            np.concatenate([a + b for a, b in zip(starts, kind, strict=False)]),
        )

    def __len__(self) -> int:
        return len(self.model)

    def information(
        self, rows: NDArray[Any], chosen: NDArray[np.intp] | None = None
    ) -> Array:
        """Information of numbers of rows of each kind, or of some, of shape (p, p)."""
        number = np.zeros(len(self))
        number[slice(None) if chosen is None else chosen] = rows
        scaled = self.roots * number[self.kind]
        return np.asarray((scaled @ self.roots.T).toarray())

    def gains(self, weights: Array) -> Array:
        """Decrease of the summed variance of targets by one row of each kind.

        It is ``E[V a^2]``, for the Riesz weight a of the row, (n_kinds,).
        """
        squares = ((self.roots.T @ weights) ** 2).sum(axis=1)
        return np.bincount(self.kind, squares, len(self)).astype(np.float64)


def _of_source(
    fitted: FittedRows, fit: Fit, rows: Sequence[SourceRows], source: int
) -> tuple[Indices, Indices, Indices, csr_array, Indices]:
    """The attributes of the kinds of one source, by all parameters of the fit."""
    layout = fit.layout
    new, n = np.flatnonzero(layout.is_new), layout.n_items
    model, opponent = np.repeat(new, n), np.tile(np.arange(n), len(new))
    model, opponent = model[model != opponent], opponent[model != opponent]
    number = np.full((n, n), -1)
    number[model, opponent] = np.arange(len(model))
    own = [part for part in rows if part.source == source]
    unit, n_rows = _mean_information(fit, own, source, number)
    # Without a span, rows of a kind differ in their display order alone.
    untried = n_rows == 0 if layout.widths[source] else np.full(len(model), True)
    drawn = (
        _further_rows(fitted, fit, source, int(model[q]), int(opponent[q]))
        for q in np.flatnonzero(untried)
    )
    further = [part for part in drawn if part is not None]
    expected, n_drawn = _mean_information(fit, further, source, number)
    unit[untried] = expected[untried]
    values, vectors = np.linalg.eigh(unit)
    usable = ~untried | (n_drawn > 0)
    values[~usable] = 0.0
    kind, column = np.nonzero(values > ROUNDING * values[:, -1:])
    # (n_roots, r): of z, and by local column, items, order, span.
    roots = vectors[kind, :, column] * np.sqrt(values[kind, column])[:, None]
    local, at = np.zeros((n + roots.shape[1] - 1, len(kind))), np.arange(len(kind))
    local[model[kind], at], local[opponent[kind], at] = roots[:, 0], -roots[:, 0]
    local[n:] = roots[:, 1:].T
    whole = np.zeros((layout.size, len(kind)))
    whole[layout.parameters_of[source]] = fit.chain(source, local)
    sources, place = np.full(usable.sum(), source), np.cumsum(usable) - 1
    return sources, model[usable], opponent[usable], csr_array(whole), place[kind]


def _mean_information(
    fit: Fit, parts: Sequence[SourceRows], source: int, number: Indices
) -> tuple[Array, Array]:
    """Mean of ``w V z z'`` over the rows of each kind, and their number."""
    size, n_kinds = 2 + fit.layout.widths[source], int(number.max()) + 1
    total, n_rows = np.zeros((n_kinds, size, size)), np.zeros(n_kinds)
    for part in parts:
        value = part.weight * variance_of(fit.probabilities(part))
        z = np.column_stack([np.ones(len(part)), part.extra])
        turned = np.r_[1.0, np.full(size - 1, -1.0)]
        # A row between two new models is a row of each.
        for kind, columns in (
            (number[part.left, part.right], z),
            (number[part.right, part.left], z * turned),
        ):
            for q in np.unique(kind[kind >= 0]):
                rows = kind == q
                total[q] += columns[rows].T @ (value[rows, None] * columns[rows])
                n_rows[q] += part.count[rows].sum()
    return total / np.maximum(n_rows, 1.0)[:, None, None], n_rows


def _further_rows(
    fitted: FittedRows, fit: Fit, source: int, model: int, opponent: int
) -> SourceRows | None:
    """Rows of a pair in both display orders; None where its features are unknown."""
    X, width = fitted.sample.X, fit.layout.widths[source]
    assert fitted.debiaser is not None
    learner = fitted.debiaser.learners_[source].learner
    span, offset = np.zeros((1, width)), np.zeros(1)
    if width and learner is not None:
        pairs = _drawn_pairs(X, source - 1, model, opponent)
        if pairs is None:
            return None
        columns = np.asarray(learner.span(pairs))
        # Columns that are none of the learner's do not favour either side.
        span = np.zeros((len(pairs), width))
        span[:, : columns.shape[1]] = columns
        offset = np.ravel(fitted.learners[source].contrast(pairs))
    # Where no display order is known, the position effect is in none of the rows.
    orders = (1.0, -1.0) if X.by_judge(source - 1).order.any() else (0.0,)
    n, one = len(orders) * len(offset), np.ones(len(orders) * len(offset))
    none = np.full(n, -1)
    return SourceRows(
        source, True, np.arange(n), np.full(n, model), np.full(n, opponent),
        np.repeat(orders, len(offset)), np.tile(span, (len(orders), 1)),
        np.tile(offset, len(orders)), 0.5 * one, one, one, none, none,
        fit.layout.n_items,
    )  # fmt: skip


def _drawn_pairs(
    X: Comparisons, m: int, model: int, opponent: int
) -> FeaturePairs | None:
    """Pairs of responses of two models that nobody has compared.

    Each response is drawn by itself, from the rows of the source or, where it has none
    of the model, from those of all.
    """
    sides = []
    for item in (model, opponent):
        found = _responses(X, item, X.is_usable & (X.judge == m))
        if not len(found):
            found = _responses(X, item, X.is_usable)
        if not len(found):
            return None
        chosen = np.linspace(0, len(found) - 1, min(DRAWS, len(found))).astype(int)
        # In an order of their own, so that that of the rows does not matter.
        sides.append(found[np.lexsort(found.T)][chosen])
    left, right = sides
    tiled = np.tile(right, (len(left), 1))
    return FeaturePairs(np.repeat(left, len(right), axis=0), tiled, X.feature_names)


def _responses(X: Comparisons, item: int, rows: NDArray[Any]) -> Array:
    """Features of a model's responses in some rows; without those that lack some."""
    values = np.concatenate(
        [X.features_left[rows & (X.left == item)],
         X.features_right[rows & (X.right == item)]]
    )  # fmt: skip
    return np.asarray(values[np.isfinite(values).all(axis=1)])
