"""How well people's votes determine the historical scores, each and their scale."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor._battles import Comparisons, align
from skanchor._battles.labels import label_index
from skanchor._btl import BTLRegressor
from skanchor._diagnostics._sums import FitSums
from skanchor._numerics.parameters import PEOPLE

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


def with_noise(scale_z: float, sums: FitSums) -> float:
    """Scale over its error, with the noise that people's votes show.

    Weights, ties and groups change the noise.

    Parameters
    ----------
    scale_z : float
        The same under votes that are independent of each other.
    sums : FitSums
        Of the same fit.

    Returns
    -------
    float
    """
    return scale_z / float(sums.noise[PEOPLE]) ** 0.5
