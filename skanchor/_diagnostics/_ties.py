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
from scipy.special import expit, logit

from skanchor._battles import HUMAN
from skanchor._battles.checks import graded_in_part, graded_verdicts
from skanchor._model.influence import group_matrix
from skanchor._sample.sample import Sample
from skanchor._typing import Array

MOST_STEPS = 50
"""Steps of Newton's method; a fit that needs more has no end."""

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
    X, tied = sample.X, sample.tied
    rows = sample.counts | (X.is_usable & tied)
    counts = [
        sample.by_source(one)
        for one in (rows, X.is_usable & tied, X.is_usable & sample.both_bad)
    ]
    table = pd.DataFrame(
        np.array(counts, dtype=np.intp).T,
        pd.Index([HUMAN, *X.judges.tolist()], name="source"),
        ["rows", "ties", "both_bad"],
    )
    grades = graded_verdicts(X, sample.y, sample.times, sample.counts)
    in_part = np.append(False, graded_in_part(*grades).any(axis=0))
    eta, levels = X.logits(), np.full((len(table), 2), np.nan)
    fitted = np.isfinite(eta) & sample.counts
    is_known = ~in_part & (sample.left_out is None)
    for source in np.flatnonzero(is_known).tolist():
        at = X.by_judge(source - 1).rows
        at = at[fitted[at]]
        levels[source] = _level(sample, at, eta[at], tied[at])
    return table.assign(level=levels[:, 0], level_error=levels[:, 1])


def _level(
    sample: Sample, at: NDArray[np.intp], eta: Array, tied: NDArray[np.bool_]
) -> tuple[float, float]:
    """Coefficient of the level in a logistic regression of ties, and its error.

    Beside it stands closeness, ``-log(2 cosh(eta / 2))``, whose coefficient is one
    under Davidson's model of ties.
    """
    n_ties, unknown = sample.number(at[tied]), (np.nan, np.nan)
    if not n_ties:
        return 0.0, 0.0
    if min(n_ties, sample.number(at) - n_ties) < FEWEST:
        return unknown
    X, weight = sample.X, sample.weight[at] / sample.weight[at].mean()
    assert X.scores is not None
    level = 0.5 * (X.scores[X.left[at]] + X.scores[X.right[at]])
    closeness = -np.logaddexp(0.5 * eta, -0.5 * eta)
    design = np.column_stack([np.ones(len(at)), closeness, level])
    design[:, 1:] -= np.average(design[:, 1:], axis=0, weights=weight)
    coef, converged = np.array([logit(weight @ tied / weight.sum()), 1.0, 0.0]), False
    # Newton's method, whose start is that model without the level. The decrement is in
    # squared standard errors of a row.
    for _ in range(MOST_STEPS):
        p = expit(design @ coef)
        hessian = design.T @ (design * (weight * p * (1.0 - p))[:, None])
        if converged or not np.linalg.cond(hessian) < 1e12:
            break
        gradient = design.T @ (weight * (tied - p))
        step = np.linalg.solve(hessian, gradient)
        coef, converged = coef + step, gradient @ step < 1e-10
    if not (converged and np.linalg.cond(hessian) < 1e12):
        return unknown
    influence = design @ np.linalg.solve(hessian, [0.0, 0.0, 1.0])
    values = influence * weight * (tied - p)
    each = values / sample.times[at]
    square = float(values @ each)
    if sample.groups is not None:
        square = float(np.sum((group_matrix(sample.groups[at]) @ each) ** 2))
    return float(coef[2]), square**0.5
