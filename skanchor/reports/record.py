"""A run as plain data, for strict JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd

from skanchor.readouts import FAVOUR_OF
from skanchor.reports.facts import Facts
from skanchor.reports.sentences import answer, check_record
from skanchor.reports.tables import records_of
from skanchor.results import RankingResult
from skanchor.results.estimators import RankingEstimator

SCHEMA_VERSION = 3
"""Increases whenever a program that reads the JSON must change."""


def record_of(facts: Facts) -> dict[str, Any]:
    """Plain data with the keys of ``docs/json.md``."""
    result = facts.result
    found = {
        "schema_version": SCHEMA_VERSION,
        "method": facts.method,
        "level": facts.level,
        "scale": asdict(facts.scale) | {"per_logit": facts.scale.per_logit},
        "answer": answer(facts),
        "models": records_of(facts.board),
        "best": records_of(facts.best.to_frame("probability"), index="model"),
        "rank_sets": _by_model(result.rank_sets(facts.level)),
        "contrasts": _by_model(facts.contrasts),
        "variance": _by_model(getattr(result, "variance", None)),
        "errors": _by_model(facts.errors),
        "favours": _by_model(facts.favours),
        "benchmarks": benchmarks_json(facts.benchmarks),
        "contexts": [
            {"context": name, "models": records_of(board, index="model")}
            for name, board in facts.contexts.items()
        ],
        "check": None if facts.check is None else check_record(facts.check),
        "undetermined": result.models[~result.determined].tolist(),
        "rows": facts.rows,
        "inputs": facts.inputs,
        "judges": records_of(facts.judges, index="judge"),
        "item_effects": facts.item_effects,
        "warnings": [
            {
                "category": type(one).__name__,
                "code": getattr(one, "code", ""),
                "subject": list(getattr(one, "subject", ())),
                "message": str(one),
            }
            for one in facts.warnings
        ],
        "settings": facts.settings,
        "versions": facts.versions,
        "input_hash": facts.input_hash,
    }
    plain: dict[str, Any] = as_json_value(found)
    return plain


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
        ``scale``, ``anchor``, ``sort`` and ``ranks`` of
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


def benchmarks_json(marks: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Recorded effects as records, favours of features in a list of their own."""
    if marks is None:
        return []
    names = [name for name in map(str, marks.columns) if name.startswith(FAVOUR_OF)]
    records = []
    for row in records_of(marks):
        features = [
            {"feature": name.removeprefix(FAVOUR_OF), "favour": row.pop(name)}
            for name in names
        ]
        records.append(row | {"features": features})
    return records


def as_json_value(value: Any) -> Any:
    """Turn numpy scalars and non-finite numbers into values that JSON allows.

    Infinite numbers become the strings ``"inf"`` and ``"-inf"``, NaN becomes None, and
    labels of types that JSON lacks become text, both as keys and as values.
    """
    if isinstance(value, Mapping):
        return {str(key): as_json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json_value(item) for item in value]
    # Scalars of numpy have ``item``, which gives the built-in number.
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return (
        value if value is None or isinstance(value, (str, int, float)) else str(value)
    )


def _by_model(table: pd.DataFrame | None) -> list[dict[Any, Any]]:
    """Records of a table by new model; empty where there is none."""
    if table is None or table.empty:
        return []
    return records_of(table if table.index.nlevels > 1 else table.rename_axis("model"))
