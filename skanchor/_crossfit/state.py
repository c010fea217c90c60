"""A history without its rows: fits and sums, beside which new models are placed.

Once the parameters of a fold are fixed, its historical rows enter through sums by local
column alone. They do not contain the score difference, so that they serve any scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._crossfit.held_out import FoldGroups, HeldOut
from skanchor._crossfit.one_fold import FoldResult
from skanchor._model.fit import Fit
from skanchor._model.influence import Influence, influence_of
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.newton import (
    NEW_TOLERANCE,
    FitOfAllRows,
    grams_of,
    minimise,
    steps_of,
)
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

Grams = dict[int, Array]
"""Information of the rows of each source, by local column."""


@dataclass(frozen=True, eq=False)
class StoredSource:
    """Sums over the historical rows of one source, with a leading axis of fits.

    Of symmetric matrices the upper triangle is stored, row after row.

    Attributes
    ----------
    source : int
        ``PEOPLE``, or the code of the judge.
    gram : ndarray of shape (1 + n_folds, n_entries)
        Information of all rows, then of the rows in training of each fold.
    score : ndarray of shape (n_folds, n_columns)
        Scores of the rows that each fold holds out.
    outer : ndarray of shape (n_folds, n_entries)
        Products of the scores of those that are in no group.
    """

    source: int
    gram: Array
    score: Array
    outer: Array

    @classmethod
    def of(
        cls,
        source: int,
        grams: Iterable[Array],
        scores: Iterable[Array],
        outers: Iterable[Array],
    ) -> StoredSource:
        """Stack the sums of the fits, of whole matrices."""
        return cls(
            source,
            np.array(list(map(_triangle, grams))),
            np.array(list(scores)),
            np.array(list(map(_triangle, outers))),
        )

    def among(self, columns: NDArray[np.intp], size: int) -> tuple[Array, Array, Array]:
        """Whole matrices and vectors among more columns, where these are at places."""
        score = np.zeros((len(self.score), size))
        score[:, columns] = self.score
        gram, outer = (
            np.zeros((len(entries), size, size)) for entries in (self.gram, self.outer)
        )
        row, column = (columns[at] for at in _upper(len(columns)))
        for matrix, entries in ((gram, self.gram), (outer, self.outer)):
            matrix[:, row, column] = matrix[:, column, row] = entries
        return gram, score, outer


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
    sources : tuple of StoredSource
        Sums of people, then of each judge.
    groups : tuple of FoldGroups, or None
        Of each fold; None where each row is a group of its own.
    """

    layout: Layout
    x: Array
    converged: NDArray[np.bool_]
    ridge: Array
    item_precision: Array
    sources: tuple[StoredSource, ...]
    groups: tuple[FoldGroups, ...] | None = None

    @classmethod
    def of(
        cls,
        full: FitOfAllRows,
        trained: Sequence[tuple[Fit, Grams]],
        tests: Sequence[HeldOut],
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

        Returns
        -------
        StoredFits
        """
        layout = full.fit.layout
        weights = [rows.weight for rows in full.sources]
        whole = full.fit, dict(grams_of(full.fit, full.sources, weights))
        fits, grams = zip(whole, *trained, strict=True)
        sources, nothing = [], []
        for source, width in enumerate(layout.widths):
            zero = np.zeros((layout.n_items + 1 + width,) * 2)
            pairs = [one.scores.get(source, (zero[0], zero)) for one in tests]
            scores, outers = zip(*pairs, strict=True)
            fitted = [one.get(source, zero) for one in grams]
            sources.append(StoredSource.of(source, fitted, scores, outers))
            nothing.append((np.zeros(0, dtype=np.int64), csr_array(zero[:0])))
        groups = None
        if tests[0].groups is not None:
            groups = tuple(
                FoldGroups.of(
                    [(one.groups or {}).get(m, [no]) for m, no in enumerate(nothing)]
                )
                for one in tests
            )
        at, n, n_judges = layout.item_effects, layout.n_models, layout.n_sources - 1
        precision = np.zeros((n_judges, n_judges))
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
            tuple(sources),
            groups,
        )

    def place(
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
        columns = [
            np.append(items, np.arange(n_items, n_items + 1 + width))
            for width in layout.widths
        ]
        known = [
            one.among(at, n_items + 1 + width)
            for one, at, width in zip(self.sources, columns, layout.widths, strict=True)
        ]

        def grams(number: int, fit: Fit, weights: Sequence[Array]) -> Grams:
            found = {m: gram[number].copy() for m, (gram, *_) in enumerate(known)}
            for source, gram in grams_of(fit, rows, weights):
                found[source] += gram
            return found

        free = steps_of(layout, is_joint=True)[-1].free
        whole, limits = [part.weight for part in rows], layout.bounds_of_new(bounds)
        first, hessian = minimise(
            Fit(layout, x[0], prior), rows, whole, free, bounds=limits
        )
        results = []
        for number, (weights, test) in enumerate(folds):
            start = np.where(free, first.x, x[1 + number])
            fit, _ = minimise(
                Fit(layout, start, prior),
                rows,
                weights,
                free,
                bounds=limits,
                hessian=hessian,
                tolerance=NEW_TOLERANCE,
            )
            # A fold whose historical rows were not fitted gives no score.
            is_whole = fit.converged and bool(self.converged[1 + number])
            fit = fit.moved(fit.x, is_whole)
            of_fold = grams(1 + number, fit, weights)
            riesz = RieszWeights.solve(fit, of_fold.items(), prior)
            local = [riesz.local(source) for source in range(layout.n_sources)]
            influence = _influence(
                [(score[number], outer[number]) for _, score, outer in known], local
            )
            by_group = self._by_group(number, local, columns)
            influence = influence_of(riesz, test, 0, by_group) + influence
            results.append(
                FoldResult(
                    layout.targets.T @ fit.x,
                    riesz,
                    influence,
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

    def _by_group(
        self, number: int, local: list[Array], columns: list[NDArray[np.intp]]
    ) -> list[tuple[NDArray[np.int64], Array]]:
        """Influence of the historical rows that a fold holds out, by their group."""
        if self.groups is None:
            return []
        known, weights = (
            self.groups[number],
            [one[at] for one, at in zip(local, columns, strict=True)],
        )
        by_judge = np.concatenate([weights[PEOPLE][:0], *weights[1:]])
        return [
            (known.codes, known.people @ weights[PEOPLE]),
            (known.codes, known.judges @ by_judge),
        ]


def _influence(sums: list[tuple[Array, Array]], local: list[Array]) -> Influence:
    """Influence of rows in no group, from their summed scores and products of scores.

    Parameters
    ----------
    sums : list of (score, outer)
        Of each source.
    local : list of ndarray of shape (n_columns, n_items)
        Riesz weights by local column, of each source.
    """
    n_items = local[PEOPLE].shape[1]
    total, parts = np.zeros(n_items), np.zeros((3, n_items, n_items))
    for source, ((score, outer), weight) in enumerate(zip(sums, local, strict=True)):
        total += score @ weight
        parts[0 if source == PEOPLE else 1] += weight.T @ outer @ weight
    nothing = np.zeros((n_items, n_items))
    return Influence(total, parts, nothing[:0], nothing, nothing[0])


@lru_cache
def _upper(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column of each entry of an upper triangle, row after row."""
    return np.triu_indices(size)


def _triangle(matrix: Array) -> Array:
    """Entries of the upper triangle of a symmetric matrix."""
    return np.asarray(matrix[_upper(len(matrix))])
