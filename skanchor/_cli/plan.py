"""``skanchor plan``: what verdicts are worth, how many rows are needed, what to buy."""

from __future__ import annotations

import argparse
from typing import Any

from skanchor._cli.battles import typed_label
from skanchor._cli.output import deliver
from skanchor._cli.rank import check_flags, fit_rows
from skanchor._cli.values import BadInputError, by_name, refuse_typed


def plan(options: argparse.Namespace) -> None:
    prices = by_name("--costs", options.costs)
    if options.budget is not None:
        refuse_typed(options, ["--widths", "--width"], "does not go with --budget")
        if not prices:
            raise BadInputError(
                "--budget needs the price of a row, as in --costs human=1 judges=0.05"
            )
    else:
        refuse_typed(options, ["--costs"], "goes with --budget")
    if options.budget is None and options.widths is None:
        why = "does not go with the worth of verdicts, which has no interval"
        refuse_typed(options, ["--level"], why)
    check_flags(options)
    anchor: Any = fit_rows(options)

    import numpy as np

    from skanchor.reports.tables import Table
    from skanchor.reports.text import Readout
    from skanchor.reports.views import tables_by_model

    if options.budget is not None:
        costs = {typed_label(anchor.judges_, name): one for name, one in prices.items()}
        design = anchor.design(options.budget, costs, level=options.level)
        bought = design.table[["source", "opponent", "rows", "spend", "gain"]]
        bought = bought.assign(gain=bought["gain"].map("{:.2g}".format))
        tables = [Table.of("design", bought, "What to buy")]
        readout = Readout(
            "design", design.table, design.to_dict, tables, design.sentences
        )
    else:
        if options.widths is None:
            kind, design = "worth", anchor.worth()
            record = {"worth": design.to_dict()["rows"]}
            shown = design.table
        else:
            kind = "outlook"
            design = anchor.outlook(options.widths or None, level=options.level)
            # Rows that are needed are whole ones.
            record, shown = design.to_dict(), np.ceil(design.table)
        readout = Readout(
            kind,
            design.table.reset_index(design.table.index.names[1]),
            lambda: record,
            tables_by_model(kind, shown, digits=3),
            design.sentences,
        )
    deliver(readout, options)
