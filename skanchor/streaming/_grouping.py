"""Whether the rows of a stream have groups, and whether their sums fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from skanchor._comparisons import as_frame
from skanchor._comparisons.grouping import (
    AUTO,
    FEW_GROUPS,
    PROMPT_COLUMN,
    RATER_COLUMN,
)
from skanchor._numerics.machine import available_bytes
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.sample import COUNT_COLUMN, warn_of_unused_counts
from skanchor.streaming._groups import sketch_groups
from skanchor.streaming._parts import Data
from skanchor.streaming._reading import Reading
from skanchor.streaming._survey_result import SurveyResult
from skanchor.warning_log import warn

COPIES = 2.5
"""Sums by group in memory at a time: those merged, those waiting, and a sorted copy; a
stream of 2.3 million verdicts took 2.1 times the size of its sums."""


def find_groups(
    data: Data, reading: Reading, groups: str | None, n_rows: int
) -> Reading:
    """How tables are read, with the column of the groups if there are any.

    By default one column is read beforehand, until it shows that prompts repeat: of the
    prompts with the lowest hashes all rows are counted. A column of raters who vote
    repeatedly is warned of: a stream has no errors by rater. So is a column of counts
    that is not used.

    Parameters
    ----------
    data : Data
        The stream.
    reading : Reading
        How tables are read.
    groups : str or None
        As :class:`StreamOptions` has it.
    n_rows : int
        Rows in memory at a time.

    Returns
    -------
    Reading
    """
    known: list[str] = []
    if groups == AUTO or data.schema() is not None:
        # Tables are not read once more for their counts alone.
        known = _columns_of(data, n_rows)
    _look_at_counts(data, reading, known, n_rows)
    if groups != AUTO:
        return replace(reading, groups=groups)
    column, raters = map(reading.own_name, (PROMPT_COLUMN, RATER_COLUMN))
    if (
        raters in known
        and sketch_groups(_values_of(data, raters, n_rows), 1, raters)[0]
    ):
        warn(
            DataWarning(
                "A stream stores no sums by rater, so that its errors do not allow "
                f"for raters who may differ, whom column {raters!r} names. "
                "AnchorPipeline on all rows has errors by rater; groups='prompt_id' "
                "leaves raters out.",
                code="raters-ignored",
                subject=[raters],
            )
        )
    if column not in known:
        return replace(reading, groups=None)
    repeats, n_groups = sketch_groups(
        _values_of(data, column, n_rows), FEW_GROUPS, column
    )
    if not repeats:
        return replace(reading, groups=None)
    if n_groups < FEW_GROUPS:
        warn(
            DataWarning(
                f"Column {PROMPT_COLUMN!r} has only {n_groups} different values, too "
                "few for errors by prompt. Rows count as independent, so that errors "
                "may be too short. Give groups='prompt_id' if you still want errors "
                "by prompt, or groups=None (--groups none) if rows are independent.",
                code="few-prompts",
                subject=[PROMPT_COLUMN],
            )
        )
        return replace(reading, groups=None)
    return replace(reading, groups=PROMPT_COLUMN)


def _look_at_counts(
    data: Data, reading: Reading, known: Sequence[str], n_rows: int
) -> None:
    """Warn of a column of counts that does not weigh the rows, as the first ones show.

    ``known`` are the columns.
    """
    column = reading.own_name(COUNT_COLUMN)
    if reading.weight is None and column in known:
        first = next(_values_of(data, column, n_rows), None)
        if first is not None:
            warn_of_unused_counts(as_frame(pa.table({COUNT_COLUMN: first})))


def _columns_of(data: Data, n_rows: int) -> list[str]:
    """Names of the columns, of the first table where they are not known before."""
    schema = data.schema()
    if schema is None:
        first = next((t for p in data.parts() for t in p.tables(None, n_rows)), None)
        schema = None if first is None else first.schema
    return [] if schema is None else list(schema.names)


def _values_of(data: Data, column: str, n_rows: int) -> Iterator[pa.ChunkedArray]:
    """Values of a column, some rows at a time."""
    for part in data.parts():
        for table in part.tables([column], n_rows):
            yield table[column]


def check_memory(surveyed: SurveyResult, widths: Sequence[int], n_repeats: int) -> None:
    """Refuse sums by group that memory has no room for, before they are taken.

    Parameters
    ----------
    surveyed : SurveyResult
        The groups.
    widths : sequence of int
        By judge, number of columns beside those of the models.
    n_repeats : int
        Repeats of the folds.

    Raises
    ------
    BattlesError
        With the number of groups and the memory that their sums take.
    """
    if surveyed.groups is None:
        return
    n_groups, n_models = len(surveyed.groups), len(surveyed.models)
    rows = surveyed.verdicts.groupby("judge")["n"].sum().reindex(surveyed.judges)
    size = 0.0
    for n_rows, width in zip(rows.tolist(), widths, strict=True):
        n_sums = min(n_rows, n_groups)
        # A hash, a start, the columns, and twelve bytes for each item with a sum.
        size += (12.0 + 8.0 * width) * n_sums
        size += 12.0 * min(2.0 * n_rows, float(n_models) * n_sums)
    size *= n_repeats
    if COPIES * size > available_bytes():
        raise BattlesError(
            f"The sums of {n_groups} groups of dependent rows take "
            f"{size / 1e9:.3g} GB, and {COPIES:g} times as much while they are added "
            f"up; {available_bytes() / 1e9:.3g} GB are there. Use a larger machine, a "
            "random part of the groups, fewer models or judges, or groups=None, which "
            "takes rows as independent, so that errors may be too short."
        )
