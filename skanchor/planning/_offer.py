"""Kinds of rows that can be bought, what they cost, and what targets gain by them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._checks import is_number
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.planning._forecast import Forecast, Targets
from skanchor.planning._kinds import SourceKinds


@dataclass(frozen=True, eq=False)
class Offer:
    """Kinds of rows that can be bought, of all sources in one list.

    Attributes
    ----------
    forecast : Forecast
        Of a fitted pipeline.
    prices : dict of int to float
        Cost of a row, by source.
    kinds : dict of int to SourceKinds
        What is offered, by source.
    source : ndarray of shape (n_kinds,)
        Source of each kind.
    costs : ndarray of shape (n_kinds,)
        Cost of a row of each kind.
    """

    forecast: Forecast
    prices: dict[int, float]
    kinds: dict[int, SourceKinds]
    source: NDArray[np.intp]
    costs: Array

    @classmethod
    def of(
        cls,
        forecast: Forecast,
        pairs: list[tuple[Any, Any]],
        prices: dict[int, float],
    ) -> Offer:
        names = forecast.models.tolist()
        codes = {names.index(model) for model, _ in pairs}
        kinds = {}
        for m in prices:
            every = forecast.kinds[m]
            some = np.isin(every.model, list(codes)) & ~forecast.is_new[every.opponent]
            kinds[m] = every[some]
        source = np.concatenate([np.full(len(kinds[m]), m) for m in kinds])
        costs = np.concatenate([np.full(len(kinds[m]), prices[m]) for m in kinds])
        if not len(costs):
            raise BattlesError(
                "Nothing can be bought: no source that is offered has responses of the "
                "new model with features."
            )
        return cls(forecast, prices, kinds, source, costs)

    def information(self, rows: NDArray[Any]) -> Array:
        """Information of numbers of rows of all kinds, of shape (p, p)."""
        return self.forecast.information.sum(
            {m: own.bought(rows[self.source == m]) for m, own in self.kinds.items()}
        )

    def weights(self, targets: Targets, rows: NDArray[Any]) -> Array:
        """Weights of targets with further rows."""
        more = self.information(rows)
        return self.forecast.information.weights(targets.vectors, more)

    def gains(self, weights: Array) -> Array:
        """Decrease of the summed variance by one row of each kind."""
        information = self.forecast.information
        found = [
            own.gains(information.local(weights, m)).sum(axis=1)
            for m, own in self.kinds.items()
        ]
        return np.concatenate(found)

    def table(self, rows: NDArray[Any], gains: Array) -> pd.DataFrame:
        """Rows that are bought, most spend first."""
        names, label = self.forecast.models, self.forecast.label
        model = np.concatenate([own.model for own in self.kinds.values()])
        opponent = np.concatenate([own.opponent for own in self.kinds.values()])
        spend = rows * self.costs
        order = np.argsort(-spend, kind="stable")
        order = order[rows[order] > 0]
        return pd.DataFrame(
            {
                "source": pd.Series(
                    [label(m) for m in self.source[order].tolist()], dtype=object
                ),
                "opponent": pd.Series(names[opponent[order]], dtype=object),
                "rows": rows[order],
                "spend": spend[order],
                "gain": gains[order],
            }
        ).set_axis(pd.Index(names[model[order]], name="model"), axis=0)


def budget_of(budget: Any, least: float) -> float:
    """A budget as a float; refuse what buys no row."""
    if not is_number(budget) or not np.isfinite(budget):
        raise BattlesError(f"budget must be a finite number, got {budget!r}.")
    if budget < least:
        raise BattlesError(
            f"A budget of {budget:g} buys no row: the cheapest costs {least:g}."
        )
    return float(budget)


def chosen_prices(
    forecast: Forecast, prices: dict[int, float], sources: Sequence[Hashable]
) -> dict[int, float]:
    """Prices of the sources that are offered."""
    if isinstance(sources, str) or not isinstance(sources, Sequence) or not sources:
        raise BattlesError(f"sources must be a list of labels, got {sources!r}.")
    found = {}
    for label in sources:
        m = forecast.source(label)
        if m not in prices:
            raise BattlesError(f"costs has no cost of {label!r}, which sources offers.")
        found[m] = prices[m]
    return found


def target_pairs(
    forecast: Forecast, targets: str | Sequence[Any]
) -> list[tuple[Any, Any]]:
    """Targets as pairs of model and opponent, None for a score."""
    if isinstance(targets, str) and targets not in ("scores", "neighbours"):
        raise BattlesError(
            "targets must be 'scores', 'neighbours' or a list of new models and of "
            f"pairs (model, opponent), got {targets!r}."
        )
    if isinstance(targets, str):
        models = forecast.check_model(None)
        if targets == "scores":
            return [(model, None) for model in models]
        return [pair for model in models for pair in _neighbours(forecast, model)]
    found: list[tuple[Any, Any]] = []
    known = forecast.models.tolist()
    for each in targets:
        model, opponent = each if isinstance(each, tuple) else (each, None)
        forecast.check_model(model)
        if opponent is not None and (opponent not in known or opponent == model):
            raise BattlesError(
                f"{opponent!r} is no opponent of {model!r}; known are {known[:10]}."
            )
        found.append((model, opponent))
    if not found:
        raise BattlesError("targets is empty; name a new model, or leave it out.")
    return found


def _neighbours(forecast: Forecast, model: Any) -> list[tuple[Any, Any]]:
    """Contrasts of a model with the historical ones next to its point rank."""
    result = forecast.result
    scores = result.all_scores
    usable = ~result.is_new & ~result.unbounded
    old = scores[usable].sort_values()
    place = int(np.searchsorted(old.to_numpy(), scores[model]))
    near = [k for k in (place, place - 1) if 0 <= k < len(old)]
    return [(model, old.index[k]) for k in near]
