"""``skanchor check``: whether the intervals hold for models that are left out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.method import Task, add_method, check_flags, load_task
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.streams import is_watched
from skanchor._cli.table import add_table

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline
    from skanchor._diagnostics import IntervalCheck


def settings_of_left_out(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """Arguments by which models with votes, or ``--models``, are left out in turn."""
    return {
        **task.rows,
        "weights": task.pipeline.weights,
        "models": options.models,
        "level": options.level,
        "n_jobs": options.n_jobs,
        "verbose": int(is_watched()),
    }


def add_models(flags: Flags) -> None:
    """Add the flag that names the models to leave out."""
    flags.names(
        "--models",
        "MODEL",
        "models to leave out, one at a time (default: all with human rows)",
    )


def _run_check(options: argparse.Namespace) -> None:
    check_flags(options)
    if options.no_new or options.new or options.hide_votes_of:
        raise BadInputError(
            "check treats every model with votes in turn as if it were new; leave out "
            "--new, --no-new and --hide-votes-of, or name some with --models"
        )
    task = load_task(options)
    fitted = _as_ranked(task)

    from skanchor.evaluation import check_intervals

    found = check_intervals(fitted, **settings_of_left_out(task, options))
    deliver(_check_forms(found), options)


def _as_ranked(task: Task) -> AnchorPipeline:
    """Fit all rows as ``skanchor rank`` does, or the historical models alone.

    The fit decides the treatment of the item effects, and issues its warnings once.
    """
    import warnings

    from skanchor.exceptions import DiagnosticWarning
    from skanchor.sample import Sample
    from skanchor.warning_log import WarningLog

    with WarningLog():
        X = Sample.admit(task.X, task.y, task.weight, task.groups).X
    voted = set(X.left[X.is_human].tolist()) | set(X.right[X.is_human].tolist())
    pipeline = task.pipeline
    if len(voted - {-1}) == len(X.models):
        pipeline.set_params(new_models=[])
    with warnings.catch_warnings():
        # What they say concerns the intervals of the new models, which rank shows.
        warnings.simplefilter("ignore", DiagnosticWarning)
        return pipeline.fit(**task.rows)


def _check_forms(found: IntervalCheck) -> Forms:
    """Forms of a check: verdict, tests, and the table of models left out."""
    from skanchor.reports.interval_check import (
        check_notes,
        check_table,
        interval_verdict,
    )
    from skanchor.reports.records import check_json

    verdict = interval_verdict(found)
    lines = [f"- {each}" for each in verdict.findings]
    lines += [verdict.advice] if verdict.advice else []
    return Forms.of(
        check_table(found),
        found.table,
        check_json(found),
        "\n".join(check_notes(found)),
        head=verdict.statement,
        lines=lines,
    )


CHECK = Command(
    name="check",
    help="test whether the intervals hold on this table",
    description="Treat each model with votes in turn as if it were new: hide its "
    "votes, place it by the judges alone, and compare with what the votes say. Tests "
    "of the largest miss, of the best model, of the direction of the misses and of the "
    "number of models placed right show whether the intervals that rank reports hold. "
    "It takes as long as ranking once for each model.",
    examples=(
        ("before you rely on an interval", "battles.csv"),
        ("many models, on all cores", "battles.csv --n-jobs -1"),
        ("the numbers by model, for a program", "battles.csv --json | jq .verdict"),
    ),
    arguments=(add_table, add_method, add_models, add_output),
    run=_run_check,
)
