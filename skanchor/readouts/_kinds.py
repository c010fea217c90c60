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

from skanchor._battles import Comparisons, FeaturePairs
from skanchor._model.fit import Fit
from skanchor._model.sources import SourceRows, sigmoid, variance_of
from skanchor._typing import Array, Indices
from skanchor.readouts._answer import FittedRows

DRAWS = 64
"""Responses of each model from which those of an untried pair are drawn."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of rows that new models may get, of all sources in one list.

    Attributes
    ----------
    fit : Fit
        Where the information was taken; biases are part of the rows' offset.
    at : ndarray of shape (p,)
        Parameters that rows decide.
    source, model, opponent : ndarray of shape (n_kinds,)
        Codes of the source, of the new model, and of what it is compared with.
    units : dict of int to ndarray of shape (n_kinds of the source, 2 + n_span, ...)
        By source, mean of ``V z z'`` over the rows of each of its kinds, in order.
    """

    fit: Fit
    at: Indices
    source: Indices
    model: Indices
    opponent: Indices
    units: dict[int, Array]

    @classmethod
    def of(cls, fitted: FittedRows, fit: Fit, rows: Sequence[SourceRows]) -> Kinds:
        """Each new model against all other models, by every source of a fit.

        Parameters
        ----------
        fitted : FittedRows
            Whose weights are linear in fixed columns.
        fit : Fit
            As the attribute.
        rows : sequence of SourceRows
            Rows with a new model.

        Returns
        -------
        Kinds
            Without pairs whose responses have no features anywhere.
        """
        assert fitted.debiaser is not None
        new, n = np.flatnonzero(fit.layout.is_new), fit.layout.n_items
        pairs = [(i, j) for i in new.tolist() for j in range(n) if i != j]
        codes, units, solution = [], {}, fitted.debiaser.solution_
        for m in sorted(solution.grams):
            size = 2 + fit.layout.widths[m]
            seen = _seen(fit, [part for part in rows if part.source == m])
            unit_of = {
                pair: seen[pair] if pair in seen else _expected(fitted, fit, m, *pair)
                for pair in pairs
            }
            informed = {
                pair: unit for pair, unit in unit_of.items() if unit is not None
            }
            codes += [(m, *pair) for pair in informed]
            units[m] = np.array(list(informed.values())).reshape(-1, size, size)
        source, model, opponent = np.array(codes, dtype=np.intp).reshape(-1, 3).T
        return cls(fit, solution.at, source, model, opponent, units)

    def __len__(self) -> int:
        return len(self.model)

    def information(
        self, rows: NDArray[Any], chosen: NDArray[np.intp] | None = None
    ) -> Array:
        """Information of numbers of rows of each kind, or of some, of shape (p, p)."""
        number, n, grams = np.zeros(len(self)), self.fit.layout.n_items, []
        number[slice(None) if chosen is None else chosen] = rows
        for m, unit in self.units.items():
            mine = self.source == m
            model, opponent = self.model[mine], self.opponent[mine]
            total = number[mine, None, None] * unit
            items = np.zeros((len(total), n))
            items[np.arange(len(total)), model] = 1.0
            items[np.arange(len(total)), opponent] = -1.0
            gram = np.zeros((n + unit.shape[1] - 1,) * 2)
            gram[:n, :n] = items.T @ (total[:, 0, :1] * items)
            gram[:n, n:] = items.T @ total[:, 0, 1:]
            gram[n:, :n] = gram[:n, n:].T
            gram[n:, n:] = total[:, 1:, 1:].sum(axis=0)
            grams.append((m, gram))
        return self.fit.information(grams)[self.at[:, None], self.at]

    def gains(self, weights: Array) -> Array:
        """Decrease of the summed variance of targets by one row of each kind.

        It is ``E[V a^2]``, for the Riesz weight a of the row, (n_kinds,).
        """
        n, gains = self.fit.layout.n_items, np.zeros(len(self))
        values = np.zeros((self.fit.layout.size, weights.shape[1]))
        values[self.at] = weights
        for m, unit in self.units.items():
            mine, local = self.source == m, self.fit.local_weights(m, values)
            z = np.empty((*unit.shape[:2], weights.shape[1]))
            z[:, 0] = local[self.model[mine]] - local[self.opponent[mine]]
            z[:, 1:] = local[n:]
            gains[mine] = np.sum((unit @ z) * z, axis=(1, 2))
        return gains


def _seen(fit: Fit, parts: Sequence[SourceRows]) -> dict[tuple[int, int], Array]:
    """Mean of ``w V z z'`` over the rows of each kind of a source, by its models.

    Without a span, rows of a kind differ in their display order alone: none is read.
    """
    total: dict[tuple[int, int], Any] = {}
    for part in parts if parts and parts[0].span.shape[1] else ():
        value = part.weight * variance_of(fit.probabilities(part))
        z = np.column_stack([np.ones(len(part)), part.extra])
        # A row between two new models is a row of each.
        turned = np.append(1.0, np.full(z.shape[1] - 1, -1.0))
        for pair, columns in (
            ((part.left, part.right), z),
            ((part.right, part.left), z * turned),
        ):
            pairs, at = np.unique(np.stack(pair), axis=1, return_inverse=True)
            for number, (i, j) in enumerate(pairs.T.tolist()):
                rows = at.ravel() == number
                gram = columns[rows].T @ (value[rows, None] * columns[rows])
                before = total.get((i, j), (0.0, 0.0))
                total[i, j] = before[0] + gram, before[1] + part.count[rows].sum()
    return {pair: gram / number for pair, (gram, number) in total.items()}


def _expected(
    fitted: FittedRows, fit: Fit, source: int, model: int, opponent: int
) -> Array | None:
    """Mean of ``V z z'`` in both display orders; None where features are unknown."""
    X, width = fitted.sample.X, fit.layout.widths[source]
    assert fitted.debiaser is not None
    learner = fitted.debiaser.learners_[source].learner
    span, bias = np.zeros((1, width)), np.zeros(1)
    if width and learner is not None:
        pairs = _drawn_pairs(X, source - 1, model, opponent)
        if pairs is None:
            return None
        span = np.asarray(learner.span(pairs))
        bias = np.ravel(fitted.learners[source].contrast(pairs))
    coefficients = fit.coefficients(source)
    logit = coefficients[model] - coefficients[opponent] + bias
    # Where no display order is known, the position effect is in none of the rows.
    orders = (1.0, -1.0) if X.by_judge(source - 1).order.any() else (0.0,)
    units = []
    for order in orders:
        eta = logit + order * coefficients[fit.layout.n_items]
        z = np.column_stack([np.ones(len(span)), np.full(len(span), order), span])
        units.append(z.T @ (variance_of(sigmoid(eta))[:, None] * z) / len(span))
    return np.asarray(np.mean(units, axis=0))


def _drawn_pairs(
    X: Comparisons, m: int, model: int, opponent: int
) -> FeaturePairs | None:
    """Pairs of responses of two models that nobody has compared.

    Each response is drawn by itself, from the rows of the source or, where it has none
    of the model, from those of all.
    """
    sides = []
    for item in (model, opponent):
        for rows in (X.is_usable & (X.judge == m), X.is_usable):
            values = np.concatenate(
                [
                    X.features_left[rows & (X.left == item)],
                    X.features_right[rows & (X.right == item)],
                ]
            )
            pairs = values[np.isfinite(values).all(axis=1)]
            if len(pairs):
                break
        else:
            return None
        chosen = np.linspace(0, len(pairs) - 1, min(DRAWS, len(pairs))).astype(int)
        # In an order of their own, so that that of the rows does not matter.
        sides.append(pairs[np.lexsort(pairs.T)][chosen])
    left, right = sides
    tiled = np.tile(right, (len(left), 1))
    return FeaturePairs(np.repeat(left, len(right), axis=0), tiled, X.feature_names)
