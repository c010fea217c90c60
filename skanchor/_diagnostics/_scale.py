"""How well the data tell the scale of the scores: over its standard error."""

from __future__ import annotations

import numpy as np

from skanchor._comparisons import Comparisons
from skanchor._diagnostics._sums import FitSums
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.system import RieszSystem

__all__ = ["scale_z", "with_noise"]


def scale_z(X: Comparisons, system: RieszSystem) -> float:
    """One over the standard error of the log scale of the historical scores.

    ``(l' J^-1 l)^(-1/2)`` for ``l = theta / |theta|^2``, the gradient of the log scale.

    Parameters
    ----------
    X : Comparisons
        Rows that carry the scores.
    system : RieszSystem
        Solved on them.

    Returns
    -------
    float
        Under votes that are independent of each other; see :func:`with_noise`.
    """
    assert X.scores is not None
    direction = np.zeros(system.layout.size)
    theta = np.where(X.is_new, 0.0, X.scores)
    square = float(theta @ theta)
    if not square > 0:
        return np.nan
    layout = system.layout
    direction[layout.at["scores"]] = layout.items.T @ theta / square
    error = float(direction @ system.solver.solve(direction))
    return error**-0.5 if error > 0 else np.nan


def with_noise(scale_z: float, sums: FitSums) -> float:
    """The scale over its standard error, with the noise that people's votes show.

    Weights, ties and groups make it another than that of independent votes.

    Parameters
    ----------
    scale_z : float
        What :func:`scale_z` gives.
    sums : FitSums
        Of the same fit.

    Returns
    -------
    float
    """
    return scale_z / float(sums.noise[PEOPLE]) ** 0.5
