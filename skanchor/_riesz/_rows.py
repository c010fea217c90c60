"""Riesz weights, residuals and influence of rows that are at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor._numerics.blocks import fitted_columns
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.system import RieszSystem
from skanchor._typing import Array


def row_weights(
    system: RieszSystem,
    X: Comparisons,
    rows: NDArray[np.intp],
) -> Array:
    """Riesz weights of some rows.

    Parameters
    ----------
    system : RieszSystem
        Solved.
    X : Comparisons
        Rows that carry the plug-in, in the vocabulary of the system.
    rows : ndarray of shape (n_chosen,)
        Row numbers.

    Returns
    -------
    ndarray of shape (n_chosen, n_models)
        Zero for rows that cannot be used.
    """
    weights = np.zeros((len(rows), len(X.models)))
    # Unusable rows get a code below that of people, which no source has.
    judge = np.where(X.is_usable.take(rows), X.judge.take(rows), PEOPLE - 1)
    for m in range(PEOPLE, len(X.judges)):
        at = np.flatnonzero(judge == m)
        if len(at):
            places = X.rows.places.take(rows[at])
            weights[at] = source_weights(system, X, m, places)
    return weights


def source_weights(
    system: RieszSystem,
    X: Comparisons,
    m: int,
    places: NDArray[np.intp],
) -> Array:
    """Riesz weights of rows of one source.

    Parameters
    ----------
    system : RieszSystem
        Solved.
    X : Comparisons
        Rows that carry the plug-in, in the vocabulary of the system.
    m : int
        Judge, or ``PEOPLE``.
    places : ndarray of shape (n_chosen,)
        Where the rows lie among those of the source.

    Returns
    -------
    ndarray of shape (n_chosen, n_models)
        Column by column in memory, as each target is summed by itself; zero where the
        system has no rows of the source.
    """
    n_items, projection = len(X.models), system.projection(m)
    if projection is None or not len(places):
        # A feature map may refuse to see no rows.
        return np.zeros((n_items, len(places))).T
    cut, columns = X.by_judge(m), system.columns(m)
    assert X.scores is not None
    # The weight of a row is x' beta minus its projection on the bias, for the local
    # columns x = (e_a - e_b, delta, order). As delta is theta_a - theta_b, too, both
    # terms are a difference of one number for each model, by target: beta_i + theta_i
    # beta_delta, of shape (n_targets, n_items).
    blocks = fitted_columns(n_items, 0)
    (by_delta,), (by_order,) = columns[blocks["delta"]], columns[blocks["order"]]
    by_item = (columns[blocks["items"]] + np.outer(X.scores, by_delta)).T
    values: Array = by_item.take(cut.left.take(places), axis=1)
    values -= by_item.take(cut.right.take(places), axis=1)
    if m != PEOPLE and X.position_effects is not None:
        values += np.outer(by_order, cut.order.take(places))
    values = values.T
    if projection.learner is not None:
        # What the bias of these rows can imitate is taken out, row by row.
        values -= projection.correction(cut.pairs[places], columns)
    return values


def row_influence(
    system: RieszSystem,
    X: Comparisons,
    y: Array,
    rows: NDArray[np.intp],
) -> Array:
    """Riesz weight times residual of some rows.

    Parameters
    ----------
    system : RieszSystem
        Solved.
    X : Comparisons
        Rows that carry the plug-in, in the vocabulary of the system.
    y : ndarray of shape (n_rows,)
        Preferences for the first side, in [0, 1].
    rows : ndarray of shape (n_chosen,)
        Row numbers.

    Returns
    -------
    ndarray of shape (n_chosen, n_models)
        In logits of each score; zero for rows that cannot be used.
    """
    residual = row_residuals(X, y, rows)
    influence = row_weights(system, X, rows)
    influence *= residual[:, None]
    influence[residual == 0.0] = 0.0
    return influence


def row_residuals(X: Comparisons, y: Array, rows: NDArray[np.intp]) -> Array:
    """Outcome minus probability of some rows; zero for those that cannot be used."""
    # ``take`` copies, so that the cached logits stay as they are.
    eta = X.logits().take(rows)
    eta[~X.is_usable.take(rows)] = np.nan
    valid = np.isfinite(eta)
    return np.where(valid, y.take(rows) - sigmoid(np.where(valid, eta, 0.0)), 0.0)


def summed_squares(
    system: RieszSystem,
    X: Comparisons,
    rows: NDArray[np.intp],
    weight: Array,
    totals: dict[Any, float],
) -> float:
    """Sum of ``w V a^2`` over rows and targets, as large as that of all rows of a fit.

    The mean over the given rows of each source stands for all its rows of the fit.

    Parameters
    ----------
    system : RieszSystem
        Solved.
    X : Comparisons
        Rows that carry the plug-in, in the vocabulary of the system.
    rows : ndarray of shape (n_chosen,)
        Row numbers.
    weight : ndarray of shape (n_chosen,)
        Their weights.
    totals : dict of label to float
        Weight of all rows of the fit, by source.

    Returns
    -------
    float
    """
    a = row_weights(system, X, rows)
    p = sigmoid(X.logits()[rows])
    squares = weight * p * (1.0 - p) * np.einsum("ij,ij->i", a, a)
    codes, keys = X.rows.sources[rows], X.rows.source_keys
    sums = np.bincount(codes, squares, minlength=len(keys))
    weights = np.bincount(codes, weight, minlength=len(keys))
    return float(
        sum(
            totals.get(key, 0.0) * s / w
            for key, s, w in zip(keys, sums, weights, strict=True)
            if w > 0
        )
    )


def check_finite(influence: Array, rows: NDArray[np.intp]) -> None:
    """Refuse influence values of rows that are not numbers."""
    # One sum tells whether any value is not finite; only then is the row looked for.
    if not np.isfinite(influence.sum()):
        finite = np.isfinite(influence).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"The influence of row {rows[np.argmin(finite)]} is not finite: check "
                "what the learners return."
            )
