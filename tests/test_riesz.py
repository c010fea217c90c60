"""Riesz weights of rows that carry next to no information."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor import BTLRegressor, Comparisons, RieszDebiaser
from skanchor.exceptions import SkanchorWarning
from skanchor.simulation import simulate_battles


@pytest.mark.parametrize("sharp", [100.0, 300.0])
def test_separated_verdicts_take_no_part(sharp):
    """A judge whose logits are all in the hundreds places nothing.

    The curvature of its rows is rounding noise, of which the solver, free of units,
    would make an inverse: weights of 1e9 and more.
    """
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=600, random_state=1
    )
    X = Comparisons.from_battles(data.X, new_models=["new-model"])
    X = BTLRegressor().fit(X, data.y).transform(X)
    X = X.with_columns(
        scores=np.where(X.is_new, 0.1, X.scores),
        sensitivities=np.array([1.0, sharp]),
        biases=np.zeros(len(X)),
    )
    second = X.judge == 1

    def weights(rows):
        return RieszDebiaser().fit(X[rows], data.y[rows]).weights(X[~second])

    # The new model is known to the second judge alone.
    rows = np.flatnonzero(second | ~X.involves_new)
    with pytest.warns(SkanchorWarning, match=r"not determine .*\['new-model'\]"):
        sharply = weights(rows)
    with pytest.warns(SkanchorWarning, match=r"not determine .*\['new-model'\]"):
        without = weights(rows[~second[rows]])
    known = X.models != "new-model"
    assert_allclose(sharply[:, known], without[:, known], atol=1e-8)
    assert np.abs(sharply).max() < 10
