"""Labels of the judge column that mark human rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from skanchor._battles.spellings import name_key
from skanchor.exceptions import BattlesError

_HUMAN = re.compile(
    r"humans?\d*|people|persons?|crowd(workers?)?\d*|volunteers?\d*|"
    r"human(votes?|voters?|annotators?|raters?|judges?|evaluators?|experts?|panel|"
    r"majority|workers?|labell?ers?|reviewers?|consensus)\d*"
)
"""Keys of labels that mean people, and nothing else."""

HUMAN = "human"
"""Label of the rows that carry human votes in the ``judge`` column."""


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


def human_labels(frame: nw.DataFrame[Any], human: Any, judges: Any) -> list[Any]:
    """List the labels of the judge column that stand for people.

    Parameters
    ----------
    frame : DataFrame
        With a column ``judge``.
    human : label or list of labels
        Labels of people, or patterns of labels such as ``"expert_*"``.
    judges : label, list of labels or None
        Labels or patterns of LLM judges; all other labels are then people's. If given,
        ``human`` is not read.

    Returns
    -------
    list of labels

    Raises
    ------
    BattlesError
        If a label occurs in no row, if no row is by a person, or if the label "human"
        occurs without being among the labels of people.
    """
    known = [label for label in frame["judge"].unique().to_list() if label is not None]
    return people_among(known, human, judges)


def people_among(known: list[Any], human: Any, judges: Any = None) -> list[Any]:
    """List those of the labels of the judge column that stand for people.

    Parameters
    ----------
    known : list of labels
        All labels that the column holds.
    human, judges
        As in :func:`human_labels`, which raises the same errors.

    Returns
    -------
    list of labels
    """
    if judges is not None:
        models = _matching(known, listed(judges), "judges")
        labels = [label for label in known if label not in models]
        if not labels:
            raise BattlesError(
                f"The judges {models} are all that column 'judge' holds, so no row is "
                "by a human."
            )
        return labels
    labels = _matching(known, listed(human), "human labels")
    # Rows of people get the label "human", so no judge may have it already.
    if HUMAN in known and HUMAN not in labels:
        raise BattlesError(
            f"Column 'judge' holds {HUMAN!r} beside the human labels {labels}; name it "
            "among them, or rename that judge first."
        )
    return labels


def people_of(known: Iterable[Any], human: Iterable[Any]) -> list[Any]:
    """Those of some labels that match a name or pattern of people, which may be none.

    Parameters
    ----------
    known : iterable of labels
        Labels of one table of several.
    human : iterable of labels
        Labels of people, or patterns of labels.

    Returns
    -------
    list of labels
    """
    wanted = list(human)
    return [
        label
        for label in known
        if any(label == each or _matches(label, each) for each in wanted)
    ]


def as_text(name: str) -> nw.Expr:
    """Return a column as text, in which what is missing stays missing."""
    column = nw.col(name)
    # Before its third version pandas makes the text "None" of a missing object.
    return nw.when(~column.is_null()).then(column.cast(nw.String))


def mark_people(frame: nw.DataFrame[Any], labels: list[Any]) -> nw.DataFrame[Any]:
    """Replace the labels of people by "human"; their own labels become the rater.

    Parameters
    ----------
    frame : DataFrame
        With a column ``judge``.
    labels : list of labels
        Labels of people.

    Returns
    -------
    DataFrame
        With a new column ``rater``, if people have several labels and the table had no
        such column.
    """
    is_person = nw.col("judge").is_in(labels)
    judge = as_text("judge")
    columns = {"judge": nw.when(is_person).then(nw.lit(HUMAN)).otherwise(judge)}
    if len(labels) > 1 and "rater" not in frame.columns:
        columns["rater"] = nw.when(is_person).then(judge)
    return frame.with_columns(**columns)


def drop_judges(frame: nw.DataFrame[Any], judges: Any) -> nw.DataFrame[Any]:
    """Leave out the rows of some judges.

    Parameters
    ----------
    frame : DataFrame
        With a column ``judge``.
    judges : label or list of labels
        Labels, or patterns of them.

    Returns
    -------
    DataFrame
    """
    known = [label for label in frame["judge"].unique().to_list() if label is not None]
    dropped = _matching(known, listed(judges), "judges to drop")
    return frame.filter(~nw.col("judge").is_in(dropped))


def pool_judges(frame: nw.DataFrame[Any], name: Any) -> nw.DataFrame[Any]:
    """Give all judges one name.

    Parameters
    ----------
    frame : DataFrame
        With a column ``judge``, in which people are ``"human"``.
    name : str
        Of the judge that all of them become.

    Returns
    -------
    DataFrame

    Raises
    ------
    BattlesError
        If the name is no text, or a label of people.
    """
    if not isinstance(name, str) or not name.strip() or human_like([name]):
        meaning = ", which is a label of people" if human_like([name]) else ""
        raise BattlesError(
            f"pool is the name that all judges get, such as 'judges', got {name!r}"
            f"{meaning}.",
        )
    judge = as_text("judge")
    is_judge = (judge != HUMAN) & ~judge.is_null()
    return frame.with_columns(
        judge=nw.when(is_judge).then(nw.lit(name)).otherwise(judge)
    )


def listed(labels: Any) -> list[Any]:
    """Return one label, or several, as a list."""
    return list(labels) if pd.api.types.is_list_like(labels) else [labels]


def _matching(known: list[Any], wanted: Iterable[Any], what: str) -> list[Any]:
    """Known labels that match a wanted name or pattern; raise if one matches none."""
    wanted = list(dict.fromkeys(wanted))
    absent = [each for each in wanted if not people_of(known, [each])]
    if absent or not wanted:
        raise BattlesError(
            f"No row of column 'judge' holds the {what} {absent}; it holds "
            f"{known[:10]}."
        )
    return people_of(known, wanted)


def _matches(label: Any, pattern: Any) -> bool:
    """Whether a text matches a pattern, case included; False for other labels."""
    both_text = isinstance(label, str) and isinstance(pattern, str)
    return both_text and fnmatchcase(label, pattern)
