"""Sums over the rows that a fold holds out, also by group of dependent rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

_MOST_PARTS = 16
"""Parts of sums by group that are kept apart: many small arrays would leave holes."""


Grouped = list[tuple[NDArray[np.int64], csr_array]]
"""Codes of groups, and sums of rows in them by local column, part by part."""


@dataclass(frozen=True, eq=False)
class FoldGroups:
    """Scores of the rows that a fold holds out, by group of dependent rows.

    Attributes
    ----------
    codes : ndarray of shape (n_groups,)
        64-bit codes of the labels of the groups, ascending.
    people : csr_array of shape (n_groups, n_people_columns)
        Of people's rows.
    judges : csr_array of shape (n_groups, n_judge_columns)
        Of the rows of all judges, the columns of one beside those of the next.
    """

    codes: NDArray[np.int64]
    people: csr_array
    judges: csr_array

    @classmethod
    def of(cls, sources: Sequence[Grouped]) -> Self:
        """Add up the sums of each source by group; empties them, to make room."""
        codes = np.unique(np.concatenate([own for part in sources for own, _ in part]))
        found = []
        for part in sources:
            group, sums = _joined(part)
            part.clear()
            n = len(group)
            at = np.searchsorted(codes, group), np.arange(n)
            found.append(_narrow(csr_array((np.ones(n), at), (len(codes), n)) @ sums))
        judges = hstack([csr_array((len(codes), 0)), *found[1:]], format="csr")
        return cls(codes.astype(np.int64), found[PEOPLE], _narrow(judges))


def _narrow(sums: csr_array) -> csr_array:
    """Without zeros, and with indices of half the size."""
    sums.eliminate_zeros()
    if sums.nnz < np.iinfo(np.int32).max:
        sums.indices = sums.indices.astype(np.int32)
        sums.indptr = sums.indptr.astype(np.int32)
    return sums


def _joined(parts: Grouped) -> tuple[NDArray[np.int64], csr_array]:
    """Codes and sums of several parts as one."""
    if len(parts) == 1:
        return parts[0]
    codes, sums = zip(*parts, strict=True)
    return np.concatenate(codes), vstack(sums, format="csr")


def _scores_by_group(
    rows: SourceRows, residual: Array, *, has_order: bool
) -> tuple[NDArray[np.int64], csr_array]:
    """Codes of groups, and residual times local columns of the rows in them."""
    rows, residual = rows[rows.group >= 0], residual[rows.group >= 0]
    size = rows.n_items + rows.extra.shape[1]
    # Without a position effect, nothing asks for the display order.
    first = 0 if has_order else 1
    n, extra = len(rows), residual[:, None] * rows.extra[:, first:]
    width = 2 + extra.shape[1]
    # Indices of half the size: there may be many rows.
    columns = np.tile(size - width + np.arange(width, dtype=np.int32), (n, 1))
    columns[:, 0], columns[:, 1] = rows.left, rows.right
    entries = np.column_stack([residual, -residual, extra]).ravel()
    starts = np.arange(0, n * width + 1, width, dtype=np.int32)
    return rows.group, csr_array((entries, columns.ravel(), starts), (n, size))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Sums over the rows that a fold holds out, at the fit of the others.

    Attributes
    ----------
    scores : dict of int to (score, outer)
        By source, as :meth:`SourceRows.scores` gives them.
    groups : dict of int to list of (codes, sums), or None
        By source, code of the group of each row of a sparse matrix of scores by local
        column, part by part; codes may repeat. None where each row is a group of its
        own.
    """

    scores: dict[int, tuple[Array, Array]]
    groups: dict[int, Grouped] | None

    @classmethod
    def of(
        cls, fit: Fit, held_out: Sequence[SourceRows], *, is_grouped: bool
    ) -> HeldOut:
        """Sum up rows, of which each source has its own."""
        tests = {rows.source: (rows, _residual(fit, rows)) for rows in held_out}
        scores = {m: rows.scores(residual) for m, (rows, residual) in tests.items()}
        groups = None
        if is_grouped:
            ordered = fit.layout.positions
            groups = {
                m: [_scores_by_group(*test, has_order=ordered[m])]
                for m, test in tests.items()
            }
        return cls(scores, groups)

    def __add__(self, other: HeldOut) -> HeldOut:
        scores = dict(self.scores)
        for m, (score, outer) in other.scores.items():
            one = scores.get(m, (0.0, 0.0))
            scores[m] = one[0] + score, one[1] + outer
        if self.groups is None or other.groups is None:
            return HeldOut(scores, None)
        # The lists of one grow, as that is where many batches are added up.
        for m, parts in other.groups.items():
            own = self.groups.setdefault(m, [])
            own.extend(parts)
            if len(own) >= _MOST_PARTS:
                own[:] = [_joined(own)]
        return HeldOut(scores, self.groups)


def _residual(fit: Fit, rows: SourceRows) -> Array:
    return rows.weight * (rows.y - fit.probabilities(rows))
