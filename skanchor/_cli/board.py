"""The leaderboard in all forms that a command can print or write."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from skanchor._cli.layout import layout_of
from skanchor._cli.output import Forms

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.reports import Reported, RunSummary


def board_forms(fitted: Reported, options: argparse.Namespace) -> Forms:
    """Forms of the leaderboard of a fitted pipeline, or of models placed by a history.

    Each form is computed when it is asked for.
    """
    from skanchor._cli.wording import worded
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
        return fitted.result_.leaderboard(level, **layout)

    def summary() -> RunSummary:
        return summarize(fitted, level, earlier=options.warned)

    return Forms(
        text=lambda: leaderboard_text(board(), level, summary(), scale, worded),
        record=lambda: result_json(fitted, level, summary(), worded, **layout),
        frame=board,
        table=lambda: leaderboard_table(board(), level, scale),
    )
