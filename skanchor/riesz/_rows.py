"""Weights and influence of single rows, once the Riesz system is solved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.system import RieszSystem
from skanchor._typing import Array
from skanchor.comparisons import Comparisons
from skanchor.riesz._learners import row_pairs

__all__ = ["row_influence", "row_weights"]


def row_weights(
    system: RieszSystem,
    X: Comparisons,
    rows: NDArray[np.intp],
    limit: Array | None = None,
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
    limit : ndarray of shape (n_models,), optional
        Largest weight by target, in size.

    Returns
    -------
    ndarray of shape (n_chosen, n_models)
        Zero for rows that cannot be used.
    """
    n_items, scores = len(X.models), X.scores
    weights = np.zeros((len(rows), n_items))
    judge = np.where(X.is_usable.take(rows), X.judge.take(rows), PEOPLE - 1)
    assert scores is not None
    for m in range(PEOPLE, len(X.judges)):
        projection = system.projection(m)
        at = np.flatnonzero(judge == m)
        if not len(at) or projection is None:
            continue
        cut, chosen = X.by_judge(m), X.rows.places.take(rows[at])
        columns = system.columns(m)
        # What a row says of its two models and of the sensitivity, by model.
        by_item = columns[:n_items] + np.outer(scores, columns[n_items])
        values = by_item.take(cut.left[chosen], axis=0)
        values -= by_item.take(cut.right[chosen], axis=0)
        if m != PEOPLE and X.position_effects is not None:
            values += np.outer(cut.order[chosen], columns[n_items + 1])
        pairs = row_pairs(projection.learner, X, cut, chosen)
        values -= projection.correction(pairs, columns)
        weights[at] = values
    return weights if limit is None else np.clip(weights, -limit, limit)


def row_influence(
    system: RieszSystem,
    X: Comparisons,
    y: Array,
    rows: NDArray[np.intp],
    limit: Array | None = None,
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
    limit : ndarray of shape (n_models,), optional
        As in :func:`row_weights`.

    Returns
    -------
    ndarray of shape (n_chosen, n_models)
        In logits of each score; zero for rows that cannot be used.
    """
    part = X.without_features()[rows]
    eta = part.logits()
    valid = part.is_usable & np.isfinite(eta)
    influence = row_weights(system, X, rows, limit)
    influence *= np.where(valid, y[rows] - sigmoid(eta), 0.0)[:, None]
    influence[~valid] = 0.0
    return influence
