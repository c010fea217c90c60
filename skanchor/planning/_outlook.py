"""How many more rows bring an interval to a wanted width, or that none do."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from skanchor._checks import check_level
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.planning._forecast import Forecast, Targets

MOST_ROWS = 1e12
"""Number of rows beyond which more of them are taken to change nothing."""

_FEWEST = 1e-6

WAYS = ("votes", "verdicts", "both")
"""What may be bought: human votes, verdicts, or as many of one as of the other."""

NEGLIGIBLE = 0.05
"""Share of today's half width below which a limit is no news."""

_SHARES = (0.75, 0.5, 0.25)
"""Default widths, as shares of today's."""


@dataclass(frozen=True, eq=False, repr=False)
class Outlook:
    """Numbers of rows with which the intervals of new models reach a half width.

    Attributes
    ----------
    table : DataFrame
        By ``model`` and half width ``width`` in logits: the number of further ``votes``
        (divided evenly over the historical models); the number of further ``verdicts``
        (divided evenly over judges and historical models); and ``both``, the number of
        each if votes and verdicts are added together. Zero if the width is reached
        already, infinite if no number reaches it.
    limits : DataFrame
        By model: half width ``now``, and the smallest half widths that any number of
        rows can reach.
    level : float
        Confidence level.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> outlook = anchor.outlook([0.2])
    >>> outlook.table.columns.tolist()
    ['votes', 'verdicts', 'both']
    """

    table: pd.DataFrame
    limits: pd.DataFrame
    level: float

    def lines(self) -> list[str]:
        """Return the result in sentences."""
        return list(self._sentences())

    def __repr__(self) -> str:
        shown = self.table.map(
            lambda x: "never" if np.isinf(x) else f"{np.ceil(x):,.0f}"
        )
        return "\n".join([repr(shown), "", *self.lines()])

    def _sentences(self) -> Iterator[str]:
        for row in self.limits.reset_index().to_dict("records"):
            model, now = row["model"], row["now"]
            yield (
                f"The {100 * self.level:g} % interval of {model} is its score "
                f"±{now:.3f} now."
            )
            for way in ("verdicts", "votes"):
                if row[way] > NEGLIGIBLE * now:
                    yield (
                        f"{way.capitalize()} alone can never bring {model} below "
                        f"±{row[way]:.3f}."
                    )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: ``rows``, ``limits`` and ``level``."""
        return {
            "rows": self.table.reset_index().to_dict("records"),
            "limits": self.limits.reset_index().to_dict("records"),
            "level": self.level,
        }


def outlook_of(
    forecast: Forecast,
    widths: Sequence[float] | None = None,
    model: Hashable | None = None,
    level: float = 0.95,
) -> Outlook:
    """Compute the numbers of rows with which half widths are reached.

    Parameters
    ----------
    forecast : Forecast
        Of a fitted pipeline.
    widths : sequence of float, optional
        Half widths in logits; None means three quarters, a half and a quarter of
        the present ones.
    model : label, optional
        A new model; None means all.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Outlook

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.planning import Forecast, outlook_of
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> parts = anchor.btl_, anchor.calibrator_, anchor.debiaser_
    >>> forecast = Forecast.of(anchor.result_, anchor._distinct_sample, *parts)
    >>> outlook_of(forecast, [0.2]).table.columns.tolist()
    ['votes', 'verdicts', 'both']
    """
    level, asked = check_level(level), _check_widths(widths)
    rows, limits = {}, {}
    for label in forecast.check_model(model):
        target = forecast.targets([(label, None)])
        judges = [m for m in forecast.kinds if m != PEOPLE]
        units = {
            "votes": evenly(forecast, label, [PEOPLE]),
            "verdicts": evenly(forecast, label, judges),
        }
        units["both"] = units["votes"] + units["verdicts"]
        now = _half_width(target, forecast.split(target), level)
        ends = {
            way: _half_width(target, forecast.split(target, endless=unit), level)
            for way, unit in units.items()
        }
        limits[label] = {"now": now, **ends}
        shrunk = {
            way: _width_by_rows(forecast, target, unit, level)
            for way, unit in units.items()
        }
        for wanted in asked or [round(share * now, 3) for share in _SHARES]:
            rows[label, wanted] = {
                way: rows_until(shrunk[way], wanted, ends[way]) for way in WAYS
            }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(list(rows), names=["model", "width"])
    known = pd.DataFrame.from_dict(limits, orient="index").rename_axis("model")
    return Outlook(table, known, level)


def _half_width(target: Targets, split: tuple[Array, Array], level: float) -> float:
    """Half width of the interval of a single target."""
    return float(target.half_widths(split, level)[0])


def _width_by_rows(
    forecast: Forecast, target: Targets, unit: Array, level: float
) -> Callable[[float], float]:
    """The same by the number of further rows of one kind."""
    along = forecast.along(target, unit)
    return lambda n: _half_width(target, along(n), level)


def _check_widths(widths: Sequence[float] | None) -> list[float]:
    """Half widths as floats; refuse what is none."""
    if widths is None:
        return []
    try:
        found = [float(each) for each in np.atleast_1d(np.asarray(widths, dtype=float))]
    except (TypeError, ValueError):
        found = []
    if not found or not all(np.isfinite(each) and each > 0 for each in found):
        raise BattlesError(
            "widths must be half widths in logits above zero, as in [0.2, 0.1], got "
            f"{widths!r}."
        )
    return found


def evenly(forecast: Forecast, model: Hashable, sources: Sequence[int]) -> Array:
    """Information of one row on a model, divided evenly over sources and opponents.

    Parameters
    ----------
    forecast : Forecast
        Of a fitted pipeline.
    model : label
        A new model.
    sources : sequence of int
        Codes.

    Returns
    -------
    ndarray of shape (p, p)
    """
    grams = {}
    for m in sources:
        kinds = forecast.offered(m, model)
        if len(kinds):
            grams[m] = kinds.bought(1.0 / (len(sources) * len(kinds)))
    return forecast.information.sum(grams)


def rows_until(
    error: Callable[[float], float], wanted: float, limit: float | None = None
) -> float:
    """Smallest number of rows with which an error is at most a given one.

    Parameters
    ----------
    error : callable
        Of the number of rows; it falls as the number grows.
    wanted : float
        Error to reach.
    limit : float, optional
        What the error tends to; None where it is not known.

    Returns
    -------
    float
        Zero where no row is needed, infinite where no number of rows suffices.
    """
    # What is reached in the limit only is never reached; less than a millionth is
    # rounding.
    if limit is not None and not limit < wanted * (1.0 - 1e-9):
        return np.inf
    low, high = _FEWEST, 1.0
    if error(low) <= wanted:
        return 0.0
    while error(high) > wanted:
        low, high = high, 10.0 * high
        if high > MOST_ROWS:
            return np.inf
    found = brentq(
        lambda x: np.log(error(np.exp(x)) / wanted), np.log(low), np.log(high),
        xtol=1e-10, rtol=1e-12,
    )  # fmt: skip
    return float(np.exp(found))
