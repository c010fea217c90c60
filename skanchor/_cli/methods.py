"""Methods that the command line knows by name: ANCHOR and the baselines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skanchor._cli.command import BadInputError, require_known

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline
    from skanchor._ranking import RankingEstimator, RankOnlyEstimator, ScoreEstimator

ANCHOR = "AnchorPipeline"
# Listed here, since importing the methods is slow. Baselines that need true scores or
# votes on the new models are left out: a table of battles does not have them.
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
    "SoftElo",
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
    """Refuse unknown names and names that occur twice."""
    for name in names:
        require_known("method", name, METHODS)
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise BadInputError(f"{twice[0]} is named twice")


def make_method(
    name: str, pipeline: AnchorPipeline, n_resamples: int | None = None
) -> RankingEstimator | ScoreEstimator | RankOnlyEstimator:
    """Make a method with the settings that it shares with the pipeline of the flags.

    With ``n_resamples``, methods that have scores but no intervals get intervals from
    refits; methods that only rank are returned as they are.
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
