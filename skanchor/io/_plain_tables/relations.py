"""Cells that rank models by name, such as ``gpt-4 > claude`` or ``owl>elk=fox``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.names import (
    candidates,
    columns_of_marks,
    name_key,
    prompt_columns,
    side_pairs,
    words_of,
)
from skanchor.io._plain_tables.ratings import model_columns
from skanchor.io._plain_tables.several import judge_name, open_judges
from skanchor.io._plain_tables.sources import human_like, names_machine
from skanchor.io._tools._grades import grade, mirrored
from skanchor.io.columns import as_texts

_SIGN = re.compile(
    r"\s+(?:(?P<over>beats?|wins over|won against|(?:is )?better than)"
    r"|(?P<under>loses to|lost to|(?:is )?worse than)"
    r"|(?P<tied>ties(?: with)?|tied with|equals|(?:is )?(?:equal to|the same as)))\s+"
    r"|\s*(?P<sign>>>|<<|[><=~≈≻≺])\s*"
)
"""What stands between two models."""

_PLAIN = {"≻": ">", "≺": "<", "~": "=", "≈": "="}

_RANKS = frozenset("rank ranks ranked ranking rankings order".split())
"""Words of names of columns whose cells list models in their order."""

_BEST = frozenset("bestfirst besttoworst rankedbesttoworst rankingbesttoworst".split())
_WORST = frozenset(
    "worstfirst worsttobest rankedworsttobest rankingworsttobest".split()
)
"""Keys of columns of such lists whose order is told."""

_MOST = 12
"""Largest number of models of a ranking, of which there are pairs by the square."""

Ranked = tuple[list[str], list[str]]
"""Models of a cell, and the signs between them."""


def with_relations(
    raw: pd.DataFrame, given: Sequence[str] | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Table of pairs, where a column ranks two or more models in each cell.

    Parameters
    ----------
    raw : DataFrame
        Table with standard names.
    given : sequence of str, optional
        Columns of outcomes of a rater each, as the user has named them.

    Returns
    -------
    table : DataFrame
        The same table if there is no such column.
    says : list of str
        What was assumed, in words.

    Raises
    ------
    BattlesError
        If several columns rank models and nothing says who did, or if nothing says
        whether lists begin with the best model.
    """
    alone = not model_columns(raw)
    by_name = {
        name: ranked
        for name in raw.columns
        if alone or name_key(name) in terms.OUTCOMES or _lists(name)
        if (ranked := _parsed(raw[name])) is not None
    }
    found = [name for name in by_name if given is None or name in given]
    found = ["winner"] if "winner" in found else found
    if not found:
        return raw, []
    if len(found) == 1 and given is None:
        return _of_one(raw, found[0], by_name[found[0]])
    judges = {name: name if given else _judge_of(name) for name in found}
    known = all(human_like([of]) or names_machine(of) for of in judges.values())
    if not (given or known) or len({*judges.values()}) < len(found) or "judge" in raw:
        raise open_judges(found, [])
    parts = [
        _of_one(raw.drop(columns=[each for each in found if each != name]).assign(
            judge=of), name, by_name[name])[0]
        for name, of in judges.items()
    ]  # fmt: skip
    listed = ", ".join(map(repr, found))
    return pd.concat(parts, ignore_index=True), [
        f"columns {listed} hold the rankings of a judge each"
    ]


def _of_one(
    raw: pd.DataFrame, name: str, parsed: Mapping[str, Ranked]
) -> tuple[pd.DataFrame, list[str]]:
    """Table of the pairs of one column of rankings."""
    pairs = side_pairs(raw.columns)
    names = {model for models, _ in parsed.values() for model in models}
    cells = _cells(raw[name])
    if len(pairs) == 1 and all(len(models) == 2 for models, _ in parsed.values()):
        return _about_sides(raw, name, cells, parsed, pairs[0])
    marks = columns_of_marks([n for n in raw.columns if n != name], names)
    if not marks and all(model.isdigit() for model in names):
        # Numbers may be those of responses, which no column names.
        return raw, []
    rows, table = _pairs_of(cells, parsed)
    first, second = (table[side].to_numpy(dtype=object) for side in ("first", "second"))
    if marks:
        by_mark = raw[[*marks.values()]].to_numpy(dtype=object)[rows]
        place = {mark: at for at, mark in enumerate(marks)}
        first, second = (
            by_mark[np.arange(len(rows)), [place[mark] for mark in side]]
            for side in (first, second)
        )
    rest = raw.drop(columns=[name, *marks.values()])
    rest = rest.drop(columns=[n for pair in side_pairs(rest.columns) for n in pair])
    many = any(len(models) > 2 for models, _ in parsed.values())
    if many and len(prompt_columns(rest.columns)) != 1:
        # The pairs of one ranking are about the same responses.
        rest = rest.assign(prompt_id=[f"row {n}" for n in range(len(rest))])
    out = rest.iloc[rows].reset_index(drop=True)
    out = out.assign(
        model_a=first,
        model_b=second,
        winner=table["winner"].to_numpy(),
        shown_first=None,
    )
    said = f"{name!r} names the better model first"
    if many:
        said = f"{name!r} ranks models, of which all pairs are compared"
        said += "; those of one row belong together" if "prompt_id" in rest else ""
    return out, [said]


def _about_sides(
    raw: pd.DataFrame,
    name: str,
    cells: pd.Series,
    parsed: Mapping[str, Ranked],
    sides: tuple[str, str],
) -> tuple[pd.DataFrame, list[str]]:
    """Table whose relations of the two models of each row are grades of the sides."""
    outcomes = [n for n in candidates(raw.columns, terms.OUTCOMES) if n != name]
    if outcomes:
        return raw, []
    one, two = (as_texts(raw[side]).str.strip() for side in sides)
    parts = {cell: (*models, *signs) for cell, (models, signs) in parsed.items()}
    first, second, signs = (
        cells.map({cell: part[at] for cell, part in parts.items()}) for at in range(3)
    )
    turned = first.eq(two) & second.eq(one)
    fits = turned | (first.eq(one) & second.eq(two))
    if not fits[signs.notna()].all():
        return raw, []
    grades = signs.map(lambda sign: grade(f"A{sign}B"), na_action="ignore")
    grades = grades.mask(turned, grades.map(mirrored))
    new = name if name_key(name) in terms.OUTCOMES else "verdict"
    table = raw.assign(**{name: grades}).rename(columns={name: new})
    said = f"{name!r} compares the models of its row, A and B being {sides[0]!r} and "
    return table, [f"{said}{sides[1]!r}"]


def _pairs_of(
    cells: pd.Series, parsed: Mapping[str, Ranked]
) -> tuple[np.ndarray, pd.DataFrame]:
    """Rows of all pairs of the rankings, and their models and outcomes."""
    strong = any(sign in (">>", "<<") for _, signs in parsed.values() for sign in signs)
    rows = []
    for cell, (models, signs) in parsed.items():
        for i, j in combinations(range(len(models)), 2):
            between = {*signs[i:j]} - {"="}
            first, second = (i, j) if not between & {"<", "<<"} else (j, i)
            wins = "model_a"
            if strong:
                wins = "A>>B" if between & {">>", "<<"} else "A>B"
            tie = "A=B" if strong else "tie"
            rows.append((cell, models[first], models[second], wins if between else tie))
    table = pd.DataFrame(rows, columns=["cell", "first", "second", "winner"])
    at = pd.DataFrame({"cell": cells.to_numpy(), "row": np.arange(len(cells))})
    merged = at.dropna().merge(table, on="cell").sort_values("row", kind="stable")
    return merged["row"].to_numpy(), merged.reset_index(drop=True)


def _parsed(column: pd.Series) -> dict[str, Ranked] | None:
    """Models and signs of the distinct cells of a column; None if it ranks no models.

    Raises
    ------
    BattlesError
        If cells are lists of models, and nothing says which end is the best.
    """
    if pd.api.types.is_numeric_dtype(column) or {*words_of(column.name)} & _TEXTS:
        return None
    head = _cells(column.head(20)).dropna().tolist()
    if not head or not all(_ranked(cell, str(column.name)) for cell in head):
        return None
    cells = _cells(column).dropna().unique().tolist()
    found = {cell: _ranked(cell, str(column.name)) for cell in cells}
    signs = {sign for each in found.values() if each for sign in each[1]}
    if not all(found.values()) or all(map(grade, cells)) or signs <= {"="}:
        return None
    ranked = {cell: each for cell, each in found.items() if each}
    models = [model for each, _ in ranked.values() for model in each]
    few = len({*models}) <= max(3, 0.5 * column.notna().sum())
    if not few or max(len(each) for each, _ in ranked.values()) > _MOST:
        return None
    if any(_SEPARATOR in cell for cell in cells) and (
        name_key(column.name) not in _BEST | _WORST
    ):
        raise undecided(
            f"Column {str(column.name)!r} lists models in an order, but does not say "
            "which end is the best.",
            [
                Case({"columns": {str(column.name): f"{end}_first"}},
                     f"If the {end} model comes first")
                for end in ("best", "worst")
            ],
        )  # fmt: skip
    return ranked


_TEXTS = frozenset("prompt question instruction query text response output".split())
"""Words of names of columns of texts."""

_SEPARATOR = "\x1f"
"""Stands between the models of a list."""


def _lists(name: str) -> bool:
    """Whether a column may list models in an order, by its name."""
    return bool({*words_of(name)} & _RANKS) or name_key(name) in _BEST | _WORST


def _judge_of(name: str) -> str:
    """Name of a column of rankings without the words for these."""
    words = [w for w in re.findall(r"[^\W_]+", name) if w.casefold() not in _RANKS]
    return judge_name("_".join(words) or name)


def _cells(column: pd.Series) -> pd.Series:
    """Texts of cells; None where one is empty. Lists have a separator of their own."""
    lists = _lists(str(column.name))
    codes, values = pd.factorize(column.map(_joined), use_na_sentinel=True)
    texts: list[str | None] = []
    for value in values.tolist():
        text = str(value).strip()
        if lists and not _SIGN.search(text):
            text = re.sub(r"\s*[,;|]\s*", _SEPARATOR, text)
        texts.append(text or None)
    return pd.Series([*texts, None], dtype=object).iloc[codes].set_axis(column.index)


def _joined(cell: Any) -> Any:
    """Cell in which a list of texts is one text."""
    if isinstance(cell, list):
        return _SEPARATOR.join(map(str, cell))
    return cell


def _ranked(cell: str, name: str) -> Ranked | None:
    """Models and signs of one cell; None if it is no ranking."""
    if _SEPARATOR in cell:
        if not _lists(name):
            return None
        models = [part.strip() for part in cell.split(_SEPARATOR)]
        sign = "<" if name_key(name) in _WORST else ">"
        signs = [sign] * (len(models) - 1)
    else:
        models, signs, start = [], [], 0
        for found in _SIGN.finditer(cell):
            models.append(cell[start : found.start()].strip())
            start = found.end()
            sign = found["sign"] or (
                ">" if found["over"] else "<" if found["under"] else "="
            )
            signs.append(_PLAIN.get(sign, sign))
        models.append(cell[start:].strip())
    upward, downward = {*signs} & {"<", "<<"}, {*signs} & {">", ">>"}
    if len(models) < 2 or len({*models}) < len(models) or not all(models):
        return None
    return None if upward and downward else (models, signs)
