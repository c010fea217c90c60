"""Riesz weights of every score, and the functions of the features in them."""

from skanchor._riesz._debiaser import RieszDebiaser, warn_of_unidentified
from skanchor._riesz._weighing import Weighing, WeightFunctions

__all__ = ["RieszDebiaser", "Weighing", "WeightFunctions", "warn_of_unidentified"]
