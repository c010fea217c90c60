"""Methods to compare with, each with the same ``fit`` and the same result names."""

from skanchor.baselines._joint_btl import JointBTL
from skanchor.ranking import RankingEstimator

__all__ = ["BASELINES", "JointBTL"]

BASELINES: dict[str, type[RankingEstimator]] = {"JointBTL": JointBTL}
"""Baselines by name."""
