"""Tables of comparisons that tests share, by name, and what they ask of a table.

`small`, `liked` and `biased` draw a table by its seed; keywords are those of
`simulate_battles` and replace what is named here. `styled` gives people a style, and
`columns_of` is a table of six rows for every kind of data frame.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit

from skanchor import BTLRegressor
from skanchor.results import RankingResult
from skanchor.simulation import simulate_battles

KEYS = ["model_a", "model_b", "judge"]
FEATURES = ["x1", "x2", "x3"]


def drawn(**sizes):
    """A function that draws a table of these sizes by its seed."""
    return lambda seed=0, **changes: simulate_battles(
        **sizes | changes, random_state=seed
    )


small = drawn(n_models=5, n_judges=2, n_historical=900, n_new=120)
biased = drawn(n_models=5, n_judges=2, n_historical=1200, n_new=100)
# Judges like some models more than others.
liked = drawn(n_models=6, n_judges=2, n_historical=1200, n_new=150, item_sd=0.3)


def ranking(scores, covariance, n_new=1, names=None, **fields):
    """A result made without a fit, of scores (models,) or (repeats, models).

    The last models are new.
    """
    scores = np.atleast_2d(scores).astype(float)
    n = scores.shape[1]
    covariances = np.reshape(covariance, (-1, n, n)).astype(float)
    reference = {
        "models": np.array(names or [f"m{i}" for i in range(n)], dtype=object),
        "is_new": np.arange(n) >= n - n_new,
        "estimates": scores,
        "covariances": covariances,
        "unbounded": np.zeros(n, dtype=bool),
        "n_human": np.full(n, 10),
        "n_judge": np.full(n, 20),
    }
    return RankingResult(**(reference | fields))


# ------------------------------------------------------------------------------ style
def contrasts(X):
    """Features of the first response minus those of the second."""
    left, right = ([f"{name}_{side}" for name in FEATURES] for side in "ab")
    return X[left].to_numpy() - X[right].to_numpy()


def styled(seed=0, rho=1.0, **changes):
    """A table whose people have a bias ``b'x``, its outcomes, and b.

    The bias has rho times the standard deviation of the score differences.
    """
    sizes = {"n_historical": 1500, "n_new": 200, "n_models": 5} | changes
    data = simulate_battles(random_state=seed, **sizes)
    rng = np.random.default_rng(seed + 1000)
    y = np.asarray(data.y).copy()
    human = (data.X["judge"] == "human").to_numpy()
    # Of people, the simulation gives the difference of scores.
    delta, dx = data.truth.logits[human], contrasts(data.X)[human]
    coef = rng.normal(size=dx.shape[1])
    coef *= rho * delta.std() / (dx @ coef).std()
    y[human] = rng.random(len(dx)) < expit(delta + dx @ coef)
    return data, y, coef


# --------------------------------------------------------------- every kind of a frame
KINDS = {
    "pandas": lambda data: pd.DataFrame(data),
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": lambda data: pa.table(data),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def columns_of(**changes):
    """Columns of six comparisons; a change to None leaves a column out."""
    data = {
        "model_a": ["zeta", "alpha", "mid", "alpha", "zeta", "Émile, 3"],
        "model_b": ["alpha", "mid", "zeta", "zeta", "mid", "alpha"],
        "judge": ["human", "gpt", "human", "claude", "gpt", "human"],
        "x_a": [0.5, 1.0, -1.0, 2.0, 0.0, 3.0],
        "x_b": [1.5, 0.0, 1.0, 2.5, 0.25, 0.0],
        "n_a": [1, 2, 3, 4, 5, 6],
        "n_b": [6, 5, 4, 3, 2, 1],
        "flag_a": [True, False] * 3,
        "flag_b": [False, False, True] * 2,
        "prompt_a": list("abcdef"),
        "prompt_b": list("ghijkl"),
        "language": ["en"] * 6,
    } | changes
    return {name: values for name, values in data.items() if values is not None}


def assert_same(a, b):
    """Two encodings say the same of each row."""
    for name in ("models", "judges", "left", "right", "judge", "order"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert_array_equal(a.features_left, b.features_left)
    assert_array_equal(a.features_right, b.features_right)
    assert (a.feature_names, a.new_models) == (b.feature_names, b.new_models)
    for name in ("scores", "sensitivities", "position_effects", "biases"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


# --------------------------------------------------------------------- small questions
def meets(X, *models):
    """Rows in which one of the models stands on a side, by default the new one."""
    return X[KEYS[:2]].isin(models or ["new-model"]).any(axis=1).to_numpy()


def scored(X, y, weight=None):
    """Rows that carry people's scores."""
    return BTLRegressor().fit(X, y, weight).transform(X)


def plan_of(fold):
    """Splits of a cross-validation, by the fold that holds each row out."""
    item = range(int(np.max(fold)) + 1)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in item]


def warnings_of(call):
    """The warnings that a call issues."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [one.message for one in caught]


def quiet(call, *arguments, **more):
    """What a call returns, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **more)
