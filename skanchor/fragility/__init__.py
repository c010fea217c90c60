"""Fragility: how few rows change a statement about a new model, confirmed by refits."""

from skanchor.fragility._found import Fragility
from skanchor.fragility._fragility import Asked, fragility_of

__all__ = ["Asked", "Fragility", "fragility_of"]
