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

from skanchor._base import ComparisonEstimator
from skanchor.baselines._conformal import ConformalRanking
from skanchor.baselines._direct_score import DirectScore
from skanchor.baselines._historical_ppi import HistoricalPPI
from skanchor.baselines._historical_ppr import HistoricalPPR
from skanchor.baselines._human_only import HumanOnly
from skanchor.baselines._ipw_only import IPWOnly
from skanchor.baselines._joint_btl import JointBTL
from skanchor.baselines._joint_mle import JointMLE
from skanchor.baselines._judge_arena_elo import JudgeArenaElo
from skanchor.baselines._judge_aware_btl import JudgeAwareBTL
from skanchor.baselines._logistic_judge import LogisticJudge
from skanchor.baselines._mean_shift import MeanShift
from skanchor.baselines._oracle import Oracle
from skanchor.baselines._per_judge_btl import PerJudgeBTL
from skanchor.baselines._pooled_llm import PooledLLM
from skanchor.baselines._scalar_judge import ScalarJudge
from skanchor.baselines._soft_elo import SoftElo

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

_ALL: list[type[ComparisonEstimator]] = [
    HumanOnly,
    Oracle,
    JointBTL,
    PooledLLM,
    ScalarJudge,
    MeanShift,
    PerJudgeBTL,
    DirectScore,
    IPWOnly,
    HistoricalPPI,
    HistoricalPPR,
    LogisticJudge,
    JointMLE,
    JudgeArenaElo,
    JudgeAwareBTL,
    SoftElo,
]

BASELINES: dict[str, type[ComparisonEstimator]] = {
    method.__name__: method for method in _ALL
}
"""Baselines by name."""
