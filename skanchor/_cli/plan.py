"""``skanchor plan``: what verdicts are worth, how many rows are needed, what to buy."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags, refuse_given
from skanchor._cli.method import (
    add_method,
    check_flags,
    fit_method,
    refuse_level,
)
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.pairs import numbers_of
from skanchor._cli.table import add_table, typed_label

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline
    from skanchor.readouts import Answer
    from skanchor.reports.document import Table


# -------------------------------------------------------------------------- flags
def _add_arguments(flags: Flags) -> None:
    flags.value(
        "--widths --width",
        "WIDTH",
        "say how many more rows intervals of these half widths need, in logits "
        "(without a WIDTH: 3/4, 1/2 and 1/4 of the present ones)",
        nargs="*",
        type=float,
    )
    flags.value(
        "--budget",
        "SUM",
        "say what to buy for this money, which needs --costs",
        type=float,
    )
    flags.value(
        "--costs",
        "SOURCE=PRICE",
        "price of a row: of a vote as human=1, of a judge's verdict as "
        "gpt-4=0.02, of all other judges' as judges=0.05",
        nargs="+",
        action="extend",
    )
    flags.value(
        "--targets",
        None,
        "with --budget: what should become more precise, the scores of the new models "
        "(default), or their differences to the models next in rank",
        choices=["scores", "neighbours"],
    )
    flags.value(
        "--floor",
        "SHARE",
        "with --budget: smallest share of each judge in the spending on verdicts "
        "(default: 0.1 with item effects, else 0)",
        type=float,
    )
    flags.value("--model", "NAME", "the new model (default: all of them)")


# -------------------------------------------------------------------------- command
def _plan(options: argparse.Namespace) -> None:
    prices = _prices(options)
    if options.budget is not None:
        refuse_given(options, ("--widths", "--model"), "does not go with --budget")
        answer = _design
    elif options.widths is not None:
        refuse_given(options, ("--costs", *_OF_DESIGN), "does not go with --widths")
        answer = _outlook
    else:
        refuse_given(options, _OF_DESIGN, "goes with --budget")
        refuse_level(options, "the worth of verdicts")
        answer = _worth
    if options.budget is not None and not 0.0 < options.budget < math.inf:
        raise BadInputError("--budget takes the money available, a number above zero")
    if options.budget is not None and not prices:
        raise BadInputError(
            "--budget needs the price of a row, as in --costs human=1 judges=0.05"
        )
    if not all(0.0 < width < math.inf for width in options.widths or ()):
        raise BadInputError("--widths takes half widths in logits, above zero")
    check_flags(options)
    anchor = fit_method(options)
    labels = {str(judge): judge for judge in anchor.judges_}
    costs = {labels.get(name, name): price for name, price in prices.items()}
    deliver(answer(anchor, costs, options), options)


def _prices(options: argparse.Namespace) -> dict[str, float]:
    """Prices of ``--costs`` by the names that were typed."""
    takes = "--costs takes SOURCE=PRICE with prices above zero"
    return numbers_of(options.costs or (), takes, lambda price: 0.0 < price < math.inf)


def _worth(
    anchor: AnchorPipeline, costs: dict[Any, float], options: argparse.Namespace
) -> Forms:
    """Forms of what verdicts are worth."""
    from skanchor.reports.readouts import worth_table

    model = typed_label(anchor.new_models_, options.model)
    found = anchor.worth(costs or None, model)
    record = {"worth": found.to_dict()["rows"]}
    return _forms_by_model(found, worth_table, record, _WORTH_NOTE)


def _outlook(
    anchor: AnchorPipeline, costs: dict[Any, float], options: argparse.Namespace
) -> Forms:
    """Forms of how many rows some half widths need; no price is read."""
    from skanchor.reports.readouts import outlook_table

    model = typed_label(anchor.new_models_, options.model)
    found = anchor.outlook(options.widths or None, model, options.level)
    return _forms_by_model(found, outlook_table, found.to_dict(), _OUTLOOK_NOTE)


def _forms_by_model(
    found: Answer,
    table_of_model: Callable[..., Table],
    record: dict[str, Any],
    note: str,
) -> Forms:
    """Forms of sentences with a table for each new model."""
    from skanchor.reports.records import SCHEMA_VERSION

    models = found.table.index.unique("model")
    return Forms.of(
        table_of_model(found),
        found.table.reset_index().set_index("model"),
        {"schema_version": SCHEMA_VERSION, **record},
        note,
        lines=found.sentences,
        tables=[(model, table_of_model(found, model)) for model in models],
    )


def _design(
    anchor: AnchorPipeline, costs: dict[Any, float], options: argparse.Namespace
) -> Forms:
    """Forms of what to buy for a budget."""
    from skanchor.reports.readouts import design_table, separation_table
    from skanchor.reports.records import SCHEMA_VERSION

    targets = options.targets or "scores"
    found = anchor.design(
        options.budget, costs, targets, floor=options.floor, level=options.level
    )
    shown = design_table(found)
    return Forms.of(
        shown,
        found.table,
        {"schema_version": SCHEMA_VERSION, **found.to_dict()},
        _DESIGN_NOTE,
        lines=found.sentences,
        tables=[
            ("What to buy", shown),
            *(
                (f"Separated from {model}?", separation_table(found, model))
                for model in found.separation.index.unique("model")
            ),
        ],
    )


_OF_DESIGN = ("--targets", "--floor")
"""Flags that only a design reads."""
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

PLAN = Command(
    name="plan",
    help="see what verdicts are worth, and what to buy next",
    description="Rank the new models, and say how many human votes on them are worth "
    "as much as each judge's verdicts. With --widths it says how many more votes, or "
    "verdicts, intervals of some half widths need, or that no number is enough. With "
    "--budget it spends money on votes and verdicts where it lowers the errors most: "
    "by whom, and against which old models.",
    examples=(
        ("what the judges are worth", "battles.csv"),
        (
            "what a replaced vote costs in verdicts",
            "battles.csv --costs gpt-4=0.02 judges=0.001",
        ),
        ("rows until half widths in logits", "battles.csv --widths 0.2 0.1"),
        (
            "what to buy: votes at 1, verdicts of all judges at 0.02",
            "battles.csv --budget 50 --costs human=1 judges=0.02",
        ),
        (
            "the same as a list to hand to those who collect the rows",
            "battles.csv --budget 50 --costs human=1 judges=0.02 -o list.csv",
        ),
    ),
    arguments=(add_table, add_method, _add_arguments, add_output),
    run=_plan,
)
