"""Methods to compare with, each with the same ``fit`` and the same result names.

A method with standard errors has all results of ``AnchorPipeline``. A method that gives
scores alone has ``scores_``, ``ranks_`` and ``leaderboard``, and gets intervals from
:class:`skanchor.bootstrap.Bootstrapped`. A method whose outputs are not on the scale of
the human scores has ``ranks_``, ``win_rates_`` and ``leaderboard``.

Examples
--------
>>> from skanchor.baselines import BASELINES
>>> BASELINES["DirectScore"]().get_params()["new_models"] is None
True
"""

from skanchor._estimators.base import ComparisonEstimator
from skanchor.baselines._btl import HumanOnly, JointBTL, JudgeArenaElo, PerJudgeBTL
from skanchor.baselines._likelihood import JointMLE, JudgeAwareBTL, Oracle
from skanchor.baselines._plug_in import (
    DirectScore,
    HistoricalPPI,
    IPWOnly,
    MeanShift,
    PooledLLM,
    ScalarJudge,
)
from skanchor.baselines._wins import (
    ConformalRanking,
    HistoricalPPR,
    LogisticJudge,
    SoftElo,
)

__all__ = [
    "BASELINES",
    "ConformalRanking",
    "DirectScore",
    "HistoricalPPI",
    "HistoricalPPR",
    "HumanOnly",
    "IPWOnly",
    "JointBTL",
    "JointMLE",
    "JudgeArenaElo",
    "JudgeAwareBTL",
    "LogisticJudge",
    "MeanShift",
    "Oracle",
    "PerJudgeBTL",
    "PooledLLM",
    "ScalarJudge",
    "SoftElo",
]

BASELINES: dict[str, type[ComparisonEstimator]] = {
    method.__name__: method
    for method in (
        *(HumanOnly, Oracle, JointBTL, PooledLLM, ScalarJudge, MeanShift, PerJudgeBTL),
        *(DirectScore, IPWOnly, HistoricalPPI, HistoricalPPR, LogisticJudge),
        *(JointMLE, JudgeArenaElo, JudgeAwareBTL, SoftElo),
    )
}
"""Baselines by name."""
