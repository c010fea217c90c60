"""Counts of texts, made by hand."""
# ruff: noqa: RUF001

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skanchor._battles.features import smells_of_outcome
from skanchor.features.response import (
    STYLE,
    SURFACE,
    arena_counts,
    density_halves,
    ratio_halves,
    surface_counts,
)

# Text, then what it holds; counts that are not named are zero.
SURFACES = {
    "empty": ("", {}),
    "plain": (
        "One line. Two sentences?",
        dict(
            characters=24, words=4, sentences=2, lines=1, paragraphs=1,
            question_marks=1,
        ),
    ),
    "headings": (
        "# Title\n\nText\n\n## Part ##\n#no heading\n\nUnder\n=====\n",
        dict(
            characters=51, words=10, lines=6, paragraphs=4, headings=3
        ),
    ),
    "lists": (
        "- a\n- b\n  1. c\n  2. d\n* e\n",
        dict(characters=26, words=10, sentences=2, lines=5, paragraphs=1,
             list_items=5, digits=2),
    ),
    "bold": (
        "**a b** __c__ *d* 2**3 **no ** `**x**`",
        dict(characters=38, words=8, lines=1, paragraphs=1, bold=2, inline_code=1,
             digits=2),
    ),
    "code": (
        "```python\n# no heading\nx = **y\n- 1\n```\n\n`z`\n",
        dict(characters=44, words=11, lines=6, paragraphs=2, code_blocks=1,
             inline_code=1, digits=1),
    ),
    "code that never ends": (
        "~~~\n# a!\n",
        dict(characters=9, words=3, sentences=1, lines=2, paragraphs=1, code_blocks=1,
             exclamation_marks=1),
    ),
    "table, quote and link": (
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n> [q](http://x.y)\n",
        dict(characters=49, words=13, lines=4, paragraphs=2, tables=1, quotes=1,
             links=1, digits=2),
    ),
    "chinese": (
        "你好！这是3个字。\n\n真的吗？",
        dict(characters=15, words=10, sentences=3, lines=2, paragraphs=2, digits=1,
             question_marks=1, exclamation_marks=1),
    ),
    "arabic": (
        "هل تعلم؟ نعم ٣!",
        dict(characters=15, words=4, sentences=2, lines=1, paragraphs=1, digits=1,
             question_marks=1, exclamation_marks=1),
    ),
    "refusal": (
        "I\u2019m sorry, but I can\u2019t do that.",
        dict(characters=31, words=7, sentences=1, lines=1, paragraphs=1, refusal=1),
    ),
    "emoji": (
        "Done \U0001f389\u2705 in 1... 2",
        dict(characters=17, words=5, sentences=1, lines=1, paragraphs=1, digits=2,
             emoji=2),
    ),
    "windows line ends": (
        "# a\r\n\r\n**b**\r\n",
        dict(characters=14, words=3, lines=2, paragraphs=2, headings=1, bold=1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SURFACES)
def test_surface_by_hand(name):
    text, expected = SURFACES[name]
    result = surface_counts(text)
    assert tuple(result) == SURFACE
    assert {key: value for key, value in result.items() if value} == expected


REFUSALS = [
    "I cannot help with that.", "As an AI language model, I do not", "Lo siento, no",
    "Es tut mir leid, aber", "抱歉，我不能", "К сожалению, я", "Je ne peux pas vous",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals_in_other_words(text):
    assert surface_counts(text)["refusal"] == 1
    assert surface_counts("x" * 300 + text)["refusal"] == 0


# Length in words, headers, lists, bold.
STYLES = {
    "": (0, 0, 0, 0),
    "# a\n### b\n####### c\n#d": (7, 2, 0, 0),
    " # not at the start of its line": (7 + 1, 0, 0, 0),
    "- a\n  * b\n+ c\n1. d\n  22. e\n3) f": (12, 0, 5, 0),
    "**a** **b c** __d__ **e\nf** _g_": (7, 0, 0, 3),
    "```\n# a\n- b\n**c**\n``` - d": (9, 0, 1, 0),
    "```\n# a\n- b\n": (5, 1, 1, 0),
    "`**a**`": (1, 0, 0, 1),
    "- **a**: __b__\n- c\n\n## D": (7, 1, 2, 2),
    "-\na": (2, 0, 1, 0),
}


@pytest.mark.parametrize("text", STYLES)
def test_arena_style_by_hand(text):
    result = arena_counts(text)
    assert tuple(result) == STYLE
    assert tuple(result.values()) == STYLES[text]


@given(st.text(max_size=200))
def test_every_text_has_counts(text):
    for counts in (surface_counts(text), arena_counts(text)):
        assert all(isinstance(n, int) and n >= 0 for n in counts.values())
    result = surface_counts(text)
    assert result["words"] <= result["characters"] == len(text)
    assert result["paragraphs"] <= result["lines"]


def test_no_count_smells_of_the_outcome():
    assert not any(map(smells_of_outcome, [*SURFACE, *STYLE, "embedding_1"]))


def test_contrasts_by_hand():
    a, b = np.array([[9.0, 2, 0, 1]]), np.array([[4.0, 0, 0, 3]])
    assert_allclose(2 * ratio_halves(a, b), [[5 / 14, 2 / 3, 0, -2 / 5]])
    density = (0.1 - 0.6) / (0.1 + 0.6 + 1)
    assert_allclose(2 * density_halves(a, b), [[5 / 13, 0.2 / 1.2, 0, density]])
    assert_allclose(density_halves(np.zeros((1, 4)), np.zeros((1, 4))), 0)
