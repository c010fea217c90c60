"""``skanchor fetch``: download a published table of battles."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.output import (
    add_file,
    add_force,
    check_file,
    check_suffix,
    file_content,
    write,
)
from skanchor._cli.streams import check_stdout, print_result

# Listed here, since importing the data sets is slow.
_NAMES = ("arena", "llmfao", "mt_bench")
_TEXTS = ("llmfao", "mt_bench")
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


def _add_arguments(flags: Flags) -> None:
    flags.value("name", "NAME", ", ".join(_NAMES), choices=_NAMES)
    add_file(flags, f"write the battles to FILE: {' '.join(_SUFFIXES)}")
    add_force(flags)
    flags.switch("--texts", f"with prompts and responses: {', '.join(_TEXTS)}")
    flags.value("--data-home", "FOLDER", "of fetched files (default: ~/skanchor_data)")


def _fetch(options: argparse.Namespace) -> None:
    if options.texts and options.name not in _TEXTS:
        raise BadInputError(f"--texts: {options.name} comes without texts")
    if options.output is None:
        check_stdout()
    else:
        check_suffix(options.output, _SUFFIXES)
        check_file(options)

    from skanchor.datasets import fetch_arena, fetch_llmfao, fetch_mt_bench

    found: Any
    if options.name == "arena":
        found = fetch_arena(data_home=options.data_home)
    else:
        fetch = fetch_llmfao if options.name == "llmfao" else fetch_mt_bench
        found = fetch(data_home=options.data_home, with_texts=options.texts)
    if options.output is None:
        print_result(found.DESCR)
    else:
        write(file_content(found.frame, Path(options.output).suffix.lower()), options)


FETCH = Command(
    name="fetch",
    help="fetch a published table of battles",
    more="Files are fetched once, and checked by their hashes. Without a network, set "
    "SKANCHOR_DATA_MIRROR to a folder with the files.",
    examples=(
        ("say what a set is", "mt_bench"),
        ("get it, to rank it", "llmfao -o llmfao.csv"),
    ),
    arguments=_add_arguments,
    run=_fetch,
)
