"""A run as plain data, for strict JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd

from skanchor._battles import Inputs
from skanchor.readouts import FAVOUR_OF
from skanchor.reports.facts import Facts
from skanchor.reports.sentences import answer, check_record
from skanchor.results import RankingResult, Scale
from skanchor.results.estimators import RankingEstimator

SCHEMA_VERSION = 3
"""Increases whenever a program that reads the JSON must change."""

_OF_FACTS = (
    *("method", "level", "scale", "models", "best", "rank_sets", "contrasts"),
    *("variance", "favours", "undetermined", "rows", "inputs", "judges"),
    *("item_effects", "warnings", "settings", "versions", "input_hash"),
)


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
    return record_of(Facts(result, level, **layout))


def record_of(facts: Facts) -> dict[str, Any]:
    """Plain data with the keys of ``docs/json.md``."""
    record = {name: getattr(facts, name) for name in _OF_FACTS}
    contexts = facts.contexts.items()
    more = {
        "answer": answer(facts),
        "benchmarks": benchmarks_json(facts.benchmarks),
        "contexts": [
            {"context": name, "models": leaderboard} for name, leaderboard in contexts
        ],
        "check": None if facts.check is None else check_record(facts.check),
    }
    plain: dict[str, Any] = as_json_value(
        {"schema_version": SCHEMA_VERSION, **record, **more}
    )
    # Tables that a method does not have are empty lists.
    return plain | {name: plain[name] or [] for name in ("variance", "favours")}


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
    elif isinstance(value, Scale):
        value = asdict(value) | {"per_logit": value.per_logit}
    elif isinstance(value, Inputs):
        value = asdict(value)
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
