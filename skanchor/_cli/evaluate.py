"""``skanchor evaluate``: how well a method predicts held-out votes and verdicts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from skanchor._cli.command import Command
from skanchor._cli.method import add_fit, check_flags, load_task
from skanchor._cli.methods import (
    add_method_name,
    check_method_names,
    make_method,
    refuse_unread,
)
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.streams import is_watched
from skanchor._cli.table import add_table

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS: dict[str, tuple[str, int | str]] = {
    "rows": ("rows", 0),
    "log_loss": ("log loss", 3),
    "brier": ("Brier", 3),
    "accuracy": ("right", "share"),
}
_PEOPLE = "(people)"


def _evaluate(options: argparse.Namespace) -> None:
    check_flags(options)
    check_method_names([options.method])
    refuse_unread(options, [options.method])
    task = load_task(options)
    task.pipeline.set_params(n_jobs=None, verbose=0)

    from skanchor.evaluation import predict_left_out

    rows = predict_left_out(
        make_method(options.method, task.pipeline),
        **task.rows,
        random_state=options.random_state,
        n_jobs=options.n_jobs,
        verbose=int(is_watched()),
    )
    deliver(_evaluation_forms(_by_source(rows), options.method), options)


def _by_source(rows: pd.DataFrame) -> pd.DataFrame:
    """Losses over the rows of people and of each judge, in a table by source."""
    import numpy as np
    import pandas as pd

    def losses(own: pd.DataFrame) -> dict[str, float]:
        y, p, weight = (own[c].to_numpy() for c in ("outcome", "probability", "weight"))
        # Clipped so that a certain and wrong prediction has a finite log loss.
        p = np.clip(p, 1e-15, 1 - 1e-15)
        # Ties have no right side: they do not count for the accuracy.
        decided = y != 0.5
        log_loss = -(y * np.log(p) + (1 - y) * np.log1p(-p))
        right = (p > 0.5) == (y > 0.5)
        return {
            "rows": len(own),
            "log_loss": float(np.average(log_loss, weights=weight)),
            "brier": float(np.average((y - p) ** 2, weights=weight)),
            "accuracy": float(np.average(right[decided], weights=weight[decided]))
            if decided.any()
            else np.nan,
        }

    source = rows["judge"].fillna(_PEOPLE)
    table = {name: losses(own) for name, own in rows.groupby(source, sort=True)}
    return pd.DataFrame.from_dict(table, "index").rename_axis("source")


def _evaluation_forms(table: pd.DataFrame, method: str) -> Forms:
    """Forms of the table of losses."""
    from skanchor.reports import table_of

    shown = table_of(table, f"{method} on rows left out", _COLUMNS)
    record = {"method": method, "sources": table.reset_index().to_dict("records")}
    note = (
        f"Each row was predicted by {method} fitted to the rows of other folds.\n"
        "log loss: lower is better, and 0.693 is that of tossing a coin. right: "
        "without ties.\nThis says how well verdicts are predicted, not whether "
        "intervals hold: see skanchor check."
    )
    return Forms.of(shown, table, record, note)


EVALUATE = Command(
    name="evaluate",
    help="see how well held-out votes and verdicts are predicted",
    description="Divide the rows into five folds, predict those of each fold by a fit "
    "to the others, and say how accurate these predictions are for people and for each "
    "judge. A judge that is predicted no better than by chance says nothing about the "
    "models. --cv is the number of folds within each of these fits.",
    examples=(
        ("how well each judge is understood", "battles.csv"),
        ("by another method", "battles.csv --method JointBTL"),
    ),
    arguments=(add_table, add_fit, add_method_name, add_output),
    run=_evaluate,
)
