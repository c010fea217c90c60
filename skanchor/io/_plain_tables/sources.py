"""Who decided: the column of judges, and the labels in it that mean people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from skanchor.exceptions import BattlesError, Call
from skanchor.io._plain_tables.names import JUDGES, PEOPLE, candidates, name_key

__all__ = [
    "human_like",
    "judge_columns",
    "judge_or_people",
    "may_be_else",
    "people_column",
    "people_patterns",
]

_ELSE = frozenset({"source", "evaluationsource"})
"""Keys of columns that may say who decided, but also other things."""

_HUMAN = re.compile(r"humans?\d*|people|person|crowd|humanvotes?|humanannotators?\d*")
"""Keys of labels that mean people, and nothing else."""

_PERSON = re.compile(
    r"(?i)^((?:human|arena_user|user|expert|author|annotator|rater|worker|crowd|person|"
    r"participant|labell?er|voter|reviewer|student)[\W_]*)\w*$"
)
"""Labels that suggest people, and their beginnings."""

_MACHINE = re.compile(
    r"(?i)judge|llm|gpt|claude|gemini|llama|mi[sx]tral|qwen|deepseek|command|model|"
    r"palm|o[134]\b|auto|arena_?hard|alpaca|reward|\bai\b|bot\b|\d+b\b|pandalm|prometheus"
)
"""Labels that suggest an LLM."""


def judge_columns(names: Iterable[str]) -> list[str]:
    """Columns that may say who decided; none where there is a column ``judge``."""
    names = list(names)
    standard = [name for name in names if name_key(name) == "judge"]
    found = candidates(names, JUDGES | PEOPLE)
    return standard or [name for name in found if name != "rater"]


def human_like(labels: Iterable[Any]) -> list[Any]:
    """Labels that mean people, such as "Human", "crowd" or "human_2".

    Parameters
    ----------
    labels : iterable of labels
        Distinct labels of a column of judges.

    Returns
    -------
    list of labels
    """
    return [
        label
        for label in labels
        if isinstance(label, str) and _HUMAN.fullmatch(name_key(label))
    ]


def people_patterns(labels: Sequence[Any]) -> list[str]:
    """Patterns of labels that probably are people's, such as ``"expert_*"``.

    They are for messages: a user must confirm them.

    Parameters
    ----------
    labels : sequence of labels
        Distinct labels of a column of judges.

    Returns
    -------
    list of str
        Labels, and patterns where several labels begin alike; if none suggests people,
        those that suggest no LLM, where others do. Empty if nothing tells them apart.
    """
    starts: dict[str, list[str]] = {}
    for label in labels:
        found = _PERSON.match(str(label))
        if found:
            starts.setdefault(found[1], []).append(str(label))
    if not starts:
        rest = [str(label) for label in labels if not _MACHINE.search(str(label))]
        return rest if len(rest) < len(labels) else []
    return [
        f"{start}*" if len(alike) > 1 else alike[0] for start, alike in starts.items()
    ]


def people_column(table: pd.DataFrame) -> str | None:
    """The column that names people: by its name, and with no label of another kind."""
    found = candidates(map(str, table.columns), PEOPLE)
    if len(found) != 1:
        return None
    labels = list(map(str, table[found[0]].dropna().unique().tolist()))
    others = human_like(labels) or any(map(_MACHINE.search, labels))
    return None if others else found[0]


def may_be_else(name: str) -> bool:
    """Whether a column that may name judges may as well hold something else."""
    return name_key(name) in _ELSE


def judge_or_people(columns: Sequence[str], labels: Sequence[Any]) -> BattlesError:
    """Error for columns that name either judges or people.

    Parameters
    ----------
    columns : sequence of str
        The columns.
    labels : sequence of labels
        Distinct labels of the first of them.

    Returns
    -------
    BattlesError
        It ends in the calls that decide.
    """
    held = ", ".join(repr(str(label)) for label in labels[:5] if label is not None)
    more = ", ..." if len(labels) > 5 else ""
    people = people_patterns([label for label in labels if label is not None])
    advice = []
    for name in columns:
        extra: dict[str, Any] = {"before": "people.csv"}
        case = (
            f"If {name!r} names LLM judges alone, and people.csv holds people's votes"
        )
        if people and name == columns[0]:
            extra = {"human": people}
            case = f"If {name!r} names judges and people"
        advice.append(Call({"columns": {name: "judge"}, **extra}, case))
    advice.append(
        Call({"columns": {columns[0]: "rater"}, "all_human": True},
             f"If {columns[0]!r} names people, and all rows are their votes")
    )  # fmt: skip
    return BattlesError(
        f"There is no column 'judge', and {' and '.join(map(repr, columns))} "
        f"({held}{more}) may name judges or people.",
        advice=advice,
    )
