"""Tables as they were read, one or several, before a mapping says what they hold."""

from __future__ import annotations

import filecmp
import os
import shlex
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import as_frame
from skanchor.exceptions import BattlesError, DataWarning, located
from skanchor.io._bytes import STDIN, Source
from skanchor.io._files import read_file
from skanchor.io._tools import tool_of, without_failures
from skanchor.io._words import has_role, name_key
from skanchor.warning_log import warn

FILE = "(file)"
"""Column of the names of files, of rows whose file has no column of judges."""


@dataclass
class Table:
    """A table that was read.

    Attributes
    ----------
    frame : DataFrame
        Its rows; tools' files have standard names and outcomes.
    source : str
        Its files and flags, as a command names them.
    stem : str
        Name of its first file without a suffix.
    format : str
        Name of the tool that wrote it, or "table".
    trusted : bool
        Whether numbers among the outcomes are preferences for the first side.
    file_names : set of str
        Names of files without a column of judges.
    file_judges : set of str
        Names of files that are those of judges, as a tool wrote them.
    file_twice : set of str
        Names that several files have.
    """

    frame: pd.DataFrame
    source: str = "table"
    stem: str = "table"
    format: str = "table"
    trusted: bool = False
    file_names: frozenset[str] = frozenset()
    file_judges: frozenset[str] = frozenset()
    file_twice: frozenset[str] = frozenset()
    drop_invalid: bool = False
    coded: bool = False

    @property
    def file_column(self) -> str:
        """Name of the column of files."""
        return FILE


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
    frames, formats, judges, lacking = [], [], set(), set()
    stems = [Source(path).stem for path in paths]
    for path, stem, name in zip(paths, stems, told, strict=True):
        frame = read_file(path, encoding, drop_invalid, coded and len(paths) == 1)
        with located(Source(path).label):
            if not len(frame):
                raise BattlesError("holds names of columns, but no comparisons.")
            tool = tool_of(frame, name)
            if tool is not None:
                frame = without_failures(tool.read(frame), Source(path).label)
        if not _names_judges(frame):
            frame = frame.assign(**{FILE: _constant(stem, len(frame))})
            lacking.add(stem)
            judges |= {stem} if tool is not None else set()
        frames.append(frame)
        formats.append(tool.name if tool is not None else "table")
    twice = {stem for stem, n in Counter(stems).items() if n > 1}
    return Table(
        frame=join_tables(frames),
        source=shlex.join([*paths, *flags]),
        stem=stems[0],
        format=formats[0] if len({*formats}) == 1 else "auto",
        trusted="table" not in formats,
        file_names=frozenset(lacking),
        file_judges=frozenset(judges - twice),
        file_twice=frozenset(twice),
        drop_invalid=drop_invalid,
        coded=coded and len(paths) == 1,
    )


def as_table(frame: Any, format: str = "auto") -> Table:
    """A table in memory."""
    opened = as_frame(frame)
    if opened is None:
        raise TypeError(
            f"A mapping needs a pandas, polars or pyarrow table, got "
            f"{type(frame).__name__}."
        )
    raw = frame if isinstance(frame, pd.DataFrame) else opened.to_pandas()
    raw = raw.set_axis(list(map(str, raw.columns)), axis=1).reset_index(drop=True)
    tool = tool_of(raw, format)
    if tool is not None:
        raw = without_failures(tool.read(raw), "the table")
    if not _names_judges(raw):
        raw = raw.assign(**{FILE: _constant("table", len(raw))})
    return Table(raw, format=tool.name if tool else "table", trusted=tool is not None)


def _names_judges(frame: pd.DataFrame) -> bool:
    """Whether a column may name who decided."""
    keys = list(map(name_key, frame.columns))
    return any(has_role(key, role) for key in keys for role in ("judge", "kind"))


def _constant(label: str, n: int) -> pd.Categorical:
    """Column of one label, which takes a byte in each row."""
    return pd.Categorical.from_codes(np.zeros(n, dtype=np.int8), [label])


def join_tables(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of all tables; each means what it means in its own table."""
    if len(frames) == 1:
        return frames[0]
    if any("shown_first" in frame for frame in frames):
        # Without the column the first model counts as shown first; a null would say
        # that the order is not known.
        frames = [
            frame if "shown_first" in frame else frame.assign(shown_first="model_a")
            for frame in frames
        ]
    frames = [
        frame.assign(**{name: frame[name].astype(object) for name in frame.columns
                        if isinstance(frame[name].dtype, pd.CategoricalDtype)})
        for frame in frames
    ]  # fmt: skip
    whole = pd.concat(frames, ignore_index=True)
    if "both_bad" in whole:
        whole["both_bad"] = whole["both_bad"].eq(True)
    return whole


def _refuse_twice(paths: Sequence[str]) -> None:
    """Refuse a file that is given twice, and warn of files of the same content."""
    if paths.count(STDIN) > 1:
        raise BattlesError("Standard input (-) is given twice.")
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
