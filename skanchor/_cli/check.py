"""``skanchor check``: whether the intervals cover the scores of models left out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command
from skanchor._cli.method import Task, add_method, check_method, load_task
from skanchor._cli.output import Forms, add_output, check_output, deliver
from skanchor._cli.resume import FinishedParts, add_resume, finished_parts
from skanchor._cli.streams import is_watched
from skanchor._cli.table import add_table, check_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CHECK", "add_models", "models_left_out_of"]

# Columns of the table: heading, and number of decimals or kind of the cells.
_COLUMNS: dict[str, tuple[str, int | str]] = {
    "true_score": ("by votes", 2),
    "score": ("by judges", 2),
    "low": ("low", 2),
    "high": ("high", 2),
    "compatible": ("agrees", "yes"),
    "true_rank": ("rank by votes", 0),
    "rank": ("by judges", 0),
    "rank_low": ("from", 0),
    "rank_high": ("to", 0),
}


def models_left_out_of(
    task: Task, method: Any, name: str, kept: FinishedParts, options: argparse.Namespace
) -> pd.DataFrame:
    """Treat each historical model in turn as if it were new.

    Models whose row is among the finished parts of ``name`` are not fitted again.
    Returns a table with a row for each model.
    """
    import pandas as pd

    from skanchor.evaluation import models_left_out

    known = kept.of(name)
    rows = models_left_out(
        method,
        task.X,
        task.y,
        sample_weight=task.weight,
        groups=task.groups,
        weights=task.pipeline.weights,
        models=options.models,
        without=known,
        level=options.level,
        n_jobs=options.jobs,
        verbose=int(is_watched()),
    )
    for model, row in rows:
        kept.add(name, model, row)
    done = kept.of(name)
    wanted = list(done) if options.models is None else options.models
    return pd.DataFrame(
        [done[model] for model in wanted], index=pd.Index(wanted, name="model")
    ).sort_index()


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_table(parser)
    add_method(parser)
    add_models(parser)
    add_resume(parser)
    add_output(parser)


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the flag that names the models to leave out."""
    parser.add_argument(
        "--models",
        nargs="+",
        action="extend",
        metavar="MODEL",
        help="models to leave out, one at a time (default: all with human rows)",
    )


def _run_check(options: argparse.Namespace) -> None:
    check_table(options)
    check_method(options)
    if options.no_new or options.new or options.hide_votes_of:
        raise BadInputError(
            "check treats every model with votes in turn as if it were new; leave out "
            "--new, --no-new and --hide-votes-of, or name some with --models"
        )
    check_output(options, inputs=options.battles)
    task = load_task(options)
    # Fits of different models run in parallel, so each fit itself uses one core.
    task.pipeline.set_params(n_jobs=None, verbose=0)
    with finished_parts(task, options) as kept:
        table = models_left_out_of(task, task.pipeline, "AnchorPipeline", kept, options)
    deliver(_check_forms(table, options.level), options)


def _check_forms(table: pd.DataFrame, level: float) -> Forms:
    """Forms of the table of models left out, with the verdict on the intervals."""
    from skanchor.reports import as_json_value, coverage_verdict, table_of

    verdict = coverage_verdict(int(table["compatible"].sum()), len(table), level)
    caption = "Each old model in turn as the new one"
    shown = table_of(table, caption, _COLUMNS)
    columns = {name: table[name] for name in _COLUMNS} | {"covered": table["covered"]}

    def record() -> dict[str, Any]:
        rows = [{"model": m} | r for m, r in table.to_dict("index").items()]
        found = {
            "level": level,
            "holds": verdict.holds,
            "compatible": int(table["compatible"].sum()),
            "n_models": len(table),
            "verdict": verdict.statement,
            "advice": verdict.advice,
            "models": rows,
        }
        result: dict[str, Any] = as_json_value(found)
        return result

    def text() -> Any:
        from rich.console import Group
        from rich.text import Text

        from skanchor.reports import table_text

        return Group(
            Text(verdict.statement, style="bold"),
            *([Text(verdict.advice)] if verdict.advice else []),
            Text(""),
            table_text(shown),
            Text(""),
            Text(
                "agrees: the scores differ by no more than the errors of both allow.\n"
                "Ranks are among the other models with votes; from, to: the rank set.",
                style="dim",
            ),
        )

    return Forms(text, record, lambda: table[list(columns)], lambda: shown)


CHECK = Command(
    name="check",
    help="see whether the intervals hold on this table",
    description="Let each model that people have voted on play the new one: hide its "
    "votes, place it by the judges alone, and compare with what the votes say. A "
    "verdict tells whether the intervals hold on this table. It takes as long as "
    "ranking once for each model.",
    examples=(
        ("before you believe an interval", "skanchor check battles.csv"),
        (
            "many models, on all cores, so that it can be stopped and taken up again",
            "skanchor check battles.csv --jobs -1 --resume check.resume",
        ),
        (
            "the numbers by model, for a program",
            "skanchor check battles.csv --json | jq .verdict",
        ),
    ),
    add_arguments=_add_arguments,
    run=_run_check,
)
