"""Output of a result and its form: ``--json``, ``--output`` and ``--force``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Flags, require_package
from skanchor._cli.streams import check_stdout, print_result

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.reports.document import Table

# Form that is written to a file with this suffix.
_OUTPUTS = {
    "": "text",
    ".txt": "text",
    ".json": "json",
    ".csv": "data",
    ".tsv": "data",
    ".parquet": "data",
    ".xlsx": "data",
}
PAGES = {".html": "page"}
"""Suffixes of a report, which is written of a fit alone."""
PICTURES = dict.fromkeys((".png", ".svg", ".pdf"), "picture")
"""Suffixes of a picture of the leaderboard."""
_NEEDED = {
    "page": (
        "jinja2",
        "reports need jinja2 (pip install 'skanchor[report]')",
    ),
    "picture": (
        "matplotlib",
        "pictures need matplotlib (pip install 'skanchor[plot]')",
    ),
}


# ---------------------------------------------------------------------------- flags
def add_output(flags: Flags, more: str = "") -> None:
    """Add the flags of a result that can be written in several forms.

    ``more`` ends the help on the forms.
    """
    add_json(flags, "print JSON with the whole result")
    add_file(
        flags,
        "write to FILE, not to the screen: JSON if FILE ends in .json, the table "
        f"in .csv, .tsv, .parquet or .xlsx, text in .txt or no suffix{more}",
    )
    add_force(flags)


def add_json(flags: Flags, says: str = "print JSON") -> None:
    """Add the flag of results as JSON; ``says`` is its help."""
    flags.switch("--json", says)


def add_file(flags: Flags, says: str) -> None:
    """Add the flag that names the file to write; ``says`` is its help."""
    flags.value("-o --output", "FILE", says)


def add_force(flags: Flags) -> None:
    """Add the flag that allows an existing file to be overwritten."""
    flags.switch("--force", "write over a file that exists")


# --------------------------------------------------------------------------- checks
def check_output(
    options: argparse.Namespace,
    inputs: Sequence[str] = (),
    further: Mapping[str, str] | None = None,
) -> None:
    """Refuse an output that could not be written after the work, or is an input.

    ``further`` are suffixes that the result may have beside those of all tables, with
    their forms.
    """
    if not goes_to_file(options):
        check_stdout()
        return
    known = _OUTPUTS | dict(further or {})
    listed = ", ".join(suffix for suffix in known if suffix not in ("", ".txt"))
    suffix = check_suffix(
        options.output, known, f"{listed} and .txt (text, as without a suffix)"
    )
    if options.json and suffix not in (".json", ""):
        raise BadInputError(
            f"--json does not go with --output {options.output}; drop one, or "
            "choose a name that ends in .json"
        )
    if suffix == ".xlsx":
        require_package(
            "openpyxl",
            f"--output {options.output}: writing .xlsx needs openpyxl (pip install "
            "'skanchor[excel]'); .csv needs nothing",
        )
    if known[suffix] in _NEEDED:
        require_package(*_NEEDED[known[suffix]])
    check_file(options, inputs=inputs)


def check_suffix(path: str, known: Iterable[str], listed: str) -> str:
    """Return the suffix of a file; refuse an unknown one, and list the known."""
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        raise BadInputError(f"--output {path}: unknown format; known are {listed}")
    return suffix


def check_file(options: argparse.Namespace, inputs: Sequence[str] = ()) -> None:
    """Refuse a file that is an input, cannot be written, or exists without --force."""
    from skanchor.io.atomic import check_writable

    given = options.output
    path = Path(given)
    for each in inputs:
        if is_same_file(each, path) or _is_inside(path, each):
            raise BadInputError(f"--output {given} is a file that is read")
    if not path.parent.is_dir():
        raise BadInputError(f"{path}: there is no directory {path.parent}")
    try:
        check_writable(given, overwrite=options.force)
    except FileExistsError:
        raise BadInputError(f"{given}: exists; write over it with --force") from None


def is_same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two paths, however they are written, are the same existing file."""
    return (
        os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
    )


def _is_inside(path: Path, folder: str) -> bool:
    """Whether an existing file lies in a folder that is read."""
    return (
        os.path.isdir(folder)
        and path.exists()
        and Path(folder).resolve() in path.resolve().parents
    )


def goes_to_file(options: argparse.Namespace) -> bool:
    """Whether the result goes to a file; ``-`` is standard output."""
    return options.output not in (None, "-")


# ------------------------------------------------------------------------------ use
@dataclass(frozen=True, slots=True)
class Forms:
    """A result in several forms, each of which is computed when it is asked for.

    Attributes
    ----------
    text : callable
        Function that returns an object that rich can print.
    record : callable
        Function that returns a dict for JSON; numbers that it lacks are replaced.
    frame : callable
        Function that returns the numbers, a DataFrame whose index names the rows.
    page : callable, optional
        Function that returns a report in HTML.
    picture : callable, optional
        Function that returns a picture in the format of a suffix.
    """

    text: Callable[[], Any]
    record: Callable[[], Any]
    frame: Callable[[], pd.DataFrame]
    page: Callable[[], str] | None = None
    picture: Callable[[str], bytes] | None = None

    @classmethod
    def of(
        cls,
        table: Table,
        frame: pd.DataFrame,
        record: Any,
        note: str,
        *,
        head: str = "",
        lines: Iterable[str] = (),
        tables: Iterable[tuple[Any, Table]] | None = None,
    ) -> Forms:
        """Forms of a table that is there already.

        On the screen a bold ``head``, ``lines``, and ``tables`` below their titles come
        before the note. Without ``tables`` it is the table itself, without a title.
        """
        shown = [("", table)] if tables is None else tables
        return cls(
            lambda: _page(head, lines, shown, note),
            lambda: record,
            lambda: frame,
        )


def _page(
    head: str, lines: Iterable[str], tables: Iterable[tuple[Any, Table]], note: str
) -> Any:
    """What a screen shows: sentences, tables that have rows, and a note."""
    from rich.console import Group
    from rich.text import Text

    from skanchor.reports.tables import table_text

    parts: list[Any] = [Text(head, style="bold")] if head else []
    parts += map(Text, lines)
    for title, table in tables:
        if table.rows:
            parts += [Text("")] if parts else []
            parts += [Text(str(title), style="bold")] if title else []
            parts.append(table_text(table))
    return Group(*parts, Text(""), Text(note, style="dim"))


def deliver(forms: Forms, options: argparse.Namespace) -> None:
    """Print a result, or write it to the file of ``--output``."""
    suffix = Path(options.output).suffix.lower() if goes_to_file(options) else ""
    kind = "json" if options.json else (_OUTPUTS | PAGES | PICTURES)[suffix]
    content: str | bytes
    if kind == "json":
        content = json_text(forms.record())
    elif kind == "data":
        frame = forms.frame()
        frame = frame.reset_index(names=frame.index.name or "model")
        content = file_content(frame, suffix)
    elif kind == "page":
        assert forms.page is not None
        content = forms.page()
    elif kind == "picture":
        assert forms.picture is not None
        content = forms.picture(suffix)
    else:
        content = _render_for(forms.text(), to_file=goes_to_file(options))
    write(content, options)


def json_text(record: Any) -> str:
    """Text of a record as JSON, in which numbers that it lacks are text or null."""
    from skanchor.reports.records import as_json_value

    return json.dumps(as_json_value(record), indent=2, allow_nan=False) + "\n"


def write(content: str | bytes, options: argparse.Namespace) -> None:
    """Print a content, or write it to the file of ``--output``."""
    if goes_to_file(options):
        from skanchor.io import write_atomically

        write_atomically(options.output, content, overwrite=options.force)
    else:
        assert isinstance(content, str)
        print_result(content)


def file_content(frame: pd.DataFrame, suffix: str) -> str | bytes:
    """Rows in the format of a file's suffix, without their index."""
    from skanchor.io.spreadsheet import separated, workbook

    if suffix == ".jsonl":
        return frame.to_json(orient="records", lines=True, force_ascii=False)
    if suffix == ".parquet":
        return frame.to_parquet(index=False)
    if suffix == ".xlsx":
        return workbook(frame)
    return separated(frame, "\t" if suffix == ".tsv" else ",")


def _render_for(shown: Any, to_file: bool) -> str:
    """Text of an object of rich; with colours and its width for a terminal."""
    from skanchor.reports.tables import render

    if to_file or not sys.stdout.isatty():
        return render(shown)
    from rich.console import Console

    return render(shown, width=Console().width, terminal=True)
