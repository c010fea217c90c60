"""Learners that behave badly, each in a way of its own, and a check of good ones."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import BaseEstimator

from skanchor._battles import FeaturePairs
from skanchor.bias import LinearBias
from skanchor.bias.protocol import rejoined


def make_pairs(seed=0, n=400, d=3):
    """Pairs, a parametric column, outcomes of a curved bias, and weights."""
    rng = np.random.default_rng(seed)
    pairs = FeaturePairs(*(rng.normal(size=(2, n, d)) + 0.3))
    delta = rng.normal(size=(n, 1))
    y = (rng.random(n) < expit(true_logits(pairs, delta))) * 1.0
    return pairs, delta, y, rng.exponential(size=n)


def true_logits(pairs, delta=0.0):
    """Logits of `make_pairs`, or without the column what the features add to them."""
    first, second = (
        np.sin(2 * x[:, 0]) + x[:, 1] ** 2 / 2 for x in (pairs.left, pairs.right)
    )
    return 1.3 * np.ravel(delta) + first - second


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


def check_last_stage(fit, pairs, weight):
    """The last stage of a fitted learner is linear in its coefficients."""
    stage = fit.last_stage(pairs, weight)
    assert stage.ridge.shape == stage.coef.shape == stage.columns.shape[1:]
    linear = stage.columns @ stage.coef
    assert_allclose(linear + stage.fixed, fit.contrast(pairs), atol=1e-6)
    before = fit.contrast(pairs)
    doubled = rejoined(fit, 2.0 * stage.coef)
    expected = 2.0 * linear + stage.fixed
    assert_allclose(doubled.contrast(pairs), expected, atol=1e-6)
    assert np.abs(linear).max() > 0.1
    assert_allclose(fit.contrast(pairs), before)
