"""Tables that no tool wrote: columns renamed, outcomes relabelled, failures dropped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io._tools._cells import FAILED
from skanchor.io.columns import (
    coded,
    distinct,
    label_key,
    values_of_codes,
    with_texts,
)
from skanchor.warning_log import warn

NEEDED = ("model_a", "model_b", "winner")
"""Standard columns that every table of battles has."""

_STANDARD = (*NEEDED, "judge", "prompt_id", "shown_first", "rater")

_FEW_LABELS = 20
"""Most labels of a column that may name judges."""


def column_called(names: Iterable[str], wanted: str) -> str | None:
    """Find a column by its name, ignoring case and blanks around it.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.
    wanted : str
        Name to look for; an exact match has precedence.

    Returns
    -------
    str or None
        None if there is no such column, or more than one.
    """
    names = list(names)
    if wanted in names:
        return wanted
    key = wanted.strip().casefold()
    alike = [name for name in names if name.strip().casefold() == key]
    return alike[0] if len(alike) == 1 else None


def few_labelled(table: pd.DataFrame) -> list[str]:
    """Columns of text with few labels, each in ten rows or more on average.

    Such a column may name the judges. At most three are returned.

    Parameters
    ----------
    table : DataFrame
        The table.

    Returns
    -------
    list of str
    """
    found = []
    for name in table.columns:
        if name in _STANDARD or pd.api.types.is_numeric_dtype(table[name]):
            continue
        n_labels = table[name].nunique()
        if 2 <= n_labels <= _FEW_LABELS and 10 * n_labels <= len(table):
            found.append(name)
    return found[:3]


def renamed(raw: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Rename columns that exist; another column with the new name is dropped.

    Parameters
    ----------
    raw : DataFrame
        The table.
    columns : mapping from str to str
        From the table's name to the new one.

    Returns
    -------
    DataFrame
    """
    found = {column_called(raw.columns, old): new for old, new in columns.items()}
    # Names that no column has; ``Request.refuse_leftovers`` reports them.
    found.pop(None, None)
    taken = set(found.values()) - set(found)
    others = [name for name in raw.columns if name not in taken]
    return raw[others].rename(columns=found)


def standard_names(raw: pd.DataFrame) -> pd.DataFrame:
    """Give standard columns and pairs of features their exact names.

    ``Model_A`` becomes ``model_a``, and ``length_A`` becomes ``length_a``.
    """
    names: dict[str, str] = {}
    for wanted in _STANDARD:
        found = column_called(raw.columns, wanted)
        if found is not None:
            names[found] = wanted
    for name in raw.columns:
        if name not in names and name.endswith(("_A", "_B")):
            lower = name[:-1] + name[-1].lower()
            if lower not in raw.columns:
                names[name] = lower
    return raw.rename(columns=names)


_BLANK = " \u00a0"
_BLANKS = re.compile(f"[{_BLANK}]+")
_UNNAMED = re.compile(r"(Unnamed: *|Column|Spalte|Colonne|\.\.\.)?\d*")


def without_empty_columns(raw: pd.DataFrame) -> pd.DataFrame:
    """Leave out empty columns without a name, and empty ones whose name occurs twice.

    Spreadsheets write them for cells that were used once.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    DataFrame
    """
    names = raw.columns
    odd = names.duplicated(keep=False) | [
        bool(_UNNAMED.fullmatch(name)) for name in names
    ]
    empty = [
        bool(odd[at]) and not filled(raw.iloc[:, at]).any()
        for at in range(raw.shape[1])
    ]
    return raw.loc[:, ~np.array(empty, dtype=bool)] if any(empty) else raw


def without_blanks(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Strip names of models, judges and raters; those that differ in blanks are one.

    Parameters
    ----------
    table : DataFrame
        Battles.

    Returns
    -------
    table : DataFrame
    says : list of str
        What was changed, in words.
    """
    said = []
    for columns in (("model_a", "model_b"), ("judge",), ("rater",)):
        known = [name for name in columns if name in table]
        labels = {label: None for name in known for label in distinct(table[name])}
        plain = {label: _BLANKS.sub(" ", str(label)).strip(" ") for label in labels}
        often = Counter(plain.values())
        # Blanks around a name are never part of it, those within where it has a twin.
        due = {
            label: key if often[key] > 1 else str(label).strip(_BLANK)
            for label, key in plain.items()
        }
        odd = {label: name for label, name in due.items() if label != name}
        if odd:
            table = with_texts(table, known)
            changed = {name: table[name].replace(odd) for name in known}
            table = table.assign(**changed)
        joined = [label for label in odd if often[plain[label]] > 1]
        if joined:
            said.append(
                "names that differ in blanks alone are one, as "
                f"{joined[0]!r} and {odd[joined[0]]!r}"
            )
    return table, said


def filled(column: pd.Series) -> pd.Series:
    """Which cells of a column are neither null nor blank."""
    return column.notna() & column.astype("str").str.strip().ne("")


def relabelled(table: pd.DataFrame, labels: Mapping[Any, Any]) -> pd.DataFrame:
    """Translate outcome labels, ignoring case and blanks around them.

    The label ``""`` stands for empty cells.

    Parameters
    ----------
    table : DataFrame
        Table with outcomes in the column ``winner``.
    labels : mapping
        From the table's labels to the standard ones, or to numbers in [0, 1].

    Returns
    -------
    DataFrame
    """
    meant = {label_key(label): value for label, value in labels.items()}
    codes, found = coded(table["winner"])
    values = [meant.get(label_key(label), label) for label in found]
    if "" in meant and (codes < 0).any():
        codes = np.where(codes < 0, len(values), codes)
        values = [*values, meant[""]]
    return table.assign(winner=values_of_codes(values, codes).set_axis(table.index))


def fail_invalid(table: pd.DataFrame) -> pd.DataFrame:
    """Replace outcomes that mean a failed verdict by null."""
    outcome = table["winner"]
    texts = outcome.astype("str").str.strip().str.casefold()
    failed = texts.isin({*FAILED, "-1", "-1.0"})
    winner = outcome.mask(failed)
    # Without the words for failed verdicts, a column of text may be numeric.
    numbers = pd.to_numeric(winner, errors="coerce")
    return table.assign(winner=numbers if (numbers.notna() | failed).all() else winner)


def drop_failed(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Leave out rows without a verdict, and warn of their numbers by judge and model.

    Parameters
    ----------
    table : DataFrame
        Battles whose failed verdicts have a null ``winner``.
    where : str
        Name of the file in messages.

    Returns
    -------
    DataFrame

    Raises
    ------
    BattlesError
        If there is no verdict at all.
    """
    failed = table["winner"].isna()
    if not failed.any():
        return table
    if failed.all():
        raise BattlesError(f"{where}: none of its {len(table)} rows holds a verdict.")
    lost = table[failed]
    models = pd.concat([lost["model_a"], lost["model_b"]])
    counts = [f"by model {_value_counts(models)}"]
    if "judge" in lost:
        counts.insert(0, f"by judge {_value_counts(lost['judge'])}")
    warn(
        DataWarning(
            f"{where}: {len(lost)} of {len(table)} rows hold no verdict and are left "
            f"out: {'; '.join(counts)}.",
            code="failed-verdicts",
            subject=dict.fromkeys([*lost.get("judge", ()), *models]),
        ),
        stacklevel=5,
    )
    return table[~failed].reset_index(drop=True)


def _value_counts(labels: pd.Series) -> str:
    """List the most frequent labels with their counts."""
    counts = labels.value_counts()
    listed = ", ".join(f"{label!r} {n}" for label, n in counts.head(5).items())
    return listed + (f" and {len(counts) - 5} more" if len(counts) > 5 else "")
