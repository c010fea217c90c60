"""Names of columns: which of them may be what, whatever their spelling.

Names are compared without case, blanks, hyphens, underscores and other signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from skanchor.io._plain_tables import terms


def name_key(name: object) -> str:
    """Key by which names and labels are compared: letters and digits, without case.

    Parameters
    ----------
    name : object
        The name.

    Returns
    -------
    str
    """
    # Decomposed, a letter stands without its accent, which is no letter.
    plain = unicodedata.normalize("NFKD", str(name)).casefold()
    return "".join(char for char in plain if char.isalnum())


def words_of(name: object) -> list[str]:
    """Words of a name, in lower case: they end at signs, and where a capital follows.

    Parameters
    ----------
    name : object
        Name of a column.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from skanchor.io._plain_tables.names import words_of
    >>> words_of("gpt-4 verdictAB")
    ['gpt', '4', 'verdict', 'ab']
    """
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    return re.findall(r"[^\W_]+", parts.casefold())


def candidates(names: Iterable[str], keys: Iterable[str]) -> list[str]:
    """Columns whose key is one of some keys, in the order of the table."""
    wanted = set(keys)
    return [name for name in names if name_key(name) in wanted]


def columns_of_marks(names: Iterable[str], marks: Iterable[str]) -> dict[str, str]:
    """Columns of models by their marks, such as ``model_a`` by "A"; all or none.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.
    marks : iterable of str
        Marks, such as letters or numbers.

    Returns
    -------
    dict
        Column by mark; empty unless every mark has one.
    """
    by_key = {name_key(name): name for name in names}
    found = {}
    for mark in marks:
        key = name_key(mark)
        keys = [k for n in terms.NOUNS for k in (n + key, key + n, f"{n}{key}name")]
        own = [by_key[k] for k in (*keys, key) if k in by_key]
        if not own:
            return {}
        found[mark] = own[0]
    return found


def side_pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of columns that may name the two models; the standard one alone, if there.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.

    Returns
    -------
    list of (str, str)
    """
    found = pairs_called(names, (*terms.SIDES.items(), *terms.COMPARED))
    standard = [pair for pair in found if tuple(map(name_key, pair)) == terms.STANDARD]
    return standard or found


def pairs_called(
    names: Iterable[str], pairs: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Pairs of columns whose keys are one of some pairs of keys, in their order."""
    by_key = {name_key(name): name for name in names}
    return [
        (by_key[one], by_key[other])
        for one, other in pairs
        if one in by_key and other in by_key
    ]


def prompt_columns(names: Iterable[str]) -> list[str]:
    """Columns that may name prompts: the standard one, else ids, else texts."""
    names = list(names)
    kinds = (candidates(names, keys) for keys in terms.PROMPTS)
    return ["prompt_id"] if "prompt_id" in names else next(filter(None, kinds), [])


def pairs_of_sides(
    names: Iterable[str], sides: tuple[str, str]
) -> dict[str, tuple[str, str]]:
    """Pairs of other columns that are marked as the columns of the models are.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.
    sides : tuple of str
        The columns of the models, such as ``("model_1", "model_2")``.

    Returns
    -------
    dict
        By name without mark, the column of either side, such as ``{"length":
        ("length_1", "length_2")}``.
    """
    stems: dict[str, dict[int, str]] = {}
    for name in names:
        found = side_of(name, sides)
        if found is not None and name not in sides:
            stems.setdefault(found[0], {})[found[1]] = name
    return {stem: (s[0], s[1]) for stem, s in stems.items() if len(s) == 2}


def side_of(name: str, sides: tuple[str, str]) -> tuple[str, int] | None:
    """Name without the mark of a side, and the side, 0 or 1; None without a mark.

    Parameters
    ----------
    name : str
        Name of a column.
    sides : tuple of str
        The columns of the models.

    Returns
    -------
    (str, int) or None
    """
    for side, column in enumerate(sides):
        stem = _without(str(name), column.strip().casefold())
        # "System 1 is" is about the column system_1.
        stem = stem or _without(_spaced(name), _spaced(column))
        if stem:
            return stem, side
    for side, sign in enumerate(_marks_of(sides)):
        stem = _without(str(name), sign)
        if stem:
            return stem, side
    return None


def side_within(name: str, sides: tuple[str, str]) -> tuple[str, int] | None:
    """As :func:`side_of`, with the mark anywhere: ``prob_a_wins`` is of the first side.

    Nouns for a side, as in ``prob_model_a_wins``, are no part of the stem.
    """
    found = side_of(name, sides)
    if found is not None:
        return found
    words = words_of(name)
    marked = [
        (at, side)
        for side, sign in enumerate(_marks_of(sides))
        for at, word in enumerate(words)
        if word == sign
    ]
    if len(marked) != 1:
        return None
    ((at, side),) = marked
    rest = [w for w in (*words[:at], *words[at + 1 :]) if w not in terms.OF_A_SIDE]
    return " ".join(rest), side


def _marks_of(sides: tuple[str, str]) -> tuple[str, ...]:
    """The signs that tell the columns of the models apart; empty without such."""
    first, second = map(name_key, sides)
    return next(
        (each for each in reversed(terms.MARKS) if _differ_by(first, second, each)),
        (),
    )


def _spaced(name: str) -> str:
    """Words of a name, in lower case and with one blank between them."""
    return re.sub(r"[\s_\-.]+", " ", str(name)).strip().casefold()


def _differ_by(first: str, second: str, mark: tuple[str, str]) -> bool:
    """Whether two keys are the same but for the marks of the sides."""
    one, two = mark
    return any(
        first[at : at + len(one)] == one
        and first[:at] + two + first[at + len(one) :] == second
        for at in range(len(first))
    )


def _without(name: str, mark: str) -> str | None:
    """Name without the mark of a side, which signs set apart; None without a mark."""
    plain, signs = name.strip(), " _-.:()"
    lower = plain.casefold()
    if lower.endswith(mark) and lower[: -len(mark)][-1:] in tuple(signs):
        return plain[: -len(mark)].rstrip(signs)
    if lower.endswith(f"{mark})"):
        return plain[: -len(mark) - 1].rstrip(signs) or None
    if lower.startswith(mark) and lower[len(mark) :][:1] in tuple(signs):
        return plain[len(mark) :].lstrip(signs)
    return None


def quoted(values: Sequence[Any]) -> str:
    """The first five values in quotes, and how many more there are."""
    shown = ", ".join(repr(str(value)) for value in values[:5])
    return shown + (f" and {len(values) - 5} more" if len(values) > 5 else "")
