"""Warnings of rows and labels that are probably mistakes in the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.encoded import Comparisons
from skanchor._battles.equal_rows import number_rows
from skanchor._battles.grades import warn_of_unclear_votes
from skanchor._battles.in_chunks import chunks
from skanchor._battles.labels import constant, exact_values, factorize
from skanchor._battles.people import HUMAN, human_like
from skanchor._battles.spellings import appearance, spelt_differently
from skanchor._typing import Array
from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

DISTINCT = 0.1
"""Share of rows with features of their own from which equal rows are no chance."""

MANY_EQUAL = 0.01
"""Share of rows that equal an earlier one from which they are warned of."""


def warn_of_odd_rows(
    frame: nw.DataFrame[Any] | None,
    X: Comparisons,
    y: Array,
    weight: Array,
    *,
    grouped: bool = False,
) -> None:
    """Warn of rows and labels that are probably mistakes in the table.

    These are a column of judges under another name, labels that look alike, votes of
    people of which none is a clear win, models whose names differ slightly between
    judge rows and human rows, comparisons of a model with itself, and, where a column
    ``prompt_id`` identifies battles, copies of a battle.

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
    _warn_of_misspelt_judge(frame, X)
    _warn_of_look_alikes(X, weight)
    warn_of_unclear_votes(X, y, weight)
    known = X.rows.appearances_by_judge(weight > 0)
    warn_of_people_as_judges(X.judges[known[:-1].any(axis=1)])
    _warn_of_other_spellings(X, known)
    # `alone` marks the rows that compare a model with itself.
    alone = constant(False, len(X))
    if _ever_equal(X.left, X.right):
        alone = (X.left == X.right) & (weight > 0)
    if alone.any():
        # Models that appear in such rows only are lost from the ranking.
        sides = X.rows.appearances((weight > 0) & ~alone)
        lost = X.models[np.unique(X.left[alone & (sides[X.left] == 0)])].tolist()
        warn(
            DataWarning(
                f"{alone.sum()} rows compare a model with itself and are ignored"
                + (f"; models {lost} appear in no other row." if lost else "."),
                code="self-comparisons",
                subject=lost,
            )
        )
    copies = constant(False, len(X))
    if frame is not None and "prompt_id" in frame.columns:
        copies = _copies(frame, X, y, (weight > 0) & ~alone)
        if copies.any():
            warn(
                DataWarning(
                    f"{copies.sum()} rows are copies of earlier ones (same prompt_id, "
                    "models, judge, verdict and features), the first in row "
                    f"{int(np.argmax(copies))}. Drop them, unless different people "
                    "cast them; a column 'rater' then tells them apart.",
                    code="copied-rows",
                )
            )
    has_features = X.features_left.shape[1] > 0
    if frame is not None and has_features and not grouped and not copies.any():
        # Without prompts, or where copies were given prompts of their own.
        _warn_of_equal_rows(X, y, (weight > 0) & ~alone)


def _warn_of_equal_rows(X: Comparisons, y: Array, rows: NDArray[np.bool_]) -> None:
    """Warn of rows that agree in all columns, where features tell most rows apart."""
    at = np.flatnonzero(rows)
    if not len(at):
        return
    # One number for the features of each row: rows are compared only if some agree.
    factors = np.random.default_rng(0).random((2, X.features_left.shape[1]))
    mixed = X.features_left @ factors[0] + X.features_right @ factors[1]
    distinct = len(pd.unique(mixed[at]))
    # With features of few values, rows are equal by chance.
    if distinct > (1.0 - MANY_EQUAL) * len(at) or distinct < DISTINCT * len(at):
        return
    table = pd.DataFrame(np.hstack([X.features_left, X.features_right])[at])
    table = table.assign(left=X.left[at], right=X.right[at], judge=X.judge[at])
    equal = table.assign(order=X.order[at], y=y[at]).duplicated()
    if equal.sum() > MANY_EQUAL * len(at):
        warn(
            DataWarning(
                f"{equal.sum()} of {len(at)} rows equal an earlier one in all columns, "
                f"the first in row {int(at[np.argmax(equal)])}. Copies make errors too "
                "short. Drop them, or give rows of one prompt the same value in a "
                "column 'prompt_id'.",
                code="equal-rows",
            )
        )


def _warn_of_misspelt_judge(frame: nw.DataFrame[Any] | None, X: Comparisons) -> None:
    """Warn of a table without a column "judge" that has one with a similar name."""
    if frame is None or not X.named or "judge" in frame.columns:
        return
    like = [name for name in map(str, frame.columns) if "judge" in name.casefold()]
    if like:
        warn(
            DataWarning(
                f"There is no column 'judge', so all rows count as human; {like} may "
                "be meant. Rename columns with columns={'given': 'standard'}.",
                code="misspelt-judge-column",
                subject=like,
            )
        )


def _warn_of_look_alikes(X: Comparisons, weight: Array) -> None:
    """Warn of models and of judges whose names look the same on a screen."""
    # First all labels, which is quick; rows are read only if some labels look alike.
    if not (_look_alike(X.models) or _look_alike([HUMAN, *X.judges])):
        return
    used = weight > 0
    models = X.models[X.rows.appearances(used) > 0]
    judges = [HUMAN, *X.judges[np.unique(X.judge[used & (X.judge >= 0)])]]
    counts = dict(zip(X.models, X.rows.appearances(used), strict=True))
    found: dict[str, list[list[str]]] = {}
    for alike in _look_alike(models):
        found.setdefault(_difference(alike), []).append(alike)
    for difference, groups in found.items():
        names: dict[str, str] = {}
        for alike in groups:
            most = max(alike, key=counts.__getitem__)
            names |= {name: most for name in alike if name != most}
        warn(
            DataWarning(
                f"The models {_in_groups(groups)} {difference}, and each counts as a "
                f"model of its own. {_merged(names)}",
                code="look-alike-models",
                subject=[label for alike in groups for label in alike],
            )
        )
    for alike in _look_alike(judges):
        said = f"The judges {alike} {_difference(alike)}, and each counts as a judge"
        if HUMAN in alike:
            warn(
                DataWarning(
                    f"{said} of its own (only {HUMAN!r} marks human rows). Give them "
                    "one name if they are one.",
                    code="look-alike-judges",
                    subject=alike,
                )
            )
            continue
        names = dict.fromkeys(alike[1:], alike[0])
        warn(
            DataWarning(
                f"{said} of its own. {_merged(names)}",
                code="look-alike-judges",
                subject=alike,
            )
        )


def warn_of_people_as_judges(judges: Iterable[Any]) -> None:
    """Warn of judges whose labels are those of people, such as "crowd".

    Parameters
    ----------
    judges : iterable of labels
        Judges with rows. Spellings of "human" are warned of elsewhere.
    """
    found = [j for j in human_like(judges) if appearance(j) != appearance(HUMAN)]
    if found:
        warn(
            DataWarning(
                f"Judges {found[:5]} have labels of people, but count as LLM judges: "
                f"only {HUMAN!r} marks human rows. Rows of people have the label "
                "'human'. If they have another label, name it in human.",
                code="people-as-judges",
                subject=found,
            )
        )


def _difference(alike: list[str]) -> str:
    """Part of a warning: in what labels differ that look alike."""
    if len({label.strip().casefold() for label in alike}) == 1:
        return "differ in blanks or case alone"
    escaped = "" if ascii(alike) == str(alike) else f" ({alike!a})"
    return f"look alike but hold different characters{escaped}"


def _in_groups(groups: list[list[str]]) -> str:
    """Groups of labels in words, five of them at most."""
    shown = list(map(str, groups[:5]))
    if len(groups) > 5:
        shown.append(f"{len(groups) - 5} more groups")
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _warn_of_other_spellings(X: Comparisons, known: NDArray[np.intp]) -> None:
    """Warn of models without votes whose names resemble those of models with votes.

    ``known`` has the rows of each model by judge.
    """
    # Names that look the same are warned of elsewhere.
    pairs = [p for p in _spelt_pairs(X, known) if len(_look_alike(p)) == 0]
    if pairs:
        listed = ", ".join(f"{label!r} and {known!r}" for label, known in pairs[:5])
        more = f" and {len(pairs) - 5} more pairs" if len(pairs) > 5 else ""
        warn(
            DataWarning(
                f"Models without human rows have names that are nearly those of models "
                f"with human rows: {listed}{more}. Each counts as a model of its own. "
                f"{_merged(dict(pairs))}",
                code="misspelt-models",
                subject=[label for pair in pairs for label in pair],
            )
        )


def advice_on_spellings(X: Comparisons, weight: Array) -> str:
    """Advice to give models without votes the names of models with votes, if alike.

    Parameters
    ----------
    X : Comparisons
        The battles.
    weight : ndarray of shape (n_rows,)
        Weights of the rows.

    Returns
    -------
    str
        Empty if no names are alike.
    """
    pairs = _spelt_pairs(X, X.rows.appearances_by_judge(weight > 0))
    return _merged(dict(pairs)) if pairs else ""


def _spelt_pairs(X: Comparisons, known: NDArray[np.intp]) -> list[tuple[str, str]]:
    """Models without votes, each with one with votes whose name is nearly the same."""
    voted = known[-1] > 0
    judged = known[:-1].any(axis=0) & ~voted
    return spelt_differently(X.models[judged], X.models[voted])


def _merged(names: dict[Any, Any]) -> str:
    """Advice to give some models the names of others."""
    return (
        "If they are one, give them one name in the [models] of a mapping: "
        f"{', '.join(f'{old!r} = {new!r}' for old, new in names.items())}."
    )


def _look_alike(labels: Iterable[Any]) -> list[list[str]]:
    """Groups of two or more texts that look alike."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(appearance(label), []).append(label)
    return [same for same in alike.values() if len(same) > 1]


def _ever_equal(first: NDArray[np.intp], second: NDArray[np.intp]) -> bool:
    """Whether two columns agree in any row, found without an array of all rows."""
    return any((first[rows] == second[rows]).any() for rows in chunks(len(first)))


def _copies(
    frame: nw.DataFrame[Any],
    X: Comparisons,
    y: Array,
    rows: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Mask of rows that repeat an earlier one, also with the two sides swapped.

    ``rows`` is the mask of the rows to compare.
    """
    # All rows are put in one orientation, the smaller model code first: a swapped copy
    # then has the same models, display order and outcome.
    turned = X.left > X.right
    columns = [
        np.minimum(X.left, X.right),
        np.maximum(X.left, X.right),
        X.judge,
        np.where(turned, -X.order, X.order),
        np.where(turned, 1.0 - y, y),
    ]
    for name in ("prompt_id", "rater", "turn"):
        if name in frame.columns:
            values = exact_values(frame[name])
            columns.append(factorize(values, f"Column {name!r}")[0])
    # Column 5 is prompt_id. Rows without one (code -1) may be of different prompts.
    rows = rows & (columns[5] >= 0)
    key = number_rows(*columns).kind
    at = np.flatnonzero(rows)
    # Features, swapped along with the sides, are compared only where all else agrees.
    at = at[pd.Series(key[at]).duplicated(keep=False)]
    first, second = X.features_left[at], X.features_right[at]
    swap = turned[at, None]
    table = pd.DataFrame(
        np.hstack([np.where(swap, second, first), np.where(swap, first, second)])
    ).assign(key=key[at])
    copies = np.zeros(len(X), dtype=bool)
    copies[at[table.duplicated()]] = True
    return copies
