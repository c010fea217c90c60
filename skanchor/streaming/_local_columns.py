"""Local columns of a judge's rows in a stream, and how they become the fitted ones."""

from __future__ import annotations

import numpy as np

from skanchor._numerics.blocks import Blocks, fitted_columns
from skanchor._numerics.groups import ColumnTotals
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array


def streamed_columns(n_items: int, n_span: int) -> Blocks:
    """Blocks of a judge's columns in a stream: ``items``, ``order`` and ``span``.

    The score difference is a combination of the items' columns that differs from fold
    to fold, and so is added after the rows have been summed, by :func:`with_delta`.
    """
    return Blocks.of(items=n_items, order=1, span=n_span)


def with_delta(n_items: int, width: int, scores: Array) -> Array:
    """Matrix that turns streamed columns into fitted ones, with the score difference.

    Parameters
    ----------
    n_items : int
        Number of items.
    width : int
        Number of columns besides those of the items: display order and span.
    scores : ndarray of shape (n_items,)
        Scores.

    Returns
    -------
    ndarray of shape (n_items + width, n_items + 1 + width)
        Rows of :func:`streamed_columns`, columns of :func:`fitted_columns`: a row x of
        the former is ``x @ change`` in terms of the latter.
    """
    before = streamed_columns(n_items, width - 1)
    after = fitted_columns(n_items, width - 1)
    change = np.zeros((before.size, after.size))
    # The columns of items, order and span are the same in both.
    change[np.arange(before.size), after.at(*before.names)] = 1.0
    # delta = (e_a - e_b)' theta.
    change[before["items"], after["delta"]] = scores[:, None]
    return change


def residual_sums(
    sums: SourceSums | None, n_items: int, change: Array, *, grouped: bool
) -> SourceSums:
    """Residuals of the rows that a view holds out, by the fitted columns.

    Parameters
    ----------
    sums : SourceSums or None
        Sums of one judge and one fold from :func:`held_out_sums`; None for the fit of
        all rows, which holds none out.
    n_items : int
        Number of items.
    change : ndarray of shape (n_local, n_local + 1)
        Matrix from the streamed to the fitted columns, as of :func:`with_delta`.
    grouped : bool
        Whether there are groups.

    Returns
    -------
    SourceSums
    """
    size = change.shape[1]
    blocks = fitted_columns(n_items, size - fitted_columns(n_items, 0).size)
    if sums is not None:
        return sums.in_columns(blocks, change)
    score = np.zeros(size)
    if not grouped:
        return SourceSums(blocks, score=score, outer=np.zeros((size, size)))
    by_group = ColumnTotals.nothing(n_items, size - n_items)
    return SourceSums(blocks, score=score, by_group=by_group)
