"""Battles in which people have a bias of their own."""

import numpy as np
from scipy.special import expit

from skanchor.simulation import simulate_battles

FEATURES = ["x1", "x2", "x3"]


def contrasts(X):
    """Features of the first response minus those of the second."""
    left, right = ([f"{name}_{side}" for name in FEATURES] for side in "ab")
    return X[left].to_numpy() - X[right].to_numpy()


def with_style(data, rho, rng):
    """The outcomes of a simulated table, drawn anew where people vote.

    ``psi_0(x) = b'x`` has rho times the standard deviation of the score differences.

    Returns
    -------
    y : ndarray of shape (n_rows,)
    coef : ndarray of shape (n_features,)
        b.
    """
    X, y = data.X, np.asarray(data.y).copy()
    human = (X["judge"] == "human").to_numpy()
    # Of people, the simulation gives the difference of scores.
    delta, dx = data.truth.logits[human], contrasts(X)[human]
    coef = rng.normal(size=dx.shape[1])
    coef *= rho * delta.std() / (dx @ coef).std()
    y[human] = rng.random(len(dx)) < expit(delta + dx @ coef)
    return y, coef


def small(seed=0, rho=1.0, **options):
    """A small table with style, its outcomes and the coefficients of style."""
    options = {"n_historical": 1500, "n_new": 200, "n_models": 5} | options
    data = simulate_battles(random_state=seed, **options)
    y, coef = with_style(data, rho, np.random.default_rng(seed + 1000))
    return data, y, coef
