"""A table with some ties."""

import pytest

from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def data():
    data = simulate_battles(2500, 300, n_models=6, random_state=4)
    # The definitions by hand know no position effect.
    data.X["shown_first"] = None
    # Some ties, which count half.
    data.y = data.y.astype(float)
    data.y[::17] = 0.5
    return data
