"""``skanchor rank``: rank the new models of a battles table."""

from __future__ import annotations

import argparse
from functools import partial

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.contexts import add_contexts, check_contexts
from skanchor._cli.history import add_history, check_history, place_new_models
from skanchor._cli.layout import add_layout, board_forms, check_layout
from skanchor._cli.method import add_method, check_flags, fit_method
from skanchor._cli.output import add_output, deliver
from skanchor._cli.report import check_report, write_report
from skanchor._cli.table import add_table


def _add_arguments(flags: Flags) -> None:
    flags.value(
        "--report",
        "FILE",
        "write a report, too: .html, .md or .tex, as skanchor report does",
    )


def _rank(options: argparse.Namespace) -> None:
    if options.history is not None and options.report is not None:
        raise BadInputError("--report does not go with --history")
    check_history(options)
    if options.history is not None:
        place_new_models(options)
        return
    check_flags(options)
    check_contexts(options)
    check_layout(options)
    if options.report is not None:
        check_report(options, "report")
    pipeline = fit_method(options)
    if options.report is not None:
        write_report(pipeline, options, options.report)
    deliver(board_forms(pipeline, options), options)


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
            "from a pipe, with a report beside the table",
            "zcat t.csv.gz | skanchor rank - --file-format csv -o board.csv "
            "--report r.html",
        ),
    ),
    arguments=(
        add_table,
        add_method,
        add_contexts,
        partial(add_history, more=", and the method is that of the history"),
        add_layout,
        add_output,
        _add_arguments,
    ),
    run=_rank,
)
