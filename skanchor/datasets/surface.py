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
    # One row for each response, with its features and its text, by prompt and model.
    table = pd.DataFrame(
        [_features(text) | {"response": text} for text in texts.values()],
        index=pd.MultiIndex.from_tuples(texts),
    )
    parts = [battles]
    for side in "ab":
        keys = pd.MultiIndex.from_frame(battles[["prompt_id", f"model_{side}"]])
        sided = table.reindex(keys).add_suffix(f"_{side}")
        parts.append(sided.set_index(battles.index))
    frame = pd.concat(parts, axis=1)
    # Texts, if any, stand behind all features.
    responses = {name: frame.pop(name) for name in ("response_a", "response_b")}
    if prompts is None:
        return frame
    return frame.assign(prompt=battles["prompt_id"].map(prompts), **responses)
