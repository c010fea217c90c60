"""Features of the form of responses: counts of length, markdown and characters.

Markdown is parsed for counts in any language. For the counts of arenas it is counted by
their regular expressions, as a parser would not reproduce published figures.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.features.transformer import TextTransformer

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


_COUNTS = {"surface": (surface_counts, SURFACE), "arena": (arena_counts, STYLE)}
_CONTRASTS = {"ratio": ratio_halves, "density": density_halves}


class ResponseFeatures(TextTransformer):
    """Features of the form of responses, such as length and markdown, in any language.

    Parameters
    ----------
    style : {"surface", "arena"}, default="surface"
        The set of counts. ``"surface"``: characters, words, sentences, lines,
        paragraphs, headings, list items, bold spans, code blocks, inline code, tables,
        quotes, links (markdown is parsed, and markup inside code is not counted),
        digits, question and exclamation marks, emoji, and whether the text begins like
        a refusal (0 or 1).
        ``"arena"``: length in words, headers, list items and bold spans by the regular
        expressions with which arenas control for style, code removed.
    scale : {"log1p", "none", "ratio", "density"}, default="log1p"
        How counts become features. ``"log1p"`` is log(1 + count), ``"none"`` the count
        itself. ``"ratio"`` and ``"density"`` are the contrasts of arenas (see the
        notes); they need ``style="arena"`` and pairs of texts.
    features : list of str, optional
        Names of the counts to use; None means all.
    columns : str, pair or list of these, default="response"
        Pairs of columns of texts in a table: ``"response"`` stands for ``response_a``
        and ``response_b``, ``("left", "right")`` for a pair of other names.
    keep_text : bool, default=False
        Whether the text columns stay in the table.

    Attributes
    ----------
    sources_ : tuple or None
        The pairs of columns of texts; None after a fit on a column alone.

    See Also
    --------
    EmbeddingFeatures : Features of the content of responses.

    Notes
    -----
    Arenas regress votes on contrasts such as (a - b) / (a + b + 1) of the counts a and
    b of the two responses. No function f of a single response satisfies f(a) - f(b) =
    (a - b) / (a + b + 1). So this contrast is not a bias psi(x_a) - psi(x_b) of a
    judge: how much a response is favoured would depend on its opponent. Use it to
    compare with published figures. ``scale="ratio"`` (``"density"`` for length and
    markdown per length) gives each side half of the contrast, with opposite signs.
    Their difference is the contrast, up to the standardisation of arenas. For all other
    purposes use ``"log1p"``, the most similar feature of a single response: log(1 + a)
    - log(1 + b) = 2 artanh((a - b) / (a + b + 2)).

    ``fit`` only learns which columns hold texts.

    Examples
    --------
    >>> from skanchor.features import ResponseFeatures
    >>> counts = ResponseFeatures(scale="none", features=["words", "bold"])
    >>> counts.fit_transform(["A **bold** word", "none"])
    array([[3., 1.],
           [1., 0.]])
    """

    _parameter_constraints: ClassVar = {
        **TextTransformer._parameter_constraints,
        "style": [StrOptions(set(_COUNTS))],
        "scale": [StrOptions({"log1p", "none", *_CONTRASTS})],
        "features": [list, tuple, None],
    }

    def __init__(
        self,
        style: str = "surface",
        *,
        scale: str = "log1p",
        features: Sequence[str] | None = None,
        columns: Any = "response",
        keep_text: bool = False,
    ):
        self.style = style
        self.scale = scale
        self.features = features
        self.columns = columns
        self.keep_text = keep_text

    def _names(self) -> list[str]:
        names = _COUNTS[self.style][1]
        return list(names if self.features is None else self.features)

    def _learn(self, texts: list[str]) -> None:
        available = _COUNTS[self.style][1]
        unknown = [name for name in self._names() if name not in available]
        if unknown:
            raise ValueError(
                f"There are no features {unknown} with style={self.style!r}; there are "
                f"{list(available)}."
            )
        if self.scale in _CONTRASTS and self.style != "arena":
            raise ValueError(f"scale={self.scale!r} goes with style='arena'.")
        if self.scale in _CONTRASTS and self.sources_ is None:
            raise BattlesError(
                f"scale={self.scale!r} contrasts two responses; it needs a table "
                "with pairs of text columns."
            )

    def _values(self, texts: list[str]) -> Array:
        count, available = _COUNTS[self.style]
        # Densities need the length even if it is not among the chosen features.
        names = available if self.scale in _CONTRASTS else self._names()
        rows = ([counts[name] for name in names] for counts in map(count, texts))
        values = np.array([*rows], dtype=np.float64)
        return np.log1p(values) if self.scale == "log1p" else values

    def _sides(self, one: Array, two: Array) -> tuple[Array, Array]:
        if self.scale not in _CONTRASTS:
            return one, two
        # Half of the contrast on each side, so that a - b is the contrast.
        halves = _CONTRASTS[self.scale](one, two)
        chosen = halves[:, [STYLE.index(name) for name in self._names()]]
        return chosen, -chosen
