"""Groups of dependent rows: the default, those of a column, and of several columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skanchor._battles.labels import (
    exact_values,
    factorize,
    given_values,
)
from skanchor._battles.table import as_frame
from skanchor._checks import check_unmasked
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn

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
        Code of the rater of each vote; -1 in other rows. None without raters.
    labels : ndarray of shape (n_prompts,) or None
        What the codes of the prompts stand for; None if nobody needs to know.
    name : str or None
        Column that has the prompts; None for other groups.
    """

    prompts: NDArray[np.intp] | None
    raters: NDArray[np.intp] | None = None
    labels: NDArray[Any] | None = None
    name: str | None = None


def join_groups(table: Any, columns: Sequence[str]) -> NDArray[np.intp]:
    """Group the rows that are linked by equal values in any of the columns.

    Two rows are in one group if a chain of rows connects them in which neighbours share
    a value in one of the columns, such as the prompt or the voter. Nulls link no rows.

    Parameters
    ----------
    table : battles table
        One row per comparison.
    columns : sequence of str
        Names of columns.

    Returns
    -------
    ndarray of shape (n_rows,)
        Number of the group of each row, for ``fit(groups=...)``.

    Raises
    ------
    BattlesError
        If a column is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor._battles import join_groups
    >>> table = pd.DataFrame({"prompt_id": [1, 1, 2, 3], "rater": [7, 8, 8, 9]})
    >>> join_groups(table, ["prompt_id", "rater"]).tolist()
    [0, 0, 0, 1]
    """
    frame = as_frame(table)
    known = [_column_of_groups(frame, name) for name in columns]
    assert frame is not None
    # A bipartite graph: nodes 0 to n_rows - 1 are the rows, then come the distinct
    # values of the first column, of the second and so on. A row is linked to its value
    # in each column, and groups are the connected components.
    n_rows, n_nodes = len(frame), len(frame)
    rows, nodes = [], []
    for name, own in zip(columns, known, strict=True):
        codes, values = factorize(own, f"Column {name!r}")
        # Code -1 is a null.
        linked = np.flatnonzero(codes >= 0)
        rows.append(linked)
        nodes.append(n_nodes + codes[linked])
        n_nodes += len(values)
    at, to = np.concatenate(rows), np.concatenate(nodes)
    links = coo_array((np.ones(len(at), dtype=np.int8), (at, to)), (n_nodes, n_nodes))
    _, part = connected_components(links, directed=False)
    # Components of the row nodes, renumbered in order of appearance.
    groups, _ = pd.factorize(part[:n_rows])
    return groups.astype(np.intp)


def find_groups(groups: Any, table: Any, n_rows: int) -> RowGroups:
    """Groups of the rows of a table, as codes with their labels.

    Rows of one prompt depend on each other, whoever judges them. So the default is the
    column of prompts, where there is one and its values repeat.

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
    if isinstance(groups, str) and groups == AUTO:
        return _repeated_prompts(as_frame(table))
    codes, labels = factorize(_group_values(groups, table, n_rows), "groups")
    if (codes < 0).any():
        raise BattlesError(
            f"groups has missing values, the first in row {int(np.argmin(codes))}."
        )
    _refuse_two_forms(labels)
    name = groups if isinstance(groups, str) else getattr(groups, "name", None)
    return RowGroups(codes, labels=labels, name=name)


def other_side(name: str) -> str | None:
    """Name of the other column of a pair such as ``length_a`` and ``length_b``."""
    sides = {"_a": "_b", "_b": "_a"}
    return name[:-2] + sides[name[-2:]] if name[-2:] in sides else None


def warn_of_groups_of_a_feature(name: str | None, features: Sequence[str]) -> None:
    """Warn of groups by a column that is a feature of the responses, too.

    Parameters
    ----------
    name : str or None
        Column of the groups.
    features : sequence of str
        Names of the features.
    """
    if isinstance(name, str) and other_side(name) and name[:-2] in features:
        warn(
            DataWarning(
                f"Groups are the values of {name!r}, a column of feature "
                f"{name[:-2]!r}, so that rows with equal values count as dependent. "
                "Groups are meant for rows that depend on each other, such as those "
                "of one prompt: name a column of these.",
                code="groups-of-a-feature",
                subject=[name],
            )
        )


def _repeated_prompts(frame: nw.DataFrame[Any] | None) -> RowGroups:
    """Groups by the column of prompts; none where it has no repeated or few values."""
    if frame is None or PROMPT_COLUMN not in frame.columns:
        return RowGroups(None)
    codes, labels = _coded_prompts(frame)
    n_groups = len(labels)
    if n_groups == len(codes):
        return RowGroups(None)
    if n_groups < FEW_GROUPS:
        warn_of_few_prompts(n_groups)
        return RowGroups(None)
    return _named_by_prompt(codes, labels)


def warn_of_few_prompts(n_groups: int) -> None:
    """Warn of prompts that are too few to be groups by default."""
    warn(
        DataWarning(
            f"Column {PROMPT_COLUMN!r} has only {n_groups} different values, too few "
            "for errors by prompt. Rows count as independent, so that errors may be "
            "too short. Give groups='prompt_id' if you still want errors by prompt, or "
            "groups=None (--groups none) if rows are independent.",
            code="few-prompts",
            subject=[PROMPT_COLUMN],
        )
    )


def prompt_groups(frame: nw.DataFrame[Any]) -> RowGroups:
    """Groups by the column of prompts of a table, whether they repeat in it or not."""
    return _named_by_prompt(*_coded_prompts(frame))


def _named_by_prompt(codes: NDArray[np.intp], labels: NDArray[Any]) -> RowGroups:
    _refuse_two_forms(labels)
    return RowGroups(codes, labels=labels, name=PROMPT_COLUMN)


def _coded_prompts(
    frame: nw.DataFrame[Any],
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Code of the prompt of each row, in the order of first appearance, and labels.

    A row without a prompt is a group of its own.
    """
    values = exact_values(frame[PROMPT_COLUMN])
    codes, labels = factorize(values, f"Column {PROMPT_COLUMN!r}")
    lost = np.flatnonzero(codes < 0)
    if len(lost):
        names = np.empty(len(labels) + len(lost), dtype=object)
        names[: len(labels)] = labels.tolist()
        names[len(labels) :] = [own_label(row) for row in lost.tolist()]
        codes = codes.copy()
        codes[lost] = len(labels) + np.arange(len(lost))
        codes, known = pd.factorize(codes)
        labels = names[known]
    return codes, labels


def own_label(row: int | str) -> str:
    """Label of the group of a row without a prompt, which has no other row."""
    return f"row {row} without a prompt"


def is_own_label(label: Any) -> bool:
    """Whether this is a label of :func:`own_label`, which two tables may both have."""
    return isinstance(label, str) and bool(re.fullmatch(own_label(r"\d+"), label))


def default_raters(
    groups: Any, table: Any, votes: NDArray[np.bool_]
) -> NDArray[np.intp] | None:
    """Raters of the votes, where ``groups="auto"`` finds some who voted repeatedly.

    Parameters
    ----------
    groups : array-like, str, RowGroups or None
        As a user gave them.
    table : battles table, array or Comparisons
        The rows.
    votes : ndarray of shape (n_rows,)
        Rows of people. On other rows the column counts runs of a judge, whose verdicts
        on different prompts are as alike as those of one run.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        Codes, -1 for other rows and for votes without a rater.
    """
    if isinstance(groups, RowGroups):
        return groups.raters
    if not isinstance(groups, str) or groups != AUTO:
        return None
    frame = as_frame(table)
    if frame is None or RATER_COLUMN not in frame.columns:
        return None
    values = exact_values(frame[RATER_COLUMN])
    codes, _ = factorize(values, f"Column {RATER_COLUMN!r}")
    codes = np.where(votes, codes, -1)
    known = codes[codes >= 0]
    if np.bincount(known).max(initial=0) < 2:
        return None
    return codes


def effective_number(codes: NDArray[np.intp]) -> float:
    """Number of groups of equal size between which a variance is known as well.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Codes of groups; negative ones do not count.

    Returns
    -------
    float
        The square of the number of rows, over the sum of the squared sizes.
    """
    sizes = np.bincount(codes[codes >= 0]).astype(np.float64)
    return float(sizes.sum() ** 2 / max((sizes**2).sum(), 1.0))


def label_text(label: Any) -> str:
    """Text of a label that is neither a text nor a number.

    Parameters
    ----------
    label : object
        A time, a boolean, bytes or the like.

    Returns
    -------
    str
        Times with a time zone are those of UTC.
    """
    if isinstance(label, datetime) and label.tzinfo is not None:
        label = label.astimezone(UTC).replace(tzinfo=None)
    if isinstance(label, Decimal):
        # Without the zeros that a column of fixed decimals has.
        return f"{label.normalize():f}"
    return str(label)


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
    column = labels
    if not isinstance(labels, (pa.Array, pa.ChunkedArray)):
        # As a list, nanoseconds would be numbers.
        is_time = getattr(labels, "dtype", np.dtype(object)).kind in "mM"
        values = list(pd.Index(labels)) if is_time else np.asarray(labels).tolist()
        column = pa.array([canonical_text(value) for value in values], pa.string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    try:
        column = column if _has_codes(column) else column.dictionary_encode()
        known, indices = column.dictionary, column.indices
        is_label = not pa.types.is_nested(known.type)
    except pa.ArrowNotImplementedError:
        is_label = False
    if not is_label:
        raise BattlesError(
            f"Column {name!r} of groups has the type {column.type}, whose values are "
            "no labels. Convert it to text or numbers."
        )
    texts = known.cast(pa.string()) if pa.types.is_integer(known.type) else known
    if not pa.types.is_integer(known.type) and not _is_canonical(known):
        texts = [canonical_text(label) for label in known.to_pylist()]
    texts = np.array(texts, dtype=object)
    codes = pd.util.hash_array(texts, categorize=False) if len(texts) else texts
    codes = (np.asarray(codes, dtype=np.uint64) >> np.uint64(1)).astype(np.int64)
    lost = indices.is_null().to_numpy(zero_copy_only=False)
    at = indices.fill_null(0).to_numpy(zero_copy_only=False)
    found = codes[at] if len(codes) else np.zeros(len(at), dtype=np.int64)
    if lost.any():
        own = np.flatnonzero(lost) if numbers is None else numbers[lost]
        found[lost] = label_codes([own_label(row) for row in own.tolist()], name)
    return found


def canonical_text(label: Any) -> str | None:
    """Text by which a label is known, however a table or a file writes it."""
    if label is None or label != label:
        return None
    if isinstance(label, str):
        if not _TIME.match(label):
            return label
        time = pd.to_datetime(label, format="ISO8601", utc=True, errors="coerce")
        return label if pd.isna(time) else str(time.tz_localize(None))
    if isinstance(label, (datetime, date)):
        return canonical_text(label_text(label))
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return label_text(label)


_TIME = re.compile(r"\d{4}-\d\d-\d\d")
"""Beginning of a text that may be a time."""


def _has_codes(column: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(column.type))


def _is_canonical(known: pa.Array) -> bool:
    """Whether labels are texts none of which may be a time."""
    kind = known.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    return not pc.any(pc.match_substring_regex(known, _TIME.pattern)).as_py()


def _group_values(groups: Any, table: Any, n_rows: int) -> NDArray[Any]:
    """Group of each row, as it is given."""
    if isinstance(groups, str):
        groups = _column_of_groups(as_frame(table), groups)
    check_unmasked("groups", groups)
    given = given_values(groups)
    groups = np.asarray(given)
    if groups.dtype.kind == "U" and not isinstance(given, np.ndarray):
        # As texts, NaN in a list would be a label, and numbers those of their digits.
        groups = np.asarray(given, dtype=object)
    if groups.shape != (n_rows,):
        raise BattlesError(
            f"groups must have one entry per row, {n_rows}, got shape {groups.shape}."
        )
    return groups


def _column_of_groups(frame: nw.DataFrame[Any] | None, name: str) -> NDArray[Any]:
    """Values of a column that groups are named by; raise if there is none."""
    if frame is None or name not in frame.columns:
        known = frame.columns[:20] if frame is not None else "none"
        raise BattlesError(
            f"groups names the column {name!r}, which X lacks (columns: {known}). "
            "Name a column of the table, or give an array with one group per row.",
        )
    return exact_values(frame[name])


def _refuse_two_forms(labels: NDArray[Any]) -> None:
    """Raise if numbers are texts, too, as in tables that were put together."""
    if labels.dtype != object or pd.api.types.infer_dtype(labels)[:5] != "mixed":
        return
    known = labels.tolist()
    texts = {label for label in known if isinstance(label, str)}
    numbers = [
        # A column with gaps has whole numbers as floats.
        f"{label:.0f}"
        if isinstance(label, float) and label.is_integer()
        else str(label)
        for label in known
        if isinstance(label, (int, float))
    ]
    twice = [number for number in numbers if number in texts]
    if twice:
        raise BattlesError(
            f"groups has {len(twice)} labels both as a number and as a text, such as "
            f"{twice[0]} and {twice[0]!r}, which would be different groups. Convert "
            "the column to one type."
        )
