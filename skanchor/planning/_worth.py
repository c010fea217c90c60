"""What a judge's verdicts on a new model are worth, in human votes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from skanchor._comparisons import HUMAN
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.planning._forecast import EVERY_JUDGE, Forecast, Targets
from skanchor.planning._outlook import rows_until

ALL_JUDGES = "all judges"
"""In place of a judge, for all of them together."""


@dataclass(frozen=True, eq=False, repr=False)
class Worth:
    """The worth of verdicts on new models, in human votes on the same models.

    A vote here is one against the opponents of the verdicts, in the same proportions.

    Attributes
    ----------
    table : DataFrame
        By ``model`` and ``judge``, with a row for all judges together.

        - ``verdicts``: number of verdicts.
        - ``replaces``: number of votes that would give the same variance if these
          verdicts were missing and those of the other judges were not.
        - ``alone``: number of votes that these verdicts are worth without other judges.
        - ``next_verdict``: number of votes that one more verdict is worth.
        - ``never_more``: number of votes that even infinitely many of these verdicts
          are worth, without other judges.
        - ``cost_per_vote``, if costs are given: cost of the verdicts over ``replaces``.

        Infinite if no number of votes gives this variance; NaN if there is no verdict.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> worth = anchor.worth()
    >>> worth.table.columns.tolist()
    ['verdicts', 'replaces', 'alone', 'next_verdict', 'never_more']
    >>> print(worth.lines()[0])
    The 114 verdicts of judge-alpha on ivory-lynx do the work of 153 human votes
    beside the other judges (alone: 160 human votes). One more is worth 1.3 human
    votes, and alone no number of them is worth more than 5,160 human votes.
    """

    table: pd.DataFrame

    def lines(self) -> list[str]:
        """Return the result in sentences."""
        return list(self._sentences())

    def __repr__(self) -> str:
        return "\n".join([repr(self.table.round(3)), "", *self.lines()])

    def _sentences(self) -> Iterator[str]:
        for row in self.to_dict():
            model, judge, n = row["model"], row["judge"], row["verdicts"]
            most, following = (
                _worded_votes(row["never_more"]),
                _worded_votes(row["next_verdict"]),
            )
            if not n:
                yield (
                    f"{judge} has no verdict on {model} yet. The first is worth "
                    f"{following}, and no number of them more than {most}."
                )
            elif judge == ALL_JUDGES:
                yield (
                    f"All {n:,.0f} verdicts on {model} do the work of "
                    f"{_worded_votes(row['replaces'])}; no number of them is worth "
                    f"more than {most}."
                )
            else:
                yield (
                    f"The {n:,.0f} verdicts of {judge} on {model} do the work of "
                    f"{_worded_votes(row['replaces'])} beside the other judges "
                    f"(alone: {_worded_votes(row['alone'])}). One more is worth "
                    f"{following}, and alone no number of them is worth more than "
                    f"{most}."
                )

    def to_dict(self) -> list[dict[str, Any]]:
        """Return plain data: the rows of the table."""
        rows = self.table.reset_index().to_dict("records")
        return [{str(name): value for name, value in row.items()} for row in rows]


def _worded_votes(number: float) -> str:
    if np.isinf(number):
        return "more human votes than there can be"
    if number < 0.005:
        return "hardly any human vote"
    if number >= 10:
        return f"{number:,.0f} human votes"
    return f"{number:.2g} human votes"


def worth_of(
    forecast: Forecast,
    model: Hashable | None = None,
    costs: Mapping[Any, float] | None = None,
) -> Worth:
    """Compute what verdicts on new models are worth in human votes.

    Parameters
    ----------
    forecast : Forecast
        Of a fitted pipeline.
    model : label, optional
        A new model; None means all.
    costs : mapping of label to float, optional
        Cost of a verdict, by judge; that of a vote, ``"human"``, is not used.

    Returns
    -------
    Worth

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.planning import Forecast, worth_of
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> parts = anchor.btl_, anchor.calibrator_, anchor.debiaser_
    >>> forecast = Forecast.of(anchor.result_, anchor._distinct_sample, *parts)
    >>> worth_of(forecast, "ivory-lynx").table.columns.tolist()
    ['verdicts', 'replaces', 'alone', 'next_verdict', 'never_more']
    """
    prices = None if costs is None else forecast.check_costs(costs)
    judges = [m for m in forecast.kinds if m != PEOPLE]
    if not judges:
        raise BattlesError(
            "There is no judge, so there are no verdicts whose worth could be computed."
        )
    if prices is not None and prices.keys() == {PEOPLE}:
        raise BattlesError(
            f"costs has the price of a vote ({HUMAN!r}) alone. What verdicts cost for "
            "each vote that they replace follows from the prices of verdicts: give "
            f"that of a judge, such as {forecast.label(judges[0])!r}, or of "
            f"{EVERY_JUDGE!r}."
        )
    found = {}
    for label in forecast.check_model(model):
        exchange = _VotesForVerdicts.of(forecast, label)
        for m in judges:
            found[label, forecast.label(m)] = exchange.row([m], prices)
        if len(judges) > 1:
            found[label, ALL_JUDGES] = exchange.row(judges, prices)
    table = pd.DataFrame.from_dict(found, orient="index")
    table.index = pd.MultiIndex.from_tuples(list(found), names=["model", "judge"])
    return Worth(table)


@dataclass(frozen=True, eq=False)
class _VotesForVerdicts:
    """Variances of one new score when rows on the model come or go.

    Attributes
    ----------
    forecast : Forecast
        Of a fitted pipeline.
    target : Targets
        The score.
    seen : dict of int to ndarray of shape (p, p)
        Information of the verdicts on the model, by judge.
    n_rows : dict of int to float
        Their number.
    kind : dict of int to ndarray of shape (p, p)
        Information of one verdict of each judge: the mean of those that there are, or
        else over the historical opponents.
    vote : ndarray of shape (p, p)
        Information of one vote, against the opponents of all these verdicts.
    """

    forecast: Forecast
    target: Targets
    seen: dict[int, Array]
    n_rows: dict[int, float]
    kind: dict[int, Array]
    vote: Array

    @classmethod
    def of(cls, forecast: Forecast, model: Hashable) -> _VotesForVerdicts:
        code = forecast.models.tolist().index(model)
        information, seen, n_rows, kind = forecast.information, {}, {}, {}
        shares = np.zeros(len(forecast.models))
        for m, kinds in forecast.kinds.items():
            own = kinds[kinds.model == code]
            if m == PEOPLE:
                continue
            seen[m] = information.sum({m: own.gram(own.seen)})
            n_rows[m] = float(own.n_rows.sum())
            np.add.at(shares, own.opponent, own.n_rows)
            if n_rows[m]:
                kind[m] = seen[m] / n_rows[m]
            else:
                new = forecast.offered(m, model)
                kind[m] = information.sum({m: new.bought(1.0 / max(len(new), 1))})
        if not shares.any():
            shares[~forecast.is_new] = 1.0
        votes = forecast.kinds[PEOPLE]
        votes = votes[votes.model == code]
        each = shares[votes.opponent]
        vote = information.sum({PEOPLE: votes.bought(each / each.sum())})
        target = forecast.targets([(model, None)])
        return cls(forecast, target, seen, n_rows, kind, vote)

    def variance(self, more: Array | float, endless: Array | None = None) -> float:
        """Variance with information added; with rows of some kinds without end."""
        split = self.forecast.split(self.target, more, endless)
        return float(self.target.parts(split)[0][0])

    def votes(self, base: Array | float) -> Callable[[float], float]:
        """Number of votes, beside a base, that bring the variance to a value."""
        along = self.forecast.along(self.target, self.vote, base)
        limit = self.variance(base, self.vote)
        return lambda wanted: rows_until(
            lambda n: float(self.target.parts(along(n))[0][0]), wanted, limit
        )

    @cached_property
    def nobody(self) -> Array:
        """What is lost with all verdicts on the model."""
        return -np.sum(list(self.seen.values()), axis=0)

    @cached_property
    def votes_alone(self) -> Callable[[float], float]:
        """As :meth:`votes`, without any verdict on the model."""
        return self.votes(self.nobody)

    def row(
        self, judges: list[int], prices: Mapping[int, float] | None
    ) -> dict[str, float]:
        """What the verdicts of some judges are worth together."""
        own = np.sum([self.seen[m] for m in judges], axis=0)
        endless = np.sum([self.kind[m] for m in judges], axis=0)
        n = sum(self.n_rows[m] for m in judges)
        each = own / n if n else endless / len(judges)
        information = self.forecast.information
        (w,) = information.weights(self.target.vectors).T
        found = {
            "verdicts": n,
            "replaces": self.votes(-own)(self.variance(0.0)) if n else np.nan,
            "alone": self.votes_alone(self.variance(self.nobody + own))
            if n
            else np.nan,
            "next_verdict": float((w @ each @ w) / (w @ self.vote @ w)),
            "never_more": self.votes_alone(self.variance(self.nobody, endless)),
        }
        if prices is not None:
            cost = sum(self.n_rows[m] * prices.get(m, np.nan) for m in judges)
            found["cost_per_vote"] = (
                cost / found["replaces"] if found["replaces"] > 0 else np.inf
            )
        return found
