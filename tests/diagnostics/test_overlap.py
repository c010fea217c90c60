"""Features of the arrivals beside those of history: by hand, and for normal laws."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skanchor import Comparisons
from skanchor._diagnostics.sums import feature_overlap, historical_features


def battles(old, new_features, side="a"):
    """Rows of a judge: pairs of features between old models, and of arrivals.

    The new model stands on ``side``.
    """
    old, new_features = np.atleast_3d(old), np.atleast_3d(new_features)
    n, new = len(old), np.repeat([False, True], [len(old), len(new_features)])
    values = np.concatenate(
        [old, new_features if side == "a" else new_features[:, ::-1]]
    )
    first = np.where(new & (side == "a"), "new", "x")
    second = np.where(new & (side == "b"), "new", "y")
    assert len(values) == len(new) >= n
    table = pd.DataFrame({"model_a": first, "model_b": second, "judge": "gpt"})
    for k in range(values.shape[2]):
        table[f"f{k}_a"], table[f"f{k}_b"] = values[:, 0, k], values[:, 1, k]
    return Comparisons.from_battles(table, new_models=["new"])


def overlap(X, used=None):
    used = np.ones(len(X), bool) if used is None else used
    sample = SimpleNamespace(X=X, counts=used, multiplicity=np.ones(len(used)))
    (result,) = feature_overlap(sample, historical_features(sample))
    names = ["outside_features", "effective_share", "largest_ratio"]
    return {} if np.isnan(result).all() else dict(zip(names, result, strict=True))


# Contrasts of history are one and minus one, so that their mean square is one.
OLD = [[0.5, -0.5], [0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize("side", ["a", "b"])
def test_shares_by_hand(side):
    # The new model's contrasts are 0.9 and 0.1, 0.5 on average; one feature of four
    # responses, three of the new model's own, lies outside [-0.5, 1].
    new = [[0.9, 0.0], [0.1, 0.0], [1.5, 1.0], [1.2, 0.7]]
    result = overlap(battles(OLD, new, side))
    s = 0.5
    assert_allclose(result["outside_features"], 0.5)
    assert_allclose(result["effective_share"], np.cosh(s) ** 2 / np.cosh(2 * s))
    assert_allclose(result["largest_ratio"], np.exp(s) / np.cosh(s))


def test_the_largest_ratio_is_that_of_the_farthest_row():
    # Contrasts of history are two, one and one, with a mean square of two.
    result = overlap(battles([[2.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0]]))
    tilt = np.array([2.0, 1.0, 1.0]) / 2.0
    mean, square = np.cosh(tilt).mean(), np.cosh(2 * tilt).mean()
    assert_allclose(result["largest_ratio"], np.exp(1.0) / mean)
    assert_allclose(result["effective_share"], mean**2 / square)


@pytest.mark.parametrize("distance", [0.3, 0.8])
def test_two_normals_of_one_covariance(distance, rng):
    """With q the squared distance of the means, the effective share is exp(-q)."""
    n, root = 60_000, np.array([[1.0, 0.0, 0.0], [0.5, 0.8, 0.0], [0.2, -0.3, 1.5]])
    step = root @ (distance * np.array([0.6, 0.0, 0.8]))
    contrasts = rng.normal(size=(n, 3)) @ root.T, rng.normal(size=(n, 3)) @ root.T
    old, new = (
        np.stack([c / 2, -c / 2], axis=1) for c in (contrasts[0], contrasts[1] + step)
    )
    result = overlap(battles(old, new))
    assert_allclose(result["effective_share"], np.exp(-(distance**2)), rtol=0.05)
    assert result["outside_features"] < 0.001
