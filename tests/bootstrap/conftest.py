"""A table with some ties."""

import pytest

from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def data():
    data = simulate_battles(900, 150, n_models=6, random_state=4)
    data.y = data.y.astype(float)
    data.y[::17] = 0.5
    return data
