"""Output of a result and its form: ``--json``, ``--output`` and ``--force``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Flags, require_package
from skanchor._cli.signals import raise_if_stopped
from skanchor._cli.streams import check_stdout, print_result

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.reports.tables import Table

FORMS = {
    "": "text",
    ".txt": "text",
    ".json": "json",
    ".csv": "data",
    ".tsv": "data",
    ".parquet": "data",
    ".xlsx": "data",
    ".md": "table",
    ".tex": "table",
}
"""Form that is written to a file with this suffix."""

OF_RANKINGS = {".html": "page", ".png": "picture", ".svg": "picture", ".pdf": "picture"}
"""Further forms of a ranking."""

# What a suffix, or a form, needs: a package, and the extra that brings it.
_NEEDED = {
    ".xlsx": ("openpyxl", "excel"),
    ".md": ("tabulate", "report"),
    "picture": ("matplotlib", "plot"),
}


# ---------------------------------------------------------------------------- flags
def add_output(flags: Flags, more: str = "") -> None:
    """Add the flags of a result that can be written in several forms."""
    group = flags.group("output")
    listed = " ".join(suffix for suffix in FORMS if suffix) + more
    add_file(group, f"write to FILE; its suffix is the form: {listed}")
    add_force(group)
    add_json(group)


def add_json(flags: Flags) -> None:
    """Add the flag of results as JSON."""
    flags.switch("--json", "print the whole result as JSON")


def add_file(flags: Flags, says: str, **more: Any) -> None:
    """Add the flag that names the file to write; ``says`` is its help."""
    flags.value("-o --output", "FILE", says, **more)


def add_force(flags: Flags) -> None:
    """Add the flag that allows an existing file to be overwritten."""
    flags.switch("--force", "write over a file that exists")


# --------------------------------------------------------------------------- checks
def check_output(options: argparse.Namespace, known: Iterable[str] = FORMS) -> None:
    """Refuse an output that could not be written after the work, or is an input.

    ``known`` are the suffixes that the result may have.
    """
    if not goes_to_file(options):
        check_stdout()
        return
    suffix = check_suffix(options.output, known)
    if options.json and suffix not in (".json", ""):
        raise BadInputError(
            f"--json does not go with --output {options.output}; drop one, or choose a "
            "name that ends in .json"
        )
    for key in (suffix, (FORMS | OF_RANKINGS)[suffix]):
        if key in _NEEDED:
            package, extra = _NEEDED[key]
            require_package(
                package,
                f"--output {options.output} needs {package} (pip install "
                f"'skanchor[{extra}]'); .csv needs nothing",
            )
    check_file(options, options.battles)


def check_suffix(path: str, known: Iterable[str]) -> str:
    """Return the suffix of a file; refuse an unknown one, and list the known."""
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        listed = ", ".join(filter(None, known))
        raise BadInputError(f"--output {path}: unknown format; known are {listed}")
    return suffix


def check_file(options: argparse.Namespace, inputs: Sequence[str] = ()) -> None:
    """Refuse a file that is an input, cannot be written, or exists without --force."""
    from skanchor.io.atomic import check_writable

    path = Path(options.output)
    for one in inputs:
        if is_same_file(one, path) or _is_inside(path, one):
            raise BadInputError(f"--output {path} is a file that is read")
    if not path.parent.is_dir():
        raise BadInputError(f"{path}: there is no directory {path.parent}")
    try:
        check_writable(path, overwrite=options.force)
    except FileExistsError:
        raise BadInputError(f"{path}: exists; write over it with --force") from None


def is_same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two paths, however they are written, are the same existing file."""
    return (
        os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
    )


def _is_inside(path: Path, folder: str) -> bool:
    """Whether an existing file lies in a folder that is read."""
    is_there = os.path.isdir(folder) and path.exists()
    return is_there and Path(folder).resolve() in path.resolve().parents


def goes_to_file(options: argparse.Namespace) -> bool:
    """Whether the result goes to a file; ``-`` is standard output."""
    return options.output not in (None, "-")


# ------------------------------------------------------------------------------ use
@dataclass(frozen=True, slots=True)
class Output:
    """A result in several forms, each of which is computed when it is asked for.

    Attributes
    ----------
    text : callable
        Function that returns the text for a ``width`` and for a ``terminal`` or not.
    record : callable
        Function that returns a dict for JSON; numbers that it lacks are replaced.
    frame : callable
        Function that returns the numbers, a DataFrame whose index names the rows.
    tables : callable
        Function that returns the tables that people read.
    page : callable, optional
        Function that returns a report in HTML.
    picture : callable, optional
        Function that returns a picture in the format of a suffix.
    """

    text: Callable[..., str]
    record: Callable[[], Any]
    frame: Callable[[], pd.DataFrame]
    tables: Callable[[], Sequence[Table]]
    page: Callable[[], str] | None = None
    picture: Callable[[str], bytes] | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        frame: pd.DataFrame,
        record: dict[str, Any],
        tables: Sequence[tuple[Any, Table]],
        lines: Iterable[str] = (),
        **values: Any,
    ) -> Output:
        """Output of sentences and tables with titles; ``kind`` names its note."""
        from skanchor.reports.document import SCHEMA_VERSION
        from skanchor.reports.page import render_text
        from skanchor.reports.tables import label

        def text(**screen: Any) -> str:
            shown = [(title, one) for title, one in tables if one.rows]
            found = {"kind": kind, "lines": list(lines), "tables": shown, **values}
            return render_text("readout", **found, **screen)

        return cls(
            text,
            lambda: {"schema_version": SCHEMA_VERSION, **record},
            lambda: frame,
            lambda: [
                one if one.caption else replace(one, caption=label(title))
                for title, one in tables
            ],
        )


def deliver(output: Output, options: argparse.Namespace) -> None:
    """Print a result, or write it to the file of ``--output``."""
    suffix = Path(options.output).suffix.lower() if goes_to_file(options) else ""
    form = "json" if options.json else (FORMS | OF_RANKINGS)[suffix]
    content: str | bytes
    if form == "json":
        content = json_text(output.record())
    elif form == "data":
        frame = output.frame()
        frame = frame.reset_index(names=frame.index.name or "model")
        content = file_content(frame, suffix)
    elif form == "table":
        is_latex = suffix == ".tex"
        tables = output.tables()
        texts = [one.to_latex() if is_latex else one.to_markdown() for one in tables]
        content = "\n".join(texts)
    elif form == "page":
        assert output.page is not None
        content = output.page()
    elif form == "picture":
        assert output.picture is not None
        content = output.picture(suffix)
    elif goes_to_file(options) or not sys.stdout.isatty():
        content = output.text()
    else:
        from rich.console import Console

        content = output.text(width=Console().width, terminal=True)
    write(content, options)


def json_text(record: Any) -> str:
    """Text of a record as JSON, in which numbers that it lacks are text or null."""
    from skanchor.reports.document import as_json_value

    return json.dumps(as_json_value(record), indent=2, allow_nan=False) + "\n"


def write(content: str | bytes, options: argparse.Namespace) -> None:
    """Print a content, or write it to the file of ``--output``."""
    raise_if_stopped()
    if goes_to_file(options):
        from skanchor.io import write_atomically

        write_atomically(
            options.output, content, overwrite=options.force, check=raise_if_stopped
        )
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
