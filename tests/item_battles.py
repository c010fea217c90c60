"""Small simulated battles whose judges like some models more than others."""

import numpy as np

from skanchor import AnchorPipeline
from skanchor._crossfit import item_effects as treatments
from skanchor._model.item_effects import ItemCovariance

COVARIANCE = np.array([[0.09, 0.03], [0.03, 0.16]])


def known_items(covariance, **fields):
    """Item effects whose covariance is known: its estimation is not allowed for."""
    n_judges = len(covariance)
    fields = {"slopes": np.ones(n_judges), "n_models": 6, "free": 4.0} | fields
    return ItemCovariance(np.asarray(covariance), **fields)


def set_covariance(monkeypatch, covariance):
    """Let ``item_effects="random"`` take this covariance, or variance, as known."""

    def estimate(choice, reference):
        if np.ndim(covariance) == 0:
            return known_items(covariance * np.eye(len(reference.sample.X.judges)))
        return known_items(covariance)

    monkeypatch.setattr(treatments.ItemChoice, "covariance", estimate)


def random_effects(X, y, weight=None, groups=None, cv=3, **params):
    anchor = AnchorPipeline(cv=cv, random_state=0, item_effects="random", **params)
    return anchor.fit(X, y, weight, groups)
