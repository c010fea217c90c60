"""What the site makes of the Markdown pages, which are written for the repository.

A line that is nothing but a link to a table becomes that table: a ``.csv`` file, with a
heading for each value of its first column where this is named ``about``, or a table of
the reader, such as ``skanchor/io/_words.py#ROLES``. Links to the gallery lead to its
pages, and links to files outside ``docs`` to the repository.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path

DOCS = Path(__file__).parents[1]
TABLE = re.compile(r"^\[Table: (.*)\]\(([^)\s]+\.(?:csv|py#\w+))\)$", re.M)
LINK = re.compile(r"(\]\()([^)\s:#]+)((?:#[\w-]*)?\))")
GALLERY = re.compile(r"((?:\.\./)*)gallery/(plot_\w+)\.py")


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a table in Markdown, of which the first has the names of columns."""
    first, *others = (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
        for row in rows
    )
    return "\n".join([first, "|---" * first.count(" | ") + "|---|", *others])


def table_of_file(path: Path) -> str:
    """Content of a file, under headings where its first column is ``about``."""
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    if names[0] != "about":
        return markdown([names, *rows])
    return "\n\n".join(
        f"## {about}\n\n" + markdown([names[1:], *(row[1:] for row in part)])
        for about, part in groupby(rows, key=lambda row: row[0])
    )


def quoted(words: Iterable[str]) -> str:
    """Words as code, of which an empty one stands for an empty cell."""
    return ", ".join(f"`{word}`" if word else "an empty cell" for word in words)


def table_of_reader(module: str, name: str) -> str:
    """A table of the package by the path of its module and its name."""
    found = getattr(import_module(module.removesuffix(".py").replace("/", ".")), name)
    if name == "TOOLS":
        marks = [
            " or ".join(quoted(sorted(own)) for own in tool.marks) for tool in found
        ]
        rows = [
            (f"`{tool.name}`", tool.files, mark, tool.knows)
            for tool, mark in zip(found, marks, strict=True)
        ]
        return markdown([("format", "files", "marks", "what is known"), *rows])
    described = name == "ROLES_OF_COLUMNS"
    cells = (
        (f"`{key}`", text if described else quoted(re.split(r" *\| *", text.strip())))
        for key, text in found.items()
    )
    return markdown([("name", "meaning" if described else "words"), *cells])


def page_of_the_site(text: str, page: str, repository: str) -> str:
    """A Markdown page as the site needs it.

    Parameters
    ----------
    text : str
        The page.
    page : str
        Its path in ``docs``.
    repository : str
        Address of the files of the repository.
    """
    folder = (DOCS / page).parent

    def table(found: re.Match[str]) -> str:
        path, _, name = found[2].partition("#")
        file = (folder / path).resolve()
        module = os.path.relpath(file, DOCS.parent)
        return f"\n{table_of_reader(module, name) if name else table_of_file(file)}\n"

    def link(found: re.Match[str]) -> str:
        target = GALLERY.sub(r"\1auto_examples/\2.rst", found[2])
        if target == "gallery":
            target = "auto_examples/index.rst"
        path = os.path.relpath((folder / target).resolve(), DOCS)
        if path.startswith(".."):
            target = f"{repository}/{path.removeprefix('../')}"
        return found[1] + target + found[3]

    return LINK.sub(link, TABLE.sub(table, text))
