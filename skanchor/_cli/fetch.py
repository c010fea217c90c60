"""``skanchor fetch``: published tables of battles."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from skanchor import datasets
from skanchor._cli.output import file_content, write_content
from skanchor._cli.parser import BadInputError


def fetch(options: argparse.Namespace) -> None:
    texts = {"with_texts": True} if options.texts else {}
    if options.texts and options.name == "arena":
        raise BadInputError("--texts: arena comes without texts")
    load = getattr(datasets, f"fetch_{options.name}")
    table: Any = load(data_home=options.data_home, **texts)
    content = table.DESCR
    if options.output:
        content = file_content(table.frame, Path(options.output).suffix.lower())
    write_content(content, options)
