"""A document, or a leaderboard, as Markdown (GitHub's, for the tables)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skanchor.reports.document import (
    Block,
    Code,
    Document,
    Figure,
    Points,
    Table,
    Text,
)

# What means something inside a line, or at its beginning; a name must stay as it is.
_MARKUP = re.compile(r"([\\`*_\[\]|~$&<>]|^[#+-])")
# These mean something in a table, or begin an element of HTML, whatever stands before.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}


def to_markdown(document: Document) -> str:
    """Set a document as Markdown. Drawings are left out.

    Parameters
    ----------
    document : Document
        What to say.

    Returns
    -------
    str
    """
    parts = [
        f"# {_escaped_markdown(document.title)}",
        *map(_escaped_markdown, document.lead),
    ]
    for section in document.sections:
        parts.append(f"## {_escaped_markdown(section.title)}")
        for block in section.blocks:
            parts += _markdown_block(block)
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """Set a table alone, without its caption.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
    """
    head = [_escaped_markdown(heading.text) for heading in table.headings]
    rule = ["---:" if heading.is_number else ":---" for heading in table.headings]
    lines = [head, rule]
    for place, row in enumerate(table.rows):
        first, *others = (_escaped_markdown(cell.text) for cell in row)
        lines.append([first + " (new)" * table.is_marked(place), *others])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _markdown_block(block: Block) -> Iterator[str]:
    match block:
        case Text():
            yield _escaped_markdown(block.text)
        case Points():
            yield "\n".join(
                f"- {_escaped_markdown(statement)}"
                + (f" *{_escaped_markdown(advice)}*" if advice else "")
                for statement, advice in block.items
            )
        case Code():
            # More backticks than any line of it holds.
            longest = max(map(len, re.findall("`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            yield f"{fence}text\n{block.text}\n{fence}"
        case Table():
            yield f"**{_escaped_markdown(block.caption)}**"
            yield markdown_table(block)
        case Figure():
            pass


def _escaped_markdown(text: str) -> str:
    text = " ".join(text.split())
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[1], f"\\{found[1]}"), text)
