"""Resamples as row weights: rows, or whole groups, drawn within each source."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.batched import Workspace
from skanchor._typing import Array
from skanchor.sample import Sample

__all__ = ["Resampler"]


LEAST_STRATUM = 20
"""Groups from which on a stratum of resamples has a fair variance of its own."""


class Resampler:
    """Draw row weights: rows, or whole groups, with replacement within each source.

    Groups that span several sources are drawn as wholes from the groups that span the
    same ones, so that what a prompt's rows share stays together. Where fewer than
    twenty span the same ones, they are drawn together with other such groups: alone
    they would hardly vary.

    Parameters
    ----------
    sample : Sample
        Rows with decided roles; those without weight are not drawn.
    seed : int
        Seed. Every block of resamples has a stream of its own, so that resamples do
        not depend on who draws them, or when.
    """

    def __init__(self, sample: Sample, seed: int):
        weight, groups = sample.weight, sample.groups
        self.weight, self.seed = weight, seed
        self._unit_weights = bool((weight == 1.0).all())
        used = np.flatnonzero(sample.counts)
        source = sample.X.rows.sources[used]
        if groups is None:
            unit, stratum = np.arange(len(used)), source
        else:
            _, unit = np.unique(groups[used], return_inverse=True)
            spans = np.zeros((unit.max() + 1, source.max() + 1), dtype=bool)
            spans[unit, source] = True
            _, kind, sizes = np.unique(
                spans, axis=0, return_inverse=True, return_counts=True
            )
            stratum = _pooled(sizes)[kind.ravel()]
        # Units of a stratum side by side, and the place of each row's unit.
        order = np.argsort(stratum, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        sizes = np.bincount(stratum)
        self._sizes = sizes[sizes > 0]
        self._unit: NDArray[np.intp] | None = np.full(len(weight), len(order))
        self._unit[used] = place[unit]
        if np.array_equal(self._unit, np.arange(len(weight))):
            self._unit = None
        # Small enough for the caches, large enough to spread the calls over.
        self.block = int(np.clip(500_000 // max(len(weight), 1), 2, 64))
        self._work = Workspace()

    def _counts(self, drawn: NDArray[np.intp], name: str) -> Array:
        """Weights of the rows from the units drawn, (n_resamples, n_rows)."""
        n_resamples, n_units = drawn.shape
        counts = self._work.take(name, (n_resamples, n_units + 1))
        for r, units in enumerate(drawn):
            counts[r] = np.bincount(units, minlength=n_units + 1)
        if self._unit is None:
            own = counts[:, :-1]
        else:
            own = self._work.take(name + " rows", (n_resamples, len(self.weight)))
            np.take(counts, self._unit, axis=1, out=own, mode="clip")
        if not self._unit_weights:
            own *= self.weight
        return own

    def draw(self, number: int, n_inner: int = 0) -> tuple[Array, Iterator[Array]]:
        """Draw one block.

        The arrays are used again: each holds until the next of its kind is drawn.

        Parameters
        ----------
        number : int
            Number of the block.
        n_inner : int, default=0
            Resamples of each resample.

        Returns
        -------
        weights : ndarray of shape (block, n_rows)
            Weights of the resamples.
        inner : iterator of ndarrays of shape (n_inner, n_rows)
            Weights of the resamples of each resample.
        """
        stream = np.random.SeedSequence(self.seed, spawn_key=(number,))
        outer_seed, inner_seed = stream.spawn(2)
        drawn = self._draw(np.random.default_rng(outer_seed), self.block, "units")
        return self._counts(drawn, "outer"), self._inner(drawn, inner_seed, n_inner)

    def _inner(
        self, drawn: NDArray[np.intp], seed: np.random.SeedSequence, n_inner: int
    ) -> Iterator[Array]:
        rng = np.random.default_rng(seed)
        if n_inner:
            for units in drawn:
                again = self._draw(rng, n_inner, "inner units")
                yield self._counts(units[again], "inner")

    def _draw(self, rng: np.random.Generator, n: int, name: str) -> NDArray[np.intp]:
        """Places drawn within each stratum, of shape (n, n_units)."""
        drawn = self._work.take(name, (n, int(self._sizes.sum())), np.intp)
        begin = 0
        for size in self._sizes.tolist():
            end = begin + size
            kind = np.uint16 if size < 2**16 else np.uint32
            drawn[:, begin:end] = rng.integers(size, size=(n, size), dtype=kind)
            drawn[:, begin:end] += begin
            begin = end
        return drawn


def _pooled(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Stratum that each kind of group is drawn in: its own, or one for the rare."""
    rare = sizes < LEAST_STRATUM
    if sizes[rare].sum() < LEAST_STRATUM and rare.any():
        rare[np.argmax(sizes)] = True
    stratum = np.arange(len(sizes))
    return np.where(rare, np.argmax(rare), stratum)
