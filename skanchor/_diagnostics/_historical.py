"""How well people's votes determine the historical scores, each and their scale."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons, align
from skanchor._comparisons.labels import label_index
from skanchor._diagnostics._sums import FitSums
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.system import RieszSystem

_COLUMNS = pd.Index(["votes", "human_error", "score_noise"])


def historical_table(
    X: Comparisons, sums: FitSums, btl: BTLRegressor, *, calibrated: bool
) -> pd.DataFrame:
    """Human votes of each historical model, and the error of its human score.

    Parameters
    ----------
    X : Comparisons
        Rows, or none, in their roles.
    sums : FitSums
        Over all rows.
    btl : BTLRegressor
        Fitted to the human rows.
    calibrated : bool
        Whether judges are calibrated to its scores, taken for exact.

    Returns
    -------
    DataFrame
        By historical model, ``votes``, ``human_error`` and ``score_noise``.
    """
    old = ~X.is_new
    known = np.sqrt(np.diag(btl.covariance_))
    error = np.asarray(align(known, btl.models_, X.models))
    # Noise in a regressor makes its slope, the sensitivity, too small by this share:
    # the model's part of sum w error^2 over sum w delta^2.
    spread = sums.spread_of_scores
    exact = calibrated and spread > 0
    noise = sums.verdicts * error**2 / spread if exact else np.full(len(error), np.nan)
    table = np.column_stack([np.asarray(sums.n_human, dtype=float), error, noise])
    index = label_index(X.models[old], "model")
    return pd.DataFrame(table[old], index, _COLUMNS.copy())


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
    # The gradient of the log scale in the coordinates of the free scores.
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
    """The same, with the noise that people's votes show in place of independent votes.

    Weights, ties and groups change the noise.

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
