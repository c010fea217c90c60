"""Kinds of rows on a new model: by source and opponent, what a row of each says.

All rows of a kind compare a new model with one opponent, so that they share their
score difference. A row is turned so that the new model is on the left. Then its local
columns are the same but for ``z = (1, order, span)``, and sums over rows of ``V z z'``
are all that is needed of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons, FeaturePairs, JudgeRows
from skanchor._model.link import sigmoid
from skanchor._model.sources import variance_of
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.sample import Sample

_DRAWS = 64
"""Responses of each model from which those of an untried pair are drawn."""


_BY_KIND = ("model", "opponent", "unit", "seen", "n_rows")
"""Attributes of the kinds of a source that have an entry for each of them."""


@dataclass(frozen=True, eq=False)
class SourceKinds:
    """Kinds of rows of one source.

    Attributes
    ----------
    source : int
        Judge, or ``PEOPLE``.
    model, opponent : ndarray of shape (n_kinds,)
        Codes of the new model and of what it is compared with.
    n_models : int
        Number of models.
    unit : ndarray of shape (n_kinds, r, r)
        Mean of ``V z z'`` of a further row.
    seen : ndarray of shape (n_kinds, r, r)
        Sum of ``w V z z'`` over the rows that are there.
    n_rows : ndarray of shape (n_kinds,)
        Their number.
    """

    source: int
    model: NDArray[np.intp]
    opponent: NDArray[np.intp]
    n_models: int
    unit: Array
    seen: Array
    n_rows: Array

    def __len__(self) -> int:
        return len(self.model)

    def __getitem__(self, some: Any) -> SourceKinds:
        return replace(self, **{name: getattr(self, name)[some] for name in _BY_KIND})

    @property
    def _items(self) -> Array:
        """Columns of the items in a row of each kind."""
        each = np.arange(len(self))
        found = np.zeros((len(self), self.n_models))
        found[each, self.model] += 1.0
        found[each, self.opponent] -= 1.0
        return found

    def gram(self, sums: Array) -> Array:
        """Information on the local columns (items, order, span).

        Parameters
        ----------
        sums : ndarray of shape (n_kinds, r, r)
            Sum of ``V z z'`` over rows of each kind.

        Returns
        -------
        ndarray of shape (n_columns, n_columns)
        """
        heads, total = self._items, sums.sum(axis=0)
        top = heads.T @ (sums[:, 0, :1] * heads)
        side = heads.T @ sums[:, 0, 1:]
        return np.block([[top, side], [side.T, total[1:, 1:]]])

    def bought(self, rows: Array | float) -> Array:
        """Information of further rows of each kind, on the local columns."""
        rows = np.broadcast_to(rows, len(self))
        return self.gram(rows[:, None, None] * self.unit)

    def gains(self, local: Array) -> Array:
        """Decrease of the variance of each target by one row of each kind, E[V a^2].

        Parameters
        ----------
        local : ndarray of shape (n_columns, n_targets)
            Coefficients of the local columns in the weight a of a row.

        Returns
        -------
        ndarray of shape (n_kinds, n_targets)
        """
        n = self.n_models
        tail = np.broadcast_to(local[n:], (len(self), *local[n:].shape))
        # a = z'k, with k = (what all rows of the kind share, order, span).
        k = np.concatenate([(self._items @ local[:n])[:, None], tail], axis=1)
        return np.asarray(np.einsum("qrt,qrs,qst->qt", k, self.unit, k))


def kinds_of_source(
    sample: Sample,
    m: int,
    curvature: Array,
    learner: Any,
    bias: Any,
    n_span: int,
) -> SourceKinds:
    """Kinds of rows of a source: each new model against all other models.

    Parameters
    ----------
    sample : Sample
        Rows that carry everything the chain learned.
    m : int
        Judge, or ``PEOPLE``.
    curvature : ndarray of shape (n_rows,)
        ``w V`` of each row.
    learner : learner or None
        Has the span of the source.
    bias : learner or None
        Fitted bias of the source.
    n_span : int
        Number of columns of the span.

    Returns
    -------
    SourceKinds
        Pairs whose responses have no features anywhere are left out.
    """
    X = sample.X
    new, n = np.flatnonzero(X.is_new), len(X.models)
    model, opponent = np.repeat(new, n), np.tile(np.arange(n), len(new))
    apart = model != opponent
    model, opponent = model[apart], opponent[apart]
    number = np.full((n, n), -1)
    number[model, opponent] = np.arange(len(model))
    assert X.scores is not None
    cut = X.by_judge(m)
    span = np.empty((0, n_span))
    if len(cut):
        # A feature map may refuse to see no rows.
        span = _span_of_pairs(learner, cut.pairs)
    z = np.column_stack([np.ones(len(cut)), cut.order, span])
    seen = np.zeros((len(model), z.shape[1], z.shape[1]))
    n_rows = np.zeros(len(model))
    times = sample.multiplicity_of(cut.rows)
    times = np.ones(len(cut)) if times is None else times
    weight = curvature.take(cut.rows)
    # A row between two new models is a row of each.
    for first, second, sign in (
        (cut.left, cut.right, 1.0),
        (cut.right, cut.left, -1.0),
    ):
        kind = np.where(weight > 0, number[first, second], -1)
        turned = z * np.r_[1.0, np.full(z.shape[1] - 1, sign)]
        order = np.argsort(kind, kind="stable")
        codes, starts = np.unique(kind[order], return_index=True)
        parts = np.split(order, starts)[1:]
        for q, rows in zip(codes.tolist(), parts, strict=True):
            if q >= 0:
                seen[q] += (weight[rows, None] * turned[rows]).T @ turned[rows]
                n_rows[q] += times[rows].sum()
    delta = X.scores[model] - X.scores[opponent]
    unit = np.divide(
        seen,
        n_rows[:, None, None],
        out=np.zeros_like(seen),
        where=n_rows[:, None, None] > 0,
    )
    known = np.ones(len(model), dtype=bool)
    for q, pair in enumerate(zip(model.tolist(), opponent.tolist(), strict=True)):
        if learner is not None and n_rows[q]:
            continue
        pairs = None if learner is None else _drawn(X, m, pair)
        known[q] = learner is None or pairs is not None
        if known[q]:
            unit[q] = _unit_information(X, cut, m, pair, delta[q], learner, bias, pairs)
    found = SourceKinds(m, model, opponent, n, unit, seen, n_rows)
    return found if known.all() else found[known]


def _span_of_pairs(learner: Any, pairs: FeaturePairs) -> Array:
    """Columns of the span of a bias function, of shape (n_rows, n_span)."""
    if learner is None:
        return np.empty((len(pairs), 0))
    return np.asarray(learner.span(pairs))


def _unit_information(
    X: Comparisons,
    cut: JudgeRows,
    m: int,
    pair: tuple[int, int],
    delta: float,
    learner: Any,
    bias: Any,
    pairs: FeaturePairs | None,
) -> Array:
    """Mean of V z z' over rows of a pair in both display orders."""
    model, opponent = pair
    base = np.zeros(1 if pairs is None else len(pairs))
    position = 0.0
    if m == PEOPLE:
        base += delta
    else:
        assert X.sensitivities is not None
        base += X.sensitivities[m] * delta
        if X.deviations is not None:
            base += X.deviations[m, model] - X.deviations[m, opponent]
        if X.position_effects is not None:
            position = X.position_effects[m]
    if bias is not None and pairs is not None:
        base += np.asarray(bias.contrast(pairs)).ravel()
    # Where no display order is known, the position effect is in none of the rows.
    span = [] if pairs is None else [_span_of_pairs(learner, pairs)]
    orders = (1.0, -1.0) if cut.order.any() else (0.0,)
    total: Any = 0.0
    for order in orders:
        p = sigmoid(base + order * position)
        z = np.column_stack([np.ones(len(base)), np.full(len(base), order), *span])
        total = total + (variance_of(p)[:, None] * z).T @ z
    return np.asarray(total / (len(orders) * len(base)))


def _drawn(X: Comparisons, m: int, pair: tuple[int, int]) -> FeaturePairs | None:
    """Pairs of responses of two models that nobody has compared.

    Each response is drawn by itself, from the rows of the source or, where it has none
    of the model, from those of all.
    """
    sides = []
    for item in pair:
        cuts = [X.by_judge(m)]
        found = _responses(X, cuts, item)
        if not len(found):
            cuts = [X.by_judge(k) for k in range(PEOPLE, len(X.judges))]
            found = _responses(X, cuts, item)
        if not len(found):
            return None
        chosen = np.linspace(0, len(found) - 1, min(_DRAWS, len(found))).astype(int)
        # In an order of their own, so that that of the rows does not matter.
        sides.append(found[np.lexsort(found.T)][chosen])
    left, right = sides
    return FeaturePairs(
        np.repeat(left, len(right), axis=0),
        np.tile(right, (len(left), 1)),
        X.feature_names,
    )


def _responses(X: Comparisons, cuts: list[JudgeRows], item: int) -> Array:
    """Features of a model's responses in some rows; without those that lack some."""
    found = []
    for cut in cuts:
        found.append(X.features_left[cut.rows[cut.left == item]])
        found.append(X.features_right[cut.rows[cut.right == item]])
    values = np.concatenate(found)
    return values[np.isfinite(values).all(axis=1)]
