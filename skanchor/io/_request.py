"""The arguments of a user for reading files, and which of them were used.

No argument is ignored silently: one that applies to no file is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._format import Format
from skanchor.io._tools._reader import Reader
from skanchor.io.columns import distinct, label_key
from skanchor.io.generic import column_called


@dataclass(eq=False)
class Request:
    """Arguments of a user, and which of them were used while files are read.

    Attributes
    ----------
    file_format, encoding, columns, labels, models, levels, tie_margin, ratings,
    drop_invalid
        As in :func:`skanchor.io.read_battles`.
    ids : set of str
        Columns of labels, which are read as text.
    codes : bool
        Whether columns of text may be categories.
    verbose : int
        Whether to show a bar.
    formats : dict
        By path, the name of the tool as whose file each was read, or ``"table"``.
    assumed : dict
        By path, what was assumed of tables.
    used_judge : bool
        Whether a file names no judge, so that the given name was used.
    """

    file_format: str | None = None
    encoding: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    labels: dict[Any, Any] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)
    tie_margin: float = 0.0
    ratings: Sequence[str] = ()
    drop_invalid: bool = False
    ids: set[str] = field(default_factory=set)
    codes: bool = False
    verbose: int = 0
    formats: dict[str, str] = field(default_factory=dict)
    assumed: dict[str, list[str]] = field(default_factory=dict)
    _columns_seen: set[str] = field(default_factory=set)
    _models_seen: set[str] = field(default_factory=set)
    _outcomes_seen: dict[str, str] = field(default_factory=dict)
    _levels_known: set[str] = field(default_factory=set)
    _has_text: bool = False
    _has_scores: bool = False
    _has_tables: bool = False
    used_judge: bool = False

    # ----------------------------------------------------------------- what is used
    def saw_file(self, known: Format, names: Iterable[str]) -> None:
        """Record the columns of a file, before they are renamed."""
        self._columns_seen.update(names)
        self._has_text |= known.is_encoded

    def merged(self, table: pd.DataFrame) -> pd.DataFrame:
        """Table whose models and judges have the names that the user gave them.

        Parameters
        ----------
        table : DataFrame
            Battles of one file.

        Returns
        -------
        DataFrame
        """
        names = [name for name in ("model_a", "model_b", "judge") if name in table]
        if not self.models or not names:
            return table
        for name in names:
            self._models_seen.update(table[name].dropna().unique().tolist())
        changed = {name: table[name].replace(self.models) for name in names}
        return table.assign(**changed)

    def saw_tool(self, reader: Reader) -> None:
        """Record which arguments apply to the files of a tool."""
        self._levels_known.update(reader.levels)
        self._has_scores |= reader.has_scores

    def saw_outcomes(self, winner: pd.Series) -> None:
        """Record the outcomes of a table, before they are relabelled."""
        self._has_tables = True
        if self.labels:
            for label in distinct(winner):
                self._outcomes_seen[label_key(label)] = str(label)
            if winner.isna().any():
                self._outcomes_seen[""] = ""
        if self.levels:
            known = set(map(label_key, distinct(winner)))
            used = {level for level in self.levels if label_key(level) in known}
            self._levels_known.update(self.levels if self._are_ends() else used)

    def saw_ratings(self) -> None:
        """Record that a table holds ratings, to which a margin and a scale apply."""
        self._has_scores = True
        self._levels_known.update(self.levels if self._are_ends() else ())

    def _are_ends(self) -> bool:
        """Whether levels are numbers: the two ends of a scale, which need not occur."""
        ends = pd.to_numeric(pd.Series(list(self.levels)), errors="coerce")
        return bool(ends.notna().all())

    def refuse_leftovers(self, judge: Any) -> None:
        """Refuse arguments that were used for no file.

        Parameters
        ----------
        judge : str, sequence of str or None
            The judge that the user gave.

        Raises
        ------
        BattlesError
            If there is such an argument.
        """
        absent = [
            name
            for name in self.columns
            if column_called(self._columns_seen, name) is None
        ]
        if absent:
            raise BattlesError(
                f"The battles table lacks the columns {absent}; it has "
                f"{sorted(self._columns_seen)[:20]}. Rename columns with "
                "columns={'given': 'standard'}, or name the tool with format (--from)."
            )
        unknown = [name for name in self.models if name not in self._models_seen]
        if unknown:
            raise BattlesError(
                f"No row names the models {unknown}, which are to have other names; "
                f"known are {sorted(map(str, self._models_seen))[:20]}."
            )
        if self.encoding is not None and not self._has_text:
            raise BattlesError(
                f"The encoding is given as {self.encoding!r}, but no file is text."
            )
        self._refuse_verdicts()
        if judge is not None and not self.used_judge:
            raise BattlesError(
                f"The judge is given as {judge!r}, but the files name their judges."
            )

    def _refuse_verdicts(self) -> None:
        """Refuse arguments about kinds of verdicts that no file holds."""
        kinds = sorted(set(self.formats.values()) - {"table"})
        tools = ", ".join(kinds + ["tables"] * ("table" in self.formats.values()))
        unknown = [level for level in self.levels if level not in self._levels_known]
        if unknown and not self._levels_known:
            raise BattlesError(
                f"Levels are given for the graded verdicts {unknown}, but none of the "
                f"files has such verdicts; they were read as {tools}."
            )
        if unknown:
            raise BattlesError(
                f"No file has the graded verdicts {unknown}; those known of its format "
                f"are {sorted(self._levels_known)}."
            )
        if self.tie_margin and not self._has_scores:
            raise BattlesError(
                f"A tie margin of {self.tie_margin:g} is given, but no file holds "
                f"point scores; they were read as {tools}. Tables of scores are read "
                "with format='scores' (--from scores).",
            )
        if self.labels and not self._has_tables:
            raise BattlesError(
                f"Outcome labels {list(self.labels)} are given, but the files were "
                f"read as {tools}, whose labels are known. Leave them out, or "
                "read the files with format='table' (--from table)."
            )
        if self.labels and self._outcomes_seen.keys().isdisjoint(
            map(label_key, self.labels)
        ):
            raise BattlesError(
                f"None of the labels {list(self.labels)} occurs in column 'winner', "
                f"which holds {list(self._outcomes_seen.values())[:10]}."
            )


def for_each_file(given: Any, n_files: int, what: str) -> Sequence[Any]:
    """Value of an argument for each file: one for all, or one for each.

    Parameters
    ----------
    given : str, sequence of str and None, or None
        Argument as in :func:`skanchor.io.read_battles`.
    n_files : int
        Number of files.
    what : str
        Name of the values for an error, such as ``"judges"``.

    Returns
    -------
    sequence of str or None

    Raises
    ------
    BattlesError
        If the number of values is neither one nor that of the files.
    """
    if given is None or isinstance(given, str):
        return [given] * n_files
    names = [None if name is None else str(name) for name in given]
    if len(names) == 1:
        return names * n_files
    if len(names) != n_files:
        raise BattlesError(f"{len(names)} {what} are given for {n_files} files.")
    return names
