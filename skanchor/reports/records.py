"""A result as data for JSON: scores, ranks, contrasts, variances, and the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from skanchor.exceptions import BattlesError
from skanchor.readouts import FAVOUR_OF
from skanchor.reports.interval_check import interval_verdict
from skanchor.reports.summary import result_with_errors, summarize
from skanchor.reports.tables import records_of
from skanchor.results import (
    AnchorResult,
    ContextResult,
    RankingResult,
    Scale,
)

if TYPE_CHECKING:
    import pandas as pd

    from skanchor._diagnostics import IntervalCheck
    from skanchor.reports.summary import RunSummary

SCHEMA_VERSION = 3
"""Increases whenever a program that reads the JSON must change."""


def to_dict(
    fitted: Any,
    level: float = 0.95,
    *,
    summary: RunSummary | None = None,
    **layout: Any,
) -> dict[str, Any]:
    """Return a result as plain data for strict JSON.

    Parameters
    ----------
    fitted : AnchorPipeline, other ranking estimator, or RankingResult
        A fitted method with standard errors, new models ranked by a history, or the
        result of either, which has no information on judges and settings.
    level : float, default=0.95
        Level of intervals and rank sets.
    summary : RunSummary, optional
        Facts of the run at this level; computed if not given.
    **layout : dict
        ``scale``, ``anchor``, ``sort`` and ``ranks`` of
        :meth:`skanchor.AnchorPipeline.leaderboard`.

    Returns
    -------
    dict
        The keys are described in ``docs/json.md``: ``schema_version``; ``level``;
        ``scale``; ``models``, the rows of the leaderboard; ``may_be_best``, a
        confidence set for the best model, with each model's ``probability`` of being
        the best (these need not add up to the level); ``new_models``, with contrasts
        and parts of the variance; ``contexts``, the leaderboard of each context;
        ``check``, the tests of the intervals, where they were made; ``summary``, the
        facts of the run. Infinite numbers are the strings ``"inf"``
        and ``"-inf"``, undefined ones are None.

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
    result = result_with_errors(fitted)
    facts = summarize(fitted, level) if summary is None else summary
    board = result.leaderboard(level, **layout)
    scale = Scale.of(layout.get("scale", "logit"), layout.get("anchor"))
    diagnostics = result.diagnostics if isinstance(result, AnchorResult) else None
    check = None if diagnostics is None else diagnostics.check
    record: dict[str, Any] = as_json_value(
        {
            "schema_version": SCHEMA_VERSION,
            "level": level,
            "scale": scale.to_dict(),
            "models": records_of(board, "model"),
            "may_be_best": records_of(facts.best.to_frame("probability"), "model"),
            "new_models": _new_models(fitted, result, level, board, scale),
            "contexts": _contexts(result, level, layout),
            "check": None if check is None else check_json(check),
            "summary": facts.to_dict(),
        }
    )
    return record


def _new_models(
    fitted: Any, result: RankingResult, level: float, board: pd.DataFrame, scale: Scale
) -> list[Mapping[str, Any]]:
    """Score, rank set, variance, contrasts and breakdowns of each new model."""
    contrasts, ranks = result.contrasts(level), result.rank_sets(level)
    for name in ("difference", "standard_error", "low", "high"):
        # Differences do not depend on the zero of the scale, only on its unit.
        contrasts[name] *= scale.per_logit
    variance = result.variance if isinstance(result, AnchorResult) else None
    favours = _favours(fitted if hasattr(fitted, "breakdown") else result, level)
    of_board = ["score", "standard_error", "low", "high"]
    return [
        {
            "model": model,
            **board.loc[model, of_board].to_dict(),
            "rank_set": ranks.loc[model].to_dict(),
            "variance": None if variance is None else variance.loc[model].to_dict(),
            "contrasts": records_of(contrasts.loc[model], "opponent"),
            **favours(model),
        }
        for model in board.index[board["is_new"]].tolist()
    ]


def _favours(exposed: Any, level: float) -> Callable[[Any], dict[str, Any]]:
    """Breakdowns and benchmarks of each new model; None where they are not known."""
    nothing = dict.fromkeys(("breakdown", "benchmarks"))
    if not hasattr(exposed, "breakdown"):
        return lambda model: nothing
    try:
        broken, marks = exposed.breakdown(level=level), exposed.benchmarks()
    except BattlesError:
        return lambda model: nothing
    broken = broken.drop(columns="difference")
    return lambda model: {
        "breakdown": records_of(broken.loc[model], "opponent"),
        "benchmarks": benchmarks_json(marks.loc[model]),
    }


def benchmarks_json(marks: pd.DataFrame) -> list[dict[str, Any]]:
    """Recorded sizes as records, favours of features in a list of their own.

    Parameters
    ----------
    marks : DataFrame
        As of :meth:`skanchor.AnchorResult.benchmarks`; indexed by judge, or by
        model and judge.

    Returns
    -------
    list of dict
    """
    found = []
    names = map(str, marks.columns)
    of_features = [name for name in names if name.startswith(FAVOUR_OF)]
    for row in marks.reset_index().to_dict("records"):
        features = [
            {"feature": name.removeprefix(FAVOUR_OF), "favour": row.pop(name)}
            for name in of_features
        ]
        found.append(row | {"features": features})
    return found


def _contexts(
    result: RankingResult, level: float, layout: dict[str, Any]
) -> list[dict[str, Any]]:
    """Leaderboard of each context, where there are contexts."""
    if not isinstance(result, ContextResult):
        return []
    return [
        {
            "context": name,
            "models": records_of(one.leaderboard(level, **layout), "model"),
        }
        for name, one in result.by_context.items()
    ]


def check_json(check: IntervalCheck) -> dict[str, Any]:
    """The result of a check for programs, as strict JSON data.

    Parameters
    ----------
    check : IntervalCheck
        Result of :func:`skanchor.evaluation.check_intervals`.

    Returns
    -------
    dict
        The keys are described in ``docs/json.md``.
    """
    verdict = interval_verdict(check)
    tests = {
        "largest_miss": check.largest and asdict(check.largest),
        "best_model": check.top and asdict(check.top),
        "direction": check.direction and asdict(check.direction),
        "coverage": {
            "compatible": check.compatible,
            "n_models": check.n_models,
            "p_value": check.coverage_p,
        },
        "together": {"p_value": check.p_value},
    }
    found = {
        "level": check.level,
        "holds": str(verdict.holds),
        "compatible": check.compatible,
        "n_models": check.n_models,
        "verdict": verdict.statement,
        "findings": list(verdict.findings),
        "advice": verdict.advice,
        "tests": tests,
        "item_effects": check.item_effects,
        "models": records_of(check.table, "model"),
    }
    record: dict[str, Any] = as_json_value(found)
    return record


def as_json_value(value: Any) -> Any:
    """Turn numpy scalars and non-finite numbers into values that JSON allows.

    Parameters
    ----------
    value : object
        A number, a text, a label of another type, or a dict or list of such.

    Returns
    -------
    object
        The value with built-in types. Infinite numbers become the strings ``"inf"`` and
        ``"-inf"``, NaN becomes None. Labels of types that JSON lacks become text, both
        as keys and as values.
    """
    if isinstance(value, dict):
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
