"""Sums over the rows of one source: all that the inference needs of them.

Once a fold's nuisances are fixed, a row enters through its local columns x (the items'
difference ``e_a - e_b``, the score difference delta, the display order, the span of the
bias function) and its residual. The sums are additive: those of disjoint sets of rows,
such as chunks, are added with ``+``. They are taken by item and not by free parameter,
so that they serve any parametrisation of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._model.graph import laplacian, pair_sums
from skanchor._numerics.blocks import Blocks
from skanchor._numerics.groups import ColumnTotals
from skanchor._numerics.linalg import Columns
from skanchor._numerics.types import Array


class ItemRows(Protocol):
    """Rows of one source, each a comparison of two items."""

    @property
    def left(self) -> NDArray[np.intp]:
        """First item of each row."""

    @property
    def right(self) -> NDArray[np.intp]:
        """Second item of each row."""

    @property
    def n_models(self) -> int:
        """Number of items."""

    @property
    def incidence(self) -> csr_array:
        """Matrix of shape (n, n_items): 1 at the first item, -1 at the second."""


def local_gram(cut: ItemRows, extra: Array | Columns, weight: Array) -> Array:
    """Weighted Gram matrix of the local columns, in one pass over the rows.

    Parameters
    ----------
    cut : ItemRows
        The rows of a source.
    extra : ndarray or Columns of shape (n, n_extra)
        Columns that follow those of the items.
    weight : ndarray of shape (n,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_items + n_extra, n_items + n_extra)
    """
    n_items = cut.n_models
    # Each extra column carries sqrt(w), so that the product with itself is x' W x.
    root = np.sqrt(weight)
    scaled = Columns.of(extra).scaled(root)
    gram = np.empty((n_items + scaled.shape[1],) * 2)
    # The item columns e_a - e_b are never made: their Gram matrix is the Laplacian of
    # the pair weights, and their products with the extra columns are signed sums.
    pairs = pair_sums(cut.left, cut.right, weight, n_items)
    gram[:n_items, :n_items] = laplacian(pairs)
    gram[:n_items, n_items:] = cut.incidence.T @ (scaled * root[:, None])
    gram[n_items:, :n_items] = gram[:n_items, n_items:].T
    gram[n_items:, n_items:] = scaled.T @ scaled
    return gram


def local_score(cut: ItemRows, extra: Columns, residual: Array) -> Array:
    """Sum of the residuals times the local columns, in the order of `local_gram`.

    Parameters
    ----------
    cut : ItemRows
        The rows of a source.
    extra : Columns of shape (n, n_extra)
        Columns that follow those of the items.
    residual : ndarray of shape (n,)
        w eps of each row: its weight times (outcome minus probability).

    Returns
    -------
    ndarray of shape (n_items + n_extra,)
    """
    return np.concatenate([cut.incidence.T @ residual, extra.sums(residual)])


@dataclass(frozen=True, eq=False, slots=True)
class SourceSums:
    """Sums over the rows of one source: all that the inference needs of them.

    Sums of disjoint sets of rows are added with ``+``. There are two parts, and either
    may be left out: the information of the rows on the coefficients of their columns
    (``information``, ``curvature``, ``n_rows``), and their residuals (``score``, and
    ``outer`` or ``by_group``). A part that was not summed is None.

    All arrays may have leading axes, such as one of folds.

    Attributes
    ----------
    blocks : Blocks
        Names and widths of the blocks of local columns x.
    information : ndarray of shape (..., n_columns, n_columns) or None
        Sum of ``w V x x'``, V the variance of an outcome.
    curvature : ndarray of shape (...) or None
        Sum of ``w V``.
    n_rows : ndarray of shape (...) or None
        Number of rows with a positive ``w V``.
    score : ndarray of shape (..., n_columns) or None
        Sum of ``w eps x``, eps the outcome less its probability.
    outer : ndarray of shape (..., n_columns, n_columns) or None
        Sum of ``(w eps)^2 x x'``; also None where rows depend on each other by group.
    by_group : ColumnTotals or None
        The score of each group, where there are groups and no leading axes.
    """

    blocks: Blocks
    information: Array | None = None
    curvature: Array | None = None
    n_rows: NDArray[Any] | None = None
    score: Array | None = None
    outer: Array | None = None
    by_group: ColumnTotals | None = None

    def __add__(self, other: SourceSums) -> SourceSums:
        """Add the same sums of other rows; a part is summed in both, or in neither."""
        assert self.blocks == other.blocks
        pairs = {
            one.name: (getattr(self, one.name), getattr(other, one.name))
            for one in fields(self)
            if one.name != "blocks"
        }
        assert all((a is None) == (b is None) for a, b in pairs.values())
        return SourceSums(
            self.blocks,
            **{name: None if a is None else a + b for name, (a, b) in pairs.items()},
        )

    def copy(self) -> SourceSums:
        """The same sums in arrays of their own."""
        return self._mapped(lambda values, axes: values.copy())

    def gain(self, other: SourceSums, places: NDArray[np.intp] | None = None) -> None:
        """Add the same sums of other rows to these, in place.

        Parameters
        ----------
        other : SourceSums
            Of the other rows, by the same items or by fewer.
        places : ndarray of shape (n_other_items,), optional
            Index among these items of each item of the other sums, ascending or not.
            None where both are by the same items.
        """
        assert self.by_group is None
        runs = [(slice(None), slice(None))]
        if places is None:
            assert self.blocks == other.blocks
        else:
            # The item columns come first, the other blocks follow all of them.
            n_items = self.blocks["items"].stop
            assert self.blocks == other.blocks.with_items(n_items)
            others = np.arange(n_items, self.blocks.size)
            runs = _runs(np.concatenate([places, others]))
        for name, axes in _AXES.items():
            mine, more = getattr(self, name), getattr(other, name)
            assert (mine is None) == (more is None)
            if mine is None:
                continue
            if axes == 0:
                np.add(mine, more, out=mine)
            # Only the last ``axes`` axes are of columns; leading axes stay as they are.
            # Views are added to: ``mine[...] += x`` would copy each sum once more.
            for old, new in runs if axes else ():
                if axes == 1:
                    own = mine[..., new]
                    own += more[..., old]
                    continue
                for old_column, new_column in runs:
                    own = mine[..., new, new_column]
                    own += more[..., old, old_column]

    def __getitem__(self, at: Any) -> SourceSums:
        """Sums at an index of the leading axes, such as those of one fold."""
        assert self.by_group is None
        return self._mapped(lambda values, axes: values[at])

    def _mapped(
        self, function: Callable[[Any, int], Any], blocks: Blocks | None = None
    ) -> SourceSums:
        """Map each array, given with the number of its axes that are of columns."""
        found: dict[str, Any] = {}
        for name, axes in _AXES.items():
            values = getattr(self, name)
            found[name] = None if values is None else function(values, axes)
        return SourceSums(blocks or self.blocks, by_group=self.by_group, **found)


def _runs(places: NDArray[np.intp]) -> list[tuple[slice, slice]]:
    """Pairs of slices, before and after, of columns that stay side by side.

    Column j moves to ``places[j]``. There are few such runs, and copying slices is
    faster than indexing by an array.
    """
    # A new run begins wherever the target column is not the successor of the last one.
    cuts = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
    return [
        (slice(start, stop), slice(places[start], places[start] + stop - start))
        for start, stop in pairwise(cuts)
    ]


_AXES = {"information": 2, "curvature": 0, "n_rows": 0, "score": 1, "outer": 2}
"""Number of the last axes of each array that are of columns."""
