"""Do judges side with people? Where they do not, an outcome may be turned round."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._comparisons.encoded import Comparisons
from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

__all__ = ["warn_of_contradicting_judges"]

# Standard errors by which verdicts against people must outnumber those with them.
_BEYOND_CHANCE = 3.0


def warn_of_contradicting_judges(
    X: Comparisons,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    multiplicity: NDArray[np.float64] | None = None,
) -> None:
    """Warn of judges whose outcomes may be coded the other way round.

    Their verdicts go, beyond chance, against what most people said of the same two
    models.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    multiplicity : ndarray of shape (n_rows,), optional
        How many equal rows each stands for.
    """
    low, high = np.minimum(X.left, X.right), np.maximum(X.left, X.right)
    pair, _ = pd.factorize(low * len(X.models) + high)
    preference = np.where(X.left < X.right, y - 0.5, 0.5 - y)
    preference = np.where(X.is_usable & (low != high) & (weight > 0), preference, 0.0)
    votes = np.bincount(pair, np.where(X.is_human, weight * preference, 0.0))
    agreement = np.where(X.is_human, 0.0, preference * np.sign(votes)[pair])
    decided, agreed = (
        np.bincount(
            X.judge[some],
            None if multiplicity is None else multiplicity[some],
            len(X.judges),
        ).astype(np.intp)
        for some in (agreement != 0, agreement > 0)
    )
    against = decided - 2 * agreed > _BEYOND_CHANCE * np.sqrt(decided)
    for judge, n, good in zip(
        X.judges[against], decided[against], agreed[against], strict=True
    ):
        warn(
            DataWarning(
                f"Judge {judge!r} sides with people in {good / n:.0%} of its {n} "
                "verdicts on pairs of models that both decided. Its outcomes may be "
                "coded the other way round, 'model_a' for 'model_b'."
            )
        )
