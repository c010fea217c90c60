"""Flags of the layout of a leaderboard: its scale, order and kind of ranks."""

from __future__ import annotations

import argparse
from math import isfinite
from typing import Any

from skanchor._cli.pairs import numbers_of


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the layout."""
    parser.add_argument(
        "--scale",
        choices=["logit", "elo"],
        default="logit",
        help="what scores are measured in: log-odds of a human vote, or Elo points, "
        "400 / ln 10 for each logit (default: %(default)s)",
    )
    parser.add_argument(
        "--anchor",
        metavar="MODEL=SCORE",
        help="model to measure scores from, and its score, as in gpt-4=1000 (default: "
        "the mean of the historical models has 0 logits, or 1000 points)",
    )
    parser.add_argument(
        "--sort",
        choices=["score", "low"],
        default="score",
        help="sort by the score, or by the lower end of its interval (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--ranks",
        choices=["score", "shared", "tier"],
        default="score",
        help="meaning of a rank: the rank by score; one more than the number of "
        "significantly better models, so that models may share ranks (shared); or the "
        "number of a tier, all of whose models are better than those of the next tier "
        "(default: %(default)s)",
    )


def check_layout(options: argparse.Namespace) -> None:
    """Refuse an invalid ``--anchor`` before any work."""
    _anchor(options.anchor)


def layout_of(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `AnchorPipeline.leaderboard`, except for the level."""
    return {
        "scale": options.scale,
        "anchor": _anchor(options.anchor),
        "sort": options.sort,
        "ranks": options.ranks,
    }


def _anchor(given: str | None) -> dict[str, float] | None:
    """Model and score of ``--anchor``."""
    if given is None:
        return None
    return numbers_of([given], "--anchor takes MODEL=SCORE, as in gpt-4=1000", isfinite)
