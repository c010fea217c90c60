"""Do people and judges tie alike? How ties depend on the level of a pair.

Ties that count as half a win multiply the log-odds of a source by a constant, which a
judge's sensitivity absorbs, as long as they depend on the difference of two scores
alone. Where the rate of ties depends on how good both models are, too, and otherwise
for people than for judges, the constant differs along the board.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.checks import graded_in_part, graded_verdicts
from skanchor._model.influence import group_matrix
from skanchor._model.logistic import fit_logistic
from skanchor._model.sources import sigmoid
from skanchor._sample.sample import Sample
from skanchor._typing import Array

PEOPLE = "human"
"""In place of a judge, for the votes of people."""

APART, APART_Z = 0.2, 3.0
"""Difference between two levels, and that over its standard error, beyond which it is
reported."""

_UNKNOWN = {"level": np.nan, "level_error": np.nan}

FEWEST = 10
"""Ties, and rows that are none, below which a level is not estimated."""


def tie_table(sample: Sample) -> pd.DataFrame:
    """Ties of people and of each judge, and how they depend on the level of a pair.

    Parameters
    ----------
    sample : Sample
        Rows that carry everything the chain learned, outcomes and weights.

    Returns
    -------
    DataFrame
        By source, people first: ``rows``, those of ties included; ``ties``;
        ``both_bad``, ties that call both responses bad; ``level``, by how much the
        log-odds of a tie rise with the mean score of the two models, beside how close
        they are, and its ``level_error``. The level is NaN where ties are left out or
        too few, or where a judge graded its verdicts on historical or on new models
        alone: only these then have ties. Without a tie it is zero, as then nothing
        depends on it.
    """
    X, tied, both_bad = sample.X, sample.tied, sample.both_bad
    rows = sample.counts | (X.is_usable & tied)
    eta = X.logits()
    fitted = np.isfinite(eta) & sample.counts & (sample.left_out is None)
    graded = graded_verdicts(X, sample.y, sample.times, sample.counts)
    in_part = np.logical_or(*graded_in_part(*graded))
    table = {}
    for m, source in enumerate([PEOPLE, *X.judges.tolist()], start=-1):
        cut = X.by_judge(m)
        at = cut.rows[fitted[cut.rows]]
        table[source] = {
            "rows": sample.number(cut.rows[rows[cut.rows]]),
            "ties": sample.number(cut.rows[tied[cut.rows]]),
            "both_bad": sample.number(cut.rows[both_bad[cut.rows]]),
            **(
                _UNKNOWN
                if m >= 0 and in_part[m]
                else _level(sample, at, eta[at], tied[at])
            ),
        }
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("source")


def apart_from_people(table: pd.DataFrame) -> pd.Series:
    """Differences between the level of a judge and that of people, where it matters.

    Parameters
    ----------
    table : DataFrame
        As :func:`tie_table` gives it.

    Returns
    -------
    Series
        By judge.
    """
    if table.empty:
        return pd.Series(dtype=float)
    people, judges = table.loc[PEOPLE], table.drop(index=PEOPLE)
    gap = judges["level"] - people["level"]
    error = np.hypot(judges["level_error"], people["level_error"])
    return gap[(gap.abs() > APART) & (gap.abs() > APART_Z * error)]


def _level(
    sample: Sample, at: NDArray[np.intp], eta: Array, tied: NDArray[np.bool_]
) -> dict[str, float]:
    """Coefficient of the level in a logistic regression of ties, and its error.

    Beside it stands closeness, ``-log(2 cosh(eta / 2))``, whose coefficient is one
    under Davidson's model of ties.
    """
    n_ties = sample.number(at[tied])
    if not n_ties and sample.left_out is None:
        return {"level": 0.0, "level_error": 0.0}
    if min(n_ties, sample.number(at) - n_ties) < FEWEST:
        return _UNKNOWN
    X, weight = sample.X, sample.weight[at]
    assert X.scores is not None
    level = 0.5 * (X.scores[X.left[at]] + X.scores[X.right[at]])
    closeness = -np.logaddexp(0.5 * eta, -0.5 * eta)
    design = np.column_stack([np.ones(len(at)), closeness, level])
    design[:, 1:] -= np.average(design[:, 1:], axis=0, weights=weight)
    y = tied.astype(np.float64)
    fit = fit_logistic(design, y, weight)
    p = sigmoid(design @ fit.coef)
    hessian = design.T @ (design * (weight * p * (1.0 - p))[:, None])
    if not fit.converged or np.linalg.cond(hessian) > 1e12:
        return _UNKNOWN
    score = design * (weight * (y - p))[:, None]
    answer = np.linalg.solve(hessian, [0.0, 0.0, 1.0])
    values = score @ answer
    each = values / sample.times[at]
    square = float(values @ each)
    if sample.groups is not None:
        square = float(np.sum((group_matrix(sample.groups[at]) @ each) ** 2))
    return {"level": float(fit.coef[2]), "level_error": square**0.5}
