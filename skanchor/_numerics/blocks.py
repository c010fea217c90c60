"""Named blocks of the local columns of a source's rows.

A row of a source enters the inference through its local columns. They come in blocks:
one column for each item (1 at the first, -1 at the second), the score difference delta,
the display order, the span of the bias function, and the columns that a test adds. Sums
over rows carry the names of their blocks. Code that reads them selects columns by name,
and never by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.types import Array

OWN_COLUMNS = ("delta", "order")
"""Blocks of one column each, with one coefficient of each judge in the joint system:
of the score difference its sensitivity, of the display order its position effect."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of columns, side by side.

    Attributes
    ----------
    names : tuple of str
        Names of the blocks, in the order of the columns.
    widths : tuple of int
        Number of columns of each block.

    Examples
    --------
    >>> from skanchor._numerics.blocks import Blocks
    >>> blocks = Blocks.of(items=3, delta=1, order=1, span=2)
    >>> blocks["order"], blocks.size
    (slice(4, 5, None), 7)
    >>> blocks.at("delta", "span")
    array([3, 5, 6])
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]

    @classmethod
    def of(cls, **widths: int) -> Self:
        """Blocks of these names and widths, in this order."""
        return cls(tuple(widths), tuple(widths.values()))

    @property
    def size(self) -> int:
        """Number of columns."""
        return sum(self.widths)

    def __getitem__(self, name: str) -> slice:
        """Slice of the columns of a block."""
        # A block starts where those before it end.
        number = self.names.index(name)
        start = sum(self.widths[:number])
        return slice(start, start + self.widths[number])

    def run(self, first: str, last: str) -> slice:
        """Slice of the columns from the start of ``first`` to the end of ``last``."""
        return slice(self[first].start, self[last].stop)

    def with_items(self, n_items: int) -> Blocks:
        """The same blocks for another number of items."""
        widths = dict(zip(self.names, self.widths, strict=True))
        return Blocks.of(**widths | {"items": n_items})

    def at(self, *names: str) -> NDArray[np.intp]:
        """Indices of the columns of some blocks, one block after another."""
        return np.concatenate([np.arange(self.size)[self[name]] for name in names])


@lru_cache(maxsize=64)
def fitted_columns(n_items: int, n_span: int) -> Blocks:
    """Blocks of a judge's local columns that have coefficients in a fit.

    Parameters
    ----------
    n_items : int
        Number of items.
    n_span : int
        Number of columns that the bias function spans.

    Returns
    -------
    Blocks
        ``items``, ``delta``, ``order`` and ``span``.
    """
    own = dict.fromkeys(OWN_COLUMNS, 1)
    return Blocks.of(items=n_items, **own, span=n_span)


def bend(delta: Array) -> Array:
    """Column of the block ``curve``: how the logit bends with the score difference.

    On a straight scale the log-odds of a judge are ``c delta``, on a curved one
    ``c sinh(b asinh(delta)) / b``, which is odd and monotone for every b > 0. With b
    below one a judge saturates (or lapses): its log-odds grow more slowly than the
    difference. With b above one they grow faster.

    Parameters
    ----------
    delta : ndarray of shape (n_rows,)
        Score differences, in logits.

    Returns
    -------
    ndarray of shape (n_rows,)
        Derivative of ``sinh(b asinh(delta)) / b`` by -log b at b = 1.
    """
    return np.asarray(delta - np.sqrt(1.0 + delta**2) * np.arcsinh(delta))
