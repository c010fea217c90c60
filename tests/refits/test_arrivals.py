"""Equations of the arrivals against scipy, and mean biases by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit

from skanchor._refits import Arrivals

# Two new models: rows 0 to 3 of the first, 4 and 5 of the second, 6 between them.
SIGNS = np.array([[1, 0], [-1, 0], [1, 0], [1, 0], [0, 1], [0, -1], [1, -1]], float)
JUDGE = np.array([0, 0, 1, -1, 0, 0, 0])


def arrivals(n_replicates=2, rows=slice(None), seed=0):
    rng = np.random.default_rng(seed)
    shape = (n_replicates, 7)
    weight = rng.uniform(0.5, 2.0, shape)
    judged = JUDGE >= 0
    parts = (
        weight,
        weight * rng.uniform(0.2, 0.8, shape),
        rng.normal(size=shape),
        np.where(judged, rng.uniform(0.5, 2.0, shape), 1.0),
        np.where(judged, rng.normal(size=shape), 0.0),
        np.where(judged, 0.1, 0.0) * np.ones(shape),
    )
    return Arrivals(
        JUDGE[rows], SIGNS[rows], *(part[:, rows] for part in parts), np.zeros(2), 1e-18
    )


def solved(found, weighting, g, r, h, shift=0.0):
    """Score of a model that meets no new one, by bisection."""
    at = np.flatnonzero(found.signs[:, g])
    side, c = found.signs[at, g], found.sensitivities[r, at]
    k = c if weighting == "sensitivity" else 1.0

    def left(score):
        eta = c * (found.opponent[r, at] + side * score) + h[r, at]
        eta = eta + found.positions[r, at]
        p = expit(eta)
        residual = side * k * (found.first[r, at] - found.weight[r, at] * p)
        return residual.sum() / found.weight[r, at].sum() + shift

    return brentq(left, -15, 15, xtol=1e-13)


@pytest.mark.parametrize("weighting", ["sensitivity", "equal"])
@pytest.mark.parametrize("how", ["plain", "biases", "shift"])
def test_root_against_scipy(weighting, how):
    found = arrivals(rows=slice(6))
    biases = found.mean_biases() if how == "biases" else None
    shift = np.array([0.03, -0.02]) if how == "shift" else None
    roots = found.root(weighting, biases=biases, shift=shift)
    for r in range(2):
        expected = [
            solved(
                found,
                weighting,
                g,
                r,
                found.biases if biases is None else biases,
                0.0 if shift is None else shift[r],
            )
            for g in range(2)
        ]
        assert_allclose(roots[r], expected, atol=1e-9)


def test_mean_biases_by_hand():
    found = arrivals()
    mean = found.mean_biases()
    h, w = found.biases, found.weight
    for r in range(2):
        # Judge 0 on the first model: row 1 has it second, so its bias turns round.
        first = (w[r, 0] * h[r, 0] - w[r, 1] * h[r, 1]) / (w[r, 0] + w[r, 1])
        second = (w[r, 4] * h[r, 4] - w[r, 5] * h[r, 5]) / (w[r, 4] + w[r, 5])
        # A single row of judge 1 and the row between new models keep their own.
        expected = [first, -first, h[r, 2], 0.0, second, -second, h[r, 6]]
        assert_allclose(mean[r], expected)
    assert_allclose(found.biases, arrivals().biases)


def test_rows_of_one_judge():
    found = arrivals()
    mine = found.of_judge(1)
    assert mine.judge.tolist() == [1] and mine.signs.tolist() == [[1.0, 0.0]]
    for name in ("weight", "first", "opponent", "sensitivities", "biases"):
        assert_allclose(getattr(mine, name), getattr(found, name)[:, [2]])
    roots = mine.root("equal")
    # One row: the score at which its probability is its outcome.
    y = mine.first[:, 0] / mine.weight[:, 0]
    logit = np.log(y / (1 - y)) - mine.biases[:, 0] - mine.positions[:, 0]
    expected = logit / mine.sensitivities[:, 0] - mine.opponent[:, 0]
    assert_allclose(roots[:, 0], expected, atol=1e-9)
    assert np.isnan(roots[:, 1]).all()
