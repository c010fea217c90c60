"""Files that are read together become one table, each with what is its own."""

from __future__ import annotations

import filecmp
import os
import shlex
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from skanchor.exceptions import BattlesError, DataWarning, located
from skanchor.io._bytes import STDIN, Source
from skanchor.io._files import read_file
from skanchor.io._tables import FILE, Table, constant, join_tables, names_judges
from skanchor.io._tools import tool_of, without_failures
from skanchor.io.mapping import Mapping
from skanchor.warning_log import warn

_ROLES = ("model_a", "model_b", "winner", "judge", "prompt_id")
_VALUES = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}


def read_tables(
    paths: Sequence[Any],
    format: str | Sequence[str] = "auto",
    encoding: str | None = None,
    drop_invalid: bool = False,
    coded: bool = False,
    flags: Sequence[str] = (),
) -> Table:
    """Read files into one table; ``flags`` are those that a command repeats."""
    paths = list(map(os.fspath, paths))
    if not paths:
        raise BattlesError("No file is given to read battles from.")
    _refuse_twice(paths)
    told = [format] * len(paths) if isinstance(format, str) else list(format)
    if len(told) != len(paths):
        raise BattlesError(f"{len(told)} formats are given for {len(paths)} files.")
    coded = coded and len(paths) == 1
    tables = [
        _read_one(Source(path), name, encoding, drop_invalid, coded)
        for path, name in zip(paths, told, strict=True)
    ]
    source = shlex.join([*paths, *flags])
    if len(tables) == 1:
        return replace(tables[0], source=source)
    names = Counter(table.stem for table in tables)
    twice = frozenset(name for name, n in names.items() if n > 1)
    if len({(*table.frame.columns, table.trusted) for table in tables}) > 1:
        tables = list(map(_standard, tables))
    return Table(
        frame=join_tables([table.frame for table in tables]),
        source=source,
        stem=tables[0].stem,
        format=tables[0].format if len({t.format for t in tables}) == 1 else "auto",
        trusted=all(table.trusted for table in tables),
        file_names=frozenset().union(*(table.file_names for table in tables)),
        file_judges=frozenset().union(*(t.file_judges for t in tables)) - twice,
        file_twice=twice,
        drop_invalid=drop_invalid,
        is_text=any(table.is_text for table in tables),
        counted=any(table.counted for table in tables),
    )


def _read_one(
    source: Source, told: str, encoding: str | None, drop_invalid: bool, coded: bool
) -> Table:
    """Table of one file; what a tool wrote has standard names."""
    frame = read_file(source.path, encoding, drop_invalid, coded)
    is_text = bool(frame.attrs.pop("is_text", False))
    with located(source.label):
        if not len(frame):
            raise BattlesError("holds names of columns, but no comparisons.")
        tool = tool_of(frame, told)
        if tool is not None:
            frame = without_failures(tool.read(frame), source.label)
    table = Table(
        frame,
        source=shlex.quote(source.path),
        stem=source.stem,
        format="table" if tool is None else tool.name,
        trusted=tool is not None,
        drop_invalid=drop_invalid,
        is_text=is_text,
    )
    if names_judges(frame):
        return table
    own = frozenset([source.stem])
    frame = frame.assign(**{FILE: constant(source.stem, len(frame))})
    judges = own if tool is not None and tool.of_judges else frozenset()
    return replace(table, frame=frame, file_names=own, file_judges=judges)


def _standard(table: Table) -> Table:
    """Table with standard names, so that files of other columns can join it.

    Rows of another layout than pairs become pairs.
    """
    if table.trusted:
        won = table.frame["winner"]
        labels = won.map(lambda one: _VALUES.get(one, one))
        return replace(table, frame=table.frame.assign(winner=labels))
    mapping = Mapping.of_table(table)
    if mapping.layout != "pairs":
        X, y, counts = mapping.built(table)
        frame, counted = X.assign(winner=y), counts is not None
        return replace(table, frame=frame, counted=counted, file_names=frozenset())
    roles: dict[str, list[str]] = {}
    for name, one in mapping.columns.items():
        if name != FILE:
            roles.setdefault(str(one.meaning), []).append(name)
    names = {roles[r][0]: r for r in _ROLES if len(roles.get(r, ())) == 1}
    return replace(table, frame=table.frame.rename(columns=names))


def _refuse_twice(paths: Sequence[str]) -> None:
    """Refuse a file that is given twice, and warn of files of the same content."""
    if paths.count(STDIN) > 1:
        raise BattlesError("Standard input (-) is given twice.")
    files = {n: os.stat(path) for n, path in enumerate(paths) if path != STDIN}
    files = {n: found for n, found in files.items() if stat.S_ISREG(found.st_mode)}
    for first, second in combinations(files, 2):
        one, two = paths[first], paths[second]
        if os.path.samestat(files[first], files[second]):
            raise BattlesError(
                f"{one} is given twice, also as {two}: its rows would count twice. "
                "Give it once."
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
