"""Learners that behave badly, each in a way of its own."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from skanchor.bias import LinearBias


class Wrapped(BaseEstimator):
    """A linear bias behind the protocol; subclasses misbehave as ``act`` says."""

    def __init__(self, act="", loss="logistic"):
        self.act = act
        self.loss = loss

    def fit(
        self, X, y, sample_weight=None, *, parametric=None, bounds=None, start=None
    ):
        self.inner_ = LinearBias(loss=self.loss).fit(
            X, y, sample_weight, parametric=parametric, bounds=bounds
        )
        self.parametric_coef_ = self.inner_.parametric_coef_
        return self

    def contrast(self, X):
        return self.inner_.contrast(X)
