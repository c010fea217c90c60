"""The leaderboard: flags of its scale, and all its forms."""

from __future__ import annotations

import argparse
import shlex
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import Flags
from skanchor._cli.output import Forms
from skanchor._cli.pairs import numbers_of

if TYPE_CHECKING:
    import pandas as pd

    from skanchor._anchor import AnchorPipeline
    from skanchor.reports.summary import RunSummary


def add_layout(flags: Flags) -> None:
    """Add the flags of the scale."""
    flags.choice(
        "--scale",
        ["logit", "elo"],
        "what scores are measured in: log-odds of a human vote, or Elo points, 400 / "
        "ln 10 for each logit",
    )
    flags.value(
        "--anchor",
        "MODEL=SCORE",
        "model to measure scores from, and its score, as in gpt-4=1000 (default: "
        "the mean of the historical models has 0 logits, or 1000 points)",
    )


def check_layout(options: argparse.Namespace) -> None:
    """Refuse an invalid ``--anchor`` before any work."""
    _anchor(options.anchor)


def layout_of(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `AnchorPipeline.leaderboard`, except for the level."""
    return {"scale": options.scale, "anchor": _anchor(options.anchor)}


def _anchor(given: str | None) -> dict[str, float] | None:
    """Model and score of ``--anchor``."""
    if given is None:
        return None
    return numbers_of([given], "--anchor takes MODEL=SCORE, as in gpt-4=1000", isfinite)


def board_forms(fitted: Any, options: argparse.Namespace) -> Forms:
    """Forms of the leaderboard of a fitted pipeline, or of models placed by a history.

    Each form is computed when it is asked for.
    """
    from skanchor.reports import to_dict
    from skanchor.reports.leaderboard import leaderboard_text
    from skanchor.reports.summary import summarize
    from skanchor.results import Scale

    level, layout = options.level, layout_of(options)
    scale = Scale.of(layout["scale"], layout["anchor"])

    def board() -> pd.DataFrame:
        return fitted.result_.leaderboard(level, **layout)

    def summary() -> RunSummary:
        return summarize(fitted, level, earlier=options.warned)

    return Forms(
        text=lambda: leaderboard_text(board(), level, summary(), scale),
        record=lambda: to_dict(fitted, level, summary=summary(), **layout),
        frame=board,
    )


def board_picture(
    pipeline: AnchorPipeline, options: argparse.Namespace, suffix: str
) -> bytes:
    """Leaderboard of a fitted pipeline as a picture in the format of a suffix."""
    import matplotlib

    # A backend that opens no window.
    matplotlib.use("agg")
    from skanchor.plotting import LeaderboardDisplay

    display: Any = LeaderboardDisplay.from_estimator(
        pipeline, options.level, **layout_of(options)
    )
    content = BytesIO()
    display.figure_.savefig(content, format=suffix.removeprefix("."), dpi=200)
    return content.getvalue()


def report_page(pipeline: AnchorPipeline, options: argparse.Namespace) -> str:
    """Report on a fitted pipeline in HTML."""
    from skanchor.reports.page import to_html
    from skanchor.reports.sections import report_document
    from skanchor.reports.summary import summarize

    document = report_document(
        pipeline,
        options.level,
        summary=summarize(pipeline, options.level, earlier=options.warned),
        command=shlex.join(["skanchor", *options.typed]),
        figures=True,
        **layout_of(options),
    )
    return to_html(document)
