"""Learners of the feature-dependent bias psi of a judge."""

from skanchor.bias._boosted import BoostedBias
from skanchor.bias._linear import LinearBias
from skanchor.bias._network import NetworkBias
from skanchor.bias.protocol import BiasLearner, ContrastMixin
from skanchor.bias.registry import AutoBias, make_learner

__all__ = [
    "AutoBias",
    "BiasLearner",
    "BoostedBias",
    "ContrastMixin",
    "LinearBias",
    "NetworkBias",
    "make_learner",
]
