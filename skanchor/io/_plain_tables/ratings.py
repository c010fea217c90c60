"""Tables of ratings, one response in a row: which columns they are in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.names import (
    candidates,
    name_key,
    prompt_columns,
    side_pairs,
    words_of,
)
from skanchor.io.columns import as_texts, distinct, label_key
from skanchor.io.generic import filled

_IDS = frozenset({"id", "uid", "uuid", "index"}) | terms.BATTLES
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
    model = _only(_named_columns(names, terms.MODELS, "model"))
    prompt = _prompt_of(raw)
    if model is None or prompt is None or side_pairs(names):
        return None
    rest = [name for name in names if name not in (model, prompt)]
    scores = _named_columns(rest, terms.SCORES, "score")
    raters = candidates(rest, terms.WHO)
    if given is not None:
        return Ratings(model, prompt, tuple(given), None, wide=True)
    if len(scores) == 1 and is_numeric(raw[scores[0]]) and len(raters) < 2:
        return Ratings(model, prompt, (scores[0],), _only(raters), wide=False)
    if scores or raters:
        return None
    columns = [
        n for n in rest if is_numeric(raw[n]) and name_key(n) not in terms.MEASURES
    ]
    if len(columns) < 2 or not _on_one_scale(raw[columns]):
        return None
    return Ratings(model, prompt, tuple(columns), None, wide=True)


_RESULTS = {
    **dict.fromkeys(("win", "wins", "won", "winner", "victory"), 1.0),
    **dict.fromkeys(("loss", "loses", "lost", "lose", "loser", "defeat"), 0.0),
    **dict.fromkeys(("tie", "ties", "tied", "draw", "draws", "equal"), 0.5),
}
"""Results of the one model of a row."""

_FLAGS = {"true": 1.0, "1": 1.0, "yes": 1.0, "false": 0.0, "0": 0.0, "no": 0.0}
_WON = frozenset("won win winner iswinner ischosen chosen preferred".split())
"""Keys of flags of the model that won."""


def with_scores_of_results(raw: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table with a column ``score`` where each row has the result of one model.

    Parameters
    ----------
    raw : DataFrame
        Table with two rows for each battle, one for each model.

    Returns
    -------
    table : DataFrame
        The same table if it is no such table.
    says : list of str
        What was assumed, in words.

    Raises
    ------
    BattlesError
        If a battle has not two rows, or both models won or lost.
    """
    names = list(raw.columns)
    if len(model_columns(raw)) != 1 or side_pairs(names):
        return raw, []
    battles = candidates(names, terms.BATTLES) or candidates(names, _IDS)
    results = {
        name: scores
        for name in candidates(names, terms.OUTCOMES | _WON)
        if (scores := _scores(raw[name])) is not None
    }
    if len(battles) != 1 or len(results) != 1:
        return raw, []
    ((name, scores),) = results.items()
    keys = [*battles, *candidates(names, terms.WHO)]
    by_battle = scores.groupby([as_texts(raw[key]) for key in keys])
    odd = by_battle.transform("size").ne(2) | by_battle.transform("sum").ne(1.0)
    if odd.any():
        row = int(odd.to_numpy().argmax())
        raise BattlesError(
            "Each battle should have two rows, of a model that won and one that lost, "
            f"or of two that tied. {odd.sum():,} of {len(raw):,} rows have no such "
            f"partner by {' and '.join(map(repr, keys))}, the first of them row {row}. "
            "Leave those rows out."
        )
    said = f"each row holds the result of one of two models, {name!r}"
    return raw.drop(columns=name).assign(score=scores), [said]


def _scores(column: pd.Series) -> pd.Series | None:
    """Scores of results in words, or of flags; None if the column holds others."""
    meant = {**_RESULTS, **(_FLAGS if name_key(column.name) in _WON else {})}
    codes, values = pd.factorize(column, use_na_sentinel=False)
    scores = [meant.get(label_key(value)) for value in values.tolist()]
    if None in scores or not {0.0, 1.0} <= {*scores}:
        return None
    return pd.Series(scores, dtype=float).take(codes).set_axis(column.index)


def models_in_columns(raw: pd.DataFrame) -> list[str]:
    """Columns of numbers on one scale that may each hold the ratings of a model.

    Parameters
    ----------
    raw : DataFrame
        Table without a column of models.

    Returns
    -------
    list of str
        Empty if there are fewer than three.
    """
    other = terms.WHO | terms.ALL_PROMPTS | _IDS | terms.MEASURES
    names = [
        name
        for name in raw.columns
        if name_key(name) not in other and is_numeric(raw[name])
    ]
    return names if len(names) > 2 and _on_one_scale(raw[names]) else []


def with_models_of_columns(raw: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Table with one rating in each row, of one that has a column for each model.

    Parameters
    ----------
    raw : DataFrame
        Table without a column of models.
    columns : sequence of str
        Columns of the models. Words with which all names begin are no part of them.

    Returns
    -------
    DataFrame
        With columns ``model`` and ``score``. Ratings of one row are compared with each
        other, and with those of no other row.
    """
    words = [words_of(name)[:-1] for name in columns]
    shared = 0
    while len({tuple(each[: shared + 1]) for each in words}) == 1 and (
        len(words[0]) > shared
    ):
        shared += 1
    prefix = r"[\W_]*".join(map(re.escape, words[0][:shared]))
    row = [f"row {n}" for n in range(len(raw))]
    # Rows of one prompt belong together, but ranks of different rows say nothing.
    rest = raw.drop(columns=list(columns))
    rest = rest.assign(**{"prompt_id" if _prompt_of(raw) is None else "turn": row})
    parts = [
        rest.assign(
            model=re.sub(rf"(?i)^{prefix}[\W_]*", "", name), score=raw[name].to_numpy()
        )
        for name in columns
    ]
    table = pd.concat(parts).sort_index(kind="stable")
    return table[filled(table["score"])].reset_index(drop=True)


def require_ratings(raw: pd.DataFrame, columns: Sequence[str]) -> None:
    """Refuse columns of ratings that a table lacks."""
    absent = [name for name in columns if name not in raw]
    if absent:
        raise BattlesError(
            f"The columns of ratings {absent} are not there; the table has "
            f"{list(raw)[:20]}."
        )


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
    return _named_columns(list(raw.columns), terms.MODELS, "model")


def is_numeric(column: pd.Series) -> bool:
    """Whether all cells are numbers, or empty."""
    if pd.api.types.is_numeric_dtype(column):
        return bool(column.notna().any())
    if not pd.api.types.is_object_dtype(column):
        # Of many rows, text has few different cells.
        column = pd.Series(distinct(column))
    numbers = pd.to_numeric(column, errors="coerce")
    known = numbers.notna()
    return bool((known | ~filled(column)).all() and known.any())


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
    found = prompt_columns(raw.columns)
    if found:
        return _only(found)
    one = _only(candidates(raw.columns, _IDS))
    return None if one is None or raw[one].is_unique else one


def _named_columns(
    names: Iterable[str], keys: Iterable[str], standard: str
) -> list[str]:
    """Columns with one of the keys; the standard name alone, if it is there."""
    names = list(names)
    return [standard] if standard in names else candidates(names, keys)


def _only(found: Sequence[str]) -> str | None:
    return found[0] if len(found) == 1 else None
