"""Riesz weights of every score, and the evidence they are solved from."""

from skanchor.riesz._blocks import riesz_problem
from skanchor.riesz._debiaser import TARGETS, RieszDebiaser
from skanchor.riesz._evidence import Evidence, KeptSums, RowEvidence
from skanchor.riesz._influence import InfluenceSums
from skanchor.riesz._learners import (
    NO_BIAS,
    WeightLearner,
    human_learner,
    weight_learners,
)
from skanchor.riesz._responses import ResponseMeans

__all__ = [
    "NO_BIAS",
    "TARGETS",
    "Evidence",
    "InfluenceSums",
    "KeptSums",
    "ResponseMeans",
    "RieszDebiaser",
    "RowEvidence",
    "WeightLearner",
    "human_learner",
    "riesz_problem",
    "weight_learners",
]
