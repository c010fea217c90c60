"""What to buy next: rows on new models that lower their errors most for the money.

The variance ``f(n) = sum_t l_t' (Q + R + sum_q n_q I_q)^-1 l_t`` is convex in the
numbers of rows n. Pairwise Frank-Wolfe steps move spend from the worst part of an
allocation to the best one. The duality gap bounds how far the result is from the
optimum, so that it is its own certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from skanchor._battles import HUMAN
from skanchor._checks import check_level, is_number
from skanchor._model.fit import PEOPLE
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.readouts._answer import Answer, check_labels, determined_models
from skanchor.readouts._plan import Plan, Targets

if TYPE_CHECKING:
    from skanchor import AnchorResult

FLOOR = 0.1
"""Least share of each judge in the spend on verdicts where there are item effects."""

EVERY_JUDGE = "judges"
"""In place of a judge among costs: all that are not named."""

GAP = 1e-3
"""Duality gap, as a share of the variance, at which the search stops."""

MOST_STEPS = 500


class Design(Answer):
    """What to buy next within a budget, and how much it would help.

    Attributes
    ----------
    table : DataFrame
        By ``model``: ``source`` (a judge, or "human"), ``opponent``, number of
        ``rows``, their ``spend``, and the ``gain`` of the first of them: the decrease
        of the variance of the targets, in squared logits. Sorted by ``spend``, largest
        first.
    sentences : tuple of str
        What to buy, and how much it would help.
    half_widths : DataFrame
        Half width of the interval by target, in logits: ``now``, with the ``design``,
        and with the same money spent evenly on ``verdicts`` or on ``votes``; NaN for
        rows that are not offered. A target is a new model's score, or its difference to
        another model.
    certificate : float
        Upper bound on the excess of the variance over the smallest possible one, before
        numbers of rows are rounded, as a share of the smallest.
    budget, spent : float
        The money available, and the cost of the rows of the table.
    floor : float
        Smallest share of each offered judge in the spend on verdicts: .1 with item
        effects, as their correlation between judges is estimated from few models, and
        0 without.
    level : float
        Confidence level.

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


def design(
    result: AnchorResult,
    budget: float,
    costs: Mapping[Any, float],
    targets: str | Sequence[Any] = "scores",
    level: float = 0.95,
) -> Design:
    """What to buy next: rows on new models that lower their errors most.

    Parameters
    ----------
    budget : float
        The money available, in the unit of the costs.
    costs : mapping of label to float
        Cost of a row by source: ``"human"`` for a vote, the label of a judge for its
        verdicts, ``"judges"`` for all judges that are not named. Sources without a cost
        are not offered.
    targets : "scores" or sequence, default="scores"
        What should become more precise: the scores of the new models, or a list of new
        models and of pairs (new model, other model). The sum of the variances is
        minimised.
    level : float, default=0.95
        Confidence level of the half widths and of what counts as separated.

    Returns
    -------
    Design
        ``table`` of rows to buy, the half widths with them, and an upper bound on the
        distance of the allocation from the best one.

    Raises
    ------
    BattlesError
        As for :meth:`worth`, and if the budget is too small for one row.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=1)
    >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
    >>> design = anchor.design(20, {"human": 1.0, "judge-2": 0.1})
    >>> design.spent <= 20, design.certificate <= 1e-3
    (True, True)
    """
    determined_models(result)
    level, plan = check_level(level), result.plan
    prices = _prices(plan, costs, budget)
    judges = [m for m in prices if m != PEOPLE]
    # The correlations of item effects between judges are estimated from few models.
    has_floor = plan.fit.layout.has_item_effects
    floor = min(FLOOR, 0.5 / max(len(judges), 1)) * has_floor
    pairs = _target_pairs(plan, targets)
    models = list(dict.fromkeys(model for model, _ in pairs))
    kinds, offered = plan.kinds, plan.offered(models, list(prices))
    if not len(offered):
        raise BattlesError(
            "Nothing can be bought: no source that is offered has responses of the new "
            "model with features."
        )
    wanted, source = plan.targets(pairs), kinds.source[offered]
    unit_price = np.array([prices[m] for m in source.tolist()])
    spend, gap = _allocated(plan, wanted, offered, unit_price, budget, floor)
    rows, labels = (
        round_to_budget(spend, unit_price, budget),
        np.array(plan.models, object),
    )
    table = pd.DataFrame(
        {
            "source": np.array(plan.sources, dtype=object)[source],
            "opponent": labels[kinds.opponent[offered]],
            "rows": rows,
            "spend": rows * unit_price,
            "gain": kinds.gains(plan.weights(wanted))[offered],
        },
        index=pd.Index(labels[kinds.model[offered]], name="model", dtype=object),
    )
    table = table.sort_values("spend", ascending=False, kind="stable")
    table = table[table["rows"] > 0]
    # Half widths now, with the design, and with the money spent evenly.
    more: dict[str, Any] = {"now": 0.0, "design": kinds.information(rows, offered)}
    for way, sources in (("verdicts", judges), ("votes", [PEOPLE])):
        if sources and prices.keys() >= set(sources):
            # Information for a unit of money, divided evenly over models and sources.
            price = len(models) * float(np.mean([prices[m] for m in sources]))
            units = [plan.evenly(one, sources) for one in models]
            more[way] = budget / price * np.sum(units, axis=0)
    half = pd.DataFrame(
        {way: wanted.half_widths(plan.weights(wanted, one), level)
         for way, one in more.items()},
        index=pd.Index(
            [str(a) if b is None else f"{a} minus {b}" for a, b in pairs], name="target"
        ),
    ).reindex(columns=["now", "design", "verdicts", "votes"])  # fmt: skip
    details = {
        "half_widths": half,
        "certificate": gap,
        "budget": float(budget),
        # Without what a sum of many products by 0.1 adds by rounding.
        "spent": round(float(table["spend"].sum()), 9),
        "floor": floor,
        "level": level,
    }
    return Design(table, tuple(_sentences(table, half, budget, level)), details)


def _prices(plan: Plan, costs: Mapping[Any, float], budget: Any) -> dict[int, float]:
    """Cost of a row by source; refuse what is no cost, of no source, or too high."""
    names = [plan.sources[m] for m in sorted(plan.solution.grams)]
    named = dict(costs) if isinstance(costs, Mapping) else {}
    if EVERY_JUDGE in named and EVERY_JUDGE not in names:
        price = named.pop(EVERY_JUDGE)
        named = {one: price for one in names if one != HUMAN} | named
    if not named:
        raise BattlesError(
            "costs must map sources to the cost of a row, as in "
            f"{{{names[-1]!r}: 0.02}}, got {costs!r}."
        )
    check_labels(named, names, "sources of rows")
    for label, cost in named.items():
        if not is_number(cost) or not 0.0 < cost < np.inf:
            raise BattlesError(
                f"The cost of {label!r} must be a number above zero, got {cost!r}."
            )
    least = min(named.values())
    if not is_number(budget) or not least <= budget < np.inf:
        raise BattlesError(
            f"A budget of {budget!r} buys no row: it must be a number, and the "
            f"cheapest row costs {least:g}."
        )
    return {plan.sources.index(one): float(cost) for one, cost in named.items()}


def _allocated(
    plan: Plan,
    wanted: Targets,
    offered: NDArray[np.intp],
    costs: Array,
    budget: float,
    floor: float,
) -> tuple[Array, float]:
    """Spend a budget where it lowers the variance most.

    Parameters
    ----------
    plan, wanted
        The fit, and the targets.
    offered : ndarray of shape (n_kinds,)
        Kinds of rows.
    costs : ndarray of shape (n_kinds,)
        Cost of a row of each.
    budget : float
        What is spent.
    floor : float
        Least share of each judge in what is spent on all judges.

    Returns
    -------
    spend : ndarray of shape (n_kinds,)
    gap : float
        Bound on ``(f - least f) / f``, for the summed variance f.
    """
    kinds, source = plan.kinds, plan.kinds.source[offered]

    def solved(rows: Array) -> tuple[Array, Array]:
        """Weights of the targets, and gains by unit of money, at numbers of rows."""
        weights = plan.weights(wanted, kinds.information(rows, offered))
        return weights, kinds.gains(weights)[offered] / costs

    weights, rate = solved(np.zeros(len(costs)))
    # The allocation is a mixture of parts, each the best one at some gains.
    parts, shares = [budget * _best_shares(rate, source, floor)], [1.0]
    for _ in range(MOST_STEPS):
        spend: Array = np.asarray(shares) @ np.asarray(parts)
        weights, rate = solved(spend / costs)
        towards = budget * _best_shares(rate, source, floor)
        gap = float((towards - spend) @ rate / np.sum(wanted.vectors * weights))
        if gap <= GAP:
            break
        worst = int(np.argmin([part @ rate for part in parts]))
        moved = towards - parts[worst]

        def slope(t: float, spend: Array = spend, moved: Array = moved) -> float:
            """Decrease of f by a longer step, to first order."""
            return float(solved((spend + t * moved) / costs)[1] @ moved)

        step = shares[worst]
        if slope(step) < 0.0:
            step = float(brentq(slope, 0.0, step, xtol=1e-9 * step, rtol=1e-9))
        shares[worst] -= step
        same = [k for k, part in enumerate(parts) if np.array_equal(part, towards)]
        if same:
            shares[same[0]] += step
        else:
            parts.append(towards)
            shares.append(step)
        if shares[worst] <= 0.0:
            del parts[worst], shares[worst]
    return spend, max(gap, 0.0)


def _best_shares(rate: Array, source: NDArray[np.intp], floor: float) -> Array:
    """Shares of the spend that gain most at fixed gains per unit of money.

    All goes to one kind of votes, or to the judges: the floors to the best kind of
    each of them, and what is left to the best of these.
    """
    options = np.zeros((2, len(rate)))
    best = {m: np.where(source == m, rate, -np.inf).argmax() for m in np.unique(source)}
    if PEOPLE in best:
        options[0, best.pop(PEOPLE)] = 1.0
    if best:
        tops = np.array(list(best.values()))
        options[1, tops] = floor
        options[1, tops[rate[tops].argmax()]] += 1.0 - floor * len(tops)
    of_option = np.where(options.any(axis=1), options @ rate, -np.inf)
    return np.asarray(options[of_option.argmax()])


def round_to_budget(spend: Array, costs: Array, budget: float) -> NDArray[np.intp]:
    """Whole numbers of rows within a budget, by largest remainders.

    Parameters
    ----------
    spend : ndarray of shape (n_kinds,)
        Spend on each kind.
    costs : ndarray of shape (n_kinds,)
        Cost of a row of each.
    budget : float
        What may be spent.

    Returns
    -------
    ndarray of shape (n_kinds,)
    """
    exact = spend / costs
    # A whole number that rounding has left just below itself stays whole.
    rows = np.floor(exact + 1e-9).astype(np.intp)
    left = budget * (1.0 + 1e-12) - float(rows @ costs)
    # Equal remainders are served in the order of the kinds, rounding or not.
    for q in np.argsort(np.round(rows - exact, 9), kind="stable").tolist():
        if exact[q] - rows[q] > 1e-9 and costs[q] <= left:
            rows[q] += 1
            left -= costs[q]
    return rows


def _target_pairs(plan: Plan, targets: str | Sequence[Any]) -> list[tuple[Any, Any]]:
    """Targets as pairs of model and opponent, None for a score."""
    result = plan.result
    if targets == "scores":
        return [(model, None) for model in determined_models(result)]
    if isinstance(targets, str) or not targets:
        raise BattlesError(
            "targets must be 'scores' or a list of new models and of pairs (model, "
            f"opponent), got {targets!r}."
        )
    pairs = [
        target if isinstance(target, tuple) else (target, None) for target in targets
    ]
    for model, opponent in pairs:
        determined_models(result, model)
        others = [None, *(one for one in plan.models if one != model)]
        check_labels([opponent], others, f"opponents of {model!r}")
    return pairs


# ------------------------------------------------------------------------------- words
def _sentences(
    table: pd.DataFrame, half_widths: pd.DataFrame, budget: float, level: float
) -> Iterator[str]:
    by_source = table.groupby("source", sort=False)["rows"].sum()
    *most, last = [
        f"{rows:,.0f} "
        + ("human votes" if source == HUMAN else f"verdicts of {source}")
        for source, rows in by_source.items()
    ]
    bought = f"{', '.join(most)} and {last}" if most else last
    yield f"A budget of {budget:g} is best spent on {bought}."
    for what, row in half_widths.iterrows():
        others = [
            f"{name} divided evenly ±{row[name]:.3f}"
            for name in ("verdicts", "votes")
            if np.isfinite(row[name])
        ]
        beside = f" (for the same money: {', '.join(others)})" if others else ""
        yield (
            f"The {100 * level:g} % interval of {what} shrinks from "
            f"±{row['now']:.3f} to about ±{row['design']:.3f}{beside}."
        )
    yield (
        "Buy at most a third of these rows, fit again, and ask for a new design: what "
        "a row is worth depends on where the new model stands."
    )
    if (table["source"] == HUMAN).any():
        yield (
            "A new model with votes no longer counts as new by itself: name it when "
            "you fit again (new_models, or --new)."
        )
