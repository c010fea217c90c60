"""``skanchor check``: whether the intervals hold for models that are left out."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from skanchor._cli.battles import Rows
from skanchor._cli.fit import check_flags, load
from skanchor._cli.output import deliver
from skanchor._cli.streams import is_watched
from skanchor._cli.values import BadInputError

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline


def left_out_settings(rows: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """Arguments by which models with votes, or ``--models``, are left out in turn."""
    return {
        **rows.arguments,
        "weights": rows.weights,
        "models": options.models,
        "level": options.level,
        "n_jobs": options.n_jobs,
        "verbose": int(is_watched()),
    }


def load_judged(options: argparse.Namespace) -> tuple[AnchorPipeline, Rows]:
    """Read the battles of models that are left out in turn, which need a judge."""
    from skanchor._battles import HUMAN

    pipeline, rows = load(options)
    if "judge" not in rows.X or (rows.X["judge"] == HUMAN).all():
        raise BadInputError("without rows of judges, no model is placed without votes")
    return pipeline, rows


def check(options: argparse.Namespace) -> None:
    check_flags(options)
    fitted, rows = load_judged(options)
    _fit_as_ranked(fitted, rows)

    from skanchor.evaluation import check_intervals
    from skanchor.reports.sentences import check_record, interval_verdict
    from skanchor.reports.text import Readout
    from skanchor.reports.views import check_table

    found = check_intervals(fitted, **left_out_settings(rows, options))
    verdict = interval_verdict(found)
    findings = [f"- {line}" for line in verdict.findings]
    readout = Readout(
        "check",
        found.table,
        check_record(found),
        [check_table(found)],
        [verdict.statement, *findings, *filter(None, [verdict.advice])],
    )
    deliver(readout, options)


def _fit_as_ranked(pipeline: AnchorPipeline, rows: Rows) -> None:
    """Fit all rows as ``skanchor rank`` does, or the historical models alone.

    The fit decides the treatment of the item effects, and issues its warnings once.
    """
    from skanchor._sample.sample import Sample
    from skanchor.exceptions import DiagnosticWarning
    from skanchor.warning_log import WarningLog

    with WarningLog():
        X = Sample.admit(rows.X, rows.y, rows.sample_weight, rows.groups).X
    voted = set(X.left[X.is_human].tolist()) | set(X.right[X.is_human].tolist())
    if len(voted - {-1}) == len(X.models):
        pipeline.set_params(new_models=[])
    with warnings.catch_warnings():
        # What they say concerns the intervals of the new models, which rank shows.
        warnings.simplefilter("ignore", DiagnosticWarning)
        pipeline.fit(**rows.arguments)
