"""A result as JSON, with all that is known."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.anchor import AnchorPipeline

__all__ = ["plain", "result_json"]


def result_json(pipeline: AnchorPipeline, level: float = 0.95) -> dict[str, Any]:
    """Everything a program may want of a fitted pipeline, fit for strict JSON.

    Parameters
    ----------
    pipeline : AnchorPipeline
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
    board = pipeline.leaderboard(level)
    contrasts = pipeline.contrasts(level)
    interval, ranks = pipeline.conf_int(level), pipeline.rank_sets(level)
    variance = pipeline.variance_
    new = [
        {
            "model": model,
            "score": pipeline.scores_[model],
            "standard_error": pipeline.standard_errors_[model],
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
    result: dict[str, Any] = plain(
        {
            "level": level,
            "item_effects": pipeline.item_effects_,
            "inputs": asdict(pipeline.result_.inputs),
            "models": _records(board, "model"),
            "new_models": new,
            "judges": _records(pipeline.summary(), "judge"),
        }
    )
    return result


def _records(table: pd.DataFrame, label: str) -> list[dict[Any, Any]]:
    return table.rename_axis(label).reset_index().to_dict("records")


def plain(value: Any) -> Any:
    """Turn numpy scalars and non-finite numbers into what JSON has.

    Parameters
    ----------
    value : object
        A number, a text, or a dict or list of such.

    Returns
    -------
    object
        Infinite numbers are the strings ``"inf"`` and ``"-inf"``, undefined ones None.
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
