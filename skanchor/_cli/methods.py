"""Methods that the command line knows by name: ANCHOR and the baselines."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from skanchor._cli.command import BadInputError, require_known
from skanchor._cli.method import settings_of

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline
    from skanchor.results.estimators import (
        RankingEstimator,
        RankOnlyEstimator,
        ScoreEstimator,
    )

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

_OF_ANCHOR = frozenset(("--item-effects", "--human-bias", "--cv"))
"""Flags that say how AnchorPipeline ranks."""
_SHARED = ("new_models", "ties", "weights")
"""Parameters of AnchorPipeline that every method gets."""


def check_method_names(names: Sequence[str]) -> None:
    """Refuse unknown names and names that occur twice."""
    for name in names:
        require_known("method", name, METHODS)
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise BadInputError(f"{twice[0]} is named twice")


def refuse_unread(
    options: argparse.Namespace, names: Sequence[str], further: Collection[str] = ()
) -> None:
    """Refuse flags of the ranking that none of the named methods reads.

    ``further`` are flags that only the pipeline would read, as the command uses them.
    """
    if ANCHOR in names:
        return
    from skanchor.baselines import BASELINES

    unread = _OF_ANCHOR.union(further)
    flags = [word.partition("=")[0] for word in options.typed]
    typed = [flag for flag in dict.fromkeys(flags) if flag in unread]
    has_calibrator = any(
        "calibrator" in BASELINES[name]().get_params(False) for name in names
    )
    for name in settings_of(options):
        stage = name.partition("__")[0]
        if name not in _SHARED and not (has_calibrator and stage == "calibrator"):
            typed.append(f"--set {name}")
    if typed:
        raise BadInputError(
            f"{', '.join(names)} would not read {', '.join(typed)}: leave that out, or "
            f"name {ANCHOR}, too"
        )


def has_own_intervals(name: str) -> bool:
    """Whether a method has intervals without refits."""
    from skanchor.baselines import BASELINES
    from skanchor.results.estimators import RankingEstimator

    return name == ANCHOR or issubclass(BASELINES[name], RankingEstimator)


def is_resampled(name: str) -> bool:
    """Whether a method has scores without intervals, which refits may give it."""
    from skanchor.baselines import BASELINES
    from skanchor.results.estimators import RankingEstimator, RankOnlyEstimator

    with_own = (RankingEstimator, RankOnlyEstimator)
    return name != ANCHOR and not issubclass(BASELINES[name], with_own)


def make_method(
    name: str, pipeline: AnchorPipeline, n_resamples: int | None = None
) -> RankingEstimator | ScoreEstimator | RankOnlyEstimator:
    """Make a method with the settings that it shares with the pipeline of the flags.

    With ``n_resamples``, methods that have scores but no intervals get intervals from
    refits; methods that only rank are returned as they are.
    """
    if name == ANCHOR:
        return pipeline
    from skanchor._btl import BTLRegressor
    from skanchor.baselines import BASELINES

    kind = BASELINES[name]
    method = kind().set_params(
        btl=BTLRegressor(weights=pipeline.weights, ties=pipeline.ties),
        new_models=pipeline.new_models,
    )
    if pipeline.calibrator is not None and "calibrator" in method.get_params(False):
        method.set_params(calibrator=pipeline.calibrator)
    if n_resamples is None or not is_resampled(name):
        return method
    from skanchor.bootstrap import Bootstrapped

    return Bootstrapped(
        method,
        n_resamples,
        random_state=pipeline.random_state,
        new_models=pipeline.new_models,
        weights=pipeline.weights,
    )
