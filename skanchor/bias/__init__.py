"""Learners of the feature-dependent bias psi of a judge."""

from skanchor.bias._auto import AutoBias
from skanchor.bias._base import BiasLearner, ContrastMixin, Problem, make_learner
from skanchor.bias._boosted import BoostedBias
from skanchor.bias._linear import LinearBias
from skanchor.bias._network import NetworkBias

__all__ = [
    "AutoBias",
    "BiasLearner",
    "BoostedBias",
    "ContrastMixin",
    "LinearBias",
    "NetworkBias",
    "Problem",
    "make_learner",
]
