"""Agreement of judges with people: a judge who contradicts them may be miscoded."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._comparisons.encoded import Comparisons
from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

# Standard errors by which verdicts against the majority of people must outnumber
# verdicts that agree with it.
_BEYOND_CHANCE = 3.0


def warn_of_contradicting_judges(
    X: Comparisons,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    multiplicity: NDArray[np.float64] | None = None,
) -> None:
    """Warn of judges whose outcomes may be coded the other way round.

    These are judges whose verdicts contradict the majority of people on the same two
    models more often than chance explains.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    multiplicity : ndarray of shape (n_rows,), optional
        How many equal rows each stands for.
    """
    # One code per unordered pair of models; `preference` is positive where the model
    # of the smaller code wins, so rows of both orders can be added.
    low, high = np.minimum(X.left, X.right), np.maximum(X.left, X.right)
    pair, _ = pd.factorize(low * len(X.models) + high)
    preference = np.where(X.left < X.right, y - 0.5, 0.5 - y)
    preference = np.where(X.is_usable & (low != high) & (weight > 0), preference, 0.0)
    # The majority of people in each pair, then +, - or 0 for each verdict: it agrees
    # with that majority, contradicts it, or one of the two is undecided.
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
    # For verdicts that are independent of the majority, disagreements minus agreements
    # have mean zero and standard deviation sqrt(decided).
    against = decided - 2 * agreed > _BEYOND_CHANCE * np.sqrt(decided)
    for judge, n, good in zip(
        X.judges[against], decided[against], agreed[against], strict=True
    ):
        warn(
            DataWarning(
                f"Judge {judge!r} sides with people in {good / n:.0%} of its {n} "
                "verdicts on pairs of models that both decided. Its outcomes may be "
                "coded the other way round, 'model_a' for 'model_b'.",
                code="reversed-judge",
                subject=[judge],
            )
        )
