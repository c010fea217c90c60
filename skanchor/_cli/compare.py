"""``skanchor compare``: several methods compared on one table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.check import add_models, settings_of_left_out
from skanchor._cli.command import BadInputError, Command, Flags, require_at_least
from skanchor._cli.method import Task, add_method, check_flags, load_task
from skanchor._cli.methods import (
    ANCHOR,
    METHODS,
    check_method_names,
    has_own_intervals,
    is_resampled,
    make_method,
    refuse_unread,
)
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.table import add_table

if TYPE_CHECKING:
    import pandas as pd

LEAST_RESAMPLES = 20
"""Smallest number of refits from which intervals are computed."""

# Methods of a comparison that names none, and columns of its table: heading, and number
# of decimals or kind of the cells.
_DEFAULT = (ANCHOR, "JointBTL", "ScalarJudge", "DirectScore", "HistoricalPPI")
_COLUMNS: dict[str, tuple[str, int | str]] = {
    "rmse": ("error", 3),
    "rank_error": ("places off", 2),
    "own_rank_error": ("among its own", 2),
    "exact": ("right place", "share"),
    "compatible": ("agrees", "share"),
    "width": ("width", 2),
    "models": ("models", 0),
}


def _add_arguments(flags: Flags) -> None:
    flags.names(
        "--methods",
        "NAME",
        f"of {', '.join(METHODS)}, or all (default: {', '.join(_DEFAULT)})",
    )
    flags.value(
        "--n-resamples",
        "N",
        "give methods that have scores but no intervals of their own, such as "
        "ScalarJudge and HistoricalPPI, intervals from N refits on resampled rows, as "
        "in 200 (default: they are shown without)",
        type=int,
    )
    add_models(flags)


def _compare(options: argparse.Namespace) -> None:
    check_flags(options)
    names = options.methods or list(_DEFAULT)
    if names == ["all"]:
        names = list(METHODS)
    check_method_names(names)
    if options.n_resamples is None:
        has_intervals = any(map(has_own_intervals, names))
        refuse_unread(
            options, names, ["--random-state", *([] if has_intervals else ["--level"])]
        )
    else:
        refuse_unread(options, names)
    more = ": limits need more refits"
    require_at_least("--n-resamples", options.n_resamples, LEAST_RESAMPLES, more)
    if options.n_resamples is not None and not any(map(is_resampled, names)):
        raise BadInputError(
            f"--n-resamples gives intervals to methods that have scores only, which is "
            f"none of {', '.join(names)}; leave it out, or name one such as ScalarJudge"
        )
    task = load_task(options)
    task.pipeline.set_params(n_jobs=None, verbose=0)
    import pandas as pd

    from skanchor.evaluation import leave_one_model_out

    accuracy, places = {}, {}
    for name in names:
        method = make_method(name, task.pipeline, options.n_resamples)
        # Without new models, methods are compared on historical models only.
        places[name] = {} if options.no_new else _places(method, task, options.level)
        settings = settings_of_left_out(task, options)
        accuracy[name] = _accuracy(leave_one_model_out(method, **settings))

    table = pd.DataFrame.from_dict(accuracy, "index").rename_axis("method")
    shown = pd.DataFrame.from_dict(places, "index").rename_axis("method")
    deliver(_comparison_forms(table, shown, options.n_resamples), options)


def _places(method: Any, task: Task, level: float) -> dict[str, str]:
    """Rank that a method gives each new model, with the rank set if it has one."""
    import warnings

    from sklearn.base import clone

    from skanchor.exceptions import DiagnosticWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiagnosticWarning)
        fitted = clone(method).fit(**task.rows)
    ranks = {str(model): str(rank) for model, rank in fitted.ranks_.items()}
    if hasattr(fitted, "rank_sets"):
        for model, row in fitted.rank_sets(level).iterrows():
            ranks[str(model)] += f" ({row['low']}-{row['high']})"
    return ranks


def _accuracy(left_out: pd.DataFrame) -> dict[str, float]:
    """Measures of the accuracy of a method on the models left out."""
    from skanchor import metrics

    true, rank = left_out["true_rank"], left_out["rank"]
    found = {
        "models": len(left_out),
        "rank_error": metrics.insertion_mae(true, rank),
        "largest_rank_error": int((true - rank).abs().max()),
        "exact": metrics.exact_insertion_rate(true, rank),
    }
    if "fitted_rank" in left_out:
        found["own_rank_error"] = metrics.insertion_mae(true, left_out["fitted_rank"])
    if "score" in left_out:
        found["rmse"] = metrics.rmse(left_out["true_score"], left_out["score"])
        found["spearman"] = metrics.spearman(left_out["true_score"], left_out["score"])
    if "compatible" in left_out:
        found["held"] = float(left_out["covered"].mean())
        found["compatible"] = float(left_out["compatible"].mean())
        found["width"] = metrics.interval_width(left_out["low"], left_out["high"])
    return found


def _comparison_forms(
    table: pd.DataFrame, places: pd.DataFrame, refits: int | None
) -> Forms:
    """Forms of the accuracies of the methods, and of the ranks of new models."""
    from skanchor.reports.tables import table_of

    shown = table_of(table, "Methods on models left out", _COLUMNS)
    new = table_of(
        places,
        "Places of the new models",
        {str(name): (str(name), "text") for name in places},
    )
    tables = [("On models with votes, each left out in turn", shown)]
    if len(places.columns):
        tables.append(("Where each method places the new models (rank set)", new))
    ranks = places.to_dict("index")
    rows = [
        {"method": m} | r | {"new_models": ranks.get(m, {})}
        for m, r in table.to_dict("index").items()
    ]
    note = (
        "error: root mean square of score differences. places off: among the human "
        "scores of\nthe other models; among its own: among those that the method "
        "fits. agrees: share of\nthe models left out whose score differs by no "
        "more than the errors of both allow;\nwidth: of the intervals.\n"
    )
    if refits is None:
        note += (
            "A dash: the method has no scores, or no intervals of its own; "
            "--n-resamples 200 gives\nintervals by refits to those that have scores."
        )
    else:
        note += (
            f"Methods without intervals of their own have those of {refits} refits. A "
            "dash: the method\nonly ranks."
        )
    record = {"methods": rows, "bootstrap": refits}
    return Forms.of(shown, table.join(places), record, note, tables=tables)


COMPARE = Command(
    name="compare",
    help="compare methods side by side",
    description="Rank by several methods, and have each place the models that people "
    "have voted on as if they were new: how far is it off, and do its intervals hold?",
    examples=(
        ("ANCHOR and some simpler methods", "battles.csv"),
        ("two of them", "battles.csv --methods AnchorPipeline HistoricalPPI"),
        (
            "with intervals by refits where a method has none",
            "battles.csv --n-resamples 200",
        ),
        ("every method, on all cores", "battles.csv --methods all --n-jobs -1"),
    ),
    arguments=(add_table, add_method, _add_arguments, add_output),
    run=_compare,
)
