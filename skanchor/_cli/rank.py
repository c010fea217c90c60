"""``skanchor rank``: rank the new models of a battles table."""

from __future__ import annotations

import argparse
import shlex
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import Command, Flags
from skanchor._cli.fit import add_fit, check_flags, fit_rows
from skanchor._cli.output import FORMS, OF_RANKINGS, Output, add_output, deliver
from skanchor._cli.pairs import numbers_of
from skanchor._cli.table import add_table

if TYPE_CHECKING:
    from skanchor.reports.facts import Facts


def add_scale(flags: Flags) -> None:
    """Add the flags of the scale."""
    group = flags.group("scale")
    group.value(
        "--scale",
        "UNIT",
        "of scores: logit (log-odds of a vote, the default) or elo (points)",
        choices=["logit", "elo"],
        default="logit",
    )
    group.value(
        "--anchor",
        "MODEL=SCORE",
        "measure scores from this model, as in gpt-4=1000",
    )


def scale_of(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `AnchorPipeline.leaderboard`, except for the level."""
    anchor = None
    if options.anchor is not None:
        takes = "--anchor takes MODEL=SCORE, as in gpt-4=1000"
        anchor = numbers_of([options.anchor], takes, isfinite)
    return {"scale": options.scale, "anchor": anchor}


def ranking_output(fitted: Any, options: argparse.Namespace) -> Output:
    """Forms of a fitted pipeline, or of models that a history has placed."""
    from skanchor.reports.document import document
    from skanchor.reports.facts import Facts
    from skanchor.reports.page import ranking_text, render_page
    from skanchor.reports.views import board_table

    facts = Facts(
        fitted,
        options.level,
        earlier=options.warned,
        command=shlex.join(["skanchor", *options.typed]),
        **scale_of(options),
    )
    return Output(
        text=lambda **screen: ranking_text(facts, **screen),
        record=lambda: document(facts),
        frame=lambda: facts.board,
        tables=lambda: [board_table(facts)],
        page=lambda: render_page(facts),
        picture=lambda suffix: _picture(facts, suffix),
    )


def _picture(facts: Facts, suffix: str) -> bytes:
    """The leaderboard as a picture in the format of a suffix."""
    import matplotlib

    # A backend that opens no window.
    matplotlib.use("agg")
    from skanchor.plotting import LeaderboardDisplay

    display: Any = LeaderboardDisplay.from_result(
        facts.result, facts.level, scale=facts.scale
    )
    content = BytesIO()
    display.figure_.savefig(content, format=suffix.removeprefix("."), dpi=200)
    return content.getvalue()


def _rank(options: argparse.Namespace) -> None:
    scale_of(options)
    check_flags(options, FORMS | OF_RANKINGS)
    deliver(ranking_output(fit_rows(options), options), options)


def _add_arguments(flags: Flags) -> None:
    add_table(flags)
    add_fit(flags)
    add_scale(flags)
    add_output(flags, " .html (a page) .png .svg .pdf (the plot)")


RANK = Command(
    name="rank",
    help="rank the models of a table, new ones by the judges alone",
    examples=(
        ("a bundled table", "--demo"),
        ("votes and verdicts", "votes.csv gpt-4.jsonl"),
        ("a page to hand on", "battles.csv -o report.html"),
        ("the plot", "battles.csv -o board.png"),
        ("any parameter", "battles.csv --set cv=5 ties=drop"),
    ),
    arguments=_add_arguments,
    run=_rank,
)
