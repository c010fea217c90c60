"""Output of a result and its form: ``--json``, ``--output`` and ``--force``."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from skanchor._cli.parser import BadInputError
from skanchor._cli.streams import check_stdout, print_result, raise_if_stopped

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.reports.readout import Readout

# Packages that files of a suffix need.
_NEEDED = {
    **{".xlsx": "openpyxl", ".md": "tabulate"},
    **dict.fromkeys((".png", ".svg", ".pdf"), "matplotlib"),
}


# --------------------------------------------------------------------------- checks
def check_output(options: argparse.Namespace) -> None:
    """Refuse an output that could not be written after the work, or is an input."""
    is_update = getattr(options, "action", "") == "update"
    if options.output in (None, "-"):
        # An update replaces the history itself.
        options.output = options.history if is_update else None
        options.force |= is_update
    if options.output is None:
        check_stdout()
        return
    path = Path(options.output)
    # A command without a list of suffixes, in the help of its flag, takes all of them.
    suffix, allowed = path.suffix.lower(), re.findall(r"\.\w+", options.suffixes)
    if ".txt" in allowed:
        allowed.append("")
    if allowed and suffix not in allowed:
        listed = ", ".join(filter(None, allowed))
        raise BadInputError(f"--output {path}: unknown format; known are {listed}")
    if options.json and ".json" in allowed and suffix not in (".json", ""):
        raise BadInputError(
            f"--json does not go with --output {path}; drop one, or choose a name that "
            "ends in .json"
        )
    package = _NEEDED.get(suffix, "json")
    if find_spec(package) is None:
        raise BadInputError(
            f"--output {path} needs {package} (pip install {package}); .csv needs "
            "nothing"
        )
    inputs = [*options.battles, *(options.past or ()), options.history]
    _check_file(path, inputs[: -1 if is_update else None], options.force)


def _check_file(path: Path, inputs: Iterable[str | None], overwrite: bool) -> None:
    """Refuse a file that is an input, cannot be written, or exists."""
    from skanchor.io.atomic import check_writable

    if any(is_same_file(one, path) for one in inputs if one):
        raise BadInputError(f"--output {path} is a file that is read")
    if not path.parent.is_dir():
        raise BadInputError(f"{path}: there is no directory {path.parent}")
    try:
        check_writable(path, overwrite=overwrite)
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
    drawn: Mapping[str, Callable[[], str | bytes]] | None = None,
) -> None:
    """Print a result, or write it to the file of ``--output``.

    ``drawn`` makes the content of further files, by suffix.
    """
    suffix = Path(options.output or "").suffix.lower()
    content: str | bytes
    if options.json or suffix == ".json":
        content = json.dumps(result.to_dict(), indent=2, allow_nan=False) + "\n"
    elif drawn and suffix in drawn:
        content = drawn[suffix]()
    elif suffix in (".md", ".tex"):
        write = "to_markdown" if suffix == ".md" else "to_latex"
        content = "\n".join(getattr(one, write)() for one in result.tables)
    elif suffix not in ("", ".txt"):
        assert result.frame is not None
        frame = result.frame.reset_index(names=result.frame.index.name or "model")
        content = file_content(frame, suffix)
    elif options.output is None and sys.stdout.isatty():
        is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        width = shutil.get_terminal_size().columns
        content = result.to_text(width, coloured=not is_plain)
    else:
        content = result.to_text()
    write_content(content, options)


def write_content(content: str | bytes, options: argparse.Namespace) -> None:
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
