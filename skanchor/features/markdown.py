"""Counts of the elements of a markdown text, from its parse."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

# Names of the counts by the types of the parser's tokens.
_TOKENS = {
    "heading_open": "headings",
    "list_item_open": "list_items",
    "strong_open": "bold",
    "fence": "code_blocks",
    "code_block": "code_blocks",
    "code_inline": "inline_code",
    "table_open": "tables",
    "blockquote_open": "quotes",
    "link_open": "links",
}

MARKDOWN_COUNTS = tuple(dict.fromkeys(_TOKENS.values()))
"""Names of the counts."""


def markdown_counts(text: str) -> dict[str, int]:
    """Count the markdown elements of a text.

    Parameters
    ----------
    text : str
        CommonMark with tables.

    Returns
    -------
    dict
        Counts by the names of `MARKDOWN_COUNTS`. Markup inside code is not counted.
    """
    found: Counter[str] = Counter()
    for token in _markdown_parser().parse(text):
        # Elements within a line (bold, links, inline code) are children of its token.
        for part in (token, *(token.children or ())):
            found[_TOKENS.get(part.type, "")] += 1
    return {name: found[name] for name in MARKDOWN_COUNTS}


@cache
def _markdown_parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")
