"""``skanchor check``: whether the intervals hold for models that are left out."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.fit import Task, add_fit, check_flags, load_task
from skanchor._cli.output import Output, add_output, deliver
from skanchor._cli.streams import is_watched
from skanchor._cli.table import add_table

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline


def add_models(flags: Flags) -> None:
    """Add the flag that names the models to leave out."""
    flags.names("--models", "MODEL", "models to leave out in turn (default: all)")


def left_out_settings(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """Arguments by which models with votes, or ``--models``, are left out in turn."""
    return {
        **task.rows,
        "weights": task.pipeline.weights,
        "models": options.models,
        "level": options.level,
        "n_jobs": options.n_jobs,
        "verbose": int(is_watched()),
    }


def load_judged(options: argparse.Namespace) -> Task:
    """Read the battles of models that are left out in turn, which need a judge."""
    from skanchor._battles import HUMAN

    task = load_task(options)
    if "judge" not in task.X or (task.X["judge"] == HUMAN).all():
        raise BadInputError("without rows of judges, no model is placed without votes")
    return task


def _check(options: argparse.Namespace) -> None:
    check_flags(options)
    task = load_judged(options)
    fitted = _as_ranked(task)

    from skanchor.evaluation import check_intervals
    from skanchor.reports.sentences import check_record, interval_verdict
    from skanchor.reports.views import check_table

    found = check_intervals(fitted, **left_out_settings(task, options))
    verdict = interval_verdict(found)
    lines = [f"- {line}" for line in verdict.findings]
    lines += [verdict.advice] if verdict.advice else []
    tables = [("", check_table(found))]
    output = Output.of(
        "check", found.table, check_record(found), tables, [verdict.statement, *lines]
    )
    deliver(output, options)


def _as_ranked(task: Task) -> AnchorPipeline:
    """Fit all rows as ``skanchor rank`` does, or the historical models alone.

    The fit decides the treatment of the item effects, and issues its warnings once.
    """
    from skanchor._sample.sample import Sample
    from skanchor.exceptions import DiagnosticWarning
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


def _add_arguments(flags: Flags) -> None:
    add_table(flags)
    add_fit(flags)
    add_models(flags)
    add_output(flags)


CHECK = Command(
    name="check",
    help="test whether the intervals hold on this table",
    more="Each model with votes is placed in turn without them, and compared with what "
    "they say. It takes as long as ranking once for each model.",
    examples=(
        ("before you rely on an interval", "battles.csv"),
        ("on all cores", "battles.csv --n-jobs -1"),
    ),
    arguments=_add_arguments,
    run=_check,
)
