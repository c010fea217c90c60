"""``skanchor rank``: rank the new models of a battles table."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

from skanchor._cli.command import Command
from skanchor._cli.contexts import add_contexts, check_contexts
from skanchor._cli.layout import (
    add_layout,
    board_forms,
    board_picture,
    check_layout,
    report_page,
)
from skanchor._cli.method import add_method, check_flags, fit_method
from skanchor._cli.output import PAGES, PICTURES, add_output, deliver
from skanchor._cli.table import add_table


def _rank(options: argparse.Namespace) -> None:
    check_flags(options, PAGES | PICTURES)
    check_contexts(options)
    check_layout(options)
    pipeline = fit_method(options)
    forms = replace(
        board_forms(pipeline, options),
        page=partial(report_page, pipeline, options),
        picture=partial(board_picture, pipeline, options),
    )
    deliver(forms, options)


RANK = Command(
    name="rank",
    help="rank the new models of a battles table",
    description="Rank the models of a battles table: those with human votes, and "
    "the new ones, which only judges have compared.",
    examples=(
        ("try it on a bundled table", "--demo"),
        ("rank your own", "battles.csv"),
        (
            "votes and verdicts in two files, rows grouped by prompt or by a column",
            "votes.csv gpt-4.jsonl --groups session",
        ),
        (
            "columns of other names, new models named, all results as JSON",
            "t.csv --columns left=model_a,right=model_b --new owl --json",
        ),
        (
            "kinds of prompts, and the scores of a mix of them",
            "t.csv --context category --context-mix coding=0.7,chat=0.3",
        ),
        (
            "from a pipe, the table into a file",
            "zcat t.csv.gz | skanchor rank - -o board.csv",
        ),
        (
            "the paper's fit, or any other parameter of AnchorPipeline",
            "battles.csv --set historical_fit=two-step item_effects=null",
        ),
        ("a report for the browser", "battles.csv -o report.html"),
        ("scores and intervals as a picture", "battles.csv -o board.png"),
    ),
    arguments=(
        add_table,
        add_method,
        add_contexts,
        add_layout,
        partial(
            add_output,
            more="; a report in .html (one page that needs no network); a picture of "
            "scores and intervals in .png, .svg or .pdf",
        ),
    ),
    run=_rank,
)
