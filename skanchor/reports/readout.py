"""A result in every form that is printed or written: as text, tables and plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import pandas as pd

from skanchor.readouts import FAVOUR_OF
from skanchor.reports.facts import Facts
from skanchor.reports.sentences import answer, check_record, environment
from skanchor.reports.tables import Table, board_table
from skanchor.results import RankingResult
from skanchor.results.estimators import RankingEstimator

SCHEMA_VERSION = 3
"""Increases whenever a program that reads the JSON must change."""

PROSE = 79
"""Widest line of prose on a terminal, in characters."""

_TEMPLATES = ("rank", "inspect", "history")  # of their own; others share one
_OF_FACTS = (
    *("method", "level", "models", "best", "contrasts", "rows", "inputs"),
    *("judges", "item_effects", "warnings", "settings", "versions", "input_hash"),
)


@dataclass(frozen=True, slots=True)
class Readout:
    """A result as text, as data and as tables.

    Attributes
    ----------
    kind : str
        Name of its template, or of the note below its tables.
    record : mapping or callable
        What its JSON holds, or a function that returns it.
    frame : DataFrame, optional
        The numbers, whose index names the rows.
    tables : sequence of Table
        The tables that people read.
    lines : sequence of str
        Sentences above the tables.
    values : mapping
        What else the template reads.
    """

    kind: str
    record: Any
    frame: pd.DataFrame | None = None
    tables: Sequence[Table] = ()
    lines: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for strict JSON."""
        record = self.record() if callable(self.record) else self.record
        plain: dict[str, Any] = as_json_value(
            {"schema_version": SCHEMA_VERSION, **record}
        )
        return plain

    def to_text(self, width: int | None = None, coloured: bool = False) -> str:
        """The text, for a terminal of some width or for a file.

        Parameters
        ----------
        width : int, optional
            Width in characters; None lets tables be as wide as they are.
        coloured : bool, default=False
            Whether to use bold and colour.

        Returns
        -------
        str
        """
        name = self.kind if self.kind in _TEMPLATES else "readout"
        template = environment().get_template(f"{name}.txt")
        text: str = template.render(
            {"kind": self.kind, "lines": self.lines, "tables": self.tables},
            table=lambda one: one.to_text(width, coloured),
            width=min(width or PROSE, PROSE),
            **self.values,
        )
        return text.strip("\n") + "\n"


def ranking(facts: Facts) -> Readout:
    """A run: the leaderboard, the answer and the facts."""
    return Readout(
        "rank",
        partial(record_of, facts),
        facts.models,
        [board_table(facts)],
        answer(facts),
        {"facts": facts},
    )


# ------------------------------------------------------------------------------ data
def to_dict(
    result: RankingEstimator | RankingResult, level: float = 0.95, **layout: Any
) -> dict[str, Any]:
    """Return a result as plain data for strict JSON.

    Parameters
    ----------
    result : RankingEstimator or RankingResult
        A fitted method with standard errors, such as ``AnchorPipeline``; or its result,
        which has no information on judges and settings.
    level : float, default=0.95
        Level of intervals and rank sets.
    **layout : dict
        ``scale`` and ``anchor`` of
        :meth:`skanchor.AnchorPipeline.leaderboard`.

    Returns
    -------
    dict
        Lists of records and plain values; ``docs/json.md`` describes the keys. Infinite
        numbers are the strings ``"inf"`` and ``"-inf"``, undefined ones are None.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import to_dict
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> record = to_dict(anchor)
    >>> record["schema_version"], record["level"]
    (3, 0.95)
    """
    return Readout("rank", record_of(Facts(result, level, **layout))).to_dict()


def record_of(facts: Facts) -> dict[str, Any]:
    """What the JSON of a run holds, by the keys of ``docs/json.md``."""
    result, contexts = facts.result, facts.contexts.items()
    variance = getattr(result, "variance", pd.DataFrame()).rename_axis("model")
    return {
        **{name: getattr(facts, name) for name in _OF_FACTS},
        "scale": {**asdict(facts.scale), "per_logit": facts.scale.per_logit},
        "answer": answer(facts),
        "rank_sets": result.rank_sets(facts.level).rename_axis("model"),
        # A table that a method does not have is an empty list.
        "favours": [] if facts.favours is None else facts.favours,
        "variance": variance,
        "undetermined": result.models[~result.determined].tolist(),
        "benchmarks": benchmarks_json(facts.benchmarks),
        "contexts": [{"context": name, "models": one} for name, one in contexts],
        "check": None if facts.check is None else check_record(facts.check),
    }


def benchmarks_json(marks: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Recorded effects as records, favours of features in a list of their own."""
    records: Any = [] if marks is None else marks.reset_index().to_dict("records")
    for row in records:
        names = [name for name in row if str(name).startswith(FAVOUR_OF)]
        row["features"] = [
            {"feature": str(name).removeprefix(FAVOUR_OF), "favour": row.pop(name)}
            for name in names
        ]
    return records


def as_json_value(value: Any) -> Any:
    """Turn tables, warnings and numbers into values that JSON allows.

    Infinite numbers become the strings ``"inf"`` and ``"-inf"``, NaN becomes None, and
    labels of types that JSON lacks become text, both as keys and as values.
    """
    if isinstance(value, pd.DataFrame):
        value = [] if value.empty else value.reset_index().to_dict("records")
    elif isinstance(value, Warning):
        value = {
            "category": type(value).__name__,
            "code": getattr(value, "code", ""),
            "subject": getattr(value, "subject", ()),
            "message": str(value),
        }
    if isinstance(value, Mapping):
        return {str(key): as_json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json_value(item) for item in value]
    if value is pd.NA:
        return None
    # Scalars of numpy have ``item``, which gives the built-in number.
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return (
        value if value is None or isinstance(value, (str, int, float)) else str(value)
    )
