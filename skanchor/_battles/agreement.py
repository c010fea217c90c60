"""Agreement of judges: with people, whom no judge contradicts, and with each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skanchor._battles.encoded import Comparisons
from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

# Standard errors by which verdicts against the majority of people must outnumber
# verdicts that agree with it.
_BEYOND_CHANCE = 3.0

# Cohen's kappa above which judges agree like runs of one judge, and verdicts on the
# same prompt and models from which on it says so.
_ONE_JUDGE, _SHARED = 0.8, 50


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


def warn_of_runs(
    X: Comparisons, y: NDArray[np.float64], groups: NDArray[np.intp]
) -> None:
    """Warn of judges that agree on the same prompts like runs of one judge.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y : ndarray of shape (n_rows,)
        Outcomes.
    groups : ndarray of shape (n_rows,)
        Prompt of each row.
    """
    rows = np.flatnonzero(X.is_usable & ~X.is_human)
    left, right, judge = X.left[rows], X.right[rows], X.judge[rows]
    low, high = np.minimum(left, right), np.maximum(left, right)
    n_models, n_judges = len(X.models), len(X.judges)
    # Of one model against the other, so that the order of the two does not matter.
    side = np.sign(np.where(left < right, y[rows] - 0.5, 0.5 - y[rows]))
    key = (groups[rows] * n_models + low) * n_models + high
    # Of several verdicts of a judge on one prompt and pair the first counts.
    _, first = np.unique(key * n_judges + judge, return_index=True)
    key = np.unique(key[first], return_inverse=True)[1]
    judge, side = judge[first], side[first]
    said = [
        csr_array(
            (np.ones(np.sum(side == one)), (judge[side == one], key[side == one])),
            shape=(n_judges, int(key.max(initial=-1)) + 1),
        )
        for one in (-1.0, 0.0, 1.0)
    ]
    every = said[0] + said[1] + said[2]
    shared = (every @ every.T).toarray()
    total = np.maximum(shared, 1.0)
    agreed = sum((one @ one.T).toarray() for one in said) / total
    # How often each judge says so, on what it shares with the other.
    rates = [(one @ every.T).toarray() / total for one in said]
    by_chance = sum(rate * rate.T for rate in rates)
    kappa = (agreed - by_chance) / np.maximum(1.0 - by_chance, 1e-9)
    alike = (kappa > _ONE_JUDGE) & (shared >= _SHARED) & ~np.eye(n_judges, dtype=bool)
    _, part = connected_components(csr_array(alike), directed=False)
    for code in np.flatnonzero(np.bincount(part) > 1):
        at = np.flatnonzero(part == code)
        pairs = alike[np.ix_(at, at)]
        least = kappa[np.ix_(at, at)][pairs].min()
        names = X.judges[at].tolist()
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        warn(
            DataWarning(
                f"Judges {names[:5]}{more} agree on the same prompts and models like "
                f"runs of one judge (Cohen's kappa {least:.2f} or more). They like the "
                "same models, so that all tell little more than one. Fit them under "
                "one name; if there are no other judges, by pool='judges'.",
                code="runs-of-one-judge",
                subject=names,
            )
        )
