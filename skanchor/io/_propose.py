"""A mapping proposed for a table: decided by the tables of words, or left open."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Dict
from fnmatch import fnmatchcase
from typing import Any

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._decision import UNCLEAR, Decision
from skanchor.io._outcomes import OutcomeFinder
from skanchor.io._roles import FEW, KIND_WORDS, RoleFinder, judge_name
from skanchor.io._tables import FILE, Table
from skanchor.io._words import name_key, outcome_key


def propose(
    table: Table,
    columns: Dict[str, str],
    labels: Dict[Any, Any],
    human: Iterable[str] | None,
) -> dict[str, Any]:
    """Attributes of the mapping of a table; what is given is not looked for."""
    roles = RoleFinder(table)
    for name, role in columns.items():
        if name not in table.frame:
            raise roles.refused(f"it has no column {name!r}.")
        roles.set(name, role, "as given")
    roles.find()
    outcomes = OutcomeFinder(roles, labels)
    outcomes.find()
    models, spellings = _other_spellings(roles)
    return {
        "layout": roles.layout,
        "columns": {name: roles.columns[name] for name in table.frame.columns},
        "outcomes": outcomes.found,
        "judges": _judges(roles, human),
        "models": models,
        "scale": outcomes.scale,
        "format": table.format,
        "source": table.source,
        "notes": (*outcomes.notes, *spellings),
    }


def _other_spellings(columns: RoleFinder) -> tuple[dict[str, str], list[str]]:
    """Names of models that differ in case alone, which may be one."""
    names = columns.named("model_a", "model_b", "model", "better", "worse")
    labels = dict.fromkeys(v for name in names for v in columns.values(name) if v)
    twins = {v: columns.models[v.casefold()] for v in labels}
    twins = {label: first for label, first in twins.items() if first != label}
    notes = [
        f"{v!r} may be {first!r}, or a model of its own." for v, first in twins.items()
    ]
    return dict.fromkeys(twins, UNCLEAR), notes


# ------------------------------------------------------------------------------- judges
def _judges(columns: RoleFinder, human: Iterable[str] | None) -> dict[str, Decision]:
    """Whether each label of a judge means people or a judge."""
    names = columns.named("judge")
    rows: dict[str, int | None] = {}
    if columns.layout == "judges":
        rows = dict.fromkeys([*columns.named("verdict"), *columns.open_outcomes])
    elif len(columns.named("score")) > 1:
        rows = dict.fromkeys(columns.named("score"))
    else:
        for name in names:
            for label, n in columns.values(name, words.value_key).items():
                rows[label] = (rows.get(label) or 0) + n
        rows.pop("", None)
    given = [human] if isinstance(human, str) else list(human or ())
    lost = [one for one in given if not any(fnmatchcase(k, one) for k in rows)]
    if lost:
        raise BattlesError(
            f"{columns.table.files}: no label of a judge is {lost[0]!r}; the labels "
            f"are {list(rows)[:20]}."
        )
    found = {
        label: Decision(*_who(columns, label, human), n) for label, n in rows.items()
    }
    if any(name.strip().casefold() == "judge" for name in names) and any(
        one.meaning == "people" for one in found.values()
    ):
        why = "the standard: all in 'judge' but people"
        files = columns.values(FILE) if FILE in names else {}
        for label, one in found.items():
            if one.is_open and label not in files:
                found[label] = Decision("judge", why, one.rows)
    opened = [label for label, one in found.items() if one.is_open]
    if len(opened) > FEW:
        n_rows = sum(found.pop(label).rows or 0 for label in opened)
        said = f"{len(opened)} labels, such as {opened[0]!r}: people or judge"
        found["*"] = Decision(UNCLEAR, said, n_rows)
    return found


def _who(
    columns: RoleFinder, label: str, human: Iterable[str] | None
) -> tuple[str, str]:
    """Who a label is, and the reason."""
    table = columns.table
    in_column = columns.layout == "judges" or label in columns.frame
    key = name_key(judge_name(label) if in_column else label)
    is_file = columns.named("judge") == [FILE] or label in table.file_names
    if human is not None:
        patterns = [human] if isinstance(human, str) else human
        is_person = any(fnmatchcase(label, pattern) for pattern in patterns)
        return ("people" if is_person else "judge"), "as given"
    if table.trusted and not is_file:
        return ("people" if label == "human" else "judge"), "as the tool has it"
    if is_file and label in table.file_judges:
        return "judge", "the name of a file of a judge's tool"
    if is_file and (key in words.NO_NAMES or label in table.file_twice):
        return UNCLEAR, "the name of a file, which names no judge"
    kind = _kind_of(columns, label) if columns.named("kind") else None
    if kind is not None:
        return kind, "by the column of kinds"
    known = words.who_is(key)
    if known:
        return known, f"a word of {'people' if known == 'people' else 'LLMs'}"
    is_flag = bool(columns.named("judge")) and columns.is_kind(
        columns.named("judge")[0]
    )
    if key in KIND_WORDS and is_flag:
        return KIND_WORDS[key], "says who decided"
    if label.casefold() in columns.models:
        return "judge", "also a model that is compared"
    return UNCLEAR, "people, judge, drop, or 'judge: NAME'"


def _kind_of(columns: RoleFinder, label: str) -> str | None:
    """People or judge by the column of kinds, None if it differs among rows."""
    kinds = columns.frame[columns.named("kind")[0]]
    judges = columns.frame[columns.named("judge")[0]].map(words.value_key)
    found = {KIND_WORDS[name_key(outcome_key(v))] for v in
             kinds[judges.str.strip(words.BLANKS) == label].unique()}  # fmt: skip
    return found.pop() if len(found) == 1 else None
