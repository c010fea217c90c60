"""``skanchor worth``, ``outlook`` and ``design``: what to buy next, and why."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.method import add_fit, add_method, check_flags, fit_method
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.pairs import numbers_of
from skanchor._cli.table import add_table, typed_label

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline
    from skanchor.planning import Outlook, Worth
    from skanchor.reports import Table


# -------------------------------------------------------------------------- flags
def add_costs(flags: Flags) -> None:
    """Add the flag of prices."""
    flags.value(
        "--costs",
        "SOURCE=PRICE",
        "price of a row: of a vote as human=1, of a judge's verdict as "
        "gpt-4=0.02, of all other judges' as judges=0.05",
        nargs="+",
        action="extend",
        default=[],
    )


def add_budget(flags: Flags) -> None:
    """Add the flag of the money that there is."""
    flags.value("--budget", "SUM", "the money to spend", type=float)


def check_budget(options: argparse.Namespace) -> None:
    """Refuse a budget or prices that are none; both must be given."""
    if options.budget is None or not 0.0 < options.budget < math.inf:
        raise BadInputError("--budget takes the money available, a number above zero")
    if not options.costs:
        raise BadInputError(
            "--costs takes the price of a row, as in --costs human=1 judges=0.05"
        )
    _prices(options)


def costs_of(options: argparse.Namespace, judges: Iterable[Any]) -> dict[Any, float]:
    """Prices of ``--costs`` by the labels of the table."""
    labels = {str(judge): judge for judge in judges}
    return {labels.get(name, name): each for name, each in _prices(options).items()}


def _prices(options: argparse.Namespace) -> dict[str, float]:
    """Prices of ``--costs`` by the names that were typed."""
    takes = "--costs takes SOURCE=PRICE with prices above zero"
    return numbers_of(options.costs, takes, lambda price: 0.0 < price < math.inf)


def add_model(flags: Flags) -> None:
    """Add the flag of one new model."""
    flags.value("--model", "NAME", "the new model (default: all of them)")


def _fit_for_plans(options: argparse.Namespace) -> AnchorPipeline:
    """Check the flags that all have, and fit."""
    check_flags(options)
    return fit_method(options)


# ----------------------------------------------------------------------- commands
def _run_worth(options: argparse.Namespace) -> None:
    _prices(options)
    anchor = _fit_for_plans(options)
    costs = costs_of(options, anchor.judges_) if options.costs else None
    found = anchor.worth(costs, typed_label(anchor.new_models_, options.model))

    from skanchor.reports import worth_table

    record = {"worth": found.to_dict()}
    deliver(_forms_by_model(found, worth_table, record, _WORTH_NOTE), options)


def _add_outlook(flags: Flags) -> None:
    flags.value(
        "--widths",
        "WIDTH",
        "half widths in logits (default: 3/4, 1/2 and 1/4 of the present ones)",
        nargs="+",
        type=float,
    )


def _outlook(options: argparse.Namespace) -> None:
    given = options.widths
    if given is not None and not all(0.0 < one < math.inf for one in given):
        raise BadInputError("--widths takes half widths in logits, above zero")
    anchor = _fit_for_plans(options)
    model = typed_label(anchor.new_models_, options.model)
    found = anchor.outlook(given, model, options.level)

    from skanchor.reports import outlook_table

    record = found.to_dict()
    deliver(_forms_by_model(found, outlook_table, record, _OUTLOOK_NOTE), options)


def _forms_by_model(
    found: Worth | Outlook,
    table_of_model: Callable[..., Table],
    record: dict[str, Any],
    note: str,
) -> Forms:
    """Forms of sentences with a table for each new model."""
    from skanchor.reports import SCHEMA_VERSION

    models = found.table.index.unique("model")
    return Forms.of(
        table_of_model(found),
        found.table.reset_index().set_index("model"),
        {"schema_version": SCHEMA_VERSION, **record},
        note,
        lines=found.lines(),
        tables=[(model, table_of_model(found, model)) for model in models],
    )


def _add_design(flags: Flags) -> None:
    flags.choice(
        "--targets",
        ["scores", "neighbours"],
        "what should become more precise: the scores of the new models, or their "
        "differences to the models next in rank",
    )
    flags.value(
        "--difference",
        ("MODEL", "OTHER"),
        "make this difference more precise instead; may be given repeatedly",
        nargs=2,
        action="append",
    )
    flags.value(
        "--floor",
        "SHARE",
        "smallest share of each judge in the spending on verdicts "
        "(default: 0.1 with item effects, else 0)",
        type=float,
    )


def _design(options: argparse.Namespace) -> None:
    check_budget(options)
    if options.difference and options.targets != "scores":
        raise BadInputError("--difference does not go with --targets")
    anchor = _fit_for_plans(options)
    targets: Any = options.targets
    if options.difference:
        known = anchor.models_
        targets = [
            (typed_label(known, a), typed_label(known, b))
            for a, b in options.difference
        ]
    found = anchor.design(
        options.budget,
        costs_of(options, anchor.judges_),
        targets,
        floor=options.floor,
        level=options.level,
    )

    from skanchor.reports import SCHEMA_VERSION, design_table, separation_table

    shown = design_table(found)
    forms = Forms.of(
        shown,
        found.table,
        {"schema_version": SCHEMA_VERSION, **found.to_dict()},
        _PILOT_NOTE if found.is_pilot else _DESIGN_NOTE,
        lines=found.lines(),
        tables=[
            ("What to buy", shown),
            *(
                (f"Separated from {model}?", separation_table(found, model))
                for model in found.separation.index.unique("model")
            ),
        ],
    )
    deliver(forms, options)


_WORTH_NOTE = (
    "In human votes on the new model. replace: the votes that would make up for the "
    "loss of these verdicts, with the other judges; alone: the worth of the verdicts "
    "without other judges; one more: the worth of the next verdict; never more: the "
    "limit for any number of this judge's verdicts, without other judges."
)
_OUTLOOK_NOTE = (
    "Further rows on the new model until its interval is the score ± the half width. "
    "Votes are divided evenly over the old models, verdicts evenly over judges and old "
    "models; of each: equal numbers of votes and verdicts."
)
_DESIGN_NOTE = (
    "gain: the decrease of the targets' variance by the first of these rows. then: the "
    "probability that the interval of the difference excludes zero with these rows; "
    "models that are clearly apart are left out."
)
_PILOT_NOTE = "About five verdicts for each old model are enough to plan by."

WORTH = Command(
    name="worth",
    help="see how many human votes the verdicts are worth",
    description="Rank the new models, and say how many human votes on them are worth "
    "as much as each judge's verdicts, what one more verdict is worth, and the most "
    "that any number of verdicts can be worth.",
    examples=(
        ("what the judges are worth", "battles.csv"),
        (
            "what a replaced vote costs in verdicts",
            "battles.csv --costs gpt-4=0.02 judges=0.001",
        ),
    ),
    arguments=(add_table, add_fit, add_costs, add_model, add_output),
    run=_run_worth,
)

OUTLOOK = Command(
    name="outlook",
    help="see how many more rows an interval of a given width needs",
    description="Rank the new models, and say how many more votes, or verdicts, their "
    "intervals need to have some half widths, or that no number is enough.",
    examples=(
        ("to a half and a quarter of today's width", "battles.csv"),
        ("to half widths in logits, as JSON", "battles.csv --widths 0.2 0.1 --json"),
    ),
    arguments=(add_table, add_method, _add_outlook, add_model, add_output),
    run=_outlook,
)

DESIGN = Command(
    name="design",
    help="see what to buy next, within a budget",
    description="Rank the new models, and spend a budget on votes and verdicts where "
    "it lowers their errors most: by whom, and against which old models. Without a new "
    "model (--no-new) it plans a pilot study.",
    examples=(
        (
            "votes at 1, verdicts of all judges at 0.02",
            "battles.csv --budget 50 --costs human=1 judges=0.02",
        ),
        (
            "to separate the new models from those next in rank",
            "battles.csv --budget 50 --costs human=1 judges=0.02 --targets neighbours",
        ),
        (
            "a list to hand to those who collect the rows",
            "battles.csv --budget 50 --costs gpt-4=0.02 -o list.csv",
        ),
    ),
    arguments=(
        add_table,
        add_method,
        add_costs,
        add_budget,
        _add_design,
        add_output,
    ),
    run=_design,
)
