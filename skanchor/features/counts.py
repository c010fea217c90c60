"""Counts of the form of a text: in any language, or as arenas count style.

Markdown is parsed for the former; for the latter it is counted by the regular
expressions of arenas, as a parser would not reproduce published figures.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from skanchor._typing import Array

# Kana and ideographs, which are written without blanks between words, and their
# punctuation. Each kana or ideograph counts as a word.
_NO_BLANKS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_MARKS = "\u3000-\u303f\uff01-\uff0f\uff1a-\uff20"
_WORD = re.compile(rf"[{_NO_BLANKS}]|[^\s{_NO_BLANKS}{_MARKS}]+")
_SENTENCE_END = re.compile(r"[.!?…]+(?=[\s\"'”’»)\]*_]|$)|[。！？؟।]+")  # noqa: RUF001
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_CHARACTERS = {
    "question_marks": re.compile("[?？؟;]"),  # noqa: RUF001
    "exclamation_marks": re.compile("[!！]"),  # noqa: RUF001
    "emoji": re.compile("[\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]"),
}
# Phrases of refusals in the languages of most responses, sought in the first letters.
_REFUSAL = re.compile(
    r"\bi(?: am|'m) (?:so |very |really )?(?:sorry|afraid|unable|not able)\b"
    r"|\bi (?:can(?:not|'t| not)|won't|must decline)\b|\bas an ai\b|\bi apologi[sz]e\b"
    r"|\b(?:es )?tut mir leid\b|\bich kann (?:dir|ihnen|das)? ?(?:leider )?nicht\b"
    r"|\bje suis désolée?\b|\bje ne peux pas\b|\blo siento\b|\bno puedo\b"
    r"|\bmi dispiace\b|\bnon posso\b|\bsinto muito\b|\bnão posso\b|\bdesculpe\b"
    r"|к сожалению|я не могу|извините|抱歉|对不起|我不能|我无法|申し訳|できません"
    r"|죄송|할 수 없습니다"
)
_BEGINNING = 200

# Names of counts of markdown by the types of the parser's tokens.
_MARKDOWN_TOKENS = {
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

SURFACE = (
    *("characters", "words", "sentences", "lines", "paragraphs"),
    *(_MARKDOWN := tuple(dict.fromkeys(_MARKDOWN_TOKENS.values()))),
    *("digits", *_CHARACTERS, "refusal"),
)
"""Names of the counts of `surface_counts`."""

STYLE = ("length", "headers", "lists", "bold")
"""Names of the counts of `arena_counts`."""


def surface_counts(text: str) -> dict[str, int]:
    """Count properties of the form of a text of any language.

    ``refusal`` is 0 or 1; markup inside code is not counted.
    """
    tokens: Counter[str] = Counter()
    for token in _markdown_parser().parse(text):
        # Elements within a line (bold, links, inline code) are children of its token.
        for part in (token, *(token.children or ())):
            tokens[_MARKDOWN_TOKENS.get(part.type, "")] += 1
    # Typographic apostrophes are read as plain ones, as in "I can't".
    beginning = text[:_BEGINNING].casefold().replace("\u2019", "'")
    return {
        "characters": len(text),
        "words": len(_WORD.findall(text)),
        "sentences": len(_SENTENCE_END.findall(text)),
        "lines": sum(bool(line.strip()) for line in text.split("\n")),
        "paragraphs": sum(bool(part.strip()) for part in _PARAGRAPH.split(text)),
        **{name: tokens[name] for name in _MARKDOWN},
        "digits": sum(map(str.isdecimal, text)),
        **{name: len(kind.findall(text)) for name, kind in _CHARACTERS.items()},
        "refusal": int(_REFUSAL.search(beginning) is not None),
    }


@cache
def _markdown_parser() -> Any:
    """Parser of CommonMark with tables."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


# ------------------------------------------------------------------------------ arenas
_CODE = re.compile(r"```([^`]*)```")
_OUTSIDE_CODE = {
    "headers": (r"^#{1,6}\s",),
    "lists": (r"^\s*\d+\.\s", r"^\s*[-*+]\s"),
    "bold": (r"\*\*[^*\n]+\*\*", r"__[^_\n]+__"),
}


def arena_counts(text: str) -> dict[str, int]:
    """Count length, headers, list items and bold spans of a response.

    Length is in words (arenas count tokens of a vocabulary) and includes code; the
    other three counts do not.
    """
    without_code = _CODE.sub("", text)
    return {
        "length": len(text.split()),
        **{
            name: sum(len(re.findall(form, without_code, re.MULTILINE)) for form in of)
            for name, of in _OUTSIDE_CODE.items()
        },
    }


def ratio_halves(a: Array, b: Array) -> Array:
    """Half of the contrast (a - b) / (a + b + 1) of counts of the two sides.

    The half is the first side's; the second's is its negative, so that the difference
    of the sides is the contrast.
    """
    return (a - b) / (a + b + 1.0) / 2.0


def density_halves(a: Array, b: Array) -> Array:
    """Half of the contrasts of length, the first count, and of markdown per length.

    The contrast of lengths is (a - b) / (a + b), or zero for two empty responses. The
    contrast of another count is (d_a - d_b) / (d_a + d_b + 1), with the densities d =
    count / (length + 1).
    """
    # Where both lengths are zero, divide by one to get zero.
    total = a[:, :1] + b[:, :1]
    length = (a[:, :1] - b[:, :1]) / np.where(total > 0.0, total, 1.0) / 2.0
    dense_a, dense_b = (side[:, 1:] / (side[:, :1] + 1.0) for side in (a, b))
    return np.hstack([length, ratio_halves(dense_a, dense_b)])
