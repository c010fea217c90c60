"""Whether intervals hold on a table, judged by models that were left out in turn."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from skanchor.reports.answers import label, percent

if TYPE_CHECKING:
    from skanchor._diagnostics import IntervalCheck

DOUBTFUL = 0.05
"""P-value of one test below which the intervals are in doubt."""

TOO_FEW = 0.01
"""P-value of the number of models placed right, below which intervals do not hold."""

FAILED = 0.001
"""P-value of all tests together below which they do not hold either."""

FEWEST = 5
"""With fewer models, a good result says nothing."""

PLENTY = 20
"""With fewer models, only gross faults show."""


class Holds(StrEnum):
    """Whether intervals hold."""

    YES = "yes"
    DOUBTFUL = "doubtful"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether intervals hold, judged by the models left out, with advice.

    Attributes
    ----------
    holds : {"yes", "doubtful", "no", "unknown"}
        Whether they hold.
    statement : str
        The verdict in a sentence.
    findings : tuple of str
        What each test found, in a sentence with its p-value.
    advice : str
        What to do about it; may be empty.
    """

    holds: Holds
    statement: str
    findings: tuple[str, ...]
    advice: str

    @property
    def text(self) -> str:
        """Verdict and findings as one paragraph."""
        return " ".join([self.statement, *self.findings])


def interval_verdict(check: IntervalCheck) -> Verdict:
    """Judge intervals by the tests on models that were left out.

    Parameters
    ----------
    check : IntervalCheck
        Result of :func:`skanchor.evaluation.check_intervals`.

    Returns
    -------
    Verdict
        "No" if the p-value of the number of compatible models is below 1 %, or that of
        all tests together below .1 %. "Doubtful" if the p-value of one test is below
        5 %. Otherwise "unknown" with fewer than five models, and "yes" with five or
        more.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import check_intervals
    >>> from skanchor.reports import interval_verdict
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(2000, 200, n_models=6, random_state=0)
    >>> anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    >>> check = check_intervals(anchor, data.X, data.y)
    >>> print(interval_verdict(check).statement)
    No test speaks against the intervals.
    """
    p_values = {
        name: test.p_value
        for name in ("largest", "top", "direction")
        if (test := getattr(check, name)) is not None
    }
    p_values["coverage"] = check.coverage_p
    failed = [name for name, p in p_values.items() if p < DOUBTFUL]
    advice, n_models = " ".join(_ADVICE[name] for name in failed), check.n_models
    if check.coverage_p < TOO_FEW or check.p_value < FAILED:
        holds, statement = Holds.NO, "The intervals do not hold on this table "
        statement += f"({_p(check.p_value)}, all tests together)."
        advice = f"Do not report them as they are. {advice}".strip()
    elif failed:
        holds = Holds.DOUBTFUL
        statement = "It is doubtful that the intervals hold on this table."
    elif n_models < FEWEST:
        holds = Holds.UNKNOWN
        statement = f"{n_models} models are too few to tell whether the intervals hold."
        advice = (
            "Five models with votes or more, better twenty, are needed for this check."
        )
    else:
        holds, statement = Holds.YES, "No test speaks against the intervals."
        if n_models < PLENTY:
            advice = f"With {n_models} models only gross faults would show."
    return Verdict(holds, statement, tuple(_findings(check)), advice)


_ADVICE = {
    "largest": "Find out what sets that model apart: a new model like it may be "
    "misplaced as much. Add old models like it, or ask people about the new one.",
    "top": "Do not trust the place of a new model at the top of the leaderboard: ask "
    "people about it. Take item effects as random, look at their plot, and check "
    "again.",
    "direction": "Take item effects as random, look at their plot, and check again; "
    "until then, intervals of models near either end of the leaderboard are too short.",
    "coverage": "Look at the models that were missed: what have they in common? Add "
    "features that the judges may react to, take item effects as random, or leave out "
    "judges that contradict people, and check again.",
}


def _findings(check: IntervalCheck) -> list[str]:
    """One sentence for each test."""
    found = [
        f"{check.compatible} of {check.n_models} models left out were placed where "
        f"people's votes place them, within the errors of both; "
        f"{percent(check.level)} should be ({_p(check.coverage_p)})."
    ]
    if check.largest is not None and check.top is not None:
        top, miss = check.top, check.largest
        found.append(
            f"The largest miss is {label(miss.model)}: its score is {_off(miss.z)} its "
            f"human score ({_p(miss.p_value)}, adjusted for the {check.n_models} "
            "models)."
        )
        found.append(
            f"It is the best of the models left out; a miss as large of the best alone "
            f"has {_p(top.p_value)}."
            if miss.model == top.model
            else f"The best of them, {label(top.model)}, is {_off(top.z)} its human "
            f"score ({_p(top.p_value)})."
        )
    if check.direction is not None:
        gap, p = check.direction.gap, check.direction.p_value
        how = (
            "good models too low and bad ones too high"
            if gap > 0
            else "good models too high and bad ones too low"
        )
        found.append(
            f"From the best model to the worst, the misses change by {abs(gap):.2f} "
            f"logits, which places {how} ({_p(p)})."
            if p < DOUBTFUL
            else f"The misses show no trend from the best model to the worst ({_p(p)})."
        )
    return found


def _off(z: float) -> str:
    where = "above" if z > 0 else "below"
    return f"{abs(z):.1f} standard errors {where}"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"
