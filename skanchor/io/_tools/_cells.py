"""Cells of tools' tables: outcomes from labels, and texts of conversations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles.outcomes import BOTH_BAD, WINNER_VALUES
from skanchor.exceptions import BattlesError

FAILED = frozenset(
    {"", "error", "failed", "invalid", "n/a", "na", "nan", "none", "null"}
)
"""Texts, in lower case, that tools write where a judge gave no verdict."""

_SIDES = ("_a", "_b", "_A", "_B")
_NAMES = {name: name for name in ("model_a", "model_b", "judge")}
_NEEDED = ("model_a", "model_b", "prompt_id")
_VOTES = {label: label for label in WINNER_VALUES}


def battles(
    raw: pd.DataFrame, names: Mapping[str, str | None], *used: Any, **columns: Any
) -> pd.DataFrame:
    """Make a battles table of a file's columns, under standard names.

    Plain columns that are not used stay, but for those that end in ``_a`` or ``_b``:
    their names would make them features. ``attrs["left_out"]`` names these, and those
    of lists and objects.

    Parameters
    ----------
    raw : DataFrame
        Table of the file.
    names : mapping from str to str or None
        Column of the file for each column of the battles table, where it has another
        name. Models and prompts must be there, unless None is given; of the others,
        those that the file lacks are left out.
    *used : str
        Further columns of the file that have been used.
    **columns : array-like or scalar
        Columns of the battles table that are made of others.

    Returns
    -------
    DataFrame
    """
    known = {**_NAMES, **names}
    found = {
        new: raw[old]
        for new, old in known.items()
        if new not in columns and (old in raw or (old and new in _NEEDED))
    }
    columns = {**found, **columns}
    done = {*used, *known.values(), *columns}
    rest = {
        name: raw[name]
        for name in raw.columns
        if name not in done
        and not name.endswith(_SIDES)
        and is_number_or_text(raw[name])
    }
    table = pd.DataFrame({**columns, **rest}, index=raw.index)
    left = [str(name) for name in raw.columns if name not in done and name not in rest]
    table.attrs["left_out"] = left
    return table


def is_number_or_text(column: pd.Series) -> bool:
    """Whether the first cells of a column are no lists or objects.

    Parameters
    ----------
    column : Series
        A column of a file.

    Returns
    -------
    bool
    """
    head = column.head(100)
    return not any(isinstance(cell, (dict, list, tuple, np.ndarray)) for cell in head)


def interleaved(*tables: pd.DataFrame) -> pd.DataFrame:
    """One table with the rows of each battle (games or raters) one below the other."""
    both = pd.concat(tables)
    return both.sort_index(kind="stable").reset_index(drop=True)


def labelled(column: pd.Series, labels: Mapping[str, Any]) -> pd.Series:
    """Translate outcome labels; null where there is no verdict.

    Parameters
    ----------
    column : Series
        Outcomes as the tool writes them.
    labels : mapping
        From the tool's labels, in lower case, to outcomes.

    Returns
    -------
    Series

    Raises
    ------
    BattlesError
        If a label is neither known nor a failed verdict.
    """
    codes, found = pd.factorize(column)
    texts = [str(label).strip().casefold() for label in found]
    unknown = [
        str(label)
        for label, text in zip(found, texts, strict=True)
        if text not in labels and text not in FAILED
    ]
    if unknown:
        row = int(np.argmax(codes == list(map(str, found)).index(unknown[0])))
        raise BattlesError(
            f"Unknown outcome labels {unknown[:5]} in column {column.name!r}, first in "
            f"row {row}; known are {sorted(labels)}."
        )
    # The last value, None, is that of missing cells, whose code is -1.
    meant = np.array([labels.get(text) for text in texts] + [None], dtype=object)
    return pd.Series(meant[codes], index=column.index)


def vote_labels(column: pd.Series) -> dict[str, pd.Series]:
    """Columns ``winner`` and ``both_bad`` of votes with the arena's labels."""
    winner = labelled(column, _VOTES)
    return {"winner": winner, "both_bad": winner.isin(BOTH_BAD)}


def as_numbers(column: pd.Series, allowed: Iterable[float] | None = None) -> pd.Series:
    """Numbers of a column; null where there is no verdict.

    Parameters
    ----------
    column : Series
        Numbers, possibly as text.
    allowed : iterable of float, optional
        All numbers that the tool writes.

    Returns
    -------
    Series

    Raises
    ------
    BattlesError
        If a cell is neither one of these numbers nor a failed verdict.
    """
    text = column.astype("str").str.strip().str.casefold()
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    failed = column.isna() | text.isin(FAILED)
    odd = numbers.isna() if allowed is None else ~numbers.isin(list(allowed))
    odd &= ~failed
    if odd.any():
        row = int(np.argmax(odd))
        raise BattlesError(
            f"Column {column.name!r} holds {column.iloc[row]!r} in row {row}"
            + (f"; it must be one of {sorted(allowed)}." if allowed else ", no number.")
        )
    return numbers.mask(failed)


def first_named(column: pd.Series) -> pd.Series:
    """Judges of a column whose cells are names or lists of judge and prompt."""
    listed = (list, tuple, np.ndarray)
    return column.map(lambda named: named[0] if isinstance(named, listed) else named)


# ------------------------------------------------------------------------------ texts
def response_text(conversation: Any, turns: Any = None) -> str | None:
    """Text of the model's answers in a conversation.

    Parameters
    ----------
    conversation : list, array, text or None
        Messages with ``role`` and ``content``, which is text or a list of typed
        blocks; or a list of texts; or one of these as JSON; or plain text.
    turns : int, optional
        Number of answers to take, from the first on; None means all.

    Returns
    -------
    str or None
        The answers, one below the other; None if there is no conversation.
    """
    return _spoken(conversation, "assistant", turns)


def prompt_text(conversation: Any, turns: Any = None) -> str | None:
    """Text of the user's messages; parameters as in `response_text`."""
    return _spoken(conversation, "user", turns)


def prompt_key(text: Any) -> str | None:
    """Name of a prompt: a hash of its text, without regard to case and blanks."""
    if not isinstance(text, str):
        return None
    plain = " ".join(text.split()).casefold()
    return hashlib.sha1(plain.encode(), usedforsecurity=False).hexdigest()[:16]


def _spoken(conversation: Any, role: str, turns: Any) -> str | None:
    """Text of the messages of one role; messages without a role count for any."""
    messages = _messages(conversation)
    if not isinstance(messages, list):
        return messages
    texts = [
        _message_text(message.get("content"))
        if isinstance(message, dict)
        else str(message)
        for message in messages
        if message is not None
        and (not isinstance(message, dict) or message.get("role") == role)
    ]
    return "\n".join(texts if turns is None else texts[: int(turns)])


def _messages(conversation: Any) -> list[Any] | str | None:
    """Messages of a conversation, or its plain text; None if there is neither."""
    if isinstance(conversation, str):
        if not conversation.lstrip().startswith("["):
            return conversation
        try:
            return json.loads(conversation)
        except ValueError:
            return conversation
    if isinstance(conversation, (list, tuple, np.ndarray)):
        return list(conversation)
    return None


def _message_text(content: Any) -> str:
    """Text of a message, which is plain or in typed blocks."""
    if isinstance(content, (list, tuple, np.ndarray)):
        texts = (block.get("text") for block in content if isinstance(block, dict))
        return "\n".join(text for text in texts if text)
    return content or ""
