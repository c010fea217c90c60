"""Summed products of sums by group, of the columns of all sources side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from skanchor._numerics.groups import ColumnTotals
from skanchor._numerics.types import Array

_STEP = 1 << 13
"""Groups whose sums are held in full at a time."""


def group_products(sources: Sequence[ColumnTotals]) -> Array | None:
    """Sum over the groups of ``s s'``, s the sums of a group by the columns of all.

    Parameters
    ----------
    sources : sequence of ColumnTotals
        Sums by group of each source; a group may be in several of them.

    Returns
    -------
    ndarray of shape (n_columns, n_columns) or None
        None where the sums themselves are fewer numbers.
    """
    widths = [one.items.shape[1] + one.others.shape[1] for one in sources]
    n_sums = sum(one.items.nnz + one.others.size for one in sources)
    stops = np.cumsum([0, *widths])
    if stops[-1] ** 2 > n_sums:
        return None
    # Sums by item are sparse, and those of the other columns are not: which is which.
    is_item = np.concatenate(
        [
            np.arange(width) < one.items.shape[1]
            for one, width in zip(sources, widths, strict=True)
        ]
    )
    item, other = np.flatnonzero(is_item), np.flatnonzero(~is_item)
    place = np.where(is_item, np.cumsum(is_item), np.cumsum(~is_item)) - 1
    found = np.zeros((stops[-1], stops[-1]))
    groups = np.unique(np.concatenate([one.groups for one in sources]))
    for start in range(0, len(groups), _STEP):
        some = groups[start : start + _STEP]
        others, entries = np.zeros((len(some), len(other))), []
        for one, first in zip(sources, stops[:-1].tolist(), strict=True):
            own = one[slice(*np.searchsorted(one.groups, (some[0], some[-1] + 1)))]
            at, n_items = np.searchsorted(some, own.groups), own.items.shape[1]
            rows = np.repeat(at, np.diff(own.items.indptr))
            entries.append((own.items.data, rows, place[first + own.items.indices]))
            if own.others.shape[1]:
                begin = place[first + n_items]
                others[at, begin : begin + own.others.shape[1]] = own.others
        data, rows, columns = map(np.concatenate, zip(*entries, strict=True))
        items = csr_array((data, (rows, columns)), (len(some), len(item)))
        found[np.ix_(item, item)] += (items.T @ items).toarray()
        found[np.ix_(item, other)] += items.T @ others
        found[np.ix_(other, other)] += others.T @ others
    found[np.ix_(other, item)] = found[np.ix_(item, other)].T
    return found
