"""Where a result goes, and in which form: ``--json``, ``--output`` and ``--force``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skanchor.cli.command import BadInputError
from skanchor.cli.streams import check_stdout, print_result

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.reports import Reported

__all__ = ["add_force", "add_output", "check_file", "check_output", "deliver"]

# What is written under a suffix.
_OUTPUTS = {
    "": "text",
    ".txt": "text",
    ".json": "json",
    ".csv": "table",
    ".tsv": "table",
    ".parquet": "table",
}


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the flags to a parser."""
    parser.add_argument(
        "--json", action="store_true", help="print JSON with all that is known"
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write to FILE, not to the screen: JSON where FILE ends in .json, the "
        "leaderboard as a table in .csv, .tsv or .parquet, text in .txt or no suffix",
    )
    add_force(parser)


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add the flag without which a file that exists is not written over."""
    parser.add_argument(
        "--force", action="store_true", help="let --output write over a file"
    )


def check_output(options: argparse.Namespace, inputs: Sequence[str] = ()) -> None:
    """Refuse a file that could not be written once the work is done, or is read."""
    if options.output is None:
        check_stdout()
        return
    suffix = _suffix(options)
    if suffix not in _OUTPUTS:
        raise BadInputError(
            f"--output {options.output}: unknown format; known are .json, .csv, "
            ".tsv, .parquet and .txt (text, as without a suffix)"
        )
    if options.json and suffix not in (".json", ""):
        raise BadInputError(
            f"--json does not go with --output {options.output}; drop one, or "
            "choose a name that ends in .json"
        )
    for path in inputs:
        if os.path.exists(path) and os.path.exists(options.output):
            if os.path.samefile(path, options.output):
                raise BadInputError(
                    f"--output {options.output} is a file of battles that is read"
                )
    check_file(options)


def check_file(options: argparse.Namespace) -> None:
    """Refuse a file that could not be written, or exists, without ``--force``."""
    from skanchor.io.atomic import check_writable

    path = Path(options.output)
    if not path.parent.is_dir():
        raise BadInputError(f"{path}: there is no directory {path.parent}")
    try:
        check_writable(options.output, overwrite=options.force)
    except FileExistsError:
        raise BadInputError(
            f"{options.output}: exists; write over it with --force"
        ) from None


def deliver(pipeline: Reported, options: argparse.Namespace) -> None:
    """Print the result, or write it where ``--output`` says."""
    board = pipeline.result_.leaderboard(options.level)
    content: str | bytes
    kind = "json" if options.json else _OUTPUTS[_suffix(options)]
    if kind == "json":
        content = _json(pipeline, options.level)
    elif kind == "table":
        content = _table(board, _suffix(options))
    else:
        content = _text(board, pipeline, options)
    if options.output is not None:
        from skanchor.io import write_atomically

        write_atomically(options.output, content, overwrite=options.force)
    else:
        assert isinstance(content, str)
        print_result(content)


def _json(pipeline: Reported, level: float) -> str:
    import json

    from skanchor.reports import result_json

    result = result_json(pipeline, level)
    return json.dumps(result, indent=2, allow_nan=False) + "\n"


def _table(board: pd.DataFrame, suffix: str) -> str | bytes:
    from skanchor.io.spreadsheet import separated

    board = board.rename_axis("model").reset_index()
    if suffix == ".parquet":
        return board.to_parquet(index=False)
    return separated(board, "\t" if suffix == ".tsv" else ",")


def _text(board: pd.DataFrame, pipeline: Reported, options: argparse.Namespace) -> str:
    from skanchor.reports import leaderboard_text, render

    result = pipeline.result_
    found = result.diagnostics
    notes = [] if found is None else found.disagreements()
    text = leaderboard_text(board, options.level, result.inputs, notes)
    if options.output is not None or not sys.stdout.isatty():
        return render(text)
    from rich.console import Console

    return render(text, width=Console().width, terminal=True)


def _suffix(options: argparse.Namespace) -> str:
    return Path(options.output).suffix.lower() if options.output is not None else ""
