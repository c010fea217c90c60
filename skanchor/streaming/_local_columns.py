"""Local columns of a judge's rows in a stream, and how they become the fitted ones."""

from __future__ import annotations

import numpy as np

from skanchor._numerics.blocks import Blocks, fitted_columns
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
