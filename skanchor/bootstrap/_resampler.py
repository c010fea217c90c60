"""Resamples as row weights: rows, or whole groups, drawn within each source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.batched import Workspace
from skanchor._typing import Array
from skanchor.sample import Sample

LEAST_STRATUM = 20
"""Smallest number of groups in a stratum that is resampled by itself."""


class Resampler:
    """Draw row weights: rows, or whole groups, with replacement within each source.

    A stratum is a source, or, with groups, the groups that have rows in the same set of
    sources. Groups are drawn as wholes, so that dependent rows stay together. Strata of
    fewer than twenty groups are pooled, since few groups would hardly vary.

    Parameters
    ----------
    sample : Sample
        Rows with decided roles; rows without weight are not drawn.
    seed : int
        Seed. Every block of resamples has its own random stream, so that resamples do
        not depend on which process draws them, nor on the order.
    """

    @classmethod
    def of(cls, sample: Sample, seed: int) -> Resampler:
        """The resampler of rows, or of cells where rows stand for several."""
        return (cls if sample.multiplicity is None else _CellResampler)(sample, seed)

    def __init__(self, sample: Sample, seed: int):
        weight, groups = sample.weight, sample.groups
        self.weight, self.seed = weight, seed
        self._unit_weights = bool((weight == 1.0).all())
        used = np.flatnonzero(sample.counts)
        source = sample.X.rows.sources[used]
        if groups is None:
            unit, stratum = np.arange(len(used)), source
        else:
            # spans[g, s]: whether group g has rows of source s. Equal rows of this
            # table are one kind of group.
            _, unit = np.unique(groups[used], return_inverse=True)
            spans = np.zeros((unit.max() + 1, source.max() + 1), dtype=bool)
            spans[unit, source] = True
            _, kind, sizes = np.unique(
                spans, axis=0, return_inverse=True, return_counts=True
            )
            stratum = _pooled(sizes)[kind.ravel()]
        # Renumber the units so that those of a stratum are contiguous: ``rank`` is the
        # inverse permutation of ``order``.
        order = np.argsort(stratum, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        sizes = np.bincount(stratum)
        self._sizes = sizes[sizes > 0]
        # Unit of each row. Rows that are not used have the number n_units, whose count
        # is always zero. None where every row is its own unit, in order.
        self._unit: NDArray[np.intp] | None = np.full(len(weight), len(order))
        self._unit[used] = rank[unit]
        if np.array_equal(self._unit, np.arange(len(weight))):
            self._unit = None
        self._work = Workspace()

    @property
    def block(self) -> int:
        """Number of resamples of a block.

        Few enough that a block of weights stays in the caches, and many enough that the
        cost of a call does not matter.
        """
        return int(np.clip(500_000 // max(len(self.weight), 1), 2, 64))

    def _counts(self, drawn: NDArray[Any]) -> Array:
        """Row weights (n_resamples, n_rows) from drawn units (n_resamples, n_units)."""
        n_resamples, n_units = drawn.shape
        # How often each unit was drawn; the last column, of unused rows, stays zero.
        counts = self._work.take("counts", (n_resamples, n_units + 1))
        for r, units in enumerate(drawn):
            counts[r] = np.bincount(units, minlength=n_units + 1)
        if self._unit is None:
            own = counts[:, :-1]
        else:
            own = self._work.take("rows", (n_resamples, len(self.weight)))
            np.take(counts, self._unit, axis=1, out=own, mode="clip")
        if not self._unit_weights:
            own *= self.weight
        return own

    def draw(self, number: int) -> Array:
        """Draw one block.

        The array is reused: it is valid until the next block is drawn.

        Parameters
        ----------
        number : int
            Number of the block.

        Returns
        -------
        ndarray of shape (block, n_rows)
            Weights of the resamples.
        """
        stream = np.random.SeedSequence(self.seed, spawn_key=(number, 0))
        return self._counts(self._draw(np.random.default_rng(stream), self.block))

    def _draw(self, rng: np.random.Generator, n: int) -> NDArray[Any]:
        """Units drawn within each stratum, of shape (n, n_units)."""
        drawn = self._work.take("units", (n, int(self._sizes.sum())), np.intp)
        begin = 0
        for size in self._sizes.tolist():
            end = begin + size
            # Small integers are drawn faster.
            kind = np.uint16 if size < 2**16 else np.uint32
            drawn[:, begin:end] = rng.integers(size, size=(n, size), dtype=kind)
            drawn[:, begin:end] += begin
            begin = end
        return drawn


class _CellResampler(Resampler):
    """Draw how often the rows of each cell are drawn: multinomial by source.

    Rows of a cell are equal, so that the weights of its rows may be added up. Their sum
    has the law that it has where rows are drawn one by one.
    """

    def __init__(self, sample: Sample, seed: int):
        assert sample.multiplicity is not None
        self.seed = seed
        # Number of rows of each cell, and the weight of each of these.
        self._number = np.where(sample.counts, sample.multiplicity, 0.0)
        self.weight = sample.weight / sample.multiplicity
        source = sample.X.rows.sources
        self._sources = [
            np.flatnonzero((source == code) & (self._number > 0))
            for code in np.unique(source)
        ]

    def _counts(self, drawn: NDArray[Any]) -> Array:
        """Weights of cells from the rows drawn of them."""
        return drawn * self.weight

    def _draw(self, rng: np.random.Generator, n: int) -> NDArray[Any]:
        """Rows drawn of each cell, of shape (n, n_cells): as many as a source has."""
        counts = np.zeros((n, len(self._number)))
        for cells in self._sources:
            number = self._number[cells]
            total = number.sum()
            counts[:, cells] = rng.multinomial(int(total), number / total, n)
        return counts


def _pooled(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Stratum of each kind of group: its own, or a common one of all rare kinds.

    ``sizes`` has the number of groups of each kind.
    """
    rare = sizes < LEAST_STRATUM
    # If the rare kinds are too few even together, the most frequent kind joins them.
    if sizes[rare].sum() < LEAST_STRATUM and rare.any():
        rare[np.argmax(sizes)] = True
    stratum = np.arange(len(sizes))
    # The common stratum has the number of the first of its kinds.
    return np.where(rare, np.argmax(rare), stratum)
