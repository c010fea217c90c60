"""Who decided: the column of judges, and the labels in it that mean people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError
from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.names import candidates, name_key, side_pairs, words_of
from skanchor.io._plain_tables.winners import flags, is_flag
from skanchor.io._tools._cells import is_number_or_text
from skanchor.io.columns import as_texts, distinct

_HUMAN = re.compile(
    r"humans?\d*|people|persons?|crowd(workers?)?\d*|volunteers?\d*|"
    r"human(votes?|voters?|annotators?|raters?|judges?|evaluators?|experts?|panel|"
    r"majority|workers?|labell?ers?|reviewers?|consensus)\d*"
)
"""Keys of labels that mean people, and nothing else."""

_KINDS = frozenset(
    "llm ai model machine auto automatic llmjudge judge bot llmasajudge gpt".split()
)
"""Keys of labels for LLMs of any name."""

_WRITTEN = frozenset(
    "prompt question instruction query task text response answer output reference "
    "input writer author written dataset".split()
)
"""Words of names of columns that say who wrote something, not who decided."""

_OF_KINDS = frozenset("type kind role class category".split())
_OF_NAMES = frozenset("name names id model label email user username".split())
"""Words of names of columns of kinds, and of columns of the names beside them."""

_ELSE = frozenset({"source", "evaluationsource"})
"""Keys of columns that may say who decided, but also other things."""

_PERSON = re.compile(
    r"(?i)^((?:human|arena_user|user|expert|author|annotator|rater|worker|crowd|person|"
    r"participant|labell?er|voter|reviewer|student)[\W_]*)\w*$"
)
"""Labels that suggest people, and their beginnings."""

_MACHINE = re.compile(
    r"(?i)judge|llm|gpt|claude|gemini|llama|mi[sx]tral|qwen|deepseek|command|model|"
    r"palm|o[134]\b|4o\b|opus|sonnet|haiku|grok|gemma|\bphi|nemotron|\bkimi|\bglm|auto|arena_?hard|alpaca|reward|\bai\b|bot\b|\d+b\b|pandalm|prometheus"
)
"""Labels that suggest an LLM."""


_STANDARD = ("model_a", "model_b", "winner", "prompt_id", "shown_first")
"""Standard columns that say something else than who decided."""

_LISTED = 5
"""Largest number of labels that a case lists."""

_MOST_JUDGES = 300
"""Largest number of labels of a column that may name judges and people."""

_PEOPLE_FLAGS = frozenset(
    "human ishuman humanflag fromhuman byhuman ishumanvote ishumanlabel isperson "
    "ishumanannotator ishumanjudge humanannotated humanrated humanvoted humanjudged "
    "judgedbyhuman annotatedbyhuman".split()
)
_JUDGE_FLAGS = frozenset(
    "isllm isllmjudge isjudgellm ismodel isai ismachine isautomatic isauto isbot "
    "byllm llmjudged automatic".split()
)
"""Keys of flags of the rows of people, and of those of judges."""


def human_like(labels: Iterable[Any]) -> list[Any]:
    """Labels that mean people, such as "Human", "crowd" or "human_2"."""
    return [
        label
        for label in labels
        if isinstance(label, str) and _HUMAN.fullmatch(name_key(label))
    ]


def is_people_flag(name: str) -> bool:
    """Whether a column may say, by its name, which rows are people's."""
    return name_key(name) in _PEOPLE_FLAGS | _JUDGE_FLAGS


def judges_by_label(raw: pd.DataFrame) -> list[str]:
    """Columns whose labels say who decided: people and LLMs, and nothing else.

    Columns about prompts or texts are none of them: people and LLMs write those, too.

    Parameters
    ----------
    raw : DataFrame
        Columns that may be such.

    Returns
    -------
    list of str
    """
    found = []
    for name in raw.columns:
        if {*words_of(name)} & _WRITTEN or pd.api.types.is_numeric_dtype(raw[name]):
            continue
        labels = distinct(raw[name])
        people = human_like(labels)
        rest = [label for label in labels if label not in people]
        if people and rest and all(map(names_machine, rest)):
            found.append(name)
    return found


def flag_of_people(column: pd.Series) -> NDArray[np.bool_] | None:
    """Rows of people by a flag such as ``is_human``; None if the column is no flag.

    Parameters
    ----------
    column : Series
        The column.

    Returns
    -------
    ndarray of bool, shape (n_rows,), or None
    """
    if not (is_people_flag(str(column.name)) and is_flag(column)):
        return None
    rows = flags(column, "are of people")
    return rows if name_key(column.name) in _PEOPLE_FLAGS else ~rows


def with_people_flag(raw: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table with a column ``judge`` where a flag says which rows are people's.

    Parameters
    ----------
    raw : DataFrame
        Table with standard names.

    Returns
    -------
    table : DataFrame
    says : list of str
        What was assumed, in words.

    Raises
    ------
    BattlesError
        If several columns may name who decided, or one of them contradicts the flag.
    """
    names = list(raw.columns)
    by_name = {n: rows for n in names if (rows := flag_of_people(raw[n])) is not None}
    machines = [n for n in names if n not in by_name and names_machine(n)]
    if by_name and any(is_flag(raw[name]) for name in machines):
        # A column for each judge holds outcomes, that of people, too.
        by_name = {name: rows for name, rows in by_name.items() if name != "human"}
    found = judge_columns([name for name in names if name not in by_name])
    if not by_name:
        # A column of kinds is a flag where another one has the names.
        by_name, found = _kinds_and_names(raw)
    if not by_name:
        return raw, []
    flag, people = next(iter(by_name.items()))
    said = f"{flag!r} says which rows are people's"
    found = found or [name for name in names if name == "rater"]
    rest = raw.drop(columns=list(by_name))
    if not found:
        left = [n for n in names if n not in by_name and is_number_or_text(raw[n])]
        _refuse_names_elsewhere(flag, raw[left], ~people)
        judge = np.where(people, "human", "judge")
        others = "; all others are of one judge" if not people.all() else ""
        return rest.assign(judge=judge), [said + others]
    if len(found) > 1:
        raise undecided(
            f"Column {said}, and {' and '.join(map(repr, found))} may name the judges "
            "of the others.",
            [
                Case({"columns": {name: "judge"}}, f"If {name!r} names them")
                for name in found
            ],
        )
    labels = raw[found[0]].astype(object)
    human = labels.isin(human_like(distinct(labels)))
    # Nobody is one of the people in some rows, and a judge in others.
    both = {*labels[people].dropna()} & {*labels[~people].dropna()}
    odd = (human & ~people) | (labels.isin(both) & people)
    if odd.any():
        row = int(odd.to_numpy().argmax())
        raise undecided(
            f"Column {said}, but row {row} is by {labels.iloc[row]!r} in {found[0]!r}.",
            [
                Case({"columns": {flag: "note"}}, f"If {found[0]!r} is right"),
                Case({"columns": {found[0]: "note"}}, f"If {flag!r} is right"),
            ],
        )
    rest = rest.drop(columns=found)
    if "rater" not in rest:
        rest = rest.assign(rater=labels.where(people))
    rest = rest.assign(judge=labels.mask(people, "human"))
    return rest, [f"{said}, and {found[0]!r} names the judges of the others"]


def _kinds_and_names(
    raw: pd.DataFrame,
) -> tuple[dict[str, NDArray[np.bool_]], list[str]]:
    """Rows of people by a column of kinds, and the column of names beside it.

    Raises
    ------
    BattlesError
        If the labels of kinds tell no judges apart, and another column may.
    """
    names = [name for name in raw.columns if is_number_or_text(raw[name])]
    kinds = {n: rows for n in names if (rows := _people_of_kinds(raw[n])) is not None}
    others = [name for name in names if name not in kinds]
    for kind, people in kinds.items():
        beside = [n for n in others if _stem(n, _OF_NAMES) == _stem(kind, _OF_KINDS)]
        beside = beside or candidates(others, terms.WHO)
        beside = [name for name in beside if _names_judges(raw[name], ~people)]
        if beside:
            # Where names and ids stand side by side, names come first.
            return {kind: people}, sorted(
                beside, key=lambda name: "id" in words_of(name)
            )[:1]
    for kind, people in kinds.items():
        if raw[kind][~people].nunique() == 1 and not judge_columns(others):
            _refuse_names_elsewhere(kind, raw[others], ~people)
    return {}, []


def _refuse_names_elsewhere(
    kind: str, others: pd.DataFrame, verdicts: NDArray[np.bool_]
) -> None:
    """Refuse a column that calls all judges alike where another one may name them.

    Parameters
    ----------
    kind : str
        The column, of kinds or a flag.
    others : DataFrame
        Columns of numbers and text beside it.
    verdicts : ndarray of bool, shape (n_rows,)
        Rows of judges.
    """
    names = list(others.columns)
    pairs = {name for pair in side_pairs(names) for name in pair}
    for name in names:
        if name in pairs or name_key(name) in terms.OUTCOMES:
            continue
        if {*words_of(name)} & {*_WRITTEN, "note"}:
            continue
        if _names_judges(others[name], verdicts, several=True):
            raise undecided(
                f"Column {kind!r} calls all judges alike, and {name!r} may say which "
                "of them each row is by.",
                [
                    Case({"columns": {name: "judge_name"}}, "If it does"),
                    Case({"columns": {name: "note"}}, "If all are one judge"),
                ],
            )


def _stem(name: str, endings: frozenset[str]) -> list[str]:
    """Words of a name without those of some endings."""
    return [word for word in words_of(name) if word not in endings]


def _names_judges(
    column: pd.Series, rows: NDArray[np.bool_], *, several: bool = False
) -> bool:
    """Whether a column has a label in each of some rows, and no numbers.

    Where there must be several, one at least must suggest an LLM.
    """
    if pd.api.types.is_numeric_dtype(column) or not rows.any():
        return False
    labels = column[rows].astype("str").where(column[rows].notna(), "").str.strip()
    if labels.eq("").any():
        return False
    found = labels.unique().tolist()
    if not several:
        return True
    return 1 < len(found) <= _MOST_JUDGES and any(map(names_machine, found))


def _people_of_kinds(column: pd.Series) -> NDArray[np.bool_] | None:
    """Rows of people by a column of kinds, "human" and "llm"; None for others."""
    if {*words_of(column.name)} & _WRITTEN or is_flag(column):
        return None
    labels = distinct(column)
    people = human_like(labels)
    rest = {name_key(label) for label in labels if label not in people}
    known = people and rest and rest <= _KINDS
    return column.isin(people).to_numpy() if known else None


def names_machine(label: Any) -> bool:
    """Whether a label suggests an LLM."""
    return bool(_MACHINE.search(str(label)))


def judge_columns(names: Iterable[str]) -> list[str]:
    """Columns that may say who decided; none where there is a column ``judge``."""
    names = list(names)
    standard = [name for name in names if name_key(name) == "judge"]
    found = candidates(names, terms.WHO)
    return standard or [name for name in found if name != "rater"]


def people_patterns(labels: Sequence[Any], partial: Sequence[Any] = ()) -> list[str]:
    """Patterns of labels that probably are people's, such as ``"expert_*"``.

    They are for messages: a user must confirm them.

    Parameters
    ----------
    labels : sequence of labels
        Distinct labels of a column of judges.
    partial : sequence of labels
        Those that have not compared all models. People have not compared new ones, so
        of labels that suggest no LLM these are taken, if there are any.

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
        others = [label for label in labels if not _MACHINE.search(str(label))]
        rest = [label for label in others if label in partial] or others
        return [str(label) for label in rest] if len(rest) < len(labels) else []
    return [
        f"{start}*" if len(alike) > 1 else alike[0] for start, alike in starts.items()
    ]


def people_column(table: pd.DataFrame) -> str | None:
    """The column that names people: by its name, and with no label of another kind."""
    found = candidates(table.columns, terms.PEOPLE)
    if len(found) != 1:
        return None
    labels = list(map(str, distinct(table[found[0]])))
    others = human_like(labels) or any(map(_MACHINE.search, labels))
    return None if others else found[0]


def who_columns(names: Iterable[str]) -> list[str]:
    """Columns that name judges or people, without those that may say something else."""
    return [name for name in judge_columns(names) if name_key(name) not in _ELSE]


def partial_labels(table: pd.DataFrame, name: str) -> list[Any]:
    """Labels of a column whose rows do not compare all models, as people's do not."""
    if not {"model_a", "model_b"} <= {*table.columns}:
        return []
    sides = [
        table[[name, side]].set_axis(["label", "model"], axis=1)
        for side in ("model_a", "model_b")
    ]
    seen = pd.concat(sides).apply(as_texts).drop_duplicates()
    number = seen.groupby("label")["model"].size()
    return number.index[number < seen["model"].nunique()].tolist()


def judge_cases(
    name: str, labels: Sequence[Any], partial: Sequence[Any] = ()
) -> list[Case]:
    """Cases in which a column is the one of judges, by which labels are people's.

    Parameters
    ----------
    name : str
        The column.
    labels : sequence of labels
        Its distinct labels.
    partial : sequence of labels
        As in :func:`people_patterns`.

    Returns
    -------
    list of Case
        Empty if nothing suggests which labels are people's, and there are many.
    """
    labels = [str(label) for label in labels if label is not None and label == label]
    labels = [label for label in labels if label.strip()]
    judge = {"columns": {name: "judge"}}
    case = f"If {name!r} names judges and people"
    if human_like(labels):
        return [Case(judge, case)]
    people = people_patterns(labels, partial)
    machines = [label for label in labels if names_machine(label)]
    rest = [label for label in labels if label not in people]
    if len(people) > _LISTED and machines and len(rest) <= _LISTED:
        return [Case({**judge, "judges": rest}, case)]
    if people and (machines or not {*people} <= {*partial}):
        return [Case({**judge, "human": people}, case)]
    if not 2 <= len(labels) <= _LISTED or machines:
        return []
    return [
        Case({**judge, "human": [label]},
             f"If {label!r} in {name!r} means people, and the other labels LLM judges")
        for label in sorted(labels, key=lambda label: label not in partial)
    ]  # fmt: skip


def judges_by_value(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Columns that may say who decided, by some of their labels.

    They are for messages: a user must confirm them.

    Parameters
    ----------
    table : DataFrame
        Table without a column of judges.

    Returns
    -------
    dict
        By column, its distinct labels.
    """
    found = {}
    models = {*table.get("model_a", ()), *table.get("model_b", ())}
    for name in table.columns:
        if name in _STANDARD or {*words_of(name)} & _WRITTEN:
            continue
        labels = distinct(table[name])
        suggests = human_like(labels) or any(map(names_machine, labels))
        if 1 < len(labels) <= _MOST_JUDGES and suggests and not {*labels} & models:
            found[name] = labels
    return found


def judge_or_people(
    columns: Sequence[str], labels: Sequence[Any], partial: Sequence[Any] = ()
) -> BattlesError:
    """Error for columns that name either judges or people.

    Parameters
    ----------
    columns : sequence of str
        The columns.
    labels : sequence of labels
        Distinct labels of the first of them.
    partial : sequence of labels
        As in :func:`people_patterns`.

    Returns
    -------
    BattlesError
        It ends in the arguments that decide.
    """
    held = ", ".join(repr(str(label)) for label in labels[:5] if label is not None)
    more = ", ..." if len(labels) > 5 else ""
    cases = []
    for name in columns:
        mixed = judge_cases(name, labels, partial) if name == columns[0] else []
        cases += mixed
        if len(mixed) != 1:
            when = (
                f"If {name!r} names LLM judges alone, and a file of people's votes "
                "stands before this one"
            )
            cases.append(Case({"columns": {name: "judge"}}, when))
    cases.append(
        Case({"columns": {columns[0]: "rater"}, "all_human": True},
             f"If {columns[0]!r} names people, and all rows are their votes")
    )  # fmt: skip
    return undecided(
        f"There is no column 'judge', and {' and '.join(map(repr, columns))} "
        f"({held}{more}) may name judges or people.",
        cases,
    )
