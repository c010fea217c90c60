"""Battles with known human scores, judge sensitivities and judge biases.

The design is that of the simulation study in the ANCHOR paper (its Section 5,
subsec:sim-setup). Choices that the paper leaves to its supplement are made and
documented here.
"""

from skanchor.simulation._battles import simulate_battles

__all__ = ["simulate_battles"]
