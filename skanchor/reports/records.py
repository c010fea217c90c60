"""A result as JSON, with all that is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.results import AnchorResult

__all__ = ["Reported", "result_json"]


class Reported(Protocol):
    """What reports read: of a fitted pipeline, or of a placement by a history."""

    @property
    def result_(self) -> AnchorResult:
        """The result."""

    @property
    def item_effects_(self) -> str:
        """Treatment of the item effects that is reported."""

    @property
    def results_(self) -> Mapping[str, AnchorResult]:
        """Results by treatment."""

    def summary(self) -> pd.DataFrame:
        """What is known of each judge."""


def result_json(pipeline: Reported, level: float = 0.95) -> dict[str, Any]:
    """Everything a program may want of a fitted pipeline, fit for strict JSON.

    Parameters
    ----------
    pipeline : AnchorPipeline or the like
        Fitted.
    level : float, default=0.95
        Level of intervals and rank sets.

    Returns
    -------
    dict
        ``level``; ``item_effects``, the treatment reported; ``inputs``, the features
        and groups used and the columns ignored; ``models``, the rows of the
        leaderboard, best first, whose rank sets hold jointly among all models;
        ``new_models``, for each its score, standard error, interval, the ``intervals``
        by treatment, ``rank_set`` among the historical models, the parts of its
        ``variance``, and its ``contrasts`` to every other model; ``judges``, the rows
        of the summary. Infinite numbers are the strings
        ``"inf"`` and ``"-inf"``, undefined ones null.
    """
    found = pipeline.result_
    board, contrasts = found.leaderboard(level), found.contrasts(level)
    interval, ranks = found.conf_int(level), found.rank_sets(level)
    variance, scores, errors = found.variance, found.scores, found.standard_errors
    new = [
        {
            "model": model,
            "score": scores[model],
            "standard_error": errors[model],
            **interval.loc[model].to_dict(),
            "intervals": {
                name: result.conf_int(level).loc[model].to_dict()
                for name, result in pipeline.results_.items()
            },
            "rank_set": ranks.loc[model].to_dict(),
            "variance": variance.loc[model].to_dict(),
            "contrasts": _records(contrasts.loc[model], "opponent"),
        }
        for model in board.index[board["is_new"]].tolist()
    ]
    result: dict[str, Any] = _plain(
        {
            "level": level,
            "item_effects": pipeline.item_effects_,
            "inputs": asdict(found.inputs),
            "models": _records(board, "model"),
            "new_models": new,
            "judges": _records(pipeline.summary(), "judge"),
        }
    )
    return result


def _records(table: pd.DataFrame, label: str) -> list[dict[Any, Any]]:
    return table.rename_axis(label).reset_index().to_dict("records")


def _plain(value: Any) -> Any:
    """Turn numpy scalars and non-finite numbers into what JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
