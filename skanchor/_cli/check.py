"""``skanchor check``: whether the intervals hold for models that are left out."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from skanchor._cli.battles import Rows, find_unvoted
from skanchor._cli.output import deliver
from skanchor._cli.rank import check_flags, load
from skanchor._cli.streams import is_watched
from skanchor._cli.values import BadInputError

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline


def check(options: argparse.Namespace) -> None:
    check_flags(options)
    pipeline, rows = load_judged(options)
    # As ``skanchor rank`` fits all rows, or the historical models alone: this decides
    # the treatment of the item effects, and issues the warnings once.
    pipeline.set_params(new_models=find_unvoted(rows.X)[0])

    from skanchor.evaluation import check_intervals
    from skanchor.exceptions import DiagnosticWarning
    from skanchor.reports.sentences import check_record
    from skanchor.reports.text import Readout
    from skanchor.reports.views import check_table

    with warnings.catch_warnings():
        # What they say concerns the intervals of the new models, which rank shows.
        warnings.simplefilter("ignore", DiagnosticWarning)
        pipeline.fit(**rows.arguments)
    result = check_intervals(pipeline, **left_out_settings(rows, options))
    record = check_record(result)
    findings = [f"- {line}" for line in record["findings"]]
    lines = [record["verdict"], *findings, *filter(None, [record["advice"]])]
    tables = [check_table(result)]
    deliver(Readout("check", result.table, lambda: record, tables, lines), options)


def load_judged(options: argparse.Namespace) -> tuple[AnchorPipeline, Rows]:
    """Read the battles of models that are left out in turn, which need a judge."""
    from skanchor._battles import HUMAN

    pipeline, rows = load(options)
    if "judge" not in rows.X or (rows.X["judge"] == HUMAN).all():
        raise BadInputError("without rows of judges, no model is placed without votes")
    return pipeline, rows


def left_out_settings(rows: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """Arguments by which models with votes, or ``--models``, are left out in turn."""
    return {
        **rows.arguments,
        "models": options.models,
        "level": options.level,
        "n_jobs": options.n_jobs,
        "verbose": int(is_watched()),
    }
