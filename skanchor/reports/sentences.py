"""What a report says in sentences: the answer, what to distrust, what to do next.

Here the numbers of a sentence are chosen and its case is decided. The words are in
``templates/sentences.jinja``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from skanchor._battles import HUMAN
from skanchor.exceptions import DiagnosticWarning
from skanchor.readouts import breakdown_sentences
from skanchor.reports.facts import IN_FULL
from skanchor.reports.tables import joined, label, percent, records_of
from skanchor.reports.wording import say, words
from skanchor.warning_log import in_short

if TYPE_CHECKING:
    from skanchor._diagnostics import IntervalCheck
    from skanchor.reports.facts import Facts

SIDED, AGREES = 0.2, 0.6
"""Distance from one half of the share of verdicts for one side, and share in agreement
with the order of the models, from which on and below which a judge is named."""

DOUBTFUL, TOO_FEW, FAILED = 0.05, 0.01, 0.001
"""Limits of p-values: of one test, below which intervals are in doubt; of the number of
models placed right, and of all tests together, below which they do not hold."""

FEWEST, PLENTY = 5, 20
"""With fewer models a good result says nothing, or only gross faults show."""

LITTLE = 0.005
"""Votes below which a verdict is worth hardly any."""

PROBE = 100
"""Rows of one source whose best opponents are named."""


# --------------------------------------------------------------------------- the answer
def answer(facts: Facts) -> list[str]:
    """Which ranks the new models have, and how sure that is; one text a paragraph."""
    new, inputs = facts.new_models, facts.result.inputs
    shown = [facts.standing(model) for model in new[:IN_FULL]]
    mix = [f"{percent(share)} {label(name)}" for name, share in inputs.mix]
    return say("answer", facts, shown, mix, len(new) - len(shown))


def by_section(facts: Facts) -> dict[str, list[tuple[str, str]]]:
    """Statements of a page by its sections, each with advice that may be empty."""
    fragile = [line for one in facts.fragile for line in one.sentences]
    run = words("run.jinja")
    plain = {
        "leaderboard": [run.best(facts)] if len(facts.best) else [],
        "errors": narrowing(facts),
        "change": [*statements(facts), *fragile],
        "worth": purchases(facts),
        "settings": [line for line in run.lines(facts).splitlines() if line],
    }
    lines = {
        name: [(line, "") for line in told] for name, told in plain.items() if told
    }
    lines["before"] = cautions(facts)
    if facts.check is not None:
        verdict = interval_verdict(facts.check)
        findings = [(line, "") for line in verdict.findings]
        lines["check"] = [(verdict.statement, verdict.advice), *findings]
    return lines


# --------------------------------------------------------------- what to distrust
def cautions(facts: Facts) -> list[tuple[str, str]]:
    """What to know before relying on an interval, with advice that may be empty."""
    known, diagnostics = words(), facts.diagnostics
    # Findings are listed with their advice.
    others = [one for one in facts.warnings if not isinstance(one, DiagnosticWarning)]
    pairs: list[tuple[str, str]] = []
    if diagnostics is not None:
        found = diagnostics.findings_in_short()
        pairs += [(one.statement, known.advice[one.kind]) for one in found]
    pairs += [(line, known.leave_out) for line in _about_judges(facts.judges)]
    pairs += [(str(warning), "") for warning in in_short(others)]
    if diagnostics is None:
        pairs.append((known.no_diagnostics, ""))
    elif facts.check is None:
        pairs.append(known.unchecked)
    else:
        verdict = interval_verdict(facts.check)
        pairs.append((" ".join([verdict.statement, *verdict.findings]), verdict.advice))
    return [*pairs, known.favour]


def _about_judges(judges: pd.DataFrame) -> Iterator[str]:
    """Judges that prefer a side, or hardly agree with the order of the models."""
    if "first_side_rate" not in judges:
        return
    for judge, row in judges.iterrows():
        # Three standard errors of a share of one half; NaN is no finding.
        chance = 1.5 / max(float(row["rows"]), 1.0) ** 0.5
        is_sided = abs(row["first_side_rate"] - 0.5) > max(SIDED, chance)
        if is_sided or row["agreement"] < AGREES:
            yield from say("judge", judge, row, is_sided, row["agreement"] < AGREES)


# ------------------------------------------------------------------ what to do next
def narrowing(facts: Facts) -> list[str]:
    """What the errors of the first new models are made of, and how far data help."""
    table = facts.errors.head(IN_FULL)
    return [line for model, row in table.iterrows()
            for line in say("narrowing", facts, model, row)]  # fmt: skip


def statements(facts: Facts) -> list[str]:
    """Of each described model, the statements that the smallest favour would undo."""
    if facts.favours is None or facts.benchmarks is None:
        return []
    is_described = facts.favours.index.isin(facts.described, level="model")
    return list(breakdown_sentences(facts.favours[is_described], facts.benchmarks))


def purchases(facts: Facts) -> list[str]:
    """Where the first rows on a model are best spent, and what verdicts are worth."""
    if facts.worth is None:
        return []

    def opponents(model: Any, source: Any) -> str:
        costs = {source: 1.0}
        table = facts.fitted.design(PROBE, costs, [model], floor=0.0).table
        return joined(table.nlargest(2, "rows")["opponent"].tolist())

    lines = []
    for model in facts.described:
        worth = facts.worth.table.loc[model]
        # All judges together come last, where there are several.
        by_judge = worth["next_verdict"].iloc[: max(len(worth) - 1, 1)]
        judge, size = by_judge.idxmax(), float(by_judge.max())
        of_judge = opponents(model, judge) if size >= LITTLE else ""
        by_vote = opponents(model, HUMAN)
        lines += say("purchase", model, by_vote, judge, f"{size:.2g}", of_judge)
    return lines


# -------------------------------------------------------------------------- the check
@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether intervals hold, by the models left out, and what to do about it."""

    holds: Literal["yes", "doubtful", "no", "unknown"]
    statement: str
    findings: tuple[str, ...]
    advice: str


def interval_verdict(check: IntervalCheck) -> Verdict:
    """Judge intervals by the tests on models that were left out."""
    p_values = {
        name: test.p_value
        for name in ("largest", "top", "direction")
        if (test := getattr(check, name)) is not None
    }
    p_values["coverage"] = check.coverage_p
    failed = [name for name, p in p_values.items() if p < DOUBTFUL]
    holds: Literal["yes", "doubtful", "no", "unknown"] = "yes"
    if check.coverage_p < TOO_FEW or check.p_value < FAILED:
        holds = "no"
    elif failed:
        holds = "doubtful"
    elif check.n_models < FEWEST:
        holds = "unknown"
    (statement,) = say("verdict", holds, check)
    advice = say("verdict_advice", holds, failed, check.n_models, PLENTY)
    findings = say("findings", check, DOUBTFUL)
    return Verdict(holds, statement, tuple(findings), " ".join(advice))


def check_record(check: IntervalCheck) -> dict[str, Any]:
    """The result of a check for programs; the keys are in ``docs/json.md``."""
    verdict = interval_verdict(check)
    coverage = {name: getattr(check, name) for name in ("compatible", "n_models")}
    return {
        "level": check.level,
        "holds": verdict.holds,
        **coverage,
        "verdict": verdict.statement,
        "findings": list(verdict.findings),
        "advice": verdict.advice,
        "tests": {
            "largest_miss": check.largest and asdict(check.largest),
            "best_model": check.top and asdict(check.top),
            "direction": check.direction and asdict(check.direction),
            "coverage": {**coverage, "p_value": check.coverage_p},
            "together": {"p_value": check.p_value},
        },
        "item_effects": check.item_effects,
        "models": records_of(check.table, index="model"),
    }
