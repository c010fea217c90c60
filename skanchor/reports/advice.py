"""What to do about each kind of finding of the diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skanchor._diagnostics import Diagnostics
from skanchor.exceptions import DiagnosticWarning
from skanchor.reports.verdict import interval_verdict
from skanchor.results import AnchorResult, RankingResult
from skanchor.warning_log import in_short

TO_DO = {
    "item effects": "Rank again with item effects as random, and compare the "
    "intervals.",
    "scale": "Add human votes between models that differ clearly.",
    "weak judge": "Leave the judge out and see whether the answer changes; if it is "
    "all there is, add verdicts or a better judge.",
    "few votes": "",
    "information": "",
    "overlap": "Look at how the new model's answers differ from the old ones' "
    "(longer, other markup), and add old models that answer like it.",
    "influence": "Look at what carries so much first. More rows, or more groups, make "
    "each weigh less.",
    "correction": "Try another form of bias (splines, boosted trees, the automatic "
    "choice), or add the feature that the judges may react to.",
    "beyond": "Take the direction as sure and the distance as a guess, and ask people "
    "about this model.",
    "self-judged": "",
    "change": "Find out whether the judge's version or prompt changed; if so, let it "
    "judge some old models again.",
    "curved scale": "Rank again with curved scales of the judges, and compare.",
    "ties": "Rank again with ties left out, and compare.",
    "disagreement": "See in the table of judges who places it where, and ask people "
    "about this model.",
}
"""Advice by kind of finding (`skanchor._diagnostics.KINDS`).

Empty where the text of the finding already says what to do.
"""


def points(
    result: RankingResult,
    warnings: Sequence[Warning] = (),
    words: Callable[[Warning], str] = str,
) -> list[tuple[str, str]]:
    """List what to check before believing an interval, and what to do about it.

    Parameters
    ----------
    result : RankingResult
        The result of a fit.
    warnings : sequence of Warning
        Warnings of reading the table and of the fit.
    words : callable, default=str
        Turns a warning into text.

    Returns
    -------
    list of (str, str)
        Pairs of a statement and its advice, which may be empty. The order is: findings
        of the diagnostics, other warnings, whether coverage was checked on historical
        models, and a caveat that no table can settle.
    """
    diagnostics = result.diagnostics if isinstance(result, AnchorResult) else None
    pairs: list[tuple[str, str]] = []
    # A DiagnosticWarning repeats a finding, and findings are listed with their advice.
    others = [each for each in warnings if not isinstance(each, DiagnosticWarning)]
    if diagnostics is not None:
        pairs += [
            (statement, TO_DO[kind])
            for kind, statement in diagnostics.findings_in_short()
        ]
    pairs += [(words(warning), "") for warning in in_short(others)]
    if diagnostics is not None:
        pairs += _about_check(diagnostics)
    else:
        pairs.append(("This method has no diagnostics that check its intervals.", ""))
    pairs.append(
        (
            "No table shows whether a judge knows the new model and favours it, as it "
            "may its own relatives.",
            "Leave out judges of the same family, and see whether the answer changes.",
        )
    )
    return pairs


def _about_check(diagnostics: Diagnostics) -> list[tuple[str, str]]:
    """Statements and advice about the check that leaves out historical models."""
    if diagnostics.check is None:
        return [
            (
                "Whether such intervals hold on this table has not been checked here.",
                "Treat each historical model in turn as if it were new: skanchor "
                "report --check, skanchor check, or check_coverage in Python.",
            )
        ]
    verdict = interval_verdict(diagnostics.check)
    return [(verdict.text, verdict.advice)]
