"""Riesz weights of every score, and the evidence they are solved from."""

from skanchor._riesz._blocks import riesz_problem
from skanchor._riesz._debiaser import TARGETS, RieszDebiaser
from skanchor._riesz._evidence import Evidence, RowEvidence, SplitSums
from skanchor._riesz._influence import InfluenceSums
from skanchor._riesz._learners import (
    NO_BIAS,
    WeightLearner,
    human_learner,
    weight_learners,
)
from skanchor._riesz._responses import ResponseMeans

__all__ = [
    "NO_BIAS",
    "TARGETS",
    "Evidence",
    "InfluenceSums",
    "ResponseMeans",
    "RieszDebiaser",
    "RowEvidence",
    "SplitSums",
    "WeightLearner",
    "human_learner",
    "riesz_problem",
    "weight_learners",
]
