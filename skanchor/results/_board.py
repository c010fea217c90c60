"""The leaderboard: how models are ordered, and what their rank says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor.results._scale import Scale

ROMANO_WOLF_MODELS = 100
"""Most models of a leaderboard whose rank sets are worth seconds of draws."""

SORTS = ("score", "low")
"""Columns by which a leaderboard may be sorted."""

RANKS = ("score", "shared", "tier")
"""What the column ``rank`` may be."""


def board_table(
    result: Any,
    level: float = 0.95,
    scale: Literal["logit", "elo"] | Scale = "logit",
    anchor: Mapping[Any, float] | None = None,
    sort: Literal["score", "low"] = "score",
    ranks: Literal["score", "shared", "tier"] = "score",
) -> pd.DataFrame:
    """Lay out all models, best first; as :meth:`RankingResult.leaderboard`.

    Parameters
    ----------
    result : RankingResult
        Scores with their covariance.
    level, scale, anchor, sort, ranks
        As there.

    Returns
    -------
    DataFrame
    """
    for name, value, known in (("sort", sort, SORTS), ("ranks", ranks, RANKS)):
        if value not in known:
            raise ValueError(f"{name} must be one of {list(known)}, got {value!r}.")
    shown = Scale.of(scale, anchor)
    shown.check(result.models, result.unbounded)
    many = len(result.models) > ROMANO_WOLF_MODELS
    sets = result.rank_sets(level, "board", "holm" if many else "romano-wolf")
    table = shown.place(result.intervals(level, shown.anchor))
    table["rank"] = sets["rank"]
    table["rank_low"], table["rank_high"] = sets["low"], sets["high"]
    table["is_new"], table["determined"] = result.is_new, result.determined
    table["n_human"], table["n_judge"] = result.n_human, result.n_judge
    if sort == "low":
        # Scores order the models of which no interval is known.
        table = table.sort_values("score", ascending=False, kind="stable")
    table = table.sort_values(sort, ascending=False, kind="stable")
    table = table.sort_values("determined", ascending=False, kind="stable")
    if ranks != "score":
        table["rank"] = _shared(table) if ranks == "shared" else _tiers(table)
    return table


def new_by_score(result: Any) -> list[Any]:
    """New models, best first; those whose score is not determined come last.

    Parameters
    ----------
    result : RankingResult
        Of a fit.

    Returns
    -------
    list of labels
    """
    known = pd.Series(result.determined, result.models)[result.is_new]
    scores = result.scores.sort_values(ascending=False, kind="stable")
    return scores.index[np.argsort(~known[scores.index], kind="stable")].tolist()


def strongest_first(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Order the opponents of a model; those that nothing is known of come last.

    Parameters
    ----------
    contrasts : DataFrame
        By opponent, as of :meth:`RankingResult.contrasts`.

    Returns
    -------
    DataFrame
        The same rows.
    """
    by_score = contrasts.sort_values("difference", kind="stable")
    known = np.isfinite(by_score["low"]) | np.isfinite(by_score["high"])
    return by_score.iloc[np.argsort(~known.to_numpy(), kind="stable")]


def _shared(table: pd.DataFrame) -> NDArray[np.intp]:
    """One more than the models proven better; an undetermined model comes last."""
    last = 1 + int(table["determined"].sum())
    return np.where(table["determined"], table["rank_low"], last)


def _tiers(table: pd.DataFrame) -> NDArray[np.intp]:
    """Tiers that no rank set of a determined model crosses.

    If every one of the best k has a set that ends at k or above, they are the best k
    whenever the sets hold, and a tier may end there.
    """
    known = table["determined"].to_numpy()
    by_rank = np.argsort(table["rank"].to_numpy()[known], kind="stable")
    # Undetermined models lengthen every set and have no part in the tiers.
    worst = table["rank_high"].to_numpy()[known][by_rank] - int((~known).sum())
    ends = np.maximum.accumulate(worst) <= np.arange(1, len(worst) + 1)
    tiers = np.empty(len(table), dtype=np.intp)
    place = np.flatnonzero(known)[by_rank]
    tiers[place] = 1 + np.append(0, np.cumsum(ends)[:-1])[: len(place)]
    tiers[~known] = 1 + (tiers[known].max() if known.any() else 0)
    return tiers
