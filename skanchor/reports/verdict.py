"""Whether intervals hold on a table: the verdict on models that were left out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scipy.stats import binom

from skanchor.reports.answer import percent

_DOUBTFUL = 0.05
_FAILED = 0.01
_FEWEST = 5


class Holds(StrEnum):
    """Whether intervals hold."""

    YES = "yes"
    DOUBTFUL = "doubtful"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the models left out say of the intervals.

    Attributes
    ----------
    holds : {"yes", "doubtful", "no", "unknown"}
        In one word.
    statement : str
        What was found.
    advice : str
        What to do about it.
    """

    holds: Holds
    statement: str
    advice: str


def coverage_verdict(compatible: int, n_models: int, level: float = 0.95) -> Verdict:
    """Judge intervals by the models that were left out.

    Parameters
    ----------
    compatible : int
        Models whose score agreed with their human score, as
        :func:`skanchor.evaluation.leave_one_model_out` says.
    n_models : int
        Models left out.
    level : float, default=0.95
        Level of the intervals.

    Returns
    -------
    Verdict
        By the chance that as few or fewer would agree if intervals held and models
        were independent: doubtful below 5 %, no below 1 %. Fewer than five models say
        nothing, unless they fail.
    """
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
