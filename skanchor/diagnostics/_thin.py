"""Do people's votes place each historical model well enough to calibrate judges by?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor.btl import BTLRegressor
from skanchor.comparisons import count_rows
from skanchor.sample import Sample

__all__ = ["historical_table"]


def historical_table(sample: Sample, btl: BTLRegressor) -> pd.DataFrame:
    """Human votes of each historical model, and the error of its human score.

    Parameters
    ----------
    sample : Sample
        Rows in their roles.
    btl : BTLRegressor
        Fitted to the human rows.

    Returns
    -------
    DataFrame
        By historical model, ``votes`` and ``human_error``.
    """
    X = sample.X
    votes, _ = count_rows(X, sample.weight)
    table = pd.DataFrame(
        {"votes": np.asarray(votes, dtype=float)},
        index=pd.Index(X.models, name="model"),
    )[~X.is_new]
    return table.assign(human_error=btl.standard_errors_.reindex(table.index))
