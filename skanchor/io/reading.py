"""Battles from files: read, taken for what a mapping says, and given standard names."""

from __future__ import annotations

import filecmp
import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pandas as pd

from skanchor.exceptions import BattlesError, DataWarning, located
from skanchor.io._files import STDIN, read_file, stem_of
from skanchor.io._tables import FILE, Table, as_table, as_text, join_tables, recoded
from skanchor.io._tools import STANDARD
from skanchor.io.mapping import Mapping
from skanchor.warning_log import warn

Path = str | os.PathLike[str]

_ROLES = ("model_a", "model_b", "winner", "judge", "prompt_id")
_LABELS = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}


def read_battles(
    paths: Path | Sequence[Path],
    mapping: Mapping | Path | None = None,
    format: str | Sequence[str] = "auto",
    *,
    encoding: str | None = None,
    drop_invalid: bool = False,
) -> pd.DataFrame:
    """Read battles from one file or several, of an evaluation tool or a table.

    Parameters
    ----------
    paths : str, path or sequence of them
        CSV (also with tabs, semicolons or bars), JSON, JSON Lines, Parquet or Feather;
        text may be packed by gzip, bzip2, zstd or zip. Their kind is recognised by the
        first bytes. Several files become one table. ``"-"`` is standard input.
    mapping : Mapping or path, optional
        What the files hold. Without one, it is proposed, and refused if anything in it
        is unclear: see :class:`skanchor.io.Mapping`.
    format : str or sequence of str, default="auto"
        Name of the tool that wrote the files, such as ``"alpaca_eval"``; ``"table"``
        for none. ``"auto"`` recognises tools by their columns. A sequence has one for
        each file.
    encoding : str, optional
        Encoding such as ``"cp1252"``, of text that is neither UTF-8 nor UTF-16.
    drop_invalid : bool, default=False
        Leave out rows without a verdict, rows whose winner is not compared there, and
        lines that cannot be read; they are counted in a warning.

    Returns
    -------
    DataFrame
        The battles, as `split_battles` takes them: ``model_a``, ``model_b``, ``judge``
        (``"human"`` for people), ``winner``, and what else the files hold. ``count`` is
        the number of comparisons of a row of a table of wins. ``attrs["mapping"]`` is
        the mapping that was used.

    Raises
    ------
    BattlesError
        If a file cannot be read, if something in it is unclear, or if the mapping is
        for another one.
    OSError
        If a file cannot be opened.

    Warns
    -----
    DataWarning
        If rows or lines are left out, with their numbers.

    Examples
    --------
    >>> import tempfile
    >>> from skanchor import read_battles
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     size = file.write("left,right,evaluator,vote\\nowl,elk,human,left\\n")
    ...     file.flush()
    ...     table = read_battles(file.name)
    ...
    >>> table.to_dict("records")
    [{'model_a': 'owl', 'model_b': 'elk', 'judge': 'human', 'winner': 'model_a'}]
    """
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if mapping is not None and not isinstance(mapping, Mapping):
        mapping = Mapping.from_toml(mapping)
    if mapping is not None and format == "auto":
        format = mapping.format
    table = read_tables(names, format, encoding, drop_invalid)
    if mapping is None:
        mapping = Mapping.propose(table)
    mapping = mapping.edited(source=table.source)
    X, y, _ = mapping.apply(table)
    for name in list(X.columns):
        X[name] = as_text(X[name])
    X.insert(list(X.columns).index("judge") + 1, "winner", as_text(y))
    X.attrs["mapping"] = mapping
    return X


# ------------------------------------------------------------------------ several files
def read_tables(
    paths: Sequence[Path],
    format: str | Sequence[str] = "auto",
    encoding: str | None = None,
    drop_invalid: bool = False,
    flags: Sequence[str] = (),
) -> Table:
    """Read files into one table; ``flags`` are those that a command repeats."""
    names = [os.fspath(path) for path in paths]
    if not names:
        raise BattlesError("No file is given to read battles from.")
    _refuse_twice([name for name in names if name != STDIN])
    formats = [format] * len(names) if isinstance(format, str) else list(format)
    if len(formats) != len(names):
        raise BattlesError(f"{len(formats)} formats are given for {len(names)} files.")
    stems = Counter(stem_of(name) for name in names)
    more = {
        "twice": frozenset(stem for stem, n in stems.items() if n > 1),
        "drop_invalid": drop_invalid,
    }
    tables = []
    for name, tool in zip(names, formats, strict=True):
        frame = read_file(name, encoding, drop_invalid)
        source = shlex.quote(name)
        with located("standard input" if name == STDIN else name):
            table = as_table(frame, tool, stem_of(name), source=source, **more)
        tables.append(table)
    source = shlex.join([*names, *flags])
    if len({(*table.frame.columns, table.tool) for table in tables}) > 1:
        tables = list(map(_with_standard_names, tables))
    if len(tables) == 1:
        return replace(tables[0], source=source)
    are_tools = all(table.tool for table in tables)
    return replace(
        tables[0],
        frame=join_tables([table.frame for table in tables]),
        source=source,
        format=tables[0].format if len({t.format for t in tables}) == 1 else "auto",
        tool=tables[0].tool if are_tools else None,
        is_counted=any(table.is_counted for table in tables),
    )


def _with_standard_names(table: Table) -> Table:
    """Table with standard names, so that files of other columns can join it.

    Rows of a tool, and of another layout than pairs, become pairs.
    """
    mapping = Mapping.propose(table)
    if table.tool or mapping.layout != "pairs":
        X, y, counts = mapping.apply(table)
        if table.tool:
            # Its numbers are known, those of another file are not.
            y = recoded(y, lambda one: _LABELS.get(one, one))
        return replace(
            table,
            frame=X.assign(winner=y),
            tool=table.tool and STANDARD,
            is_counted=counts is not None,
        )
    names: dict[str, str] = {}
    for role in _ROLES:
        columns = [n for n, one in mapping.columns.items()
                   if one.meaning == role and n != FILE]  # fmt: skip
        names |= {columns[0]: role} if len(columns) == 1 else {}
    return replace(table, frame=table.frame.rename(columns=names))


def _refuse_twice(paths: Sequence[str]) -> None:
    """Refuse a file that is given twice, and warn of files of the same content."""
    for one, two in combinations(paths, 2):
        if os.path.samefile(one, two):
            raise BattlesError(
                f"{one} is given twice, also as {two}: its rows would count twice. "
                "Give it once."
            )
        if filecmp.cmp(one, two, shallow=False):
            text = (
                f"{one} and {two} hold the same bytes, so that their rows count twice. "
                "Leave one of them out if it is a copy."
            )
            warn(DataWarning(text, code="equal-files"), stacklevel=5)
