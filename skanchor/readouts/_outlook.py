"""How many more rows bring an interval to a wanted width, or that none do."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skanchor._checks import check_level, is_number
from skanchor._model.layout import PEOPLE
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.readouts._answer import Answer, determined_models, records_of, table_by
from skanchor.readouts._plan import Targets

if TYPE_CHECKING:
    from skanchor import AnchorResult

NEGLIGIBLE = 0.05
"""Share of today's half width below which a limit is no news."""

SHARES = (0.75, 0.5, 0.25)
"""Default widths, as shares of today's."""


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
    asked = [] if widths is None else np.ravel(np.array(widths, dtype=object)).tolist()
    good = all(is_number(each) and 0.0 < each < np.inf for each in asked)
    if not good or (widths is not None and not asked):
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
        until = {w: plan.rows_until(target, unit, half) for w, unit in units.items()}
        for wanted in asked or [round(share * now, 3) for share in SHARES]:
            rows[label, wanted] = {way: until[way](wanted) for way in units}
    known = table_by(["model"], limits)
    return Outlook(
        table_by(["model", "width"], rows),
        tuple(_sentences(known, level)),
        {"limits": known, "level": level},
    )


def _sentences(limits: pd.DataFrame, level: float) -> Iterator[str]:
    for row in records_of(limits):
        model, now = row["model"], row["now"]
        yield f"The {100 * level:g} % interval of {model} is its score ±{now:.3f} now."
        for way in ("verdicts", "votes"):
            if row[way] > NEGLIGIBLE * now:
                yield (
                    f"{way.capitalize()} alone can never bring {model} below "
                    f"±{row[way]:.3f}."
                )
