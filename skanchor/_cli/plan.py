"""``skanchor plan``: what verdicts are worth, how many rows are needed, what to buy."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.battles import typed_label
from skanchor._cli.fit import check_flags, fit_rows
from skanchor._cli.output import deliver
from skanchor._cli.values import BadInputError, by_name, refuse_typed

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline
    from skanchor.readouts import Answer
    from skanchor.reports.text import Readout

_OF_DESIGN = ("--costs", "--floor")


def plan(options: argparse.Namespace) -> None:
    prices = by_name("--costs", options.costs)
    if options.budget is not None:
        refuse_typed(options, ("--widths", "--model"), "does not go with --budget")
        if not prices:
            raise BadInputError(
                "--budget needs the price of a row, as in --costs human=1 judges=0.05"
            )
    elif options.widths is not None:
        refuse_typed(options, _OF_DESIGN, "does not go with --widths")
    else:
        refuse_typed(options, _OF_DESIGN, "goes with --budget")
        why = "does not go with the worth of verdicts, which has no interval"
        refuse_typed(options, ["--level"], why)
    check_flags(options)
    anchor = fit_rows(options)
    costs = {typed_label(anchor.judges_, name): one for name, one in prices.items()}
    model = typed_label(anchor.new_models_, options.model)
    if options.budget is not None:
        readout = _design(anchor, costs, options)
    elif options.widths is not None:
        found = anchor.outlook(options.widths or None, model, options.level)
        readout = _by_model("outlook", found, found.to_dict())
    else:
        worth = anchor.worth(model)
        readout = _by_model("worth", worth, {"worth": worth.to_dict()["rows"]})
    deliver(readout, options)


def _by_model(kind: str, found: Answer, record: dict[str, Any]) -> Readout:
    """Sentences with a table for each new model."""
    from skanchor.reports.tables import table_of
    from skanchor.reports.text import Readout

    (further,) = set(found.table.index.names) - {"model"}
    tables = [
        table_of(kind, rows.droplevel("model"), str(model))
        for model, rows in found.table.groupby(level="model", sort=False)
    ]
    frame = found.table.reset_index(further)
    return Readout(kind, frame, record, tables, found.sentences)


def _design(
    anchor: AnchorPipeline, costs: dict[Any, float], options: argparse.Namespace
) -> Readout:
    """What to buy for a budget."""
    from skanchor.reports.tables import table_of
    from skanchor.reports.text import Readout

    found = anchor.design(
        options.budget, costs, floor=options.floor, level=options.level
    )
    bought = found.table.assign(gain=1e6 * found.table["gain"])
    tables = [table_of("design", bought, "What to buy")]
    return Readout("design", found.table, found.to_dict(), tables, found.sentences)
