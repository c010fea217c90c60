"""Riesz weights of every score, and the evidence they are solved from."""

from skanchor.riesz._debiaser import RieszDebiaser
from skanchor.riesz._evidence import (
    SEPARATED,
    Evidence,
    KeptSums,
    RowEvidence,
    riesz_problem,
)
from skanchor.riesz._influence import InfluenceSums
from skanchor.riesz._learners import WeightLearner, weight_learners

__all__ = [
    "SEPARATED",
    "Evidence",
    "InfluenceSums",
    "KeptSums",
    "RieszDebiaser",
    "RowEvidence",
    "WeightLearner",
    "riesz_problem",
    "weight_learners",
]
