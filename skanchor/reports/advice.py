"""What to do about each kind of finding of the diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skanchor._diagnostics import Diagnostics
from skanchor.exceptions import DiagnosticWarning
from skanchor.reports.verdict import coverage_verdict
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
"""By the kinds of `skanchor._diagnostics.KINDS`; empty where the finding says it."""


def points(
    result: RankingResult,
    warnings: Sequence[Warning] = (),
    words: Callable[[Warning], str] = str,
) -> list[tuple[str, str]]:
    """What to look at before believing an interval, and what to do.

    Parameters
    ----------
    result : RankingResult
        Of a fit.
    warnings : sequence of Warning
        What reading and fit have warned of.
    words : callable, default=str
        What puts a warning in words.

    Returns
    -------
    list of (str, str)
        Findings of this table first, then what else was warned of, then whether it has
        been checked on models whose place is known, then what no table can show.
    """
    found = result.diagnostics if isinstance(result, AnchorResult) else None
    said: list[tuple[str, str]] = []
    others = [each for each in warnings if not isinstance(each, DiagnosticWarning)]
    if found is not None:
        said += [
            (statement, TO_DO[kind]) for kind, statement in found.findings_in_short()
        ]
    said += [(words(warning), "") for warning in in_short(others)]
    if found is not None:
        said.append(_about_check(found, int((~result.is_new).sum())))
    else:
        said.append(("This method has no diagnostics that check its intervals.", ""))
    said.append(
        (
            "No table shows whether a judge knows the new model and favours it, as it "
            "may its own relatives.",
            "Leave out judges of the same family, and see whether the answer changes.",
        )
    )
    return said


def _about_check(found: Diagnostics, n_old: int) -> tuple[str, str]:
    if found.coverage is None:
        return (
            "Whether such intervals hold on this table has not been checked here.",
            "Let each old model play the new one: skanchor check, or check_coverage in "
            "Python.",
        )
    verdict = coverage_verdict(round(found.coverage * n_old), n_old)
    return verdict.statement, verdict.advice
