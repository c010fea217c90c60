"""What to know before relying on a result, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from skanchor._diagnostics import Diagnostics
from skanchor.exceptions import DiagnosticWarning
from skanchor.reports.answers import label
from skanchor.reports.interval_check import interval_verdict
from skanchor.results import AnchorResult, RankingResult
from skanchor.warning_log import in_short

TO_DO = {
    "item-effects": "Rank again with item effects as random, and compare the "
    "intervals.",
    "scale": "Add human votes between models that differ clearly.",
    "weak-judge": "Leave the judge out and see whether the answer changes; if it is "
    "all there is, add verdicts or a better judge.",
    "few-votes": "",
    "information": "",
    "overlap": "Compare the new model's answers with those of the old ones (longer, "
    "other markup), and add old models that answer like it.",
    "influence": "Look at these rows first. With more rows, or more groups, each has "
    "less influence.",
    "correction": "Try another form of bias (splines, boosted trees, the automatic "
    "choice), or add the feature that the judges may react to.",
    "beyond": "Rely on the direction, not on the distance, and ask people about this "
    "model.",
    "self-judged": "",
    "change": "Find out whether the judge's version or prompt changed; if so, have it "
    "judge some old models again.",
    "curved-scale": "Take item effects as random, look at their plot, and compare.",
    "ties": "Rank again with ties left out, and compare.",
    "disagreement": "Ask people about this model.",
}
"""Advice by kind of finding (`skanchor._diagnostics.KINDS`).

Empty where the text of the finding already says what to do.
"""


SIDED = 0.2
"""Distance from one half of the share of verdicts for the side shown first, from which
a judge is named."""

AGREES = 0.6
"""Share of verdicts in agreement with the order of the models, below which a judge is
named. Chance alone gives one half."""


def points(
    result: RankingResult,
    warnings: Sequence[Warning] = (),
    judges: pd.DataFrame | None = None,
) -> list[tuple[str, str]]:
    """List what to know before relying on an interval, and what to do about it.

    Parameters
    ----------
    result : RankingResult
        The result of a fit.
    warnings : sequence of Warning
        Warnings of reading the table and of the fit.
    judges : DataFrame, optional
        What the rows say of each judge, as `skanchor.AnchorPipeline.summary` returns.

    Returns
    -------
    list of (str, str)
        Pairs of a statement and its advice, which may be empty. The order is: findings
        of the diagnostics, judges that prefer a side or hardly agree with the order of
        the models, other warnings, whether coverage was checked on historical
        models, and a caveat that no table can settle.
    """
    diagnostics = result.diagnostics if isinstance(result, AnchorResult) else None
    pairs: list[tuple[str, str]] = []
    # A DiagnosticWarning repeats a finding, and findings are listed with their advice.
    others = [each for each in warnings if not isinstance(each, DiagnosticWarning)]
    if diagnostics is not None:
        pairs += [
            (finding.statement, TO_DO[finding.kind])
            for finding in diagnostics.findings_in_short()
        ]
    pairs += _about_judges(judges)
    pairs += [(str(warning), "") for warning in in_short(others)]
    if diagnostics is not None:
        pairs += _about_check(diagnostics)
    else:
        pairs.append(("This method has no diagnostics that check its intervals.", ""))
    pairs.append(
        (
            "No table shows whether a judge recognises the new model and favours it, "
            "as judges may favour models of their own family.",
            "Leave out judges of the same family, and see whether the answer changes.",
        )
    )
    return pairs


def _about_judges(judges: pd.DataFrame | None) -> Iterator[tuple[str, str]]:
    """Statements and advice about judges of little worth."""
    if judges is None or "first_side_rate" not in judges:
        return
    for judge, row in judges.iterrows():
        said = []
        first, agreement = float(row["first_side_rate"]), float(row["agreement"])
        # Three standard errors of a share of one half; NaN is no finding.
        chance = 1.5 / max(float(row["rows"]), 1.0) ** 0.5
        if abs(first - 0.5) > max(SIDED, chance):
            side, share = ("first", first) if first > 0.5 else ("second", 1.0 - first)
            text = (
                f"prefers the side shown {side} in {100 * share:.0f} % of its verdicts"
            )
            if not row["has_position_effect"]:
                text += ", which is not corrected for"
            said.append(text)
        if agreement < AGREES:
            said.append(
                "agrees with the order of the models in "
                f"{100 * agreement:.0f} %, where chance gives 50 %"
            )
        if said:
            yield (
                f"Judge {label(judge)} {' and '.join(said)}.",
                "Leave the judge out and see whether the answer changes.",
            )


def _about_check(diagnostics: Diagnostics) -> list[tuple[str, str]]:
    """Statements and advice about the check that leaves out historical models."""
    if diagnostics.check is None:
        return [
            (
                "Whether such intervals hold on this table has not been checked here.",
                "Treat each historical model in turn as if it were new: skanchor "
                "check, or skanchor.evaluation.check_intervals in Python.",
            )
        ]
    verdict = interval_verdict(diagnostics.check)
    return [(verdict.text, verdict.advice)]
