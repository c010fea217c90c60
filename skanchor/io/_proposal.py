"""A proposal: decisions about the columns, outcomes and judges of a table.

Each decision follows from the tables of words and from values; what these leave open is
``"?"``. Nothing is decided by what is likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping as Dict
from fnmatch import fnmatchcase
from itertools import permutations
from typing import Any

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._columns import (
    FEW,
    MODELS,
    OUTCOMES,
    SCALE,
    Columns,
    Decision,
    judge_name,
)
from skanchor.io._tables import FILE, Table
from skanchor.io._words import FAILED, SHARES, TIE, UNCLEAR, A, B, number_of

Decisions = dict[str, Decision]

_TOOL = "as the tool has it"
_UNKNOWN, _NUMBER, _GRADE = "a word of no table", "a number", "a graded verdict"
_RESULTS = words.words_of(words.RESULTS)


def propose(
    table: Table,
    roles: Dict[str, str],
    labels: Dict[Any, Any],
    human: Iterable[str] | None,
) -> dict[str, Any]:
    """Attributes of the mapping of a table; what is given is not looked for."""
    columns = Columns(table)
    for name, role in roles.items():
        if name not in table.frame:
            raise BattlesError(
                f"{table.files}: it has no column {name!r}; its columns are "
                f"{list(table.frame.columns)[:20]}."
            )
        columns.decide(role, "as given", name)
    if table.is_counted:
        columns.decide("count", "counts the rows of its file", "count")
    if table.tool is None:
        columns.set_aside()
        columns.find()
    else:
        for name, role in table.tool.roles_in(table.frame).items():
            role = "judge" if name == FILE else role
            if name in columns.free() and role != "keep":
                columns.decide(role, _TOOL, name)
        columns.set_aside()
        columns.decide("keep", _TOOL, *columns.free())
        columns.layout = "ratings" if columns.named("score") else "pairs"
    outcomes, notes = _outcomes(columns, labels)
    # Names of models that differ in case alone may be one.
    names = dict.fromkeys(v for n in columns.named(*MODELS) for v in columns.values(n))
    twins = {
        name: Decision(UNCLEAR, f"may be {first!r}, or a model of its own")
        for name in names
        if (first := columns.models.get(name.casefold(), name)) != name
    }
    return {
        "layout": columns.layout,
        "columns": {name: columns.decisions[name] for name in table.frame.columns},
        "outcomes": outcomes,
        "judges": _judges(columns, human),
        "models": twins,
        "format": table.format,
        "source": table.source,
        "notes": tuple(notes),
    }


# ---------------------------------------------------------------------------- outcomes
def _outcomes(columns: Columns, labels: Dict[Any, Any]) -> tuple[Decisions, list[str]]:
    """Meaning of each distinct outcome, and the codings that numbers may have."""
    names = [*columns.named(*OUTCOMES), *columns.open_outcomes]
    rows: Counter[str] = Counter()
    scale: set[str] = set()  # numbers of columns that hold many
    for name in names:
        values = columns.values(name)
        numbers = {v for v in values if number_of(v) is not None} - {"-1"}
        numbers -= {*columns.models}
        scale |= numbers if len(numbers) > SCALE else set()
        rows.update(values)
    if columns.layout == "judges" or len(columns.named(*OUTCOMES)) > 1:
        # An empty cell says that this judge, or another file, did not compare.
        rows.pop("", None)
    decisions = {
        value: Decision(*_meaning(columns, value), n)
        for value, n in rows.items()
        if value not in scale
    }
    notes = _decide_numbers(columns, names, scale, decisions)
    grades = {v: one.meaning for v, one in decisions.items() if one.reason == _GRADE}
    if columns.table.tool is None and not {0.0, 1.0} & {*grades.values()}:
        # Without a strong grade, a weak one is a win.
        for value, worth in grades.items():
            decisions[value] = decisions[value]._replace(meaning=float(round(worth)))
    for label, meaning in labels.items():
        value, number = words.outcome_key(label), number_of(str(meaning))
        if value not in rows or value in scale:
            shown = [one for one in rows if one not in scale][:20]
            raise BattlesError(
                f"{columns.table.files}: no outcome is {value!r}; the outcomes are "
                f"{shown}."
            )
        meaning = meaning if number is None else number
        decisions[value] = Decision(meaning, "as given", rows[value])
    unknown = [v for v, one in decisions.items() if one.reason == _UNKNOWN]
    if len(unknown) > FEW:
        raise BattlesError(
            f"{columns.table.files}: column {names[0]!r} holds {len(unknown)} outcomes "
            f"that are in no table, such as {unknown[0][:40]!r}."
        )
    return decisions, notes


def _meaning(columns: Columns, value: str) -> tuple[Any, str]:
    """Meaning of an outcome, and the reason."""
    word, is_number = words.outcome_of(value), number_of(value) is not None
    if word and word[0] == FAILED:
        if columns.table.drop_invalid or columns.table.tool:
            return FAILED, "no verdict"
        what = "may be a failed verdict" if value else "empty cells"
        return UNCLEAR, f"{what}: failed, tie, or a side"
    result = _RESULTS.get(words.label_key(value))
    if columns.layout == "battles" and result and not is_number:
        return {A: "win", B: "loss", TIE: TIE}[result], "a word of results"
    if value.casefold() in columns.models:
        if word and word[0] in (A, B, TIE):
            return UNCLEAR, "names a model, and a side"
        return "its model", "names a model"
    if is_number:
        return UNCLEAR, _NUMBER
    if not columns.has_sides and (word is None or word[0] in (A, B)):
        if result is None:
            return UNCLEAR, "a side, but the columns of models have none"
        return result, "the result of the first model"
    return word or (UNCLEAR, _UNKNOWN)


def _decide_numbers(
    columns: Columns, names: list[str], scale: set[str], decisions: Decisions
) -> list[str]:
    """Decide numbers that have one meaning, or list all codings that they may have."""
    few = [v for v, one in decisions.items() if one.reason == _NUMBER]
    texts = sorted(scale or few, key=float)
    if not texts:
        return []
    low, high, tool = float(texts[0]), float(texts[-1]), columns.table.tool
    is_share = not {*map(float, texts)} <= {0.0, 0.5, 1.0}
    is_result = columns.layout == "battles"
    of_standard = is_share and names[0] == "winner" and low >= 0.0 and high <= 1.0
    if scale or tool or of_standard:
        numbers = f"{len(texts)} numbers from {low:g} to {high:g}"
        if low < 0.0 or high > 1.0:
            raise BattlesError(
                f"{columns.table.files}: column {names[0]!r} holds {numbers}; write "
                "numbers from 0 to 1, of which 1 means model_a (the page 'Reshape your "
                "file' shows how)."
            )
        meaning, why = UNCLEAR, "share (of model_a), or share of model_b"
        if tool:
            meaning, why = tool.share, _TOOL
        elif of_standard:
            meaning, why = "share", "shares of model_a"
        for text in texts:
            decisions.pop(text, None)
        decisions[SHARES] = Decision(meaning, f"{numbers}: {why}")
        return []
    meanings: dict[str, str] = {}
    if is_result and not is_share:
        # Points such as 3, 1 and 0 are no results: 1 would be a win among 1 and 0.
        why = "the result of the model"
        meanings = {text: {"0": "loss", "1": "win"}.get(text, TIE) for text in texts}
    elif texts == ["1", "2"] and columns.has_sides and not is_result:
        meanings, why = {"1": A, "2": B}, "number of a side"
    if meanings:
        for text, meaning in meanings.items():
            decisions[text] = Decision(meaning, why, decisions[text].rows)
        return []
    codings = _codings(texts, is_result)
    if "-1" in decisions:
        codings += [f"-1 = failed, {coding}" for coding in codings]
        codings += _codings(["-1", *texts], is_result)
    heading = f"The numbers {', '.join(texts)} may mean:"
    return [heading, *(f"  {coding}" for coding in codings)]


def _codings(numbers: list[str], is_result: bool) -> list[str]:
    """Every coding that a few numbers may have, in words."""
    sides = ("win", "loss", TIE) if is_result else (A, B, TIE)
    if len(numbers) in (2, 3):
        codings: Any = sorted(permutations(sides[: len(numbers)]))
    else:
        even = [f"{n / max(len(numbers) - 1, 1):.3g}" for n in range(len(numbers))]
        codings = even, even[::-1]
    return [", ".join(f"{k} = {v}" for k, v in zip(numbers, coding, strict=True))
            for coding in codings]  # fmt: skip


# ------------------------------------------------------------------------------- judges
def _judges(columns: Columns, human: Iterable[str] | None) -> Decisions:
    """Whether each label of a judge means people or a judge."""
    judge, rows = columns.named("judge"), Counter[str]()
    if columns.layout == "judges":
        judge, verdicts = [], columns.named("verdict") + columns.open_outcomes
        for name in verdicts:
            rows[name] = int(columns.frame[name].replace("", None).count())
    for name in judge:
        rows.update(columns.values(name))
    rows.pop("", None)
    patterns = [human] if isinstance(human, str) else list(human or ())
    for pattern in patterns:
        if not any(fnmatchcase(label, pattern) for label in rows):
            raise BattlesError(
                f"{columns.table.files}: no label of a judge is {pattern!r}; the "
                f"labels are {list(rows)[:20]}."
            )
    files = columns.values(FILE) if FILE in judge else {}
    kinds = columns.kinds(judge[0]) if judge and judge[0] != FILE else {}
    decisions: Decisions = {}
    for label, n_rows in rows.items():
        if human is not None:
            is_person = any(fnmatchcase(label, pattern) for pattern in patterns)
            who = "people" if is_person else "judge", "as given"
        elif label in kinds:
            who = kinds[label], "says who decided"
        else:
            who = _who(columns, label, label in files)
        decisions[label] = Decision(*who, n_rows)
    has_people = any(one.meaning == "people" for one in decisions.values())
    if has_people and "judge" in (name.strip().casefold() for name in judge):
        why = "the standard: all in 'judge' but people"
        for label, one in decisions.items():
            if one.is_open and label not in files:
                decisions[label] = Decision("judge", why, one.rows)
    open_labels = [label for label, one in decisions.items() if one.is_open]
    if len(open_labels) > FEW:
        total = sum(decisions.pop(label).rows or 0 for label in open_labels)
        why = f"{len(open_labels)} labels, such as {open_labels[0]!r}: people or judge"
        decisions["*"] = Decision(UNCLEAR, why, total)
    return decisions


def _who(columns: Columns, label: str, is_file: bool) -> tuple[str, str]:
    """Who a label is, and the reason."""
    tool, is_twice = columns.table.tool, is_file and label in columns.table.twice
    if tool and not is_twice:
        return "people" if tool.is_person(label) else "judge", _TOOL
    key = words.label_key(judge_name(label) if label in columns.frame else label)
    if is_twice or (is_file and key in words.NO_NAMES):
        return UNCLEAR, "the name of a file, which names no judge"
    who = words.who_is(key)
    if who:
        return who, f"a word of {'people' if who == 'people' else 'LLMs'}"
    if label.casefold() in columns.models:
        return "judge", "also a model that is compared"
    return UNCLEAR, "people, judge, drop, or 'judge: NAME'"
