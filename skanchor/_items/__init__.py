"""Item effects: what each judge thinks of a model beyond score and features.

A judge may like or dislike a model in ways that no feature shows. The deviations
``u[m, i]`` of judge m from model i are random, alike in law over models and correlated
between judges, ``u[:, i] ~ N(0, Sigma_u)``. They enter the logit of a judge row as
``u[m, a] - u[m, b]``: item columns of the system, with a prior.
"""

from skanchor._items._covariance import (
    MIN_HISTORICAL,
    ItemCovariance,
    estimate_item_covariance,
    fit_item_covariance,
    judges_of_arrivals,
)
from skanchor._items._dispersion import LEAST_DISPERSION, dispersions
from skanchor._items._fit import fit_deviations
from skanchor._items._likelihood import ItemLikelihood

__all__ = [
    "LEAST_DISPERSION",
    "MIN_HISTORICAL",
    "ItemCovariance",
    "ItemLikelihood",
    "dispersions",
    "estimate_item_covariance",
    "fit_deviations",
    "fit_item_covariance",
    "judges_of_arrivals",
]
