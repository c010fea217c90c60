"""Graded outcomes, between a win and a tie: of people, and of judges on new models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import binom

from skanchor._battles.encoded import Comparisons
from skanchor._typing import Array
from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

CLEAR = (0.0, 0.5, 1.0)
"""Outcomes that are not graded."""

_FEW, _MANY = 0.01, 0.1
"""Shares of graded verdicts up to which rows are not graded, from which they are."""

_ENOUGH = 20
"""New rows of a judge from which their share is looked at."""

_EXPECTED = 7.0
"""Graded verdicts to expect among rows, so that none is no chance: e^-7 = 0.0009."""

_DISTANCE = 0.45
"""Distance from a tie that the clearest vote of people has at least."""

_BY_CHANCE = 1e-3
"""Probability with which shares of votes may look like grades."""

_VOTES = (*range(1, 51), 100)
"""Numbers of votes of which an outcome may be the share."""

_ROUNDED = 0.006
"""Distance from a share that is still this share, as .33 is from 1/3."""

_MOST_GRADES = 7
"""Number of different outcomes up to which they are grades."""


def graded_shares(
    X: Comparisons, y: Array, times: Array | None, rows: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Share of graded verdicts, and number of verdicts, by judge.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y : ndarray of shape (n_rows,)
        Outcomes.
    times : ndarray of shape (n_rows,) or None
        How many equal rows each stands for; None is one for each.
    rows : ndarray of shape (n_rows,)
        Which rows count; those of people do not.

    Returns
    -------
    shares, n_rows : ndarray of shape (n_judges,)
    """
    at = np.flatnonzero(rows & (X.judge >= 0))
    judge, known = X.judge[at], y[at]
    number = np.ones(len(at)) if times is None else times[at]
    graded = ~np.isin(known, CLEAR)
    of_judge, n_rows = (
        np.bincount(judge, each, len(X.judges)).astype(np.float64)
        for each in (number * graded, number)
    )
    return of_judge / np.maximum(n_rows, 1.0), n_rows


def shares_on_old_and_new(
    X: Comparisons, y: Array, times: Array | None, counts: NDArray[np.bool_]
) -> tuple[Array, Array, Array, Array]:
    """Shares of graded verdicts on historical and on new models, and numbers of all.

    Parameters
    ----------
    X, y, times
        As in :func:`graded_shares`.
    counts : ndarray of shape (n_rows,)
        Which rows count.

    Returns
    -------
    old, new, n_old, n_new : ndarray of shape (n_judges,)
    """
    (old, n_old), (new, n_new) = (
        graded_shares(X, y, times, counts & which)
        for which in (~X.involves_new, X.involves_new)
    )
    return old, new, n_old, n_new


def graded_in_part(
    old: Array, new: Array, n_old: Array, n_new: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which judges graded the verdicts on new models alone, and on old ones alone.

    Parameters
    ----------
    old, new, n_old, n_new : ndarray of shape (n_judges,)
        As :func:`shares_on_old_and_new` gives them.

    Returns
    -------
    late, early : ndarray of shape (n_judges,)
    """
    many = n_new >= _ENOUGH
    # Of few rows, none may be graded by chance.
    late = (old < _FEW) & (new > _MANY) & (n_old * new > _EXPECTED)
    early = (old > _MANY) & (new < _FEW) & (n_new * old > _EXPECTED)
    return many & late, many & early


def warn_of_other_grades(
    judges: NDArray[Any], old: Array, new: Array, n_old: Array, n_new: Array
) -> None:
    """Warn of judges who graded the verdicts on old models or on new ones alone.

    The sensitivity of a judge is that of its historical verdicts.

    Parameters
    ----------
    judges : ndarray of shape (n_judges,)
        Labels.
    old, new : ndarray of shape (n_judges,)
        Shares of graded verdicts on historical and on new models.
    n_old, n_new : ndarray of shape (n_judges,)
        Numbers of verdicts on them.
    """
    late, early = graded_in_part(old, new, n_old, n_new)
    for found, where, elsewhere, shares in (
        (late, "new", "historical", new),
        (early, "historical", "new", old),
    ):
        at = np.flatnonzero(found)
        if len(at):
            names = judges[at].tolist()
            warn(
                DataWarning(
                    f"Verdicts of judges {names[:5]} on {where} models are graded "
                    f"({shares[at].max():.0%} lie between a win and a tie), those on "
                    f"{elsewhere} models are not. A sensitivity that is learned from "
                    "one kind is used for the other, so that scores of new models are "
                    "too close to the mean or too far from it, unless a grade is the "
                    "probability of a win, or a share of verdicts. Give both in the "
                    "same kind.",
                    code="graded-verdicts",
                    subject=names,
                )
            )


def warn_of_unclear_votes(X: Comparisons, y: Array, weight: Array) -> None:
    """Warn of graded votes of people of which none is a clear win.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    """
    voted = np.flatnonzero(X.is_human & X.is_usable & (weight > 0))
    votes = y[voted]
    if not len(votes):
        return
    low, high = float(votes.min()), float(votes.max())
    if low == high or max(high - 0.5, 0.5 - low) >= _DISTANCE:
        return
    grades = np.unique(votes)
    # Probabilities have more values than grades; shares reach a clear win by chance.
    if len(grades) <= _MOST_GRADES and not _may_be_shares(X, y, voted, grades):
        warn(
            DataWarning(
                f"People's outcomes lie between {low:.3g} and {high:.3g}, so that none "
                "is a clear win. Scores are log-odds of their mean, so that all "
                "differences are smaller than those of votes. If the outer grades mean "
                "a preference, and not a share of votes, give them as 1 and 0.",
                code="graded-votes",
            )
        )


def _may_be_shares(
    X: Comparisons, y: Array, rows: NDArray[np.intp], grades: Array
) -> bool:
    """Whether outcomes may be shares of votes, of which none was unanimous by chance.

    Parameters
    ----------
    X, y
        As in :func:`warn_of_unclear_votes`.
    rows : ndarray of shape (n_votes,)
        Rows of people.
    grades : ndarray of shape (n_grades,)
        Different outcomes.

    Returns
    -------
    bool
    """
    left, right = X.left[rows], X.right[rows]
    first = np.where(left < right, y[rows], 1.0 - y[rows])
    pair = np.minimum(left, right) * len(X.models) + np.maximum(left, right)
    # One outcome for each pair is a rate of wins, however many rows have it.
    found = np.unique(np.column_stack([pair, np.round(first, 6)]), axis=0)
    if len(found) == len(np.unique(pair)):
        return True
    return len(rows) * np.log(_most_probable(grades)) > np.log(_BY_CHANCE)


def _most_probable(grades: Array) -> float:
    """Largest probability that a share of any number of votes is one of some values."""
    p = np.linspace(0.02, 0.98, 49)[:, None]
    most = 0.0
    for n in _VOTES:
        won = np.arange(n + 1)
        at = np.abs(won[:, None] / n - grades).min(axis=1) < _ROUNDED
        known = won[at]
        each = binom(n, known) * p**known * (1.0 - p) ** (n - known)
        most = max(most, float(each.sum(axis=1).max()))
    return most or np.finfo(np.float64).tiny


def shares_by_label(judges: NDArray[Any], shares: Array) -> Mapping[str, float]:
    """Shares that are not zero, by the text of the judge's label, to be stored."""
    rounded = np.round(shares, 4).tolist()
    known = zip(map(str, judges.tolist()), rounded, strict=True)
    return {judge: share for judge, share in known if share}
