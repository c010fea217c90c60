"""``skanchor plan``: what verdicts are worth, how many rows are needed, what to buy."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.battles import typed_label
from skanchor._cli.fit import check_flags, fit_rows
from skanchor._cli.output import deliver
from skanchor._cli.values import BadInputError, by_name, refuse_typed

if TYPE_CHECKING:
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
    anchor: Any = fit_rows(options)
    costs = {typed_label(anchor.judges_, name): one for name, one in prices.items()}
    model = typed_label(anchor.new_models_, options.model)
    if options.budget is not None:
        budget, floor = options.budget, options.floor
        found = anchor.design(budget, costs, floor=floor, level=options.level)
        readout = _design(found)
    elif options.widths is not None:
        found = anchor.outlook(options.widths or None, model, options.level)
        readout = _by_model("outlook", found, found.to_dict())
    else:
        found = anchor.worth(model)
        readout = _by_model("worth", found, {"worth": found.to_dict()["rows"]})
    deliver(readout, options)


def _by_model(kind: str, found: Any, record: dict[str, Any]) -> Readout:
    """Sentences with a table for each new model."""
    import numpy as np

    from skanchor.reports.tables import Table
    from skanchor.reports.text import Readout

    # Rows that are needed are whole ones.
    shown = np.ceil(found.table) if kind == "outlook" else found.table
    tables = [
        Table.of(kind, shown.loc[model], str(model), digits=3)
        for model in shown.index.unique("model")
    ]
    frame = found.table.reset_index(found.table.index.names[1])
    return Readout(kind, frame, record, tables, found.sentences)


def _design(found: Any) -> Readout:
    """What to buy for a budget."""
    from skanchor.reports.tables import Table
    from skanchor.reports.text import Readout

    bought = found.table[["source", "opponent", "rows", "spend", "gain"]]
    bought = bought.assign(gain=bought["gain"].map("{:.2g}".format))
    tables = [Table.of("design", bought, "What to buy")]
    return Readout("design", found.table, found.to_dict(), tables, found.sentences)
