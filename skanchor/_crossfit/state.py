"""A history without its rows: fits and sums, beside which new models are placed.

Once the parameters of a fold are fixed, its historical rows enter through sums by local
column alone. They do not contain the score difference, so that they serve any scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._crossfit.engine import FoldResult
from skanchor._crossfit.held_out import FoldGroups, HeldOut
from skanchor._model.fit import Fit
from skanchor._model.influence import Influence, influence_of
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.newton import minimise
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows
from skanchor._model.steps import NEW_TOLERANCE, FitOfAllRows, grams_of, steps_of
from skanchor._typing import Array


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


@dataclass(frozen=True, eq=False)
class PlacedFit:
    """New models, placed beside a history.

    Attributes
    ----------
    fit : Fit
        Of all rows.
    grams : list of ndarray of shape (n_columns, n_columns)
        Information of all rows of each source, people first.
    prior : ndarray of shape (size, size)
        Precision of the prior of the item effects, and ridges of spans.
    folds : list of FoldResult
        What each fold gives.
    """

    fit: Fit
    grams: list[Array]
    prior: Array
    folds: list[FoldResult]


@dataclass(frozen=True, eq=False)
class TrainedFold:
    """Fit of the training rows of a fold, and their information by source."""

    fit: Fit
    grams: dict[int, Array]

    @classmethod
    def of(cls, full: FitOfAllRows, training: Sequence[Array]) -> TrainedFold:
        """Fit rows with these weights, from the fit of all rows."""
        fit = full.refitted(training)
        return cls(fit, dict(grams_of(fit, full.sources, training)))

    def moved(self, full: Fit, rows: Sequence[SourceRows]) -> TrainedFold:
        """Move information that was taken at the fit of all rows to that of the fold.

        The variances of outcomes differ between the two by one part in the root of the
        number of rows, which some rows that stand for all tell well enough.

        Parameters
        ----------
        full : Fit
            Fit of all rows.
        rows : sequence of SourceRows
            The rows.

        Returns
        -------
        TrainedFold
        """
        grams = dict(self.grams)
        for one in rows:
            there, here = (
                one.information(one.weight, fit.probabilities(one))
                for fit in (self.fit, full)
            )
            grams[one.source] = grams[one.source] + (there - here)
        return TrainedFold(self.fit, grams)


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
        folds: Iterable[tuple[Sequence[Array], Sequence[SourceRows]]],
        *,
        is_grouped: bool,
    ) -> StoredFits:
        """Fit every fold, and sum up its rows.

        Parameters
        ----------
        full : FitOfAllRows
            The fit of all rows, from which folds start.
        folds : iterable of (training, held_out)
            Weights of the rows of each source in training, and rows held out.
        is_grouped : bool
            Whether rows may depend on each other by group.

        Returns
        -------
        StoredFits
        """
        trained, tests = [], []
        for training, held_out in folds:
            trained.append(TrainedFold.of(full, training))
            tests.append(HeldOut.of(trained[-1].fit, held_out, is_grouped=is_grouped))
        return cls.stacked(full, trained, tests)

    @classmethod
    def stacked(
        cls,
        full: FitOfAllRows,
        trained: Sequence[TrainedFold],
        tests: list[HeldOut],
    ) -> StoredFits:
        """Stack what folds have fitted, and the sums of the rows that they hold out.

        Parameters
        ----------
        full : FitOfAllRows
            As in :meth:`of`.
        trained : sequence of TrainedFold
            Fits of the folds.
        tests : list of HeldOut
            Sums of the rows that each fold holds out; their groups are emptied, to make
            room.

        Returns
        -------
        StoredFits
        """
        layout, whole = full.fit.layout, full.fit
        zeros = [np.zeros((layout.n_items + 1 + width,) * 2) for width in layout.widths]
        weights = [part.weight for part in full.sources]
        grams = [dict(grams_of(whole, full.sources, weights))]
        grams += [fold.grams for fold in trained]
        sources = []
        for source, zero in enumerate(zeros):
            pairs = [one.scores.get(source, (zero[0], zero)) for one in tests]
            scores, outers = zip(*pairs, strict=True)
            fitted = [one.get(source, zero) for one in grams]
            sources.append(StoredSource.of(source, fitted, scores, outers))
        groups = None
        if tests[0].groups is not None:
            none = [
                (np.zeros(0, dtype=np.int64), csr_array(zero[:0])) for zero in zeros
            ]
            groups = tuple(
                FoldGroups.of(
                    [(one.groups or {}).get(m, [part]) for m, part in enumerate(none)]
                )
                for one in tests
            )
        at, n = layout.item_effects, layout.n_models
        shape = layout.n_sources - 1, n, layout.n_sources - 1, n
        precision = np.zeros((shape[0], shape[0]))
        if layout.has_item_effects:
            # The precision is the same for all models.
            precision = full.prior[at, at].reshape(shape)[:, 0, :, 0]
        ridge = full.prior.diagonal().copy()
        ridge[at] = 0.0
        fits = [whole, *(fold.fit for fold in trained)]
        return cls(
            layout,
            np.array([fit.x for fit in fits]),
            np.array([fit.converged for fit in fits]),
            ridge,
            precision,
            tuple(sources),
            groups,
        )

    def gram(self, number: int, source: int) -> Array:
        """Information of the rows of a source in one of the fits, by local column."""
        size = self.layout.n_items + 1 + self.layout.widths[source]
        return _full(self.sources[source].gram[number], size)

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
        layout = replace(
            self.layout,
            is_new=is_new,
            context=np.zeros(len(is_new), dtype=np.intp),
            model=np.arange(len(is_new)),
        )
        among = _Among.of(self, layout)
        step = steps_of(layout, is_joint=True)[-1]
        limits = np.full((2, layout.size), [[-np.inf], [np.inf]])
        limits[:, layout.scores] = np.array(bounds)[:, None]
        low, high = limits
        whole = [part.weight for part in rows]
        first, hessian = minimise(
            among.fit(0), rows, whole, step.free, bounds=(low, high)
        )
        results = []
        for number, (weights, test) in enumerate(folds):
            fit, _ = minimise(
                among.fit(1 + number, first.x),
                rows,
                weights,
                step.free,
                bounds=(low, high),
                hessian=hessian,
                tolerance=NEW_TOLERANCE,
            )
            # A fold whose historical rows were not fitted gives no score.
            is_whole = fit.converged and bool(self.converged[1 + number])
            fit = fit.moved(fit.x, is_whole)
            grams = among.grams(1 + number, fit, rows, weights)
            riesz = RieszWeights.solve(fit, list(enumerate(grams)), among.precision)
            results.append(
                FoldResult(
                    layout.targets.T @ fit.x,
                    riesz,
                    self._influence(number, among, riesz, test),
                    riesz.expected_parts(enumerate(grams)),
                )
            )
        grams = among.grams(0, first, rows, whole)
        return PlacedFit(first, grams, among.precision, results)

    def _influence(
        self,
        number: int,
        among: _Among,
        weights: RieszWeights,
        test: Sequence[SourceRows],
    ) -> Influence:
        """Influence of the rows that a fold holds out, historical and new ones."""
        n_items = among.layout.n_items
        local = [
            weights.local(source)[columns]
            for source, columns in enumerate(among.columns)
        ]
        total, parts = np.zeros(n_items), np.zeros((3, n_items, n_items))
        for sums, weight in zip(self.sources, local, strict=True):
            total += sums.score[number] @ weight
            outer = _full(sums.outer[number], len(weight))
            parts[0 if sums.source == PEOPLE else 1] += weight.T @ outer @ weight
        nothing = np.zeros((n_items, n_items))
        historical = Influence(total, parts, nothing[:0], nothing, nothing[0])
        groups: list[tuple[NDArray[np.int64], Array]] = []
        if self.groups is not None:
            known = self.groups[number]
            by_judge = np.concatenate([nothing[:0], *local[1:]])
            groups = [
                (known.codes, known.people @ local[PEOPLE]),
                (known.codes, known.judges @ by_judge),
            ]
        return influence_of(weights, test, 0, groups) + historical


@dataclass(frozen=True, eq=False)
class _Among:
    """Fits and sums of a history among the items of new rows.

    Attributes
    ----------
    history : StoredFits
        The history.
    layout : Layout
        Of historical and new items.
    x : ndarray of shape (1 + n_folds, size)
        Parameters of all fits; those of new items are zero.
    precision : ndarray of shape (size, size)
        Of the prior of the item effects, and ridges of spans.
    columns : list of ndarray
        Where the local columns of each source lie.
    """

    history: StoredFits
    layout: Layout
    x: Array
    precision: Array
    columns: list[NDArray[np.intp]]

    @classmethod
    def of(cls, history: StoredFits, layout: Layout) -> _Among:
        """Find the places of the historical items."""
        items, index = np.flatnonzero(~layout.is_new), np.arange(layout.size)
        of_sources = index[layout.sensitivities.start : layout.item_effects.start]
        effects = index[layout.item_effects].reshape(-1, layout.n_items)[:, items]
        places = np.concatenate([items, of_sources, effects.ravel()])
        x, ridge = np.zeros((len(history.x), layout.size)), np.zeros(layout.size)
        x[:, places], ridge[places] = history.x, history.ridge
        precision, at = np.diag(ridge), layout.item_effects
        if layout.has_item_effects:
            precision[at, at] = np.kron(history.item_precision, np.eye(layout.n_items))
        columns = [
            np.concatenate([items, layout.n_items + np.arange(1 + width)])
            for width in layout.widths
        ]
        return cls(history, layout, x, precision, columns)

    def fit(self, number: int, near: Array | None = None) -> Fit:
        """One of the fits, new scores and item effects as in ``near``."""
        x, layout = self.x[number].copy(), self.layout
        if near is not None:
            new = layout.of_scores(layout.is_new)
            new |= layout.of_item_effects(layout.is_new)
            x[new] = near[new]
        return Fit(layout, x, self.precision)

    def grams(
        self,
        number: int,
        fit: Fit,
        rows: Sequence[SourceRows],
        weights: Sequence[Array],
    ) -> list[Array]:
        """Information of each source, of historical and of new rows."""
        grams = []
        for source, columns in enumerate(self.columns):
            size = self.layout.n_items + 1 + self.layout.widths[source]
            gram = np.zeros((size, size))
            gram[columns[:, None], columns] = self.history.gram(number, source)
            grams.append(gram)
        for part, weight in zip(rows, weights, strict=True):
            grams[part.source] += part.information(weight, fit.probabilities(part))
        return grams


@lru_cache
def _upper(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column of each entry of an upper triangle, row after row."""
    return np.triu_indices(size)


def _triangle(matrix: Array) -> Array:
    """Entries of the upper triangle of a symmetric matrix."""
    return np.asarray(matrix[_upper(len(matrix))])


def _full(entries: Array, size: int) -> Array:
    """The symmetric matrix with these entries in its upper triangle."""
    matrix, (row, column) = np.empty((size, size)), _upper(size)
    matrix[row, column] = matrix[column, row] = entries
    return matrix
