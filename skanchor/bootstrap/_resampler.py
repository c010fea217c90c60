"""Resamples as row weights: rows, or whole groups, drawn within each source."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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

    def __init__(self, sample: Sample, seed: int):
        weight, groups = sample.weight, sample.groups
        self.weight, self.seed = weight, seed
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
        # is always zero.
        self._unit = np.full(len(weight), len(order))
        self._unit[used] = rank[unit]

    @property
    def block(self) -> int:
        """Number of resamples of a block: few enough that its weights stay small."""
        return int(np.clip(500_000 // max(len(self.weight), 1), 2, 64))

    def draw(self, number: int) -> Array:
        """Draw one block.

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
        rng = np.random.default_rng(stream)
        n_units, begin = int(self._sizes.sum()), 0
        # How often each unit was drawn; the last column, of unused rows, stays zero.
        counts = np.zeros((self.block, n_units + 1))
        for size in self._sizes.tolist():
            # Small integers are drawn faster.
            kind = np.uint16 if size < 2**16 else np.uint32
            drawn = rng.integers(size, size=(self.block, size), dtype=kind)
            for count, units in zip(counts, drawn, strict=True):
                count[begin : begin + size] = np.bincount(units, minlength=size)
            begin += size
        return np.asarray(counts[:, self._unit] * self.weight)


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
