"""What is measured of predictions, scores, intervals and ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from skanchor._numerics.logistic import log_loss_terms
from skanchor.comparisons import Comparisons, Outcomes

__all__ = [
    "brier_scorer",
    "coverage",
    "insertion_mae",
    "insertion_rank",
    "interval_width",
    "log_loss_scorer",
    "rmse",
]


def rmse(true: ArrayLike, estimate: ArrayLike) -> float:
    """Root mean squared error.

    Parameters
    ----------
    true, estimate : array-like of shape (n,)
        Scores in logits.

    Returns
    -------
    float

    Examples
    --------
    >>> from skanchor.metrics import rmse
    >>> rmse([0.0, 1.0], [0.3, 1.4])
    0.3535533905932738
    """
    check_consistent_length(true, estimate)
    return float(np.sqrt(np.mean((np.asarray(estimate) - np.asarray(true)) ** 2)))


def insertion_rank(score: float, historical_scores: ArrayLike) -> int:
    """Rank of a score among historical ones: 1 + the number above it.

    Parameters
    ----------
    score : float
        Score of the new model.
    historical_scores : array-like of shape (n_models,)
        Scores of the historical models, on the same scale.

    Returns
    -------
    int
        1 is best.

    Examples
    --------
    >>> from skanchor.metrics import insertion_rank
    >>> insertion_rank(0.5, [1.0, 0.0, -1.0])
    2
    """
    return 1 + int(np.sum(np.asarray(historical_scores) > score))


def insertion_mae(true_rank: ArrayLike, rank: ArrayLike) -> float:
    """Mean absolute difference of insertion ranks.

    Parameters
    ----------
    true_rank, rank : array-like of shape (n,)
        Insertion ranks.

    Returns
    -------
    float

    Examples
    --------
    >>> from skanchor.metrics import insertion_mae
    >>> insertion_mae([1, 2, 3], [1, 3, 5])
    1.0
    """
    check_consistent_length(true_rank, rank)
    return float(np.mean(np.abs(np.asarray(true_rank) - np.asarray(rank))))


def coverage(true: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Share of intervals that hold the true value.

    Parameters
    ----------
    true, low, high : array-like of shape (n,)
        True values and interval limits, limits included.

    Returns
    -------
    float

    Examples
    --------
    >>> from skanchor.metrics import coverage
    >>> coverage([0.0, 2.0], [-1.0, -1.0], [1.0, 1.0])
    0.5
    """
    check_consistent_length(true, low, high)
    true = np.asarray(true)
    return float(np.mean((np.asarray(low) <= true) & (true <= np.asarray(high))))


def interval_width(low: ArrayLike, high: ArrayLike) -> float:
    """Mean width of intervals.

    Parameters
    ----------
    low, high : array-like of shape (n,)
        Interval limits.

    Returns
    -------
    float

    Examples
    --------
    >>> from skanchor.metrics import interval_width
    >>> interval_width([0.0, 1.0], [1.0, 3.0])
    1.5
    """
    check_consistent_length(low, high)
    return float(np.mean(np.asarray(high) - np.asarray(low)))


def _judge_rows(
    estimator: Any, X: Any, y: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    encoded = Comparisons.from_battles(X)
    values = Outcomes.encode(y, named=encoded.named).values
    rows = np.flatnonzero(~encoded.is_human)
    if not len(rows):
        rows = np.arange(len(encoded))
    return estimator.win_probability(encoded[rows]), values[rows]


def log_loss_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Minus the mean log loss on judge rows, ties counted as half a win.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``win_probability``.
    X : battles table or Comparisons
        One row per comparison; without judge rows all rows count.
    y : array-like of shape (n_rows,)
        Outcomes, names and ties included.

    Returns
    -------
    float
        Higher is better.
    """
    p, values = _judge_rows(estimator, X, y)
    with np.errstate(divide="ignore"):
        return -float(np.mean(log_loss_terms(values, np.log(p) - np.log1p(-p))))


def brier_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Minus the mean squared error of the win probability on judge rows.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``win_probability``.
    X : battles table or Comparisons
        One row per comparison; without judge rows all rows count.
    y : array-like of shape (n_rows,)
        Outcomes, names and ties included.

    Returns
    -------
    float
        Higher is better.
    """
    p, values = _judge_rows(estimator, X, y)
    return -float(np.mean((p - values) ** 2))
