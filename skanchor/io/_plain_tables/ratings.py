"""Tables of ratings, one response in a row: which columns they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from skanchor.io._plain_tables.names import (
    JUDGES,
    MEASURES,
    MODELS,
    PEOPLE,
    PROMPTS,
    SCORES,
    candidates,
    name_key,
    side_pairs,
)

__all__ = ["Ratings", "find_ratings", "is_board", "is_numeric", "model_columns"]

_IDS = frozenset({"id", "uid", "uuid", "index"})
"""Keys of columns that name prompts if nothing else does and their values repeat."""


@dataclass(frozen=True)
class Ratings:
    """Columns of a table of ratings.

    Attributes
    ----------
    model, prompt : str
        Columns of the model and of the prompt.
    scores : tuple of str
        The column of the ratings of a long table, or one for each rater of a wide one.
    rater : str or None
        Column that names the rater; None in a wide table, or if nobody is named.
    wide : bool
        Whether there is a column for each rater.
    """

    model: str
    prompt: str
    scores: tuple[str, ...]
    rater: str | None
    wide: bool


def find_ratings(
    raw: pd.DataFrame, given: Sequence[str] | None = None
) -> Ratings | None:
    """Find the columns of a table of ratings.

    Parameters
    ----------
    raw : DataFrame
        Table as it is in the file.
    given : sequence of str, optional
        Columns of ratings, one for each rater, as the user has named them.

    Returns
    -------
    Ratings or None
        None if the table is none of ratings, or one that can be read in several ways.
    """
    names = list(raw.columns)
    model = _only(_named_columns(names, MODELS, "model"))
    prompt = _prompt_of(raw)
    if model is None or prompt is None or side_pairs(names):
        return None
    rest = [name for name in names if name not in (model, prompt)]
    scores = _named_columns(rest, SCORES, "score")
    raters = candidates(rest, JUDGES | PEOPLE)
    if given is not None:
        return Ratings(model, prompt, tuple(given), None, wide=True)
    if len(scores) == 1 and is_numeric(raw[scores[0]]) and len(raters) < 2:
        return Ratings(model, prompt, (scores[0],), _only(raters), wide=False)
    if scores or raters:
        return None
    columns = [n for n in rest if is_numeric(raw[n]) and name_key(n) not in MEASURES]
    if len(columns) < 2 or not _on_one_scale(raw[columns]):
        return None
    return Ratings(model, prompt, tuple(columns), None, wide=True)


def is_board(raw: pd.DataFrame) -> bool:
    """Whether a table holds scores of models, one model in each row."""
    names = list(raw.columns)
    if side_pairs(names) or len(raw) == 0:
        return False
    numbers = [name for name in names if is_numeric(raw[name])]
    return bool(numbers) and any(
        raw[name].nunique() == len(raw) for name in model_columns(raw)
    )


def model_columns(raw: pd.DataFrame) -> list[str]:
    """Columns that may name the one model of a row."""
    return _named_columns(list(map(str, raw.columns)), MODELS, "model")


def is_numeric(column: pd.Series) -> bool:
    """Whether all cells are numbers, or empty."""
    numbers = pd.to_numeric(column, errors="coerce")
    empty = column.isna() | column.astype("str").str.strip().eq("")
    return bool((numbers.notna() | empty).all() and numbers.notna().any())


def _on_one_scale(table: pd.DataFrame) -> bool:
    """Whether columns of numbers look like ratings on one scale.

    They have few distinct values, and the highest one of each column is similar.
    """
    numbers = table.apply(pd.to_numeric, errors="coerce")
    highest, lowest = numbers.max(), numbers.min()
    few = numbers.nunique().max() <= max(11, 0.05 * len(table))
    alike = highest.max() <= 2.0 * max(highest.min(), 1e-9)
    return bool(few and alike and lowest.min() >= 0.0)


def _prompt_of(raw: pd.DataFrame) -> str | None:
    """The one column that names prompts; None if there is none, or several."""
    for keys in (*PROMPTS, _IDS):
        found = _named_columns(list(raw.columns), keys, "prompt_id")
        if found:
            one = _only(found)
            return (
                one if one is None or keys is not _IDS or _repeats(raw[one]) else None
            )
    return None


def _repeats(column: pd.Series) -> bool:
    return bool(column.duplicated().any())


def _named_columns(
    names: Iterable[str], keys: Iterable[str], standard: str
) -> list[str]:
    """Columns with one of the keys; the standard name alone, if it is there."""
    names = list(names)
    return [standard] if standard in names else candidates(names, keys)


def _only(found: Sequence[str]) -> str | None:
    return found[0] if len(found) == 1 else None
