"""A table with some ties, and one in which many rows are equal."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def data():
    data = simulate_battles(2500, 300, n_models=6, random_state=4)
    data.y = data.y.astype(float)
    data.y[::17] = 0.5
    return data


@pytest.fixture(scope="module")
def equal_rows():
    """Battles without features, each three times."""
    data = simulate_battles(400, 100, n_models=4, n_judges=2, random_state=4)
    X = data.X[[name for name in data.X if name[0] != "x"]]
    y = np.asarray(data.y, dtype=float)
    return SimpleNamespace(X=pd.concat([X] * 3, ignore_index=True), y=np.tile(y, 3))
