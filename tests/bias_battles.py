"""Small simulated battles that learners of the bias are tried on."""

from skanchor import (
    BTLRegressor,
)
from skanchor.simulation import simulate_battles


def battles(seed=0, **settings):
    sizes = dict(n_historical=1200, n_new=100, n_models=5, n_judges=2)
    return simulate_battles(**{**sizes, **settings}, random_state=seed)


def scored(data):
    return BTLRegressor().fit(data.X, data.y).transform(data.X)
