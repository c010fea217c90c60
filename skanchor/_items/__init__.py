"""Item effects: preferences of a judge for a model beyond score and features.

A judge may like or dislike a model in ways that no feature shows. The deviations
``u[m, i]`` of judge m for model i are random. They are correlated between judges and
have the same distribution for all models, ``u[:, i] ~ N(0, Sigma_u)``. The logit of a
judge row includes ``u[m, a] - u[m, b]``, so that the system gets a column for each
judge and model, with a prior.
"""

from skanchor._items._fit import fit_item_effects
from skanchor._items._likelihood import ItemLikelihood

__all__ = ["ItemLikelihood", "fit_item_effects"]
