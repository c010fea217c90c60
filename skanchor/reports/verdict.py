"""Whether intervals hold on a table, judged by models that were left out in turn."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scipy.stats import binom

from skanchor.reports.answer import percent

_DOUBTFUL = 0.05  # p-value below which coverage is in doubt
_FAILED = 0.01  # p-value below which intervals are said not to hold
_FEWEST = 5  # with fewer models, a good result says nothing


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
        The finding in a sentence.
    advice : str
        What to do about it; may be empty.
    """

    holds: Holds
    statement: str
    advice: str


def coverage_verdict(compatible: int, n_models: int, level: float = 0.95) -> Verdict:
    """Judge intervals by the models that were left out.

    A binomial test: its p-value is the chance that as few models or fewer would be
    compatible if intervals held and models were independent.

    Parameters
    ----------
    compatible : int
        Number of models whose score is compatible with their human score; see
        :func:`skanchor.evaluation.leave_one_model_out`.
    n_models : int
        Number of models left out.
    level : float, default=0.95
        Level of the intervals.

    Returns
    -------
    Verdict
        Doubtful where the p-value is below 5 %, no where it is below 1 %. Otherwise
        unknown with fewer than five models, and yes with more.
    """
    # P(C <= compatible) for C ~ Binomial(n_models, level).
    chance = float(binom.cdf(compatible, n_models, level)) if n_models else 1.0
    share = (
        f"{compatible} of {n_models} models left out were placed where people's votes "
        f"place them, within the errors of both; {percent(level)} should be."
    )
    if chance < _FAILED:
        return Verdict(
            Holds.NO,
            f"The intervals do not hold on this table. {share}",
            "Do not report them. Add features that the judges may react to, rank with "
            "item effects, drop judges that contradict people, and check again.",
        )
    if chance < _DOUBTFUL:
        return Verdict(
            Holds.DOUBTFUL,
            f"It is doubtful that the intervals hold on this table. {share}",
            "Look at the models that were missed: what have they in common? Then "
            "compare with item effects taken as random.",
        )
    if n_models < _FEWEST:
        return Verdict(
            Holds.UNKNOWN,
            f"Too few models to tell whether the intervals hold. {share}",
            "With five old models or more, better twenty, the check means something.",
        )
    return Verdict(
        Holds.YES,
        f"Nothing here speaks against the intervals. {share}",
        ""
        if n_models >= 20
        else f"With {n_models} models only gross faults would show.",
    )
