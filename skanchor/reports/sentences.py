"""What a report says in sentences: the answer, what to distrust, what to do next.

Here the numbers of a sentence are chosen and its case is decided. The words are in
``templates/answer.jinja`` and ``templates/sentences.jinja``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd
from scipy.special import expit

from skanchor.exceptions import DiagnosticWarning
from skanchor.readouts import breakdown_sentences
from skanchor.reports.tables import label, percent
from skanchor.reports.wording import say, words
from skanchor.warning_log import in_short

if TYPE_CHECKING:
    from skanchor._diagnostics.interval_check import IntervalCheck
    from skanchor.reports.facts import Facts

IN_FULL = 3
"""Largest number of new models described one by one; tables have the others."""

SIDED, AGREES = 0.2, 0.6
"""Distance from one half of the share of verdicts for one side, and share in agreement
with the order of the models, from which on and below which a judge is named."""

DOUBTFUL, TOO_FEW, FAILED = 0.05, 0.01, 0.001
"""Limits of p-values: of one test, below which intervals are in doubt; of the number of
models placed right, and of all tests together, below which they do not hold."""

FEWEST, PLENTY = 5, 20
"""With fewer models a good result says nothing, or only gross faults show."""


def answer(facts: Facts) -> list[str]:
    """Which ranks the new models have, and how sure that is; one text a paragraph."""
    shown = [_standing(facts, model) for model in facts.new_models[:IN_FULL]]
    mix = [f"{percent(share)} {label(name)}" for name, share in facts.inputs["mix"]]
    more = len(facts.new_models) - len(shown)
    # In a template of its own, as most commands print nothing else.
    return say("answer", facts, shown, mix, more, template="answer.jinja")


def _standing(facts: Facts, model: Any) -> dict[str, Any]:
    """Rank and rank set of a model, and its chances against one of mean score."""
    row, ends = facts.models.loc[model], facts.result.conf_int(facts.level).loc[model]
    score = float(facts.result.scores[model])
    has_low, has_high = (math.isfinite(end) for end in ends)
    return {
        "model": model,
        **{name: int(row[name]) for name in ("rank", "rank_low", "rank_high")},
        "n": len(facts.models),
        "determined": math.isfinite(score) and (has_low or has_high),
        # A model that won, or lost, all its rows has one limit.
        "has_low": has_low,
        "has_high": has_high,
        # Historical scores have mean zero, so a score is the logit of a chance.
        "chances": [float(expit(one)) for one in (score, ends["low"], ends["high"])],
    }


def cautions(facts: Facts) -> list[tuple[str, str]]:
    """What to know before relying on an interval, with advice that may be empty."""
    sentences, diagnostics = words(), facts.diagnostics
    pairs: list[tuple[str, str]] = []
    if diagnostics is not None:
        findings: Any = in_short(diagnostics.findings())
        pairs += [(str(one), sentences.advice.get(one.code, "")) for one in findings]
    pairs += [(line, sentences.leave_out) for line in _about_judges(facts.judges)]
    # The thresholds of the diagnostics are those findings.
    others = (w for w in facts.short_warnings if not isinstance(w, DiagnosticWarning))
    pairs += [(str(warning), "") for warning in others]
    if diagnostics is None:
        pairs.append((sentences.no_diagnostics, ""))
    elif facts.check is None:
        pairs.append(sentences.unchecked)
    else:
        check = check_record(facts.check)
        text = " ".join([check["verdict"], *check["findings"]])
        pairs.append((text, check["advice"]))
    lines = favours_in_words(facts.favours, facts.benchmarks, facts.new_models)
    return [*pairs, sentences.favour, *((line, "") for line in lines)]


def favours_in_words(
    favours: pd.DataFrame | None, marks: pd.DataFrame | None, models: Sequence[Any]
) -> list[str]:
    """Which favours would undo what is said of the first of these new models."""
    if favours is None or marks is None:
        return []
    first = favours.index.isin(models[:IN_FULL], level="model")
    return list(breakdown_sentences(favours[first], marks))


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


def check_record(check: IntervalCheck) -> dict[str, Any]:
    """Whether intervals hold, by the models left out, and what to do about it.

    The keys are those of ``check`` in ``docs/json.md``.
    """
    tests = {name: getattr(check, name) for name in ("largest", "top", "direction")}
    p_values = {name: test.p_value for name, test in tests.items() if test is not None}
    p_values["coverage"] = check.coverage_p
    failed = [name for name, p in p_values.items() if p < DOUBTFUL]
    holds = "yes"
    if check.coverage_p < TOO_FEW or check.p_value < FAILED:
        holds = "no"
    elif failed:
        holds = "doubtful"
    elif check.n_models < FEWEST:
        holds = "unknown"
    coverage = {"compatible": check.compatible, "n_models": check.n_models}
    return {
        "level": check.level,
        "holds": holds,
        **coverage,
        "verdict": " ".join(say("verdict", holds, check)),
        "findings": say("findings", check, DOUBTFUL),
        "advice": " ".join(say("verdict_advice", holds, failed, check, PLENTY)),
        "tests": {
            "largest_miss": check.largest and asdict(check.largest),
            "best_model": check.top and asdict(check.top),
            "direction": check.direction and asdict(check.direction),
            "coverage": {**coverage, "p_value": check.coverage_p},
            "together": {"p_value": check.p_value},
        },
        "item_effects": check.item_effects,
        "models": check.table.rename_axis("model"),
    }
