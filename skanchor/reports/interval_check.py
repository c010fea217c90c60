"""Whether intervals hold on a table, by models left out in turn: verdict and tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from skanchor._diagnostics import IntervalCheck
from skanchor.reports.answers import label, percent
from skanchor.reports.document import Block, Points, Section, Table, Text
from skanchor.reports.tables import table_of

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


# ----------------------------------------------------------------------------- tables
# Columns of the table: heading, and number of decimals or kind of the cells.
_COLUMNS: dict[str, tuple[str, int | str]] = {
    "true_score": ("by votes", 2),
    "score": ("by judges", 2),
    "z": ("miss in s.e.", 1),
    "p_adjusted": ("adjusted p", 3),
    "compatible": ("agrees", "yes"),
    "low": ("low", 2),
    "high": ("high", 2),
    "true_rank": ("rank by votes", 0),
    "rank": ("by judges", 0),
    "rank_low": ("from", 0),
    "rank_high": ("to", 0),
}

_TREATED = {"none": "left out", "random": "taken as random"}


def check_table(check: IntervalCheck) -> Table:
    """Lay out the models that were left out.

    Parameters
    ----------
    check : IntervalCheck
        Result of :func:`skanchor.evaluation.check_intervals`.

    Returns
    -------
    Table
        One row for each model.
    """
    return table_of(
        check.table,
        "Each historical model in turn, placed without its votes",
        _COLUMNS,
        name="check-table",
    )


def check_notes(check: IntervalCheck) -> list[str]:
    """Say how the table is to be read, and which intervals were tested.

    Parameters
    ----------
    check : IntervalCheck
        Result of :func:`skanchor.evaluation.check_intervals`.

    Returns
    -------
    list of str
        Sentences.
    """
    notes = [
        "The miss is the score by judges less that by votes, in standard errors of "
        "this difference; its p-value is adjusted for all models. A model agrees if "
        "its scores differ by no more than their errors allow at "
        f"{percent(check.level)}.",
        "Ranks are among the other models with votes; from and to bound the rank set.",
    ]
    if check.item_effects is not None:
        notes.append(
            "All fits have the settings of the ranking: item effects are "
            f"{_TREATED[check.item_effects]}."
        )
    return notes


def check_section(check: IntervalCheck) -> Section:
    """Section of a report about the check.

    Parameters
    ----------
    check : IntervalCheck
        Result of :func:`skanchor.evaluation.check_intervals`.

    Returns
    -------
    Section
    """
    verdict = interval_verdict(check)
    blocks: list[Block] = [
        Text(verdict.statement),
        Points([(finding, "") for finding in verdict.findings]),
        check_table(check),
        Text(" ".join(check_notes(check)), is_note=True),
    ]
    if verdict.advice:
        blocks.insert(2, Text(verdict.advice))
    return Section("check", "Check on models whose votes are known", blocks)
