"""Fifteen surface features of a text, which are columns of the fetched tables.

Their definitions are fixed, so that a fetched table never changes. For other features,
fetch the texts and use :mod:`skanchor.features`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_PARAGRAPHS = re.compile(r"\n\s*\n")
_SENTENCE_ENDS = re.compile(r"[.!?](?:\s|$)")
_BULLET = re.compile(r"^\s*[-*•]\s", re.MULTILINE)
_NUMBER = re.compile(r"^\s*\d+[.)] ", re.MULTILINE)
_HEADER = re.compile(r"^\s{0,3}#{1,6}\s", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")


def _features(text: str) -> dict[str, float]:
    words = text.split()
    without_code = _CODE.sub("", text)
    return {
        "n_chars": len(text),
        "n_words": len(words),
        "n_lines": sum(bool(line.strip()) for line in text.splitlines()),
        "n_paragraphs": sum(bool(part.strip()) for part in _PARAGRAPHS.split(text)),
        "n_sentences": len(_SENTENCE_ENDS.findall(text)),
        "n_bullets": len(_BULLET.findall(text)),
        "n_numbered": len(_NUMBER.findall(text)),
        "n_headers": len(_HEADER.findall(without_code)),
        "n_bold": len(_BOLD.findall(without_code)),
        # Rounded up, so that a block that is never closed is counted.
        "n_code_blocks": (text.count("```") + 1) // 2,
        "n_digits": sum(char.isdigit() for char in text),
        "n_exclaim": text.count("!"),
        "n_question": text.count("?"),
        "mean_word_len": sum(map(len, words)) / len(words) if words else 0.0,
        "type_token": len({w.lower() for w in words}) / len(words) if words else 0.0,
    }


def add_features(
    battles: pd.DataFrame, texts: Mapping[tuple[Any, Any], str]
) -> pd.DataFrame:
    """Add the features of both responses to each battle.

    Parameters
    ----------
    battles : DataFrame
        With columns ``prompt_id``, ``model_a`` and ``model_b``.
    texts : mapping
        Response by prompt and model.

    Returns
    -------
    DataFrame
        The battles with columns ``n_chars_a`` and so on; those of the first side come
        first. Missing responses have NaN.
    """
    # One row of features for each response, indexed by prompt and model.
    table = pd.DataFrame.from_dict(
        {key: _features(text) for key, text in texts.items()}, orient="index"
    )
    table.index = pd.MultiIndex.from_tuples(table.index)
    sides = [
        table.reindex(_response_keys(battles, side))
        .add_suffix(f"_{side}")
        .set_index(battles.index)
        for side in "ab"
    ]
    return pd.concat([battles, *sides], axis=1)


def add_texts(
    battles: pd.DataFrame,
    prompts: Mapping[Any, str],
    texts: Mapping[tuple[Any, Any], str],
) -> pd.DataFrame:
    """Add prompt and both responses to each battle.

    Parameters
    ----------
    battles : DataFrame
        With columns ``prompt_id``, ``model_a`` and ``model_b``.
    prompts : mapping
        Text by prompt.
    texts : mapping
        Response by prompt and model.

    Returns
    -------
    DataFrame
        The battles with columns ``prompt``, ``response_a`` and ``response_b``.
    """
    return battles.assign(
        prompt=[prompts[key] for key in battles["prompt_id"]],
        response_a=[texts[key] for key in _response_keys(battles, "a")],
        response_b=[texts[key] for key in _response_keys(battles, "b")],
    )


def _response_keys(battles: pd.DataFrame, side: str) -> list[tuple[Any, Any]]:
    return list(zip(battles["prompt_id"], battles[f"model_{side}"], strict=True))
