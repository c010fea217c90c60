"""What counts of votes say, in the terms of rows: information and residuals."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._btl import BTLRegressor
from skanchor._comparisons.labels import positions
from skanchor._numerics.blocks import item_columns
from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.sums import SourceSums, information_weights
from skanchor._typing import Array
from skanchor.streaming._likelihood import VoteCells
from skanchor.streaming._sums import PAIRED, PointSums

__all__ = [
    "judge_dispersion",
    "vote_dispersion",
    "vote_information",
    "vote_residuals",
    "with_covariance",
]


def vote_information(votes: VoteCells, scores: Array) -> SourceSums:
    """Information of votes on the items.

    Parameters
    ----------
    votes : VoteCells
        In training.
    scores : ndarray of shape (n_items,)
        Scores.

    Returns
    -------
    SourceSums
    """
    p = sigmoid(votes.logits(scores))
    curvature = information_weights(p, votes.weight)
    pairs = pair_sums(votes.left, votes.right, curvature, len(scores))
    n_rows = int(votes.n[curvature > 0].sum())
    return SourceSums(
        item_columns(len(scores)),
        information=laplacian(pairs),
        curvature=np.asarray(curvature.sum()),
        n_rows=np.asarray(n_rows),
    )


def vote_residuals(votes: VoteCells, scores: Array) -> SourceSums:
    """Sums over the residuals of votes.

    Parameters
    ----------
    votes : VoteCells
        Held out.
    scores : ndarray of shape (n_items,)
        Scores.

    Returns
    -------
    SourceSums
    """
    n = len(scores)
    error = votes.y - sigmoid(votes.logits(scores))
    residual = votes.weight * error
    score = _net(votes, residual, n)
    pairs = pair_sums(votes.left, votes.right, votes.square * error**2, n)
    return SourceSums(item_columns(n), score=score, outer=laplacian(pairs))


def vote_dispersion(votes: VoteCells, scores: Array) -> float:
    """Variance of the residuals of votes, in that of independent ones.

    Parameters
    ----------
    votes : VoteCells
        All votes.
    scores : ndarray of shape (n_items,)
        Scores.

    Returns
    -------
    float
    """
    n = len(scores)
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
    """The same of a judge's verdicts, from sums over all of its rows."""
    return _dispersion(
        sums.training("information", 0, n_splits)[:n_items, :n_items],
        sums.training("score", 0, n_splits)[:n_items],
        float(sums.training("curvature", 0, n_splits)),
        float(sums.squares),
        sums.pairs[[PAIRED.index("mixed"), PAIRED.index("square")]],
    )


def with_covariance(
    btl: BTLRegressor, models: NDArray[Any], votes: VoteCells
) -> BTLRegressor:
    """A fit to counts of votes, with the covariance of a fit to the votes.

    Parameters
    ----------
    btl : BTLRegressor
        Fitted on rows that stand for many votes each.
    models : ndarray of shape (n_models,)
        Labels of the codes of the votes.
    votes : VoteCells
        The counts.

    Returns
    -------
    BTLRegressor
        A copy. Models whose scores have no limit have infinite variance.
    """
    scores = btl.scores_for(models)
    n, p = len(models), sigmoid(votes.logits(scores))
    curvature = votes.weight * p * (1.0 - p)
    matrix = laplacian(pair_sums(votes.left, votes.right, curvature, n))
    residual = votes.square * (votes.y - p) ** 2
    meat = laplacian(pair_sums(votes.left, votes.right, residual, n))
    matrix[np.diag_indices(n)] += btl.alpha * votes.weight.sum()
    inverse = SymmetricSolver.factorise(matrix).inverse()
    covariance = inverse @ (matrix if btl.covariance == "fisher" else meat) @ inverse
    # On one scale: scores sum to zero.
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
    """Squares that deviations by model leave, in what they would leave of votes.

    As :func:`skanchor._items.dispersions` has it row by row.
    """
    if not total > 0:
        return 1.0
    solver = SymmetricSolver.factorise(matrix)
    taken = solver.solve(net)
    difference = taken[:, None] - taken
    left = squares - 2.0 * float(np.sum(difference * noise[0]))
    left += float(np.sum(difference**2 * noise[1]))
    inverse = solver.inverse()
    size = np.diag(inverse)
    spread = size[:, None] + size - 2.0 * inverse
    expected = total - float(np.sum(noise[1] * spread))
    return left / max(expected, 0.5 * total)
