"""``skanchor plan``: what verdicts are worth, how many rows are needed, what to buy."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags, refuse_unread
from skanchor._cli.fit import add_fit, check_flags, fit_rows, refuse_level
from skanchor._cli.output import Output, add_output, deliver
from skanchor._cli.pairs import numbers_of
from skanchor._cli.table import add_table, typed_label

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline
    from skanchor.readouts import Answer

_OF_DESIGN = ("--targets", "--floor")


def _add_arguments(flags: Flags) -> None:
    add_table(flags)
    add_fit(flags)
    group = flags.group("questions")
    group.value(
        "--widths --width",
        "WIDTH",
        "rows until intervals have these half widths, in logits (none: 3/4, 1/2 and "
        "1/4 of today's)",
        nargs="*",
        type=float,
    )
    group.value("--budget", "SUM", "what to buy for this money", type=float)
    group.names(
        "--costs",
        "SOURCE=PRICE",
        "prices of a row: human=1 of a vote, gpt-4=0.02 of a judge's verdict, "
        "judges=0.05 of all others",
    )
    group.value(
        "--targets",
        "TARGETS",
        "what a budget makes precise: scores (default), or differences to neighbours",
        choices=["scores", "neighbours"],
    )
    group.value("--floor", "SHARE", "least share of a judge in a budget", type=float)
    group.value("--model", "NAME", "the new model (default: all of them)")
    add_output(flags)


def _plan(options: argparse.Namespace) -> None:
    takes = "--costs takes SOURCE=PRICE with prices above zero"
    prices = numbers_of(
        options.costs or (), takes, lambda price: 0.0 < price < math.inf
    )
    if options.budget is not None:
        refuse_unread(options, ("--widths", "--model"), "does not go with --budget")
        if not 0.0 < options.budget < math.inf:
            raise BadInputError(
                "--budget takes the money available, a number above zero"
            )
        if not prices:
            raise BadInputError(
                "--budget needs the price of a row, as in --costs human=1 judges=0.05"
            )
    elif options.widths is not None:
        idle = ("--costs", *_OF_DESIGN)
        refuse_unread(options, idle, "does not go with --widths")
        if not all(0.0 < width < math.inf for width in options.widths):
            raise BadInputError("--widths takes half widths in logits, above zero")
    else:
        refuse_unread(options, _OF_DESIGN, "goes with --budget")
        refuse_level(options, "the worth of verdicts")
    check_flags(options)
    anchor = fit_rows(options)
    labels = {str(judge): judge for judge in anchor.judges_}
    costs = {labels.get(name, name): price for name, price in prices.items()}
    model = typed_label(anchor.new_models_, options.model)
    if options.budget is not None:
        output = _design(anchor, costs, options)
    elif options.widths is not None:
        found = anchor.outlook(options.widths or None, model, options.level)
        output = _by_model("outlook", found, found.to_dict())
    else:
        worth = anchor.worth(costs or None, model)
        output = _by_model("worth", worth, {"worth": worth.to_dict()["rows"]})
    deliver(output, options)


def _by_model(kind: str, found: Answer, record: dict[str, Any]) -> Output:
    """Output of sentences with a table for each new model."""
    from skanchor.reports.tables import table_of

    (further,) = set(found.table.index.names) - {"model"}
    by_model = dict(iter(found.table.groupby(level="model", sort=False)))
    tables = [
        (model, table_of(kind, rows.droplevel("model")))
        for model, rows in by_model.items()
    ]
    frame = found.table.reset_index(further)
    return Output.of(kind, frame, record, tables, found.sentences)


def _design(
    anchor: AnchorPipeline, costs: dict[Any, float], options: argparse.Namespace
) -> Output:
    """Output of what to buy for a budget."""
    from skanchor.reports.tables import table_of

    targets = options.targets or "scores"
    found = anchor.design(
        options.budget, costs, targets, floor=options.floor, level=options.level
    )
    bought = found.table.assign(gain=1e6 * found.table["gain"])
    tables = [("What to buy", table_of("design", bought))]
    for model in found.separation.index.unique("model"):
        rows = found.separation.loc[model].rename_axis("opponent")
        # Models that are clearly apart, now and then, are left out.
        rows = rows[~rows["now"] | (rows["probability"] < 0.995)]
        rows = rows.sort_values("difference", key=abs, kind="stable")
        tables.append((f"Separated from {model}?", table_of("separation", rows)))
    return Output.of("design", found.table, found.to_dict(), tables, found.sentences)


PLAN = Command(
    name="plan",
    help="see what verdicts are worth, how many rows are missing, and what to buy",
    examples=(
        ("votes that verdicts are worth", "battles.csv"),
        ("rows until half widths", "battles.csv --widths 0.2 0.1"),
        ("what to buy", "battles.csv --budget 50 --costs human=1 judges=0.02"),
    ),
    arguments=_add_arguments,
    run=_plan,
)
