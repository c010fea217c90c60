"""Riesz weights of every score, and the evidence they are solved from."""

from skanchor._riesz._blocks import riesz_problem
from skanchor._riesz._debiaser import RieszDebiaser
from skanchor._riesz._evidence import RowEvidence, SplitSums
from skanchor._riesz._influence import InfluenceSums
from skanchor._riesz._learners import WeightLearner, weight_learners

__all__ = [
    "InfluenceSums",
    "RieszDebiaser",
    "RowEvidence",
    "SplitSums",
    "WeightLearner",
    "riesz_problem",
    "weight_learners",
]
