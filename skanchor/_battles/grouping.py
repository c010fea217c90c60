"""Columns that say which rows belong together: prompts, raters, groups and contexts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.labels import as_objects, factorize
from skanchor._battles.table import as_frame
from skanchor._checks import check_unmasked
from skanchor.exceptions import BattlesError
from skanchor.warning_log import warn_of_data

AUTO = "auto"
"""Groups by default: those of the prompts, where a table has these."""

PROMPT_COLUMN = "prompt_id"
"""Column of the prompts, in every table that `read_battles` returns."""

RATER_COLUMN = "rater"
"""Column of the people who cast the votes."""

FEW_GROUPS = 30
"""Number of groups below which the variance between them is poorly known."""


@dataclass(frozen=True, eq=False, slots=True)
class RowGroups:
    """Groups of rows that have been found in a table, to be given to ``fit``.

    Attributes
    ----------
    prompts : ndarray of shape (n_rows,) or None
        Code of the prompt of each row; None where rows have no groups.
    raters : ndarray of shape (n_rows,) or None
        Code of the rater of each row, -1 where it has none. None without raters.
    labels : ndarray of shape (n_prompts,) or None
        What the codes of the prompts stand for; None if nobody needs to know.
    name : str or None
        Column that has the prompts; None for other groups.
    """

    prompts: NDArray[np.intp] | None
    raters: NDArray[np.intp] | None = None
    labels: Any = None
    name: str | None = None


def find_groups(groups: Any, table: Any, n_rows: int) -> RowGroups:
    """Groups of the rows of a table, as codes with their labels.

    Rows of one prompt depend on each other, whoever judges them. So the default is the
    column of prompts, where there is one and its values repeat; raters are found in
    theirs.

    Parameters
    ----------
    groups : array-like of shape (n_rows,), str, RowGroups or None
        As a user gave them: groups, the column of the table with that name, or "auto".
    table : battles table, array or Comparisons
        The rows. Encoded rows have no column of prompts any more.
    n_rows : int
        Number of rows.

    Returns
    -------
    RowGroups

    Raises
    ------
    BattlesError
        If there is no such column, or if labels are missing or of two types.
    """
    if isinstance(groups, RowGroups):
        return groups
    if groups is None:
        return RowGroups(None)
    name = getattr(groups, "name", None)
    if isinstance(groups, str):
        if groups == AUTO:
            return _default_groups(as_frame(table))
        name, groups = groups, _column(table, groups, "groups")
    check_unmasked("groups", groups)
    values: Any = nw.from_native(groups, series_only=True, pass_through=True)
    if not isinstance(values, (nw.Series, np.ndarray)):
        # As texts, NaN in a list would be a label, and numbers those of their digits.
        kind = object if np.asarray(groups).dtype.kind == "U" else None
        values = np.asarray(groups, dtype=kind)
    if values.shape != (n_rows,):
        raise BattlesError(
            f"groups must have one entry per row, {n_rows}, got shape {values.shape}."
        )
    codes, labels = factorize(values, "groups", may_lack=False)
    _refuse_two_forms(labels)
    return RowGroups(codes, labels=labels, name=name)


def _column(table: Any, name: str, what: str) -> nw.Series[Any]:
    """Return a column that the user has named; raise if there is none."""
    frame = as_frame(table)
    if frame is None or name not in frame.columns:
        has = f"it has {frame.columns[:20]}" if frame is not None else "no table"
        raise BattlesError(f"{what} names the column {name!r}, which X lacks: {has}.")
    return frame[name]


# ------------------------------------------------------- prompts, raters, contexts
def _default_groups(frame: nw.DataFrame[Any] | None) -> RowGroups:
    """Prompts, unless they do not repeat or are few, and raters of a table."""
    columns, raters = [] if frame is None else frame.columns, None
    if frame is not None and RATER_COLUMN in columns:
        raters, _ = factorize(frame[RATER_COLUMN], f"Column {RATER_COLUMN!r}")
    if frame is not None and PROMPT_COLUMN in columns:
        prompts = prompt_groups(frame)
        if FEW_GROUPS <= len(prompts.labels) < len(frame):
            return replace(prompts, raters=raters)
        if len(prompts.labels) < len(frame):
            warn_of_few_prompts(len(prompts.labels))
    return RowGroups(None, raters)


def warn_of_few_prompts(n_groups: int) -> None:
    """Warn of prompts that are too few to be groups by default."""
    warn_of_data(
        "few-prompts",
        [PROMPT_COLUMN],
        f"Column {PROMPT_COLUMN!r} has only {n_groups} different values, too few for "
        "errors by prompt: rows count as independent. Name the column as groups if you "
        "want such errors, else set groups to None (--groups none).",
    )


def prompt_groups(frame: nw.DataFrame[Any]) -> RowGroups:
    """Groups by the column of prompts of a table, whether they repeat in it or not.

    Codes are in the order of first appearance. A row without a prompt is a group of its
    own, whose label is None.
    """
    codes, labels = factorize(frame[PROMPT_COLUMN], f"Column {PROMPT_COLUMN!r}")
    _refuse_two_forms(labels)
    alone = np.flatnonzero(codes < 0)
    if len(alone):
        codes[alone] = len(labels) + np.arange(len(alone))
        labels = as_objects([*labels.tolist(), *[None] * len(alone)])
        codes, order = pd.factorize(codes)
        labels = labels[order]
    return RowGroups(codes, labels=labels, name=PROMPT_COLUMN)


def effective_number(sizes: NDArray[np.intp]) -> float:
    """Number of groups of equal size between which a variance is known as well.

    It is the square of the number of rows, over the sum of the squared sizes.
    """
    return float(sizes.sum() ** 2 / max(sizes @ sizes, 1))


def read_contexts(column: str, table: Any) -> NDArray[Any]:
    """Return the context of each row, from a column of the table.

    Raises
    ------
    BattlesError
        If there is no such column, or a row has no context.
    """
    values = _column(table, column, "context")
    codes, labels = factorize(values, f"Column {column!r}", may_lack=False)
    return as_objects(labels.tolist())[codes]


# ----------------------------------------------------------- labels in several tables
def label_codes(
    labels: Any, name: str, numbers: NDArray[np.integer] | None = None
) -> NDArray[np.int64]:
    """Code of each label: the upper 63 bits of a hash of its canonical text.

    Two labels share a code by chance once in 10^6 tables of 4 million groups. A whole
    number, a float and a text of the same digits are one label, and so are a time and
    its text.

    Parameters
    ----------
    labels : array or pyarrow.ChunkedArray of length n_rows
        Labels of groups.
    name : str
        What holds them, for an error.
    numbers : ndarray of shape (n_rows,), optional
        Number of each row; one without a label is a group of its own.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    column = nw.from_native(labels, series_only=True, pass_through=True)
    if not isinstance(column, nw.Series):
        column = np.asarray(column)
    codes, values = factorize(column, f"Column {name!r} of groups")
    # As numbers, times of a nanosecond have no text.
    distinct = pd.Index(values) if values.dtype.kind in "mM" else values.tolist()
    alone = np.flatnonzero(codes < 0)
    codes[alone] = len(values) + np.arange(len(alone))
    rows = alone if numbers is None else numbers[alone]
    texts = [
        *map(canonical_text, distinct),
        *(f"row {row} without a prompt" for row in rows),
    ]
    hashes = pd.util.hash_array(as_objects(texts), categorize=False)
    return np.asarray((hashes >> np.uint64(1)).astype(np.int64)[codes])


def canonical_text(label: Any) -> str:
    """Text by which a label is known, however a table or a file writes it."""
    # Only what may be a time is read as one.
    if isinstance(label, date) or re.match(r"\d{4}-\d\d-\d\d", str(label)):
        time = pd.to_datetime(str(label), format="ISO8601", utc=True, errors="coerce")
        return str(label) if pd.isna(time) else str(time.tz_localize(None))
    if isinstance(label, Decimal):
        # Without the zeros that a column of fixed decimals has.
        return f"{label.normalize():f}"
    is_whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if is_whole else label)


def _refuse_two_forms(labels: NDArray[Any]) -> None:
    """Raise if some labels are numbers and texts, too, as in tables put together."""
    if labels.dtype != object:
        return
    # A column with gaps has whole numbers as floats.
    texts = {label for label in labels if isinstance(label, str)}
    numbers = {canonical_text(one) for one in labels if isinstance(one, (int, float))}
    if texts & numbers:
        twice = sorted(texts & numbers)
        raise BattlesError(
            f"groups has labels both as a number and as a text, such as {twice[0]} and "
            f"{twice[0]!r}, which would be different groups. Convert the column to one "
            "type."
        )
