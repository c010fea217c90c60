"""New scores and item effects of arrivals, fitted in all folds at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.stacked import fit_stacked
from skanchor._typing import Array
from skanchor.chain import Stages
from skanchor.comparisons import Comparisons
from skanchor.items import ItemCovariance
from skanchor.placement._stack import FoldStack
from skanchor.riesz import SEPARATED
from skanchor.sample import Sample

__all__ = ["Fits", "Rows", "fit_at_once"]


_CELLS = 1 << 23
"""Entries of the columns of all rows and folds up to which these are made at once."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Usable rows of arrivals, of people and then of each judge.

    Attributes
    ----------
    at : ndarray of shape (n,)
        Row numbers in the sample.
    judge, left, right : ndarray of shape (n,)
        Codes.
    order : ndarray of shape (n,)
        Display order, zero where it does not count.
    contrast : ndarray of shape (n, n_features)
        Features of the first response minus those of the second.
    cuts : dict of int to slice
        By source, its rows among these.
    """

    at: NDArray[np.intp]
    judge: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    order: Array
    contrast: Array
    cuts: dict[int, slice]

    @classmethod
    def of(cls, X: Comparisons, shows: NDArray[np.bool_]) -> Self:
        """Cut the usable rows out of all."""
        sources = [PEOPLE, *range(len(X.judges))]
        rows = np.flatnonzero(X.is_usable)
        judge = X.judge[rows]
        turn = np.argsort(judge, kind="stable")
        at, judge = rows[turn], judge[turn]
        stops = np.searchsorted(judge, [*sources, len(X.judges)]).tolist()
        cuts = {
            m: slice(*ends) for m, ends in zip(sources, pairwise(stops), strict=True)
        }
        # People, at the end, see no display.
        order = X.order[at] * np.append(shows, False)[judge]
        contrast = X.features_left[at] - X.features_right[at]
        contrast[cuts[PEOPLE]] = 0.0
        return cls(at, judge, X.left[at], X.right[at], order, contrast, cuts)


@dataclass(frozen=True, eq=False)
class Fits:
    """New scores and deviations in some folds, and what the rows then say.

    The first axis of all arrays is the folds.

    Attributes
    ----------
    scores : ndarray of shape (n_folds, n_items)
        Of all models.
    deviations : ndarray of shape (n_folds, n_judges, n_items) or None
        Of all models.
    biases : ndarray of shape (n_folds, n)
        Of the rows.
    curvature : ndarray of shape (n_folds, n)
        Training weight times the variance of the outcome.
    residual : ndarray of shape (n_folds, n)
        Weight times outcome minus probability.
    known : dict of int to ndarray
        By source, its :meth:`columns`.
    """

    scores: Array
    deviations: Array | None
    biases: Array
    curvature: Array
    residual: Array
    known: dict[int, Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        stack: FoldStack,
        rows: Rows,
        sample: Sample,
        training: Array,
        factor: Array | None,
    ) -> Self | None:
        """Fit the arrivals in every fold; None where one fit is not an easy one."""
        X, (n_folds, n_judges) = sample.X, stack.slopes.shape
        new, old = np.flatnonzero(X.is_new), np.flatnonzero(~X.is_new)
        scores = np.zeros((n_folds, len(X.models)))
        scores[:, old] = stack.scores
        # What each model adds to the logits of each judge, and at the end of people.
        by_item = np.empty((n_folds, n_judges + 1, len(X.models)))
        by_item[:, -1] = scores
        by_item[:, :-1] = stack.slopes[:, :, None] * scores[:, None]
        deviations = None
        if stack.deviations is not None:
            deviations = np.zeros((n_folds, n_judges, len(X.models)))
            deviations[:, :, old] = stack.deviations
            by_item[:, :-1] += deviations
        coef = np.pad(stack.coef, [(0, 0), (0, 1), (0, 0)])
        biases = np.empty((n_folds, len(rows.at)))
        for m, cut in rows.cuts.items():
            biases[:, cut] = coef[:, m] @ rows.contrast[cut].T
        offset = by_item[:, rows.judge, rows.left] - by_item[:, rows.judge, rows.right]
        offset += biases
        if stack.positions is not None:
            shown = np.pad(stack.positions, [(0, 0), (0, 1)])
            offset += shown[:, rows.judge] * rows.order
        signs = (rows.left[:, None] == new).astype(np.float64)
        signs -= rows.right[:, None] == new
        n_kinds = 1 + (0 if factor is None else n_judges)
        share = np.zeros((n_folds, n_judges + 1, n_kinds))
        share[:, :-1, 0], share[:, -1, 0] = stack.slopes, 1.0
        if factor is not None:
            share[:, :-1, 1:] = factor
        columns = share[:, rows.judge][..., None] * signs[:, None]
        columns = columns.reshape(n_folds, len(rows.at), -1)
        weight, y = training[:, rows.at], sample.y[rows.at]
        penalty = np.repeat(np.arange(n_kinds) > 0, len(new)).astype(np.float64)
        found = fit_stacked(columns, offset, y, weight, penalty)
        if found is None:
            return None
        scores[:, new] = found[:, : len(new)]
        if deviations is not None:
            assert factor is not None
            v = found[:, len(new) :].reshape(n_folds, n_judges, len(new))
            deviations[:, :, new] = factor @ v
        p = sigmoid(offset + (columns @ found[..., None])[..., 0])
        variance = p * (1.0 - p)
        curvature = np.where(variance > SEPARATED, weight * variance, 0.0)
        residual = sample.weight[rows.at] * (y - p)
        return cls(scores, deviations, biases, curvature, residual)

    def columns(self, rows: Rows, m: int) -> Array:
        """Local columns of judge m's rows, of shape (n_folds, n_own, n_columns)."""
        if m in self.known:
            return self.known[m]
        cut = rows.cuts[m]
        left, right, n = rows.left[cut], rows.right[cut], self.scores.shape[1]
        width = n + 2 + rows.contrast.shape[1]
        found = np.zeros((len(self.scores), len(left), width))
        each = np.arange(len(left))
        found[:, each, left] = 1.0
        found[:, each, right] = -1.0
        found[:, :, n] = self.scores[:, left] - self.scores[:, right]
        found[:, :, n + 1] = rows.order[cut]
        found[:, :, n + 2 :] = rows.contrast[cut]
        self.known[m] = found
        return found


def fit_at_once(
    stack: FoldStack,
    stages: Stages,
    sample: Sample,
    training: Array,
    items: ItemCovariance | None,
) -> tuple[Rows, Fits | None]:
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
        None where not all of them are easy ones.
    """
    X, (n_folds, n_judges) = sample.X, stack.slopes.shape
    rows = Rows.of(X, stack.shows)
    n_new = int(X.is_new.sum())
    n_columns = len(X.models) + 2 + rows.contrast.shape[1]
    cells = n_folds * len(X) * max(n_columns, n_new * (1 + n_judges))
    is_likely = items is not None or stages.arrival.equation == "likelihood"
    low, high = stages.arrival.score_bounds
    placed = np.abs(rows.contrast).sum()  # infinite or NaN where a feature is missing
    if cells > _CELLS or not is_likely or not np.isfinite(placed):
        return rows, None
    factor = None if items is None else covariance_factor(items.covariance)
    fits = Fits.of(stack, rows, sample, training, factor)
    if fits is None:
        return rows, None
    new = fits.scores[:, X.is_new]
    inside = (new > low).all() and (new < high).all()
    return rows, fits if inside else None
