"""Numbers of rows: what verdicts are worth in votes, and how many an interval needs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skanchor._checks import check_level, is_number
from skanchor._model.fit import PEOPLE
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.readouts._answer import Answer, determined_models, records_of, table_by
from skanchor.readouts._plan import Plan, Targets, rows_until

if TYPE_CHECKING:
    from skanchor import AnchorResult

ALL_JUDGES = "all judges"
"""In place of a judge, for all of them together."""

NEGLIGIBLE = 0.05
"""Share of today's half width below which a limit is no news."""

SHARES = (0.75, 0.5, 0.25)
"""Default widths, as shares of today's."""

_NONE_YET = (
    "{judge} has no verdict on {model} yet. The first is worth {next_verdict}, and no "
    "number of them more than {never_more}."
)
_TOGETHER = (
    "All {verdicts:,.0f} verdicts on {model} do the work of {replaces}; no number of "
    "them is worth more than {never_more}."
)
_ALONE = (
    "The {verdicts:,.0f} verdicts of {judge} on {model} do the work of {replaces} "
    "beside the other judges (alone: {alone}). One more is worth {next_verdict}, and "
    "alone no number of them is worth more than {never_more}."
)


def worth(result: AnchorResult, model: Hashable | None = None) -> Answer:
    """The worth of verdicts on new models, in human votes.

    Verdicts are replaced by votes on the same model, against the opponents of its
    verdicts in the same proportions. The worth is the number of votes that gives the
    same reported variance. Votes on historical models are not changed.

    Parameters
    ----------
    model : label, optional
        A new model; None means all whose score is determined.

    Returns
    -------
    Answer
        By ``model`` and ``judge``, with a row for all judges together:

        - ``verdicts``: number of verdicts.
        - ``replaces``: number of votes that would give the same variance if these
          verdicts were missing and those of the other judges were not.
        - ``alone``: number of votes that these verdicts are worth without other judges.
        - ``next_verdict``: number of votes that one more verdict is worth.
        - ``never_more``: number of votes that even infinitely many of these verdicts
          are worth, without other judges.

        Infinite if no number of votes gives this variance; NaN if there is no verdict.

    Raises
    ------
    BattlesError
        If there is no new model, or none with a determined score; if a label is
        unknown; or if the method has no closed form for further rows: plug-ins,
        contexts, and learners without a linear span.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=1)
    >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
    >>> anchor.worth().table.columns.tolist()
    ['verdicts', 'replaces', 'alone', 'next_verdict', 'never_more']
    """
    plan = result.plan
    judges = plan.judges
    if not judges:
        raise BattlesError(
            "There is no judge, so there are no verdicts whose worth could be computed."
        )
    rows: dict[tuple[Any, Any], dict[str, float]] = {}
    for label in determined_models(result, model):
        rows.update(_exchange(plan, label, judges))
    table = table_by(["model", "judge"], rows)
    return Answer(table, tuple(_of_worth(table)))


def _exchange(
    plan: Plan, model: Any, judges: list[int]
) -> Iterator[tuple[tuple[Any, Any], dict[str, float]]]:
    """Rows of the table of one model, by model and judge."""
    target = plan.targets([(model, None)])
    seen, verdict, n_rows = {}, {}, {}
    met = np.zeros(len(plan.models))
    for m in judges:
        seen[m], by_opponent = plan.verdicts(model, m)
        n_rows[m] = float(by_opponent.sum())
        met += by_opponent
        # One verdict is the mean of those that there are.
        verdict[m] = seen[m] / n_rows[m] if n_rows[m] else plan.evenly(model, [m])
    if not met.any():
        met[~plan.fit.layout.is_new] = 1.0
    kinds = plan.kinds
    is_vote = (kinds.source == PEOPLE) & (kinds.model == plan.models.index(model))
    share = np.where(is_vote, met[kinds.opponent], 0.0)
    vote = kinds.information(share / share.sum())

    def variance(weights: Array) -> float:
        return float(target.variances(weights)[0][0])

    def votes(base: Array) -> Callable[[Array], float]:
        """Number of votes, beside a base, that do the work of other weights."""
        along = plan.along(target, vote, base)
        return lambda other: rows_until(along, variance, variance(other))

    without = -np.sum([seen[m] for m in judges], axis=0)
    votes_alone, now = votes(without), plan.weights(target)
    together = [judges] if len(judges) > 1 else []
    for group in [*([m] for m in judges), *together]:
        total = np.sum([seen[m] for m in group], axis=0)
        endless = np.sum([verdict[m] for m in group], axis=0)
        n = sum(n_rows[m] for m in group)
        following = total / n if n else endless / len(group)
        gains = ((now.T @ one @ now).item() for one in (following, vote))
        row = {"verdicts": n, "replaces": np.nan, "alone": np.nan}
        if n:
            row["replaces"] = votes(-total)(now)
            row["alone"] = votes_alone(plan.weights(target, without + total))
        row["next_verdict"] = next(gains) / next(gains)
        row["never_more"] = votes_alone(plan.limit(target, endless, without))
        yield (model, plan.sources[group[0]] if len(group) == 1 else ALL_JUDGES), row


def _of_worth(table: pd.DataFrame) -> Iterator[str]:
    for row in records_of(table):
        text = _NONE_YET if not row["verdicts"] else _ALONE
        text = _TOGETHER if row["judge"] == ALL_JUDGES and row["verdicts"] else text
        names = "replaces", "alone", "next_verdict", "never_more"
        yield text.format(**row | {name: _worded(row[name]) for name in names})


def _worded(number: float) -> str:
    """A number of votes in words."""
    if np.isinf(number):
        return "more human votes than there can be"
    if number < 0.005:
        return "hardly any human vote"
    return f"{number:{',.0f' if number >= 10 else '.2g'}} human votes"


# ----------------------------------------------------------------------------- outlook
class Outlook(Answer):
    """Numbers of rows with which the intervals of new models reach a half width.

    Attributes
    ----------
    table : DataFrame
        By ``model`` and half width ``width`` in logits: the number of further ``votes``
        (divided evenly over the historical models); the number of further ``verdicts``
        (divided evenly over judges and historical models); and ``both``, the number of
        each if votes and verdicts are added together. Zero if the width is reached
        already, infinite if no number reaches it.
    sentences : tuple of str
        The present half width, and the limits of votes and verdicts.
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


def outlook(
    result: AnchorResult,
    widths: Sequence[float] | None = None,
    model: Hashable | None = None,
    level: float = 0.95,
) -> Outlook:
    """How many more rows bring the intervals of new models to given half widths.

    Parameters
    ----------
    widths : sequence of float, optional
        Half widths in logits. None means three quarters, a half and a quarter of the
        present ones.
    model : label, optional
        A new model; None means all whose score is determined.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Outlook
        ``table`` of votes, of verdicts, and of equal numbers of both, infinite if no
        number reaches the half width; and ``limits``, the smallest half widths that any
        number of rows can reach.

    Raises
    ------
    BattlesError
        As for :meth:`worth`, and for widths that are not positive numbers.

    Notes
    -----
    A half width is the quantile times the predicted error. The intervals of a joint fit
    are a little longer away from zero, and shorter towards it.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=1)
    >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
    >>> anchor.outlook([0.1]).table.columns.tolist()
    ['votes', 'verdicts', 'both']
    """
    level, plan = check_level(level), result.plan
    chosen = [] if widths is None else np.ravel(np.array(widths, dtype=object)).tolist()
    good = all(is_number(width) and 0.0 < width < np.inf for width in chosen)
    if not good or (widths is not None and not chosen):
        raise BattlesError(
            "widths must be half widths in logits above zero, as in [0.2, 0.1], got "
            f"{widths!r}."
        )
    rows, limits = {}, {}
    for label in determined_models(result, model):
        target = plan.targets([(label, None)])

        def half(weights: Array, target: Targets = target) -> float:
            return float(target.half_widths(weights, level)[0])

        units = {
            "votes": plan.evenly(label, [PEOPLE]),
            "verdicts": plan.evenly(label, plan.judges),
        }
        units["both"] = units["votes"] + units["verdicts"]
        ends = {way: half(plan.limit(target, unit)) for way, unit in units.items()}
        now = half(plan.weights(target))
        limits[label] = {"now": now, **ends}
        along = {way: plan.along(target, unit) for way, unit in units.items()}
        for wanted in chosen or [round(share * now, 3) for share in SHARES]:
            until = {way: rows_until(one, half, wanted) for way, one in along.items()}
            rows[label, wanted] = until
    table = table_by(["model"], limits)
    return Outlook(
        table_by(["model", "width"], rows),
        tuple(_of_outlook(table, level)),
        {"limits": table, "level": level},
    )


def _of_outlook(limits: pd.DataFrame, level: float) -> Iterator[str]:
    for row in records_of(limits):
        model, now = row["model"], row["now"]
        yield f"The {100 * level:g} % interval of {model} is its score ±{now:.3f} now."
        for way in ("verdicts", "votes"):
            if row[way] > NEGLIGIBLE * now:
                yield (
                    f"No number of {way} alone can make the interval of {model} "
                    f"narrower than ±{row[way]:.3f}."
                )
