"""Information, residuals and dispersion of votes that are stored as counts."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._btl import BTLRegressor
from skanchor._comparisons.labels import positions
from skanchor._model.graph import laplacian, pair_sums
from skanchor._model.link import sigmoid
from skanchor._numerics.blocks import item_columns
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.sums import SourceSums, information_weights
from skanchor._typing import Array
from skanchor.streaming._groups import grouped_dispersion
from skanchor.streaming._likelihood import VoteCells
from skanchor.streaming._sums import PAIRED, PointSums
from skanchor.streaming._votes_by_group import VotesByGroup


def vote_information(votes: VoteCells, scores: Array) -> SourceSums:
    """Information of votes about the scores of the items.

    Parameters
    ----------
    votes : VoteCells
        Votes of a training set.
    scores : ndarray of shape (n_items,)
        Scores.

    Returns
    -------
    SourceSums
        The information part, by the columns of the items.
    """
    p = sigmoid(votes.logits(scores))
    curvature = information_weights(p, votes.weight)
    # The sum of w V (e_a - e_b)(e_a - e_b)' is the Laplacian of the sums by pair.
    pairs = pair_sums(votes.left, votes.right, curvature, len(scores))
    n_rows = int(votes.n[curvature > 0].sum())
    return SourceSums(
        item_columns(len(scores)),
        information=laplacian(pairs),
        curvature=np.asarray(curvature.sum()),
        n_rows=np.asarray(n_rows),
    )


def vote_residuals(
    votes: VoteCells, scores: Array, grouped: VotesByGroup | None = None
) -> SourceSums:
    """Sums over the residuals of votes.

    Parameters
    ----------
    votes : VoteCells
        Held-out votes.
    scores : ndarray of shape (n_items,)
        Scores.
    grouped : VotesByGroup, optional
        The same votes by group, where they depend on each other.

    Returns
    -------
    SourceSums
        The residual part, by the columns of the items.
    """
    n = len(scores)
    error = votes.y - sigmoid(votes.logits(scores))
    score = _net(votes, votes.weight * error, n)
    if grouped is not None:
        by_group = grouped.totals(grouped.residuals(scores), n)
        return SourceSums(item_columns(n), score=score, by_group=by_group)
    # The votes of a cell share their error, so that its sum of (w eps)^2 is the sum of
    # w^2 times eps^2.
    pairs = pair_sums(votes.left, votes.right, votes.square * error**2, n)
    return SourceSums(item_columns(n), score=score, outer=laplacian(pairs))


def vote_dispersion(
    votes: VoteCells, scores: Array, grouped: VotesByGroup | None = None
) -> float:
    """Variance of the residuals of votes, relative to that of independent votes.

    Parameters
    ----------
    votes : VoteCells
        All votes.
    scores : ndarray of shape (n_items,)
        Scores.
    grouped : VotesByGroup, optional
        The same votes by group, where they depend on each other.

    Returns
    -------
    float
        One where the votes carry no information.
    """
    n = len(scores)
    if grouped is not None:
        p = sigmoid(scores[grouped.left] - scores[grouped.right])
        pair = (grouped.left * n + grouped.right)[grouped.cell]
        known = grouped.weight * (p * (1.0 - p))[grouped.cell]
        values = np.column_stack([grouped.residuals(scores), known])
        return grouped_dispersion(grouped.group, pair, values, n, has_deviations=True)
    p = sigmoid(votes.logits(scores))
    error, variance = votes.y - p, p * (1.0 - p)
    residual, curvature = votes.weight * error, votes.weight * variance
    net = _net(votes, residual, n)
    matrix = laplacian(pair_sums(votes.left, votes.right, curvature, n))
    noise = np.stack(
        [
            pair_sums(votes.left, votes.right, votes.square * values, n)
            for values in (error * variance, variance**2)
        ]
    )
    squares = float(votes.square @ error**2)
    return _dispersion(matrix, net, float(curvature.sum()), squares, noise)


def judge_dispersion(sums: PointSums, n_items: int, n_splits: int) -> float:
    """Dispersion of a judge's verdicts, from sums over all of its rows."""
    if sums.grouped is not None:
        keys, values = sums.grouped.merged()
        group, pair = keys.T
        return grouped_dispersion(group, pair, values, n_items, has_deviations=True)
    return _dispersion(
        sums.training("information", 0, n_splits)[:n_items, :n_items],
        sums.training("score", 0, n_splits)[:n_items],
        float(sums.training("curvature", 0, n_splits)),
        float(sums.squares),
        sums.pairs[[PAIRED.index("mixed"), PAIRED.index("square")]],
    )


def with_covariance(
    btl: BTLRegressor,
    models: NDArray[Any],
    votes: VoteCells,
    grouped: VotesByGroup | None = None,
) -> BTLRegressor:
    """Copy of a fit to counts of votes, with the covariance of a fit to single votes.

    Parameters
    ----------
    btl : BTLRegressor
        Fitted on the cells, each of which is one row with the weight of its votes.
    models : ndarray of shape (n_models,)
        Labels of the codes of the votes.
    votes : VoteCells
        The counts.
    grouped : VotesByGroup, optional
        The same votes by group, where they depend on each other.

    Returns
    -------
    BTLRegressor
        Models with unbounded scores have infinite variance.
    """
    scores = btl.scores_for(models)
    n, p = len(models), sigmoid(votes.logits(scores))
    # ``matrix`` is the Hessian of the loss, ``meat`` the sum of squared scores.
    curvature = votes.weight * p * (1.0 - p)
    matrix = laplacian(pair_sums(votes.left, votes.right, curvature, n))
    if grouped is None:
        residual = votes.square * (votes.y - p) ** 2
        meat = laplacian(pair_sums(votes.left, votes.right, residual, n))
    else:
        meat = grouped.squares(grouped.residuals(scores), n)
    matrix[np.diag_indices(n)] += btl.alpha * votes.weight.sum()
    inverse = SymmetricSolver.factorise(matrix).inverse()
    covariance = inverse @ (matrix if btl.covariance == "fisher" else meat) @ inverse
    # Scores sum to zero: the covariance is that of centred scores.
    centre = np.eye(n) - 1.0 / n
    at = positions(btl.models_, models)
    covariance = (centre @ covariance @ centre)[np.ix_(at, at)]
    loose = btl.unbounded_
    covariance[loose] = covariance[:, loose] = 0.0
    covariance[loose, loose] = np.inf
    counted = copy(btl)
    counted.covariance_ = covariance
    return counted


def _net(votes: VoteCells, values: Array, n_items: int) -> Array:
    """Sums of values over each item's cells, minus where it is second."""
    first, second = (
        np.bincount(side, values, n_items) for side in (votes.left, votes.right)
    )
    return np.asarray(first - second, dtype=np.float64)


def _dispersion(
    matrix: Array, net: Array, total: float, squares: float, noise: Array
) -> float:
    """Dispersion of residuals after deviations by model are taken out.

    The same as :func:`skanchor._items.dispersions`, from sums by pair instead of rows.

    Parameters
    ----------
    matrix : ndarray of shape (n_items, n_items)
        Sum of ``w V z z'``, z the columns of the items.
    net : ndarray of shape (n_items,)
        Sum of ``w eps z``.
    total, squares : float
        Sums of ``w V`` and of ``(w eps)^2``.
    noise : ndarray of shape (2, n_items, n_items)
        Sums by ordered pair of ``(w eps)(w V)`` and of ``(w V)^2``.

    Returns
    -------
    float
    """
    if not total > 0:
        return 1.0
    # One Newton step towards free deviations by model: ``difference`` is its change d
    # of the logit of each pair, and the residual of a row becomes w eps - w V d.
    solver = SymmetricSolver.factorise(matrix)
    step = solver.solve(net)
    difference = step[:, None] - step
    # The sum of the squares of these residuals, by expansion.
    left = squares - 2.0 * float(np.sum(difference * noise[0]))
    left += float(np.sum(difference**2 * noise[1]))
    # What independent votes would leave: the sum of w V less that of (w V)^2 times the
    # variance z' matrix^-1 z of the pair's difference.
    inverse = solver.inverse()
    size = np.diag(inverse)
    variance = size[:, None] + size - 2.0 * inverse
    expected = total - float(np.sum(noise[1] * variance))
    # Bounded below, as with few rows nearly everything is taken out.
    return left / max(expected, 0.5 * total)
