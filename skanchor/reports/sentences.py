"""Numbers and cases behind each sentence: what is said, and what to do next.

The words are in ``templates/sentences.jinja``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from skanchor._battles import HUMAN
from skanchor.exceptions import DiagnosticWarning
from skanchor.readouts import breakdown_sentences
from skanchor.reports.tables import cell, label, records_of, rounded
from skanchor.warning_log import in_short

if TYPE_CHECKING:
    from jinja2 import Environment

    from skanchor._diagnostics import IntervalCheck
    from skanchor.reports.facts import Facts

IN_FULL = 3
"""Largest number of new models described one by one; tables have the others."""

NAMED = 6
"""Largest number of names in a sentence."""

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


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.6g} %"


def joined(names: Sequence[Any]) -> str:
    """Names with commas, and "and" before the last; only a few of many."""
    shown = [label(name) for name in names]
    if len(shown) > NAMED:
        shown = [*shown[: NAMED - 1], f"{len(shown) - NAMED + 1} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


# --------------------------------------------------------------------------- the answer
def answer(facts: Facts) -> list[str]:
    """Which ranks the new models have, and how sure that is; one text a paragraph."""
    inputs, level = facts.result.inputs, percent(facts.level)
    shares = [f"{percent(share)} {label(name)}" for name, share in inputs.mix]
    mix = [_say("mix", joined(shares), inputs.context)] if shares else []
    if not facts.new_models:
        best = facts.best.index.tolist()
        return [_say("best", level, joined(best), len(best)), _say("no_new"), *mix]
    new = facts.new_models
    lines = [_rank(facts, model) for model in new[:IN_FULL]]
    more = len(new) - len(lines)
    return [*lines, *mix, _say("ranks", level, len(facts.board), more)]


def _rank(facts: Facts, model: Any) -> str:
    """Rank, rank set, and chance to win against a model of average score."""
    score, row = facts.result.scores[model], facts.board.loc[model]
    ends = facts.result.conf_int(facts.level).loc[model]
    is_limited = np.isfinite(ends.to_numpy())
    low, high, n = int(row["rank_low"]), int(row["rank_high"]), len(facts.board)
    case = "any" if (low, high) == (1, n) else "one" if low == high else "set"
    if not is_limited.any() or not math.isfinite(score):
        case = "undetermined"
    # Historical scores have mean zero, so a score is the logit of this chance.
    chances = [_chance(value) for value in (score, ends["low"], ends["high"])]
    # A model that won, or lost, all its rows has one limit.
    limit = "" if is_limited.all() else "at least" if is_limited[0] else "at most"
    chance = _say("chance", limit, percent(facts.level), *chances)
    place = _ordinal(int(row["rank"]))
    return _say("rank", case, label(model), place, n, low, high, chance)


def _chance(score: float) -> str:
    """Chance to be preferred to a model of score zero, never shown as 0 or 100 %."""
    chance = 100.0 * expit(score)
    if chance < 1.0:
        return "under 1 %"
    return "over 99 %" if chance > 99.0 else f"{chance:.0f} %"


def _ordinal(n: int) -> str:
    # 11th, 12th and 13th, but 21st, 22nd and 23rd.
    tail = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10)
    return f"{n}{tail or 'th'}"


def best_names(facts: Facts) -> str:
    """Models that may be the best with their probabilities; of many the first five."""
    shown = [
        label(model) + ("" if math.isnan(p) else f" ({p:.2f})")
        for model, p in facts.best[: NAMED - 1].items()
    ]
    more = len(facts.best) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


# --------------------------------------------------------------- what to distrust
def cautions(facts: Facts) -> list[tuple[str, str]]:
    """What to know before relying on an interval, with advice that may be empty."""
    words, diagnostics = _words(), facts.diagnostics
    # Findings are listed with their advice.
    others = [one for one in facts.warnings if not isinstance(one, DiagnosticWarning)]
    pairs: list[tuple[str, str]] = []
    if diagnostics is not None:
        pairs += [(one.statement, words.advice[one.kind])
                  for one in diagnostics.findings_in_short()]  # fmt: skip
    pairs += [(line, words.leave_out) for line in _about_judges(facts.judges)]
    pairs += [(str(warning), "") for warning in in_short(others)]
    if diagnostics is None:
        pairs.append((words.no_diagnostics, ""))
    elif facts.check is None:
        pairs.append(words.unchecked)
    else:
        verdict = interval_verdict(facts.check)
        pairs.append((" ".join([verdict.statement, *verdict.findings]), verdict.advice))
    return [*pairs, words.favour]


def _about_judges(judges: pd.DataFrame) -> Iterator[str]:
    """Judges that prefer a side, or hardly agree with the order of the models."""
    if "first_side_rate" not in judges:
        return
    for judge, row in judges.iterrows():
        first, agreement = float(row["first_side_rate"]), float(row["agreement"])
        # Three standard errors of a share of one half; NaN is no finding.
        chance = 1.5 / max(float(row["rows"]), 1.0) ** 0.5
        side = share = agrees = ""
        if abs(first - 0.5) > max(SIDED, chance):
            side = "first" if first > 0.5 else "second"
            share = f"{100 * max(first, 1.0 - first):.0f} %"
        if agreement < AGREES:
            agrees = f"{100 * agreement:.0f} %"
        if side or agrees:
            corrected = bool(row["has_position_effect"])
            yield _say("judge", label(judge), side, share, corrected, agrees)


# ------------------------------------------------------------------ what to do next
def narrowing(facts: Facts) -> list[str]:
    """What the errors of the first new models are made of, and how far data help."""
    shown = facts.scale

    def in_unit(width: float) -> str:
        if math.isnan(width):
            return ""
        return f"±{width * shown.per_logit:.{shown.digits}f}"

    names = {
        "human": "votes",
        "judge": "single verdicts",
        "cross": "shared groups",
        "items": "item effects",
    }
    lines = []
    for model, row in facts.errors.head(IN_FULL).iterrows():
        parts = ", ".join(
            f"{cell(row[name], 'part').text} {words}"
            for name, words in names.items()
            if abs(row[name]) >= 0.005
        )
        votes = rounded(row["votes"]) if math.isfinite(row["votes"]) else ""
        limits = in_unit(row["verdicts"]), in_unit(row["judges"])
        half, same = in_unit(row["half_width"]), row["verdicts"] == row["judges"]
        level = percent(facts.level)
        lines.append(
            _say("narrowing", level, label(model), half, parts, *limits, same, votes)
        )
    return lines


def described(facts: Facts) -> list[Any]:
    """New models that are described in full: the best whose score is determined."""
    if facts.favours is None:
        return []
    is_known = facts.favours["gamma_sign"].notna().groupby(level="model").any()
    return [model for model in facts.new_models if is_known[model]][:IN_FULL]


def statements(facts: Facts) -> list[str]:
    """Of each described model, the statements that the smallest favour would undo."""
    if facts.favours is None or facts.benchmarks is None:
        return []
    models = described(facts)
    table = facts.favours[facts.favours.index.isin(models, level="model")]
    return list(breakdown_sentences(table, facts.benchmarks))


def purchases(facts: Facts) -> list[str]:
    """Where the first rows on a model are best spent, and what verdicts are worth."""
    if facts.worth is None:
        return []

    def opponents(model: Any, source: Any) -> str:
        costs = {source: 1.0}
        table = facts.fitted.design(PROBE, costs, [model], floor=0.0).table
        return joined(table.nlargest(2, "rows")["opponent"].tolist())

    lines = []
    for model in described(facts):
        worth = facts.worth.table.loc[model]
        # All judges together come last, where there are several.
        by_judge = worth["next_verdict"].iloc[: max(len(worth) - 1, 1)]
        judge, size = by_judge.idxmax(), float(by_judge.max())
        best = [""] * 3
        if size >= LITTLE:
            best = [label(judge), f"{size:.2g}", opponents(model, judge)]
        lines.append(_say("purchase", label(model), opponents(model, HUMAN), *best))
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
    n, holds = check.n_models, "yes"
    if check.coverage_p < TOO_FEW or check.p_value < FAILED:
        holds = "no"
    elif failed:
        holds = "doubtful"
    elif n < FEWEST:
        holds = "unknown"
    statement = _say("verdict", holds, n, _p(check.p_value))
    advice = _say("verdict_advice", holds, failed, n < PLENTY, n)
    return Verdict(holds, statement, tuple(_findings(check)), advice)  # type: ignore[arg-type]


def _findings(check: IntervalCheck) -> Iterator[str]:
    """One sentence for each test."""
    n = check.n_models
    yield _say(
        "placed", check.compatible, n, percent(check.level), _p(check.coverage_p)
    )
    if check.largest is not None and check.top is not None:
        top, miss = check.top, check.largest
        yield _say("largest", label(miss.model), _off(miss.z), _p(miss.p_value), n)
        is_largest = miss.model == top.model
        yield _say("top", label(top.model), _off(top.z), _p(top.p_value), is_largest)
    if check.direction is not None:
        gap, p = check.direction.gap, check.direction.p_value
        ends = ("low", "high") if gap > 0 else ("high", "low")
        how = f"good models too {ends[0]} and bad ones too {ends[1]}"
        yield _say("direction", p < DOUBTFUL, f"{abs(gap):.2f}", how, _p(p))


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


def _off(z: float) -> str:
    where = "above" if z > 0 else "below"
    return f"{abs(z):.1f} standard errors {where}"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


# ------------------------------------------------------------------------- the words
@cache
def template_source(name: str) -> str:
    """Text of a file of the folder ``templates``."""
    return (files("skanchor.reports") / "templates" / name).read_text("utf-8")


def new_environment() -> Environment:
    """The templates, without functions that they may call."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(template_source),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _words() -> Any:
    """The words: a macro for each sentence."""
    return new_environment().get_template("sentences.jinja").module


def _say(sentence: str, *values: Any) -> str:
    """A sentence with its values, on one line; names keep their blanks."""
    text = getattr(_words(), sentence)(*values)
    return re.sub(r"\s*\n\s*", " ", text).strip()
