"""``skanchor rank``: rank the new models of a battles table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from skanchor.cli.command import Command
from skanchor.cli.layout import add_layout, check_layout, layout_of
from skanchor.cli.method import add_method, check_method, fit_method
from skanchor.cli.output import Forms, add_output, check_output, deliver
from skanchor.cli.report import check_report, write_report
from skanchor.cli.table import add_table, check_table

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.anchor import AnchorPipeline
    from skanchor.reports import RunSummary

__all__ = ["RANK"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_table(parser)
    add_method(parser)
    add_layout(parser)
    add_output(parser)
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write a report, too: .html, .md or .tex, as skanchor report does",
    )


def _rank(options: argparse.Namespace) -> None:
    check_table(options)
    check_method(options)
    check_layout(options)
    check_output(options, inputs=options.battles)
    if options.report is not None:
        check_report(options, "report")
    pipeline = fit_method(options)
    if options.report is not None:
        write_report(pipeline, options, options.report)
    deliver(_forms(pipeline, options), options)


def _forms(pipeline: AnchorPipeline, options: argparse.Namespace) -> Forms:
    from skanchor.cli.wording import worded
    from skanchor.reports import (
        leaderboard_table,
        leaderboard_text,
        result_json,
        summarize,
    )
    from skanchor.results import Scale

    level, layout = options.level, layout_of(options)
    scale = Scale.of(layout["scale"], layout["anchor"])

    def board() -> pd.DataFrame:
        return pipeline.leaderboard(level, **layout)

    def summary() -> RunSummary:
        return summarize(pipeline, level, earlier=options.warned)

    return Forms(
        text=lambda: leaderboard_text(board(), level, summary(), scale, worded),
        record=lambda: result_json(pipeline, level, summary(), worded, **layout),
        frame=board,
        table=lambda: leaderboard_table(board(), level, scale),
    )


RANK = Command(
    name="rank",
    help="rank the new models of a battles table",
    description="Rank the models of a battles table: those with human votes, and "
    "the new ones, which only judges have compared.",
    examples=(
        ("try it on a bundled table", "skanchor rank --demo"),
        ("rank your own", "skanchor rank battles.csv"),
        (
            "votes and verdicts in two files, the rows of a prompt together",
            "skanchor rank votes.csv gpt-4.jsonl --groups prompt_id",
        ),
        (
            "columns of other names, new models named, all results as JSON",
            "skanchor rank t.csv --columns left=model_a,right=model_b --new owl --json",
        ),
        (
            "from a pipe, with a report beside the table",
            "zcat t.csv.gz | skanchor rank - --format csv -o board.csv --report r.html",
        ),
    ),
    add_arguments=_add_arguments,
    run=_rank,
)
