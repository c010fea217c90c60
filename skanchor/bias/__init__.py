"""Learners of the feature-dependent bias psi of a judge."""

from skanchor.bias._base import BiasLearner, ContrastMixin, make_learner
from skanchor.bias._linear import LinearBias

__all__ = ["BiasLearner", "ContrastMixin", "LinearBias", "make_learner"]
