"""New scores and item effects of arrivals, fitted in all folds at once."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor._items import ItemCovariance
from skanchor._numerics.blocks import Blocks, fitted_columns
from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.stacked import fit_stacked
from skanchor._numerics.sums import information_weights
from skanchor._placement._stack import FoldStack
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.sample import Sample

_CELLS = 1 << 23
"""Largest number of entries (folds x rows x columns) computed at once; 64 MiB."""


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Usable rows of arrivals, of people and then of each judge.

    Attributes
    ----------
    at : ndarray of shape (n,)
        Row numbers in the sample.
    judge, left, right : ndarray of shape (n,)
        Codes.
    columns : ndarray of shape (n, n_columns)
        Local columns of each row. The span is that of the features themselves. Delta,
        which no two fits have in common, is zero.
    stops : list of int
        Where people's rows begin, those of each judge, and where the last ones end.
    size : int
        Number of rows of the sample.
    blocks : Blocks
        Of the columns, as of :func:`fitted_columns`.
    """

    at: NDArray[np.intp]
    judge: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    columns: Array
    stops: list[int]
    size: int
    blocks: Blocks

    @classmethod
    def of(cls, X: Comparisons, shows: NDArray[np.bool_]) -> Self:
        """Cut out the usable rows and sort them by source."""
        rows = np.flatnonzero(X.is_usable)
        judge = X.judge[rows]
        turn = np.argsort(judge, kind="stable")
        at, judge = rows[turn], judge[turn]
        left, right = X.left[at], X.right[at]
        sources = np.arange(PEOPLE, len(X.judges) + 1)
        stops = np.searchsorted(judge, sources).tolist()
        blocks = fitted_columns(len(X.models), X.features_left.shape[1])
        columns = np.zeros((len(at), blocks.size))
        each = np.arange(len(at))
        columns[each, left] = 1.0
        columns[each, right] = -1.0
        # People are the last entry: the model of their votes has no display order.
        shown = X.order[at] * np.append(shows, False)[judge]
        columns[:, blocks["order"]] = shown[:, None]
        columns[:, blocks["span"]] = X.features_left[at] - X.features_right[at]
        columns[: stops[1], blocks["span"]] = 0.0
        return cls(at, judge, left, right, columns, stops, len(X), blocks)

    def of_source(self, m: int) -> slice:
        """Rows of judge m, or of ``PEOPLE``."""
        return slice(self.stops[m - PEOPLE], self.stops[m - PEOPLE + 1])

    def places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where rows of the sample lie among these, -1 where they cannot be used."""
        return self._place[rows]

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        place = np.full(self.size, -1)
        place[self.at] = np.arange(len(self.at))
        return place


@dataclass(frozen=True, eq=False)
class Fits:
    """New scores and deviations in some folds, and each row at these.

    The first axis of all arrays is the folds.

    Attributes
    ----------
    scores : ndarray of shape (n_folds, n_items)
        Of all models.
    deviations : ndarray of shape (n_folds, n_judges, n_items) or None
        Of all models.
    biases : ndarray of shape (n_folds, n)
        Of the rows.
    delta : ndarray of shape (n_folds, n)
        Score differences.
    p : ndarray of shape (n_folds, n)
        Probabilities.
    curvature : ndarray of shape (n_folds, n)
        Training weight times the variance of the outcome.
    residual : ndarray of shape (n_folds, n)
        Weight times outcome minus probability.
    """

    scores: Array
    deviations: Array | None
    biases: Array
    delta: Array
    p: Array
    curvature: Array
    residual: Array

    @classmethod
    def of(
        cls,
        stack: FoldStack,
        rows: PlacedRows,
        sample: Sample,
        training: Array,
        factor: Array | None,
    ) -> Self | None:
        """Fit the arrivals in every fold; None where a fit has no minimum nearby."""
        X, (n_folds, n_judges) = sample.X, stack.slopes.shape
        n, new, old = len(X.models), np.flatnonzero(X.is_new), np.flatnonzero(~X.is_new)
        scores = np.zeros((n_folds, n))
        scores[:, old] = stack.scores
        # c_m s_i + u_mi: what each model adds to the logits of each judge; the last
        # source is people, whose sensitivity is one.
        by_item = np.empty((n_folds, n_judges + 1, n))
        by_item[:, -1] = scores
        by_item[:, :-1] = stack.slopes[:, :, None] * scores[:, None]
        deviations = None
        if stack.deviations is not None:
            deviations = np.zeros((n_folds, n_judges, n))
            deviations[:, :, old] = stack.deviations
            by_item[:, :-1] += deviations
        biases = np.zeros((n_folds, len(rows.at)))
        for m in range(n_judges):
            own = rows.of_source(m)
            biases[:, own] = stack.coef[:, m] @ rows.columns[own, rows.blocks["span"]].T
        offset = by_item[:, rows.judge, rows.left] - by_item[:, rows.judge, rows.right]
        offset += biases
        if stack.positions is not None:
            shown = np.zeros((n_folds, n_judges + 1))
            shown[:, :-1] = stack.positions
            offset += shown[:, rows.judge] * rows.columns[:, rows.blocks["order"].start]
        # Kinds of coefficients of a new model: its score, then with item effects one
        # standardised deviation v of each judge, u = L v, of penalty one.
        n_kinds = 1 + (0 if factor is None else factor.shape[1])
        share = np.zeros((n_folds, n_judges + 1, n_kinds))
        share[:, :-1, 0], share[:, -1, 0] = stack.slopes, 1.0
        if factor is not None:
            share[:, :-1, 1:] = factor
        weight, y = training[:, rows.at], sample.y[rows.at]
        penalty = (np.arange(n_kinds) > 0).astype(np.float64)
        signs = np.ascontiguousarray(rows.columns[:, new])
        source = rows.judge % (n_judges + 1)
        found = fit_stacked(signs, source, share, offset, y, weight, penalty)
        if found is None:
            return None
        coef, eta = found
        scores[:, new] = coef[:, 0]
        if deviations is not None:
            assert factor is not None
            deviations[:, :, new] = factor @ coef[:, 1:]
        p = sigmoid(eta)
        curvature = information_weights(p, weight)
        residual = sample.weight[rows.at] * (y - p)
        delta = scores[:, rows.left] - scores[:, rows.right]
        return cls(scores, deviations, biases, delta, p, curvature, residual)

    def __getitem__(self, part: slice) -> Self:
        """Some of the folds."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(self, **{
            name: one[part] for name, one in values.items() if one is not None
        })  # fmt: skip


def fit_at_once(
    stack: FoldStack,
    stages: Stages,
    sample: Sample,
    training: Array,
    items: ItemCovariance | None,
) -> tuple[PlacedRows, Fits | None]:
    """Fit arrivals in every fold.

    Parameters
    ----------
    stack : FoldStack
        Folds.
    stages : Stages
        Unfitted.
    sample : Sample
        Arrivals in the vocabulary of all models.
    training : ndarray of shape (n_folds, n_rows)
        Training weights.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.

    Returns
    -------
    rows : Rows
    fits : Fits or None
        None where some fit has no minimum nearby, or lies on a bound.
    """
    X, (n_folds, n_judges) = sample.X, stack.slopes.shape
    rows = PlacedRows.of(X, stack.shows)
    n_new = int(X.is_new.sum())
    cells = n_folds * len(X) * max(rows.columns.shape[1], n_new * (1 + n_judges))
    is_likely = items is not None or stages.arrival.equation == "likelihood"
    low, high = stages.arrival.score_bounds
    # The sum is infinite or NaN where a feature is missing.
    is_whole = np.isfinite(rows.columns.sum())
    if cells > _CELLS or not (len(rows.at) and is_likely and is_whole):
        return rows, None
    factor = None if items is None else covariance_factor(items.covariance)
    fits = Fits.of(stack, rows, sample, training, factor)
    if fits is None:
        return rows, None
    new = fits.scores[:, X.is_new]
    inside = (new > low).all() and (new < high).all()
    return rows, fits if inside else None
