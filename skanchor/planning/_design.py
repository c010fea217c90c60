"""What to buy next: rows on new models that lower their errors most for the money."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from skanchor._checks import check_level, is_number
from skanchor._comparisons import HUMAN
from skanchor._inference import satterthwaite, t_quantile
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.planning._allocation import allocate, round_to_budget
from skanchor.planning._forecast import Forecast, Targets
from skanchor.planning._offer import (
    Offer,
    budget_of,
    chosen_prices,
    target_pairs,
)
from skanchor.planning._outlook import evenly, rows_until

FLOOR = 0.1
"""Least share of each judge in the spend on verdicts where there are item effects."""


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """What to buy next within a budget, and how much it would help.

    Attributes
    ----------
    table : DataFrame
        By ``model``: ``source`` (a judge, or "human"), ``opponent``, number of
        ``rows``, their ``spend``, and the ``gain`` of the first of them: the decrease
        of the variance of the targets, in squared logits. Sorted by ``spend``, largest
        first.
    half_widths : DataFrame
        Half width of the interval by target, in logits: ``now``, with the ``design``,
        and with the same money spent evenly on ``verdicts`` or on ``votes``; NaN for
        rows that are not offered. A target is a new model's score, or its difference to
        another model.
    separation : DataFrame
        By ``model`` and historical ``opponent``: the ``difference`` of their scores;
        whether its interval excludes zero ``now``; and the ``probability`` that it does
        with the rows of the design.
    certificate : float
        Upper bound on the excess of the variance over the smallest possible one, before
        numbers of rows are rounded, as a share of the smallest.
    same_precision : float
        Cost of evenly divided verdicts that give the same mean variance; infinite if no
        number does, NaN if none are offered.
    budget : float
        The money available.
    floor : float
        Smallest share of each judge in the spend on verdicts.
    level : float
        Confidence level.
    is_pilot : bool
        True if there is no new model yet; the table then has a few first verdicts.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> costs = {judge: 0.02 for judge in anchor.calibrator_.judges_}
    >>> design = anchor.design(10.0, {"human": 1.0, **costs})
    >>> design.table.columns.tolist()
    ['source', 'opponent', 'rows', 'spend', 'gain']
    >>> round(design.certificate, 2) >= 0
    True
    """

    table: pd.DataFrame
    half_widths: pd.DataFrame
    separation: pd.DataFrame
    certificate: float
    same_precision: float
    budget: float
    floor: float
    level: float
    is_pilot: bool = False

    @property
    def spent(self) -> float:
        """Cost of the rows of the table."""
        # Rounded, because a sum of many products by 0.1 may exceed what it stands for.
        return round(float(self.table["spend"].sum()), 9)

    def lines(self) -> list[str]:
        """Return in sentences what to buy, and how much it would help."""
        return list(self._sentences())

    def __repr__(self) -> str:
        shown = self.table.to_string(formatters={"gain": "{:.2e}".format})
        return "\n".join([shown, "", *self.lines()])

    def _sentences(self) -> Iterator[str]:
        by_source = self.table.groupby("source", sort=False)[["rows", "spend"]].sum()
        bought = [
            f"{row['rows']:,.0f} "
            + ("human votes" if source == HUMAN else f"verdicts of {source}")
            for source, row in by_source.iterrows()
        ]
        *most, last = bought
        listed = f"{', '.join(most)} and {last}" if most else last
        if self.is_pilot:
            yield (
                f"There is no new model yet. A pilot of {listed}, divided evenly over "
                "the historical models, is enough to plan by: fit again with its rows, "
                "and ask for a design."
            )
            return
        yield f"A budget of {self.budget:g} is best spent on {listed}."
        for what, row in self.half_widths.iterrows():
            others = [
                f"{name} divided evenly ±{row[name]:.3f}"
                for name in ("verdicts", "votes")
                if np.isfinite(row[name])
            ]
            beside = f" (for the same money: {', '.join(others)})" if others else ""
            yield (
                f"The {100 * self.level:g} % interval of {what} shrinks from "
                f"±{row['now']:.3f} to about ±{row['design']:.3f}{beside}."
            )
        yield (
            "Buy at most a third of these rows, fit again, and ask for a new design: "
            "what a row is worth depends on where the new model stands."
        )
        if HUMAN in by_source.index:
            yield (
                "A new model with votes no longer counts as new by itself: name it "
                "when you fit again (new_models, or --new)."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data of all attributes."""
        return {
            "rows": self.table.reset_index().to_dict("records"),
            "half_widths": self.half_widths.reset_index().to_dict("records"),
            "separation": self.separation.reset_index().to_dict("records"),
            "certificate": self.certificate,
            "same_precision": self.same_precision,
            "budget": self.budget,
            "spent": self.spent,
            "floor": self.floor,
            "level": self.level,
            "is_pilot": self.is_pilot,
        }


def design_of(
    forecast: Forecast,
    budget: float,
    costs: Mapping[Any, float],
    targets: str | Sequence[Any] = "scores",
    sources: Sequence[Hashable] | None = None,
    floor: float | None = None,
    level: float = 0.95,
) -> Design:
    """Divide a budget so that it lowers the variance of the targets most.

    Parameters
    ----------
    forecast : Forecast
        Of a fitted pipeline.
    budget : float
        What may be spent.
    costs : mapping of label to float
        Cost of a row by source: judges, and ``"human"``.
    targets : {"scores", "neighbours"} or sequence, default="scores"
        As in :meth:`skanchor.AnchorPipeline.design`.
    sources : sequence of label, optional
        Sources that are offered; None means all with a cost.
    floor : float, optional
        Smallest share of each judge in the spend on verdicts.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Design

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.planning import Forecast, design_of
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> parts = anchor.btl_, anchor.calibrator_, anchor.debiaser_
    >>> forecast = Forecast.of(anchor.result_, anchor._distinct_sample, *parts)
    >>> design = design_of(forecast, 10.0, {"human": 1.0})
    >>> design.spent <= 10
    True
    """
    level = check_level(level)
    prices = forecast.check_costs(costs)
    if sources is not None:
        prices = chosen_prices(forecast, prices, sources)
    budget = budget_of(budget, min(prices.values()))
    pairs = target_pairs(forecast, targets)
    offer = Offer.of(forecast, pairs, prices)
    floor = _check_floor(floor, forecast, sum(m != PEOPLE for m in offer.prices))
    wanted = forecast.targets(pairs)
    found = allocate(
        lambda rows: offer.weights(wanted, rows),
        lambda w: float(np.einsum("ij,ij->", wanted.vectors, w)),
        offer.gains,
        offer.costs,
        budget,
        np.where(offer.source == PEOPLE, -1, offer.source),
        floor,
    )
    rows = round_to_budget(found.spend, offer.costs, budget)
    first = offer.gains(offer.weights(wanted, 0.0 * offer.costs))
    models = list(dict.fromkeys(model for model, _ in pairs))
    half_widths, same = _compared(offer, wanted, pairs, rows, budget, level)
    return Design(
        offer.table(rows, first),
        half_widths,
        _separation(offer, models, rows, level),
        found.gap,
        same,
        budget,
        floor,
        level,
    )


def _compared(
    offer: Offer,
    wanted: Targets,
    pairs: list[tuple[Any, Any]],
    rows: NDArray[np.intp],
    budget: float,
    level: float,
) -> tuple[pd.DataFrame, float]:
    """Half widths of the design and of other ways to spend; cost of an even one."""
    forecast, prices = offer.forecast, offer.prices
    models = list(dict.fromkeys(model for model, _ in pairs))
    bought = forecast.split(wanted, offer.information(rows))
    widths = {
        "now": wanted.half_widths(forecast.split(wanted), level),
        "design": wanted.half_widths(bought, level),
    }
    judges, same = [m for m in prices if m != PEOPLE], np.nan
    for name, sources in (("verdicts", judges), ("votes", [PEOPLE])):
        widths[name] = np.full(len(pairs), np.nan)
        if not sources or not prices.keys() >= set(sources):
            continue
        # Information of a unit of money, divided evenly over models and the sources.
        price = float(np.mean([prices[m] for m in sources]))
        units = [evenly(forecast, model, sources) for model in models]
        unit = np.sum(units, axis=0) / (len(models) * price)
        widths[name] = wanted.half_widths(forecast.split(wanted, budget * unit), level)
        if name == "verdicts":
            same = _same_variance(forecast, wanted, unit, bought)
    names = [str(a) if b is None else f"{a} minus {b}" for a, b in pairs]
    return pd.DataFrame(widths, index=pd.Index(names, name="target")), same


def _same_variance(
    forecast: Forecast, wanted: Targets, unit: Array, bought: tuple[Array, Array]
) -> float:
    """What is to be spent on some kind of rows for the variance of another purchase."""

    def total(split: tuple[Array, Array]) -> float:
        return float(wanted.parts(split)[0].sum())

    along = forecast.along(wanted, unit)
    end = total(forecast.split(wanted, endless=unit))
    return rows_until(lambda spent: total(along(spent)), total(bought), end)


def _separation(
    offer: Offer, models: list[Any], rows: NDArray[np.intp], level: float
) -> pd.DataFrame:
    """Probability that the design separates new models from historical ones."""
    forecast = offer.forecast
    lost = set(forecast.result.models[forecast.result.unbounded].tolist())
    old = [each for each in forecast.models[~forecast.is_new] if each not in lost]
    pairs = [(model, other) for model in models for other in old]
    targets = forecast.targets(pairs)
    split = forecast.information.split(targets.vectors, offer.weights(targets, rows))
    variance, items = targets.parts(split)
    size, now = np.abs(targets.estimate), np.sqrt(targets.variance)
    df = satterthwaite(targets.variance, targets.items, targets.item_df)
    probability = separation_probability(
        size, targets.variance, variance,
        t_quantile(level, satterthwaite(variance, items, targets.item_df)),
    )  # fmt: skip
    index = pd.MultiIndex.from_tuples(pairs, names=["model", "opponent"])
    return pd.DataFrame(
        {
            "difference": targets.estimate,
            "now": size > t_quantile(level, df) * now,
            "probability": probability,
        },
        index=index,
    )


def separation_probability(
    size: Array, variance: Array, later: Array, quantile: Array
) -> Array:
    """Probability that an interval excludes zero once it has become shorter.

    Given today's estimate T, the later one is normal about it with variance
    ``v^2 - v_n^2``, as estimates from more and more rows have independent increments.

    Parameters
    ----------
    size : ndarray
        Today's estimates, without their signs.
    variance, later : ndarray
        Variance today, v^2, and later, v_n^2.
    quantile : ndarray
        Quantile of the later interval.

    Returns
    -------
    ndarray
    """
    half = quantile * np.sqrt(later)
    # Nothing bought, nothing changed: a step at the half width.
    step = np.sqrt(np.maximum(variance - later, 1e-12 * variance))
    return np.asarray(ndtr((size - half) / step) + ndtr((-size - half) / step))


def _check_floor(floor: float | None, forecast: Forecast, n_judges: int) -> float:
    """Share of each judge; the default where item effects make one advisable."""
    if floor is None:
        has_items = forecast.information.has_item_effects
        return min(FLOOR, 0.5 / max(n_judges, 1)) if has_items else 0.0
    if not is_number(floor):
        raise BattlesError(f"floor must be a number, got {floor!r}.")
    if not 0.0 <= floor * max(n_judges, 1) <= 1.0:
        raise BattlesError(
            f"floor must be between 0 and 1 over the number of judges that are offered "
            f"({n_judges}), got {floor!r}."
        )
    return float(floor)
