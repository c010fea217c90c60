"""Dispersion of each source's residuals, one for independent votes."""

from __future__ import annotations

import numpy as np

from skanchor._comparisons import JudgeRows
from skanchor._numerics.btl import laplacian
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import sigmoid
from skanchor._typing import Array
from skanchor.sample import Sample

__all__ = ["LEAST_DISPERSION", "dispersions"]


LEAST_DISPERSION = 1e-10
"""Variance of a source's residuals, in that of votes, below which they are rounding."""


def dispersions(sample: Sample, *, has_deviations: bool) -> Array:
    """Variance of historical residuals in that of independent votes, by source.

    Half-wins vary less than votes, and the sums by model of rows that share a group
    more, as do rows with a weight.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in, without item effects; outcomes, weights, groups.
    has_deviations : bool
        Whether what a source thinks of each model is taken out first. A test of there
        being nothing of the kind needs the variance under that hypothesis.

    Returns
    -------
    ndarray of shape (n_judges + 1,)
        By judge, people last; one where there is nothing to see.
    """
    X, y, weight = sample.X, sample.y, sample.weight
    eta = X.logits()
    used = ~X.involves_new & sample.counts & np.isfinite(eta)
    p = sigmoid(np.where(used, eta, 0.0))
    residual = np.where(used, y - p, 0.0)
    variance = np.where(used, p * (1.0 - p), 0.0)
    found = np.ones(len(X.judges) + 1)
    for m in range(-1, len(X.judges)):
        cut = X.by_judge(m)
        w, v = weight.take(cut.rows), variance.take(cut.rows)
        total = float(w @ v)
        if not total > 0:
            continue
        r = w * residual.take(cut.rows)
        taken = 0.0
        if has_deviations:
            solver = SymmetricSolver.factorise(laplacian(cut.pair_sums(w * v)))
            r -= w * v * cut.differences(solver.solve(cut.net(r)))
            taken = _taken(cut, w * v, solver.inverse(), sample)
        times, groups = sample.multiplicity_of(cut.rows), sample.membership(cut.rows)
        each = r if times is None else r / times
        squares = float(r @ each)
        if groups is not None:
            squares = 0.5 * float(np.sum(cut.group_sums(each, groups) ** 2))
        found[m] = squares / max(total - taken, 0.5 * total)
    return found


def _taken(
    cut: JudgeRows,
    information: Array,
    inverse: Array,
    sample: Sample,
) -> float:
    """What taking out the deviations takes of the expected squares of the residuals.

    Rows of one pair in one group count as one, so that copies change nothing.
    """
    used = np.flatnonzero(information > 0)
    left, right = cut.left[used], cut.right[used]
    known, times = information[used], sample.multiplicity_of(cut.rows[used])
    groups = sample.membership(cut.rows[used])
    if groups is None:
        if times is not None:
            # The squares of equal rows are summed, not the square of their sum.
            known = known / np.sqrt(times)
        per_group = 1.0
    else:
        group, at, number = groups.entries()
        known = known[at] * (number if times is None else number / times[at])
        left, right = left[at], right[at]
        low, high = np.minimum(left, right), np.maximum(left, right)
        cell = (group * cut.n_models + low) * cut.n_models + high
        _, first, cell = np.unique(cell, return_index=True, return_inverse=True)
        known = np.bincount(cell, known).astype(np.float64)
        left, right = left[first], right[first]
        # What is taken counts once in a group, a lone row at both of its models.
        per_group = len(first) / len(np.unique(group))
    size = np.diag(inverse)
    spread = size[left] + size[right] - 2.0 * inverse[left, right]
    return float(per_group * np.sum(known**2 * spread))
