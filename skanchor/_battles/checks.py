"""Warnings of tables that are probably wrong: each names its rows, and what helps."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skanchor._battles.columns import number_rows
from skanchor._battles.comparisons import Comparisons
from skanchor._battles.labels import factorize
from skanchor._battles.table import HUMAN
from skanchor._typing import Array
from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

CLEAR = (0.0, 0.5, 1.0)
"""Outcomes that are not graded."""

DISTINCT = 0.1
"""Share of rows with features of their own from which equal ones are no chance."""

MANY_EQUAL = 0.01
"""Share of rows that equal an earlier one from which on it is no chance."""

_BEYOND_CHANCE = 3.0
"""Standard errors by which verdicts against the majority of people must outnumber
verdicts that agree with it."""

_ONE_JUDGE, _SHARED = 0.8, 50
"""Cohen's kappa above which judges agree like runs of one judge, and verdicts on the
same prompt and models from which on it says so."""

_FEW, _MANY = 0.01, 0.1
"""Shares of graded verdicts up to which rows are not graded, from which they are."""

_ENOUGH = 20
"""New rows of a judge from which their share is looked at."""

_EXPECTED = 7.0
"""Graded verdicts to expect among rows, so that none is no chance: e^-7 = 0.0009."""


def check_table(
    frame: nw.DataFrame[Any] | None,
    X: Comparisons,
    y: Array,
    weight: Array,
    *,
    grouped: bool,
) -> None:
    """Warn of labels and rows that are probably mistakes in the table.

    Parameters
    ----------
    frame : DataFrame or None
        The table; some of its columns are not part of the encoded rows.
    X : Comparisons
        The encoded rows.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    grouped : bool
        Whether groups say which rows depend on each other.
    """
    _warn_of_alike_labels(X)
    itself = X.left == X.right
    if itself.any():
        _warn_of_self_comparisons(X, weight, itself)
    # Without prompts, copies of one group do no harm.
    if frame is not None and ("prompt_id" in frame.columns or not grouped):
        _warn_of_copies(frame, X, y, (weight > 0) & ~itself)


def _warn_of_alike_labels(X: Comparisons) -> None:
    """Warn of models, and of judges, whose labels are equal but for case or blanks."""
    models = X.appearances(np.ones(len(X), dtype=bool))
    judges = np.bincount(X.judge[X.judge >= 0], minlength=len(X.judges))
    for kind, labels, n_rows, sides in (
        ("model", X.models, models, (X.left, X.right)),
        # People come first, whatever the number of their votes.
        ("judge", [*X.judges, HUMAN], [*judges, len(X) + 1], (X.judge,)),
    ):
        alike: dict[str, list[str]] = {}
        for code in np.argsort(-np.asarray(n_rows), kind="stable"):
            if isinstance(labels[code], str):
                same = alike.setdefault(labels[code].strip().casefold(), [])
                same.append(labels[code])
        groups = [same for same in alike.values() if len(same) > 1]
        if not groups:
            continue
        names = {other: most for most, *others in groups for other in others}
        codes = [code for code, label in enumerate(labels) if label in names]
        rows = np.isin(sides, codes).any(axis=0)
        listed = ", ".join(map(str, groups[:5])) + " and more" * (len(groups) > 5)
        mark = f"; only {HUMAN!r} marks human rows" if kind == "judge" else ""
        warn(
            DataWarning(
                f"The {kind}s {listed} differ in blanks or case alone, and each counts "
                f"as a {kind} of its own{mark}. {rows.sum()} rows have the rarer "
                f"names, the first is row {int(np.argmax(rows))}. If they are one, "
                f"give them one name: X = X.replace({names}), or under [{kind}s] in "
                "the mapping of a file.",
                code="look-alike-models" if kind == "model" else "look-alike-judges",
                subject=[label for same in groups for label in same],
            )
        )


def _warn_of_self_comparisons(
    X: Comparisons, weight: Array, itself: NDArray[np.bool_]
) -> None:
    """Warn of rows that compare a model with itself."""
    alone = itself & (weight > 0)
    if not alone.any():
        return
    # Models that appear in such rows only are lost from the ranking.
    shown = X.appearances((weight > 0) & ~itself) > 0
    lost = X.models[np.setdiff1d(X.left[alone], np.flatnonzero(shown))].tolist()
    warn(
        DataWarning(
            f"{alone.sum()} rows compare a model with itself and are ignored"
            + (f"; models {lost} appear in no other row." if lost else ".")
            + f" The first is row {int(np.argmax(alone))}.",
            code="self-comparisons",
            subject=lost,
        )
    )


def _warn_of_copies(
    frame: nw.DataFrame[Any], X: Comparisons, y: Array, rows: NDArray[np.bool_]
) -> None:
    """Warn of rows that repeat an earlier one, also with the two sides swapped.

    Rows of different prompts are no copies. Without prompts the features stand for
    them, where they tell rows apart.
    """
    has_prompts, at = "prompt_id" in frame.columns, np.flatnonzero(rows)
    if (not has_prompts and not X.feature_names) or not len(at):
        return
    # All rows are put in one orientation, the smaller model code first: a swapped copy
    # then has the same models, features, display order and outcome.
    turned = X.left > X.right
    features = _one_number(X, turned)
    # Rows without a prompt, or without features, may be of different ones.
    prompt: NDArray[Any] = features
    known = np.isfinite(features)
    if has_prompts:
        prompt = factorize(frame["prompt_id"], "Column 'prompt_id'")[0]
        known = prompt >= 0
    at = at[known[at]]
    again = pd.Series(prompt[at]).duplicated()
    if not has_prompts and not MANY_EQUAL <= again.mean() <= 1.0 - DISTINCT:
        return
    at = at[pd.Series(prompt[at]).duplicated(keep=False)]
    columns = [
        np.minimum(X.left, X.right)[at],
        np.maximum(X.left, X.right)[at],
        X.judge[at],
        np.where(turned, -X.order, X.order)[at],
        np.where(turned, 1.0 - y, y)[at],
        features[at],
        prompt[at],
    ]
    for name in {"rater", "turn"} & {*frame.columns}:
        columns.append(factorize(frame[name], f"Column {name!r}")[0][at])
    copies = at[pd.Series(number_rows(*columns).kind).duplicated()]
    if len(copies) and (has_prompts or len(copies) > MANY_EQUAL * rows.sum()):
        what = "prompt_id, models" if has_prompts else "models"
        warn(
            DataWarning(
                f"{len(copies)} rows are copies of earlier ones (same {what}, judge, "
                f"verdict and features), the first in row {copies[0]}. Copies make "
                "errors too short. Drop them, unless different people cast them; a "
                "column 'rater' then tells them apart.",
                code="copied-rows" if has_prompts else "equal-rows",
            )
        )


def _one_number(X: Comparisons, turned: NDArray[np.bool_]) -> Array:
    """One number for the features of each row, equal for rows of equal features.

    In rows that are ``turned`` those of the second side come first.
    """
    factors = np.random.default_rng(0).random((len(X.feature_names), 2))
    total = np.zeros(len(X))
    for k, (own, other) in enumerate(factors):
        left, right = X.features_left[:, k], X.features_right[:, k]
        total += np.where(turned, right, left) * own
        total += np.where(turned, left, right) * other
    return total


def warn_of_contradicting_judges(
    X: Comparisons, y: Array, weight: Array, multiplicity: Array | None = None
) -> None:
    """Warn of judges whose outcomes may be coded the other way round.

    These are judges whose verdicts contradict the majority of people on the same two
    models more often than chance explains.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    multiplicity : ndarray of shape (n_rows,), optional
        How many equal rows each stands for.
    """
    rows = np.flatnonzero(X.is_usable & (weight > 0))
    left, right, judge = X.left[rows], X.right[rows], X.judge[rows]
    pair = np.minimum(left, right) * len(X.models) + np.maximum(left, right)
    # Positive where the model of the smaller code wins, so that rows of both orders can
    # be added.
    preference = np.where(left < right, 1.0, -1.0) * (y[rows] - 0.5)
    # The majority of people in each pair, then +, - or 0 for each verdict: it agrees
    # with that majority, contradicts it, or one of the two is undecided.
    votes = np.bincount(pair, np.where(judge < 0, weight[rows] * preference, 0.0))
    agreement = np.where(judge < 0, 0.0, preference * np.sign(votes)[pair])
    times = np.ones(len(rows)) if multiplicity is None else multiplicity[rows]
    decided, agreed = (
        np.bincount(judge[which], times[which], len(X.judges)).astype(np.intp)
        for which in (agreement != 0, agreement > 0)
    )
    # For verdicts that are independent of the majority, disagreements minus agreements
    # have mean zero and standard deviation sqrt(decided).
    against = decided - 2 * agreed > _BEYOND_CHANCE * np.sqrt(decided)
    for code in np.flatnonzero(against):
        judge, n = X.judges[code], decided[code]
        warn(
            DataWarning(
                f"Judge {judge!r} sides with people in {agreed[code] / n:.0%} of its "
                f"{n} verdicts on pairs of models that both decided. Its outcomes may "
                "be coded the other way round, 'model_a' for 'model_b'.",
                code="reversed-judge",
                subject=[judge],
            )
        )


def warn_of_runs(X: Comparisons, y: Array, groups: NDArray[np.intp]) -> None:
    """Warn of judges that agree on the same prompts like runs of one judge.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y : ndarray of shape (n_rows,)
        Outcomes.
    groups : ndarray of shape (n_rows,)
        Prompt of each row.
    """
    rows = np.flatnonzero(X.is_usable & ~X.is_human)
    left, right, judge = X.left[rows], X.right[rows], X.judge[rows]
    low, high = np.minimum(left, right), np.maximum(left, right)
    n_models, n_judges = len(X.models), len(X.judges)
    # Of one model against the other, so that the order of the two does not matter.
    side = np.sign(np.where(left < right, y[rows] - 0.5, 0.5 - y[rows]))
    key = (groups[rows] * n_models + low) * n_models + high
    # Of several verdicts of a judge on one prompt and pair the first counts.
    _, first = np.unique(key * n_judges + judge, return_index=True)
    key = np.unique(key[first], return_inverse=True)[1]
    judge, side = judge[first], side[first]
    shape = n_judges, int(key.max(initial=-1)) + 1
    verdicts = [
        csr_array((np.ones(len(at)), (judge[at], key[at])), shape=shape)
        for at in (np.flatnonzero(side == each) for each in (-1.0, 0.0, 1.0))
    ]
    every = verdicts[0] + verdicts[1] + verdicts[2]
    shared = (every @ every.T).toarray()
    total = np.maximum(shared, 1.0)
    agreed = sum((one @ one.T).toarray() for one in verdicts) / total
    # How often each judge says so, on what it shares with the other.
    rates = [(one @ every.T).toarray() / total for one in verdicts]
    by_chance = sum(rate * rate.T for rate in rates)
    kappa = (agreed - by_chance) / np.maximum(1.0 - by_chance, 1e-9)
    alike = (kappa > _ONE_JUDGE) & (shared >= _SHARED) & ~np.eye(n_judges, dtype=bool)
    _, part = connected_components(csr_array(alike.astype(np.int8)), directed=False)
    for code in np.flatnonzero(np.bincount(part) > 1):
        at = np.flatnonzero(part == code)
        pairs = alike[np.ix_(at, at)]
        least = kappa[np.ix_(at, at)][pairs].min()
        names = X.judges[at].tolist()
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        warn(
            DataWarning(
                f"Judges {names[:5]}{more} agree on the same prompts and models like "
                f"runs of one judge (Cohen's kappa {least:.2f} or more). They like the "
                "same models, so that all tell little more than one. Fit them under "
                "one name; if there are no other judges, by pool='judges'.",
                code="runs-of-one-judge",
                subject=names,
            )
        )


def graded_shares(
    X: Comparisons, y: Array, times: Array | None, rows: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Share of graded verdicts, between a win and a tie, and number of verdicts.

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
    number = np.ones(len(at)) if times is None else times[at]
    graded = number * ~np.isin(y[at], CLEAR)
    n_graded, n_rows = (
        np.bincount(X.judge[at], each, len(X.judges)).astype(np.float64)
        for each in (graded, number)
    )
    return n_graded / np.maximum(n_rows, 1.0), n_rows


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
    old, n_old = graded_shares(X, y, times, counts & ~X.involves_new)
    new, n_new = graded_shares(X, y, times, counts & X.involves_new)
    return old, new, n_old, n_new


def graded_in_part(
    old: Array, new: Array, n_old: Array, n_new: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which judges graded the verdicts on new models alone, and on old ones alone.

    The arguments are those that :func:`shares_on_old_and_new` returns.
    """
    enough = n_new >= _ENOUGH
    # Of few rows, none may be graded by chance.
    late = (old < _FEW) & (new > _MANY) & (n_old * new > _EXPECTED)
    early = (old > _MANY) & (new < _FEW) & (n_new * old > _EXPECTED)
    return enough & late, enough & early


def warn_of_other_grades(
    judges: NDArray[Any], old: Array, new: Array, n_old: Array, n_new: Array
) -> None:
    """Warn of judges who graded the verdicts on old models or on new ones alone.

    The sensitivity of a judge is that of its historical verdicts. The arguments are
    labels, and what :func:`shares_on_old_and_new` returns.
    """
    late, early = graded_in_part(old, new, n_old, n_new)
    for found, where, elsewhere, shares, n_rows in (
        (late, "new", "historical", new, n_new),
        (early, "historical", "new", old, n_old),
    ):
        names = judges[found].tolist()
        if names:
            n_graded = int(np.round((shares * n_rows)[found].sum()))
            warn(
                DataWarning(
                    f"Verdicts of judges {names[:5]} on {where} models are graded "
                    f"({n_graded} of them, up to {shares[found].max():.0%} of a judge, "
                    f"lie between a win and a tie), those on {elsewhere} models are "
                    "not. A sensitivity that is "
                    "learned from one kind is used for the other, so that scores of "
                    "new models are too close to the mean or too far from it, unless a "
                    "grade is the probability of a win, or a share of verdicts. Give "
                    "both in the same kind.",
                    code="graded-verdicts",
                    subject=names,
                )
            )


def shares_by_label(judges: NDArray[Any], shares: Array) -> dict[str, float]:
    """Shares that are not zero, by the text of the judge's label, to be stored."""
    rounded = np.round(shares, 4).tolist()
    return {
        str(judge): share
        for judge, share in zip(judges.tolist(), rounded, strict=True)
        if share
    }
