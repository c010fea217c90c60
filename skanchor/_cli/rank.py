"""``skanchor rank``: rank the new models of a battles table."""

from __future__ import annotations

import argparse
import shlex
from io import BytesIO
from typing import Any

from skanchor._cli.fit import check_flags, fit_rows
from skanchor._cli.output import PAGE, PICTURES, deliver


def rank(options: argparse.Namespace) -> None:
    check_flags(options, PAGE, *PICTURES)
    deliver_ranking(fit_rows(options), options)


def deliver_ranking(fitted: Any, options: argparse.Namespace) -> None:
    """Print or write a fitted pipeline, or models that a history has placed."""
    from skanchor.reports.facts import Facts
    from skanchor.reports.text import Ranking

    facts = Facts(
        fitted,
        options.level,
        earlier=options.warned,
        command=shlex.join(["skanchor", *options.typed]),
        scale=options.scale,
        anchor=None if options.anchor is None else dict([options.anchor]),
    )

    def special(suffix: str) -> str | bytes:
        if suffix == PAGE:
            from skanchor.reports.page import render_page

            return render_page(facts)

        import matplotlib

        # A backend that opens no window.
        matplotlib.use("agg")
        from skanchor.plotting import LeaderboardDisplay

        display: Any = LeaderboardDisplay.from_result(
            facts.result, facts.level, scale=facts.scale
        )
        content = BytesIO()
        display.figure_.savefig(content, format=suffix[1:], dpi=200)
        return content.getvalue()

    deliver(Ranking(facts), options, special)
