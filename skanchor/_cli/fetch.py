"""``skanchor fetch``: download a published table of battles."""

from __future__ import annotations

import argparse
from typing import Any

from skanchor._cli.output import check_file, check_suffix, file_content, write
from skanchor._cli.streams import check_stdout
from skanchor._cli.values import BadInputError

# Listed here, since importing the data sets is slow.
_TEXTS = ("llmfao", "mt_bench")
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


def fetch(options: argparse.Namespace) -> None:
    if options.texts and options.name not in _TEXTS:
        raise BadInputError(f"--texts: {options.name} comes without texts")
    suffix = ""
    if options.output is None:
        check_stdout()
    else:
        suffix = check_suffix(options.output, _SUFFIXES)
        check_file(options)

    from skanchor import datasets

    texts = {"with_texts": options.texts} if options.name in _TEXTS else {}
    fetch = getattr(datasets, f"fetch_{options.name}")
    table: Any = fetch(data_home=options.data_home, **texts)
    write(file_content(table.frame, suffix) if suffix else table.DESCR, options)
