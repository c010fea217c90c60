"""Counts of the form of a text in any language: length, punctuation, markdown."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

# Kana and ideographs, which are written without blanks between words, and their
# punctuation. Each kana or ideograph counts as a word.
_NO_BLANKS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_MARKS = "\u3000-\u303f\uff01-\uff0f\uff1a-\uff20"
_WORD = re.compile(rf"[{_NO_BLANKS}]|[^\s{_NO_BLANKS}{_MARKS}]+")
_SENTENCE_END = re.compile(r"[.!?…]+(?=[\s\"'”’»)\]*_]|$)|[。！？؟।]+")  # noqa: RUF001
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_QUESTION = re.compile("[?？؟;]")  # noqa: RUF001
_EXCLAMATION = re.compile("[!！]")  # noqa: RUF001
_EMOJI = re.compile("[\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]")
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

MARKDOWN_COUNTS = tuple(dict.fromkeys(_MARKDOWN_TOKENS.values()))
"""Names of the counts of markdown elements."""

SURFACE = (
    "characters",
    "words",
    "sentences",
    "lines",
    "paragraphs",
    *MARKDOWN_COUNTS,
    "digits",
    "question_marks",
    "exclamation_marks",
    "emoji",
    "refusal",
)
"""Names of the counts."""


def surface_counts(text: str) -> dict[str, int]:
    """Count properties of the form of a text.

    Parameters
    ----------
    text : str
        A response, of any language.

    Returns
    -------
    dict
        Counts by the names of `SURFACE`; ``refusal`` is 0 or 1.
    """
    # Typographic apostrophes are read as plain ones, as in "I can't".
    beginning = text[:_BEGINNING].casefold().replace("\u2019", "'")
    return {
        "characters": len(text),
        "words": len(_WORD.findall(text)),
        "sentences": len(_SENTENCE_END.findall(text)),
        "lines": sum(bool(line.strip()) for line in text.split("\n")),
        "paragraphs": sum(bool(part.strip()) for part in _PARAGRAPH.split(text)),
        **markdown_counts(text),
        "digits": sum(map(str.isdecimal, text)),
        "question_marks": len(_QUESTION.findall(text)),
        "exclamation_marks": len(_EXCLAMATION.findall(text)),
        "emoji": len(_EMOJI.findall(text)),
        "refusal": int(_REFUSAL.search(beginning) is not None),
    }


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
            found[_MARKDOWN_TOKENS.get(part.type, "")] += 1
    return {name: found[name] for name in MARKDOWN_COUNTS}


@cache
def _markdown_parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")
