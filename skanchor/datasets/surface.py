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
_IN_TEXT = {
    "n_sentences": re.compile(r"[.!?](?:\s|$)"),
    "n_bullets": re.compile(r"^\s*[-*•]\s", re.MULTILINE),
    "n_numbered": re.compile(r"^\s*\d+[.)] ", re.MULTILINE),
}
_OUTSIDE_CODE = {
    "n_headers": re.compile(r"^\s{0,3}#{1,6}\s", re.MULTILINE),
    "n_bold": re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__"),
}


def _features(text: str) -> dict[str, float]:
    words = text.split()
    code_free = _CODE.sub("", text)
    return {
        "n_chars": len(text),
        "n_words": len(words),
        "n_lines": sum(bool(line.strip()) for line in text.splitlines()),
        "n_paragraphs": sum(bool(p.strip()) for p in re.split(r"\n\s*\n", text)),
        **{name: len(form.findall(text)) for name, form in _IN_TEXT.items()},
        **{name: len(form.findall(code_free)) for name, form in _OUTSIDE_CODE.items()},
        # Rounded up, so that a block that is never closed is counted.
        "n_code_blocks": (text.count("```") + 1) // 2,
        "n_digits": sum(char.isdigit() for char in text),
        "n_exclaim": text.count("!"),
        "n_question": text.count("?"),
        "mean_word_len": sum(map(len, words)) / len(words) if words else 0.0,
        "type_token": len({w.lower() for w in words}) / len(words) if words else 0.0,
    }


def with_responses(
    battles: pd.DataFrame,
    texts: Mapping[tuple[Any, Any], str],
    prompts: Mapping[Any, str] | None,
) -> pd.DataFrame:
    """Add the features of both responses to each battle, and texts if asked for.

    Parameters
    ----------
    battles : DataFrame
        With columns ``prompt_id``, ``model_a`` and ``model_b``.
    texts : mapping
        Response by prompt and model.
    prompts : mapping or None
        Text by prompt; with it, the columns ``prompt``, ``response_a`` and
        ``response_b`` are added, too.

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
    keys = {
        side: list(zip(battles["prompt_id"], battles[f"model_{side}"], strict=True))
        for side in "ab"
    }
    found = [battles] + [
        table.reindex(keys[side]).add_suffix(f"_{side}").set_index(battles.index)
        for side in "ab"
    ]
    frame = pd.concat(found, axis=1)
    if prompts is None:
        return frame
    return frame.assign(
        prompt=battles["prompt_id"].map(prompts),
        response_a=[texts[key] for key in keys["a"]],
        response_b=[texts[key] for key in keys["b"]],
    )
