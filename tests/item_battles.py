"""Small simulated battles whose judges like some models more than others."""

import numpy as np

from skanchor import AnchorPipeline
from skanchor.simulation import simulate_battles

COVARIANCE = np.array([[0.09, 0.03], [0.03, 0.16]])


def small(seed=0, **kwargs):
    settings = dict(n_models=6, n_judges=2, n_new=150, n_historical=1200, item_sd=0.3)
    return simulate_battles(**{**settings, **kwargs}, random_state=seed)


def random_effects(X, y, weight=None, groups=None, cv=3, **params):
    anchor = AnchorPipeline(cv=cv, random_state=0, item_effects="random", **params)
    return anchor.fit(X, y, weight, groups)
