"""Output of a result and its form: ``--json``, ``--output`` and ``--force``."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skanchor._cli.streams import check_stdout, print_result, raise_if_stopped
from skanchor._cli.values import BadInputError

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.reports.text import Readout

FORMS = (".txt", ".json", ".csv", ".tsv", ".parquet", ".xlsx", ".md", ".tex")
"""Suffixes of the files that any result can be written to."""

PAGE, PICTURES = ".html", (".png", ".svg", ".pdf")
"""Further suffixes of a ranking."""

# What a suffix needs: a package, and the extra that brings it.
_NEEDED = {
    ".xlsx": ("openpyxl", "excel"),
    ".md": ("tabulate", "report"),
    **dict.fromkeys(PICTURES, ("matplotlib", "plot")),
}


# --------------------------------------------------------------------------- checks
def check_output(
    options: argparse.Namespace, *more_suffixes: str, inputs: Iterable[str] = ()
) -> None:
    """Refuse an output that could not be written after the work, or is an input."""
    if options.output == "-":
        options.output = None
    if options.output is None:
        check_stdout()
        return
    suffix = check_suffix(options.output, ("", *FORMS, *more_suffixes))
    if options.json and suffix not in (".json", ""):
        raise BadInputError(
            f"--json does not go with --output {options.output}; drop one, or choose a "
            "name that ends in .json"
        )
    package, extra = _NEEDED.get(suffix, ("json", ""))
    if find_spec(package) is None:
        raise BadInputError(
            f"--output {options.output} needs {package} (pip install "
            f"'skanchor[{extra}]'); .csv needs nothing"
        )
    check_file(options, *options.battles, *inputs)


def check_suffix(path: str, suffixes: Iterable[str]) -> str:
    """Return the suffix of a file; refuse an unknown one, and list the known."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        listed = ", ".join(filter(None, suffixes))
        raise BadInputError(f"--output {path}: unknown format; known are {listed}")
    return suffix


def check_file(options: argparse.Namespace, *inputs: str) -> None:
    """Refuse a file that is an input, cannot be written, or exists without --force."""
    from skanchor.io.atomic import check_writable

    path = Path(options.output)
    for one in inputs:
        if is_same_file(one, path):
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


# ------------------------------------------------------------------------------ use
def deliver(
    result: Readout,
    options: argparse.Namespace,
    special: Callable[[str], str | bytes] | None = None,
) -> None:
    """Print a result, or write it to the file of ``--output``.

    ``special`` makes the content of files whose suffix is not in `FORMS`.
    """
    suffix = Path(options.output or "").suffix.lower()
    content: str | bytes
    if options.json or suffix == ".json":
        content = json_text(result.to_dict())
    elif suffix == ".md":
        content = "\n".join(one.to_markdown() for one in result.tables)
    elif suffix == ".tex":
        content = "\n".join(one.to_latex() for one in result.tables)
    elif suffix in FORMS[2:]:
        frame = result.frame.reset_index(names=result.frame.index.name or "model")
        content = file_content(frame, suffix)
    elif suffix not in ("", ".txt"):
        assert special is not None
        content = special(suffix)
    elif options.output is None and sys.stdout.isatty():
        is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        width = shutil.get_terminal_size().columns
        content = result.to_text(width, coloured=not is_plain)
    else:
        content = result.to_text()
    write(content, options)


def json_text(record: Any) -> str:
    """Text of plain data as JSON."""
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def write(content: str | bytes, options: argparse.Namespace) -> None:
    """Print a content, or write it to the file of ``--output``."""
    raise_if_stopped()
    if options.output is None:
        assert isinstance(content, str)
        print_result(content)
        return
    from skanchor.io import write_atomically

    write_atomically(
        options.output, content, overwrite=options.force, check=raise_if_stopped
    )


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
