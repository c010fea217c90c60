"""Do people's votes place each historical model well enough to calibrate judges by?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor.btl import BTLRegressor
from skanchor.comparisons import count_rows
from skanchor.sample import Sample

__all__ = ["historical_table"]


def historical_table(
    sample: Sample, btl: BTLRegressor, *, calibrated: bool
) -> pd.DataFrame:
    """Human votes of each historical model, and the error of its human score.

    Parameters
    ----------
    sample : Sample
        Rows in their roles.
    btl : BTLRegressor
        Fitted to the human rows.
    calibrated : bool
        Whether judges are calibrated to its scores, taken for exact.

    Returns
    -------
    DataFrame
        By historical model, ``votes``, ``human_error`` and ``score_noise``.
    """
    X = sample.X
    index = pd.Index(X.models, name="model")
    votes, _ = count_rows(X, sample.weight)
    error = btl.standard_errors_.reindex(index)
    rows = sample.counts & (X.judge >= 0) & ~X.involves_new
    weight = sample.weight[rows]
    verdicts = np.zeros(len(index))
    for side in (X.left, X.right):
        verdicts += np.bincount(side[rows], weight, minlength=len(index))
    # Noise in a regressor makes its slope, the sensitivity, too small by this share.
    spread = float(weight @ X.score_differences[rows] ** 2)
    exact = calibrated and spread > 0
    noise = verdicts * error**2 / spread if exact else np.nan
    table = pd.DataFrame(
        {
            "votes": np.asarray(votes, dtype=float),
            "human_error": error,
            "score_noise": noise,
        },
        index=index,
    )
    return table[~X.is_new]
