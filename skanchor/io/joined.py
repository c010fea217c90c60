"""Several files that become one table: none of them twice."""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from skanchor._battles.outcomes import WINNER_VALUES
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io._source import STDIN
from skanchor.warning_log import warn

COUNTED = "wins"
"""Name of the format whose rows are counts of comparisons."""

SHOWN_FIRST = "shown_first"
"""Column of the side that was shown first."""


def refuse_twice(paths: Sequence[str]) -> None:
    """Refuse a file that is given twice, and warn of files of the same content.

    Parameters
    ----------
    paths : sequence of str
        The files; links and other spellings of a path lead to the same file.

    Raises
    ------
    BattlesError
        If two paths lead to one file, whose rows would count twice.
    """
    files = {n: os.stat(path) for n, path in enumerate(paths) if path != STDIN}
    files = {n: found for n, found in files.items() if stat.S_ISREG(found.st_mode)}
    for first, second in combinations(files, 2):
        one, two = paths[first], paths[second]
        if os.path.samestat(files[first], files[second]):
            as_two = "" if one == two else f", as {two}, too"
            raise BattlesError(
                f"{one} is given twice{as_two}: its rows would count twice. Give it "
                "once."
            )
        sizes = {files[first].st_size, files[second].st_size}
        if len(sizes) == 1 and filecmp.cmp(one, two, shallow=False):
            warn(
                DataWarning(
                    f"{one} and {two} hold the same bytes, so that their rows count "
                    "twice. Leave one of them out if it is a copy.",
                    code="equal-files",
                ),
                stacklevel=5,
            )


def join_tables(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """All tables in one, in which each row means what it means in its own table.

    Outcomes are numbers if they are in any of the tables.
    """
    if len(tables) == 1:
        return tables[0]
    has_winner = [table for table in tables if "winner" in table]
    numeric = [pd.api.types.is_numeric_dtype(table["winner"]) for table in has_winner]
    if any(numeric) and not all(numeric):
        tables = [_with_numbers(table) for table in tables]
    if any(SHOWN_FIRST in table for table in tables):
        # In a table without the column the first model counts as shown first; a null
        # would say that the order is not known.
        tables = [
            table if SHOWN_FIRST in table else table.assign(**{SHOWN_FIRST: "model_a"})
            for table in tables
        ]
    whole = pd.concat(tables, ignore_index=True)
    if "both_bad" in whole:
        # Tables without the column have nulls here, which mean False.
        whole["both_bad"] = whole["both_bad"].eq(True)
    return whole


def with_counts(table: pd.DataFrame, formats: Iterable[str]) -> pd.DataFrame:
    """Give count one to rows of files that are read together with tables of wins."""
    if COUNTED not in formats or table["count"].notna().all():
        return table
    return table.assign(count=table["count"].fillna(1).astype(np.int64))


def _with_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Table with the labels of outcomes replaced by numbers in [0, 1]."""
    if "winner" not in table or pd.api.types.is_numeric_dtype(table["winner"]):
        return table
    numbers = table["winner"].map(WINNER_VALUES)
    odd = numbers.isna() & table["winner"].notna()
    if odd.any():
        raise BattlesError(
            f"Outcomes of the files cannot be joined: some are numbers, and "
            f"{table['winner'][odd].unique()[:5].tolist()} are no known labels."
        )
    return table.assign(winner=numbers.astype(float))
