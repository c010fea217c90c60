"""Methods that are named on the command line: ANCHOR and those to compare it with."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skanchor._cli.command import BadInputError

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline
    from skanchor._ranking import RankingEstimator, RankOnlyEstimator, ScoreEstimator

__all__ = ["ANCHOR", "METHODS", "add_method_name", "check_method_names", "make_method"]

ANCHOR = "AnchorPipeline"
# Known here, as the methods themselves take their time to import. Without those that
# need what a table of battles does not have: true scores, votes on the new model.
METHODS = (
    ANCHOR,
    "JointBTL",
    "PooledLLM",
    "ScalarJudge",
    "MeanShift",
    "PerJudgeBTL",
    "DirectScore",
    "IPWOnly",
    "HistoricalPPI",
    "HistoricalPPR",
    "LogisticJudge",
    "JointMLE",
    "JudgeArenaElo",
    "JudgeAwareBTL",
)
"""Names of the methods."""


def add_method_name(parser: argparse.ArgumentParser) -> None:
    """Add the flag that names one method."""
    parser.add_argument(
        "--method",
        default=ANCHOR,
        metavar="NAME",
        help=f"{', '.join(METHODS)} (default: %(default)s)",
    )


def check_method_names(names: Sequence[str]) -> None:
    """Refuse names of no method."""
    for name in names:
        if name not in METHODS:
            near = difflib.get_close_matches(name, METHODS, 1, 0.4)
            guess = f"; did you mean {near[0]}?" if near else ""
            raise BadInputError(
                f"there is no method {name!r}{guess} (known: {', '.join(METHODS)})"
            )
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise BadInputError(f"{twice[0]} is named twice")


def make_method(
    name: str, pipeline: AnchorPipeline, n_resamples: int | None = None
) -> RankingEstimator | ScoreEstimator | RankOnlyEstimator:
    """Make a method, with what it shares with the pipeline that the flags ask for.

    With a number of resamples, methods that have scores but no intervals get them from
    refits; those that only rank stay as they are.
    """
    if name == ANCHOR:
        return pipeline
    from skanchor._ranking import RankingEstimator, RankOnlyEstimator
    from skanchor.baselines import BASELINES

    kind = BASELINES[name]
    method = kind().set_params(new_models=pipeline.new_models)
    if n_resamples is None or issubclass(kind, (RankingEstimator, RankOnlyEstimator)):
        return method
    from skanchor.bootstrap import Bootstrapped

    return Bootstrapped(
        method,
        n_resamples,
        random_state=pipeline.random_state,
        new_models=pipeline.new_models,
        weights=pipeline.weights,
    )
