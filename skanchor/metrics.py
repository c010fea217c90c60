"""Metrics of predictions, scores, intervals and ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.utils.validation import check_consistent_length

from skanchor._battles import Comparisons, Outcomes
from skanchor._estimators.base import ComparisonEstimator
from skanchor._model.sources import log_loss_terms
from skanchor._sample.sample import Battles
from skanchor._typing import Array

__all__ = [
    "brier_scorer",
    "coverage",
    "exact_insertion_rate",
    "insertion_mae",
    "insertion_rank",
    "interval_width",
    "log_loss_scorer",
    "rank_set_size",
    "rmse",
    "spearman",
]


def rmse(true: ArrayLike, estimate: ArrayLike) -> float:
    """Root mean squared error of scores.

    Parameters
    ----------
    true, estimate : array-like of shape (n,)
        Scores in logits.

    Returns
    -------
    float
        In logits.

    Examples
    --------
    >>> from skanchor.metrics import rmse
    >>> rmse([0.0, 1.0], [0.3, 1.4])
    0.3535533905932738
    """
    true, estimate = _pair("true", true, "estimate", estimate)
    return float(np.sqrt(np.mean((estimate - true) ** 2)))


def insertion_rank(score: float, historical_scores: ArrayLike) -> int:
    """Rank at which a score would be inserted among historical ones.

    ``1 + #{j : theta_j > score}``: 1 is best, one more than the number of historical
    models is worst. A historical model with exactly the same score ranks below it.

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
    _finite_numbers("score", score)
    others = _finite_numbers("historical_scores", historical_scores)
    return 1 + int(np.sum(others > score))


def insertion_mae(true_rank: ArrayLike, rank: ArrayLike) -> float:
    """Mean absolute difference of insertion ranks.

    Parameters
    ----------
    true_rank, rank : array-like of shape (n,)
        Insertion ranks.

    Returns
    -------
    float
        In ranks; 0 is best.

    Examples
    --------
    >>> from skanchor.metrics import insertion_mae
    >>> insertion_mae([1, 2, 3], [1, 3, 5])
    1.0
    """
    true, ranks = _pair("true_rank", true_rank, "rank", rank)
    return float(np.mean(np.abs(true - ranks)))


def exact_insertion_rate(true_rank: ArrayLike, rank: ArrayLike) -> float:
    """Share of insertion ranks that are exactly right.

    Parameters
    ----------
    true_rank, rank : array-like of shape (n,)
        Insertion ranks.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from skanchor.metrics import exact_insertion_rate
    >>> exact_insertion_rate([1, 2, 3, 4], [1, 3, 3, 4])
    0.75
    """
    true, ranks = _pair("true_rank", true_rank, "rank", rank)
    return float(np.mean(true == ranks))


def spearman(true: ArrayLike, estimate: ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's correlation of mid-ranks.

    It measures the order of the models among themselves, not their ranks among other
    models: if all estimates are shifted equally, it remains one.

    Parameters
    ----------
    true, estimate : array-like of shape (n,)
        Scores (higher is better in both), or ranks (in both).

    Returns
    -------
    float
        Between -1 and 1; NaN where all values of a side are equal.

    Examples
    --------
    >>> from skanchor.metrics import spearman
    >>> spearman([0.0, 1.0, 2.0], [0.1, 0.9, 0.8])
    0.5
    """
    ranks = np.array([rankdata(x) for x in _pair("true", true, "estimate", estimate)])
    # Pearson's correlation of the mid-ranks, which 0 / 0 makes NaN.
    with np.errstate(invalid="ignore"):
        return float(np.corrcoef(ranks)[0, 1])


def coverage(true: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Share of intervals, or rank sets, that contain the true value.

    Parameters
    ----------
    true, low, high : array-like of shape (n,)
        True values and limits. The limits belong to the interval and may be infinite.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from skanchor.metrics import coverage
    >>> coverage([0.0, 2.0], [-1.0, -1.0], [1.0, 1.0])
    0.5
    """
    check_consistent_length(true, low, high)
    true = _finite_numbers("true", true)
    low, high = _limits(low, high)
    return float(np.mean((low <= true) & (true <= high)))


def interval_width(low: ArrayLike, high: ArrayLike) -> float:
    """Mean width of intervals; infinite if one of them is.

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
    low, high = _limits(low, high)
    return float(np.mean(high - low))


def rank_set_size(low: ArrayLike, high: ArrayLike) -> float:
    """Mean number of ranks in the rank sets ``{low, ..., high}``.

    Parameters
    ----------
    low, high : array-like of shape (n,)
        Smallest and largest rank of each set, as in the table of ``rank_sets``.

    Returns
    -------
    float
        At least one.

    Examples
    --------
    >>> from skanchor.metrics import rank_set_size
    >>> rank_set_size([1, 3], [1, 5])
    2.0
    """
    return interval_width(*_pair("low", low, "high", high)) + 1.0


def _finite_numbers(name: str, values: ArrayLike) -> Array:
    """The values as floats; raises for NaN, with which every metric would be NaN."""
    result = np.asarray(values, dtype=np.float64)
    if not np.isfinite(result).all():
        raise ValueError(f"{name} has values that are NaN or infinite.")
    return result


def _pair(first: str, a: ArrayLike, second: str, b: ArrayLike) -> tuple[Array, Array]:
    """Two arrays of finite numbers of equal length."""
    check_consistent_length(a, b)
    return _finite_numbers(first, a), _finite_numbers(second, b)


def _limits(low: ArrayLike, high: ArrayLike) -> tuple[Array, Array]:
    """Limits of intervals in order; infinite ones are allowed."""
    lower, upper = (np.asarray(x, dtype=np.float64) for x in (low, high))
    # "not <=" rather than ">", so that NaN is refused.
    bad = ~(lower <= upper)
    if bad.any():
        raise ValueError(f"{bad.sum()} of {bad.size} limits are NaN or out of order.")
    return lower, upper


def _judge_rows(estimator: Any, X: Battles, y: ArrayLike) -> tuple[Array, Array]:
    """Win probabilities and outcomes in [0, 1] of the judge rows, or else all rows."""
    encoded = Comparisons.from_battles(X)
    outcomes = Outcomes.encode(y, named=encoded.named)
    rows = np.flatnonzero(~encoded.is_human)
    if not len(rows):
        rows = np.arange(len(encoded))
    return estimator.win_probability(encoded[rows]), outcomes.values[rows]


def log_loss_scorer(estimator: ComparisonEstimator, X: Battles, y: ArrayLike) -> float:
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

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.metrics import log_loss_scorer
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> round(log_loss_scorer(anchor, X, y), 2)
    -0.59
    """
    p, values = _judge_rows(estimator, X, y)
    # Probabilities 0 and 1 have infinite logits, for which the loss is defined.
    with np.errstate(divide="ignore"):
        return -float(np.mean(log_loss_terms(values, np.log(p) - np.log1p(-p))))


def brier_scorer(estimator: ComparisonEstimator, X: Battles, y: ArrayLike) -> float:
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

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.metrics import brier_scorer
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> round(brier_scorer(anchor, X, y), 2)
    -0.16
    """
    p, values = _judge_rows(estimator, X, y)
    return -float(np.mean((p - values) ** 2))
