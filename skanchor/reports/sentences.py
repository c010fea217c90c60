"""What a report says in sentences: the answer, what to distrust, what to do next.

Here the numbers of a sentence are chosen and its case is decided. The words are in the
folder ``templates``: ``answer.jinja`` and ``sentences.jinja``.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pandas as pd
from jinja2 import Environment, FunctionLoader, StrictUndefined
from scipy.special import expit

from skanchor.exceptions import DiagnosticWarning
from skanchor.readouts import breakdown_sentences
from skanchor.reports.tables import joined, label, percent, text_of
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


# -------------------------------------------------------------------------- templates
@cache
def template_source(name: str) -> str:
    """Text of a file of the folder ``templates``."""
    return (files("skanchor.reports") / "templates" / name).read_text("utf-8")


@cache
def environment() -> Environment:
    """The templates, those of pages with all text escaped."""
    made = Environment(
        loader=FunctionLoader(template_source),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "cell": text_of,
        "chance": _chance,
        "joined": joined,
        "label": label,
        "ordinal": _ordinal,
        "p": lambda p: "p < 0.001" if p < 0.001 else f"p = {p:.2g}",
        "percent": percent,
        "wrap": _wrap,
    }
    return made


@cache
def words(template: str = "sentences.jinja") -> Any:
    """Macros of a template, and advice by kind of finding."""
    # A page must not import these: what a macro returns there counts as escaped.
    return environment().get_template(template).module


def say(macro: str, *values: Any, template: str = "sentences.jinja") -> list[str]:
    """Paragraphs of a macro, each on one line; names keep their blanks."""
    text = getattr(words(template), macro)(*values)
    paragraphs = re.split(r"\n[ \t]*\n", text)
    lines = [re.sub(r"\s*\n\s*", " ", one).strip() for one in paragraphs]
    return list(filter(None, lines))


def _chance(share: float) -> str:
    """A chance in percent, never shown as 0 or 100 %."""
    if 0.01 <= share <= 0.99:
        return f"{100 * share:.0f} %"
    return "under 1 %" if share < 0.01 else "over 99 %"


def _ordinal(n: int) -> str:
    # 11th, 12th and 13th, but 21st, 22nd and 23rd.
    tail = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10)
    return f"{n}{tail or 'th'}"


def _wrap(text: str, width: int) -> str:
    """Break each line between words; those that follow are indented."""
    wrapper = textwrap.TextWrapper(
        max(width, 20),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    # A number is not parted from its sign.
    lines = text.replace(" %", "\N{NO-BREAK SPACE}%").splitlines()
    filled = "\n".join(wrapper.fill(line) for line in lines if line.strip())
    return filled.replace("\N{NO-BREAK SPACE}%", " %")


# ------------------------------------------------------------------------- sentences
def answer(facts: Facts) -> list[str]:
    """Which ranks the new models have, and how sure that is; one text a paragraph."""
    ends = facts.result.conf_int(facts.level)
    shown = []
    for model in facts.new_models[:IN_FULL]:
        limits = float(facts.result.scores[model]), *ends.loc[model, ["low", "high"]]
        # Historical scores have mean zero, so a score is the logit of a chance.
        chances = [float(expit(limit)) for limit in limits]
        finite = [math.isfinite(limit) for limit in limits]
        shown.append((model, facts.models.loc[model], chances, finite))
    mix = [f"{percent(share)} {label(name)}" for name, share in facts.inputs["mix"]]
    more = len(facts.new_models) - len(shown)
    # In a template of its own, as most commands print nothing else.
    return say("answer", facts, shown, mix, more, template="answer.jinja")


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
    largest, top, direction = (test and asdict(test) for test in tests.values())
    return {
        "level": check.level,
        "holds": holds,
        **coverage,
        "verdict": " ".join(say("verdict", holds, check)),
        "findings": say("findings", check, DOUBTFUL),
        "advice": " ".join(say("verdict_advice", holds, failed, check, PLENTY)),
        "tests": {
            "largest_miss": largest,
            "best_model": top,
            "direction": direction,
            "coverage": {**coverage, "p_value": check.coverage_p},
            "together": {"p_value": check.p_value},
        },
        "item_effects": check.item_effects,
        "models": check.table.rename_axis("model"),
    }
