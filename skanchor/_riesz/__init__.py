"""Riesz weights of every score, and the functions of the features in them."""

from skanchor._riesz._debiaser import RieszDebiaser, warn_of_unidentified
from skanchor._riesz._learners import WeightLearner
from skanchor._riesz._weighing import Weighing

__all__ = ["RieszDebiaser", "Weighing", "WeightLearner", "warn_of_unidentified"]
