"""Battles with known human scores, judge sensitivities and judge biases.

The design is the one of the simulation study of the ANCHOR paper (its Section 5,
subsec:sim-setup), with the choices that its supplement would settle made here and
documented.
"""

from skanchor.simulation._battles import simulate_battles

__all__ = ["simulate_battles"]
