"""Riesz weights of every score, and the system they solve."""

from skanchor.riesz._debiaser import RieszDebiaser
from skanchor.riesz._system import RieszProblem, RieszSystem

__all__ = ["RieszDebiaser", "RieszProblem", "RieszSystem"]
