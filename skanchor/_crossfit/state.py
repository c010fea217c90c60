"""A history without its rows: fits and sums, beside which new models are placed.

Once the parameters of a fold are fixed, its historical rows enter through sums by local
column alone. They do not contain the score difference, so that they serve any scores.
Sums of sources with fewer columns than others end in zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from skanchor._crossfit.fits import FoldResult
from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.newton import (
    NEW_TOLERANCE,
    FitOfAllRows,
    grams_of,
    minimise,
    steps_of,
)
from skanchor._model.riesz import Influence, Information, RieszWeights, influence_of
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

Grams = dict[int, Array]
"""Information of the rows of each source, by local column."""

_MOST_PARTS = 16
"""Parts of sums by group that are kept apart: many small arrays would leave holes."""


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Scores of rows by group of dependent rows.

    Attributes
    ----------
    codes : ndarray of shape (n_groups,)
        64-bit codes of the labels of the groups.
    scores : csr_array of shape (n_groups, n_sources * n_columns)
        By local column, those of people before those of each judge.
    """

    codes: Annotated[NDArray[np.int64], "groups"]
    scores: Annotated[csr_array, "groups stacked"]

    @classmethod
    def of(cls, fit: Fit, rows: SourceRows, residual: Array) -> Self:
        """Scores of the rows of a source that are in groups, one by one."""
        chosen = rows.group >= 0
        rows, residual = rows[chosen], residual[chosen]
        n, columns = len(rows), n_columns(fit.layout)
        extra = residual[:, None] * rows.extra
        if not fit.layout.positions[rows.source]:
            # Without a position effect, nothing asks for the display order.
            extra[:, 0] = 0.0
        # Indices of half the size: there may be many rows.
        at = np.arange(rows.n_items - 2, rows.n_items + extra.shape[1], dtype=np.int32)
        at = np.tile(at, (n, 1))
        at[:, 0], at[:, 1] = rows.left, rows.right
        at += rows.source * columns
        entries = np.column_stack([residual, -residual, extra])
        starts = np.arange(n + 1, dtype=np.int32) * entries.shape[1]
        shape = n, fit.layout.n_sources * columns
        return cls(rows.group, csr_array((entries.ravel(), at.ravel(), starts), shape))

    @classmethod
    def joined(cls, parts: Sequence[GroupSums]) -> Self:
        """Several parts, one after the other."""
        codes = np.concatenate([one.codes for one in parts])
        return cls(codes, vstack([one.scores for one in parts], format="csr"))

    def summed(self) -> GroupSums:
        """One sum for each group, in the order of their codes."""
        codes, group = np.unique(self.codes, return_inverse=True)
        n, ones = len(group), np.ones(len(group))
        by_group = csr_array((ones, (group, np.arange(n))), (len(codes), n))
        scores = by_group @ self.scores
        scores.eliminate_zeros()
        if scores.nnz < np.iinfo(np.int32).max:
            scores.indices = scores.indices.astype(np.int32)
            scores.indptr = scores.indptr.astype(np.int32)
        return GroupSums(codes.astype(np.int64), scores)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Sums over the rows that a fold holds out, at the fit of the others.

    Attributes
    ----------
    score : ndarray of shape (n_sources, n_columns)
        Scores of the rows of each source.
    outer : ndarray of shape (n_sources, n_columns, n_columns)
        Products of the scores of those that are in no group.
    groups : list of GroupSums
        Scores of those in groups, part by part; codes may repeat.
    """

    score: Array
    outer: Array
    groups: list[GroupSums]

    @classmethod
    def of(
        cls, fit: Fit, held_out: Sequence[SourceRows], *, is_grouped: bool
    ) -> HeldOut:
        """Sum up rows, of which each source has its own."""
        n_sources, size = fit.layout.n_sources, n_columns(fit.layout)
        score, outer = np.zeros((n_sources, size)), np.zeros((n_sources, size, size))
        groups = []
        for rows in held_out:
            residual = rows.weight * (rows.y - fit.probabilities(rows))
            sums, products = rows.scores(residual)
            score[rows.source, : len(sums)] += sums
            outer[rows.source, : len(sums), : len(sums)] += products
            if is_grouped:
                groups.append(GroupSums.of(fit, rows, residual))
        return cls(score, outer, groups)

    def __add__(self, other: HeldOut) -> HeldOut:
        # The list of one grows, as that is where many batches are added up.
        groups = self.groups
        groups.extend(other.groups)
        if len(groups) >= _MOST_PARTS:
            groups[:] = [GroupSums.joined(groups)]
        return HeldOut(self.score + other.score, self.outer + other.outer, groups)


@dataclass(frozen=True, eq=False)
class PlacedFit:
    """New models, placed beside a history.

    Attributes
    ----------
    fit : Fit
        Of all rows.
    grams : dict of int to ndarray of shape (n_columns, n_columns)
        Information of all rows of each source.
    prior : ndarray of shape (size, size)
        Precision of the prior of the item effects, and ridges of spans.
    folds : list of FoldResult
        What each fold gives.
    """

    fit: Fit
    grams: Grams
    prior: Array
    folds: list[FoldResult]


@dataclass(frozen=True, eq=False)
class StoredFits:
    """Fits of historical rows, and the sums that replace these rows.

    Of symmetric matrices the upper triangle is stored, row after row.

    Attributes
    ----------
    layout : Layout
        Of historical items alone.
    x : ndarray of shape (1 + n_folds, size)
        Parameters fitted to all rows, then to the rows in training of each fold.
    converged : ndarray of shape (1 + n_folds,)
        Whether each fit met its tolerance.
    ridge : ndarray of shape (size,)
        Ridge of the Riesz weights; zero but for spans.
    item_precision : ndarray of shape (n_judges, n_judges)
        Inverse of the covariance of the item effects; zero without item effects.
    gram : ndarray of shape (n_sources, 1 + n_folds, n_entries)
        Information of all rows, then of the rows in training of each fold.
    score : ndarray of shape (n_sources, n_folds, n_columns)
        Scores of the rows that each fold holds out.
    outer : ndarray of shape (n_sources, n_folds, n_entries)
        Products of the scores of those that are in no group.
    groups : tuple of GroupSums, or None
        Scores of those in groups, of each fold; None where each row is a group of its
        own.
    """

    layout: Layout
    x: Annotated[Array, "fits size"]
    converged: Annotated[NDArray[np.bool_], "fits"]
    ridge: Annotated[Array, "size"]
    item_precision: Annotated[Array, "judges judges"]
    gram: Annotated[Array, "sources fits triangle"]
    score: Annotated[Array, "sources folds columns"]
    outer: Annotated[Array, "sources folds triangle"]
    groups: tuple[GroupSums, ...] | None = None

    @classmethod
    def of(
        cls,
        full: FitOfAllRows,
        trained: Sequence[tuple[Fit, Grams]],
        tests: Sequence[HeldOut],
        *,
        is_grouped: bool,
    ) -> Self:
        """Stack what folds have fitted, and the sums of the rows that they hold out.

        Parameters
        ----------
        full : FitOfAllRows
            The fit of all rows.
        trained : sequence of (fit, grams)
            Fit to the training rows of each fold, and their information.
        tests : sequence of HeldOut
            Sums of the rows that each fold holds out; their groups are emptied, to make
            room.
        is_grouped : bool
            Whether rows have groups.

        Returns
        -------
        StoredFits
        """
        layout, size = full.fit.layout, n_columns(full.fit.layout)
        weights = [rows.weight for rows in full.sources]
        whole = full.fit, dict(grams_of(full.fit, full.sources, weights))
        fits, grams = zip(whole, *trained, strict=True)
        gram = np.zeros((layout.n_sources, len(fits), size, size))
        for number, of_sources in enumerate(grams):
            for source, one in of_sources.items():
                gram[source, number, : len(one), : len(one)] = one
        outer = np.stack([one.outer for one in tests], axis=1)
        groups = []
        for one in tests if is_grouped else ():
            groups.append(GroupSums.joined(one.groups).summed())
            one.groups.clear()
        at, n, n_judges = layout.item_effects, layout.n_models, layout.n_sources - 1
        precision, upper = np.zeros((n_judges, n_judges)), np.triu_indices(size)
        if layout.has_item_effects:
            # The precision is the same for all models.
            precision = full.prior[at, at][::n, ::n]
        ridge = full.prior.diagonal().copy()
        ridge[at] = 0.0
        return cls(
            layout,
            np.array([fit.x for fit in fits]),
            np.array([fit.converged for fit in fits]),
            ridge,
            precision,
            gram[:, :, *upper],
            np.stack([one.score for one in tests], axis=1),
            outer[:, :, *upper],
            tuple(groups) if is_grouped else None,
        )

    def with_new_models(
        self,
        is_new: NDArray[np.bool_],
        rows: Sequence[SourceRows],
        folds: Iterable[tuple[Sequence[Array], Sequence[SourceRows]]],
        bounds: tuple[float, float],
    ) -> PlacedFit:
        """Fit new scores and item effects, and add the sums of their rows.

        Parameters
        ----------
        is_new : ndarray of shape (n_items,)
            Which items are new; the others are those of the history, in their order.
        rows : sequence of SourceRows
            Rows with a new model.
        folds : iterable of (training, held_out)
            Weights of these rows in training, scaled to stand for all, and rows held
            out, of each fold.
        bounds : tuple of (low, high)
            Bounds of the new scores.

        Returns
        -------
        PlacedFit
        """
        n_items, items = len(is_new), np.flatnonzero(~is_new)
        layout = replace(
            self.layout,
            is_new=is_new,
            context=np.zeros(n_items, dtype=np.intp),
            model=np.arange(n_items),
        )
        x, prior = self._among(layout, items)
        # Places of the stored columns among those of all items.
        size = n_columns(layout)
        columns = np.append(items, np.arange(n_items, size))
        gram = np.zeros((*self.gram.shape[:2], size, size))
        row, column = columns[np.array(np.triu_indices(len(columns)))]
        gram[:, :, row, column] = gram[:, :, column, row] = self.gram
        sizes = [n_items + 1 + width for width in layout.widths]

        def grams(number: int, fit: Fit, weights: Sequence[Array]) -> Grams:
            total = {m: gram[m, number, :k, :k].copy() for m, k in enumerate(sizes)}
            for source, one in grams_of(fit, rows, weights):
                total[source] += one
            return total

        free = steps_of(layout, is_joint=True)[-1].free
        whole, limits = [part.weight for part in rows], layout.bounds_of_new(bounds)
        start = Fit(layout, x[0], prior)
        first, hessian = minimise(start, rows, whole, free, bounds=limits)
        results = []
        for number, (weights, test) in enumerate(folds):
            fit, _ = minimise(
                Fit(layout, np.where(free, first.x, x[1 + number]), prior),
                rows,
                weights,
                free,
                bounds=limits,
                hessian=hessian,
                tolerance=NEW_TOLERANCE,
            )
            # A fold whose historical rows were not fitted gives no score.
            fit = fit.moved(fit.x, fit.converged and bool(self.converged[1 + number]))
            of_fold = grams(1 + number, fit, weights)
            riesz = Information.of(fit, of_fold.items(), prior).weights
            of_history, groups = self._influence(number, riesz, columns)
            results.append(
                FoldResult(
                    layout.targets.T @ fit.x,
                    riesz,
                    influence_of(riesz, test, 0, groups) + of_history,
                    riesz.expected_parts(of_fold.items()),
                )
            )
        return PlacedFit(first, grams(0, first, whole), prior, results)

    def _among(self, layout: Layout, items: NDArray[np.intp]) -> tuple[Array, Array]:
        """Parameters of all fits and the prior, with those of new items at zero."""
        index = np.arange(layout.size)
        of_sources = index[layout.sensitivities.start : layout.item_effects.start]
        effects = index[layout.item_effects].reshape(-1, layout.n_items)[:, items]
        places = np.concatenate([items, of_sources, effects.ravel()])
        x, ridge = np.zeros((len(self.x), layout.size)), np.zeros(layout.size)
        x[:, places], ridge[places] = self.x, self.ridge
        prior, at = np.diag(ridge), layout.item_effects
        if layout.has_item_effects:
            prior[at, at] = np.kron(self.item_precision, np.eye(layout.n_items))
        return x, prior

    def _influence(
        self, number: int, riesz: RieszWeights, columns: NDArray[np.intp]
    ) -> tuple[Influence, list[tuple[NDArray[np.int64], Array]]]:
        """Influence of the historical rows that a fold holds out.

        Parameters
        ----------
        number : int
            Of the fold.
        riesz : RieszWeights
            Its weights.
        columns : ndarray of shape (n_columns,)
            Places of the stored local columns among those of all items.

        Returns
        -------
        influence : Influence
            Of rows that are in no group.
        groups : list of (codes, totals)
            Of groups, by people's rows and by judges'.
        """
        size, n_items = len(columns), riesz.values.shape[1]
        # Riesz weights by stored column, of people in the first half and of judges in
        # the second.
        weights = np.zeros((self.layout.n_sources, size, 2 * n_items))
        total, parts = np.zeros(n_items), np.zeros((3, n_items, n_items))
        row, column = np.triu_indices(size)
        for source, width in enumerate(self.layout.widths):
            k, kind = self.layout.n_items + 1 + width, 0 if source == PEOPLE else 1
            local = np.zeros((size, n_items))
            local[:k] = riesz.local(source)[columns[:k]]
            outer = np.zeros((size, size))
            outer[row, column] = outer[column, row] = self.outer[source, number]
            total += self.score[source, number] @ local
            parts[kind] += local.T @ outer @ local
            weights[source, :, kind * n_items : (kind + 1) * n_items] = local
        nothing = np.zeros((n_items, n_items))
        influence = Influence(total, parts, nothing[:0], nothing, nothing[0])
        if self.groups is None:
            return influence, []
        of_groups = self.groups[number]
        totals = of_groups.scores @ weights.reshape(-1, 2 * n_items)
        return influence, [
            (of_groups.codes, totals[:, :n_items]),
            (of_groups.codes, totals[:, n_items:]),
        ]


def n_columns(layout: Layout) -> int:
    """Number of local columns of the source that has most: items, order and span."""
    return layout.n_items + 1 + max(layout.widths)
