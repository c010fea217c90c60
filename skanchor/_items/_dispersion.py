"""Dispersion of each source's residuals, which is one for independent votes."""

from __future__ import annotations

import numpy as np

from skanchor._comparisons import JudgeRows
from skanchor._numerics.btl import laplacian
from skanchor._numerics.groups import Membership
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import sigmoid
from skanchor._typing import Array
from skanchor.sample import Sample

__all__ = ["LEAST_DISPERSION", "dispersions"]


LEAST_DISPERSION = 1e-10
"""Dispersion below which the residuals of a source are rounding."""


def dispersions(sample: Sample, *, has_deviations: bool) -> Array:
    """Variance of historical residuals relative to independent votes, by source.

    It is below one for half-wins, and above one where sums by model include several
    rows of a group, or rows with a weight.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in, without item effects; outcomes, weights, groups.
    has_deviations : bool
        Whether a deviation of the source for each model is fitted and removed first.
        A test of the hypothesis that there are none needs the variance without it.

    Returns
    -------
    ndarray of shape (n_judges + 1,)
        By judge, people last; one for sources without information.
    """
    X, y, weight = sample.X, sample.y, sample.weight
    eta = X.logits()
    used = ~X.involves_new & sample.counts & np.isfinite(eta)
    p = sigmoid(np.where(used, eta, 0.0))
    residual = np.where(used, y - p, 0.0)
    variance = np.where(used, p * (1.0 - p), 0.0)
    found = np.ones(len(X.judges) + 1)
    # The code -1 of people is the last entry.
    for m in range(-1, len(X.judges)):
        cut = X.by_judge(m)
        w, v = weight.take(cut.rows), variance.take(cut.rows)
        total = float(w @ v)
        if not total > 0:
            continue
        r = w * residual.take(cut.rows)
        times, groups = sample.multiplicity_of(cut.rows), sample.membership(cut.rows)
        taken = 0.0
        if has_deviations:
            # One step of weighted least squares on the item columns: r loses the part
            # w V (u_a - u_b) that deviations explain.
            solver = SymmetricSolver.factorise(laplacian(cut.pair_sums(w * v)))
            r -= w * v * cut.differences(solver.solve(cut.net(r)))
            taken = _taken(cut, w * v, solver.inverse(), times, groups)
        each = r if times is None else r / times
        squares = float(r @ each)
        if groups is not None:
            # Values count with a minus where a model is second.
            sides = np.column_stack([cut.left, cut.right])
            values = np.column_stack([each, -each])
            squares = 0.5 * float(groups.squares(sides, values, cut.n_models)[0].sum())
        found[m] = squares / max(total - taken, 0.5 * total)
    return found


def _taken(
    cut: JudgeRows,
    information: Array,
    inverse: Array,
    times: Array | None,
    groups: Membership | None,
) -> float:
    """Decrease of the expected sum of squared residuals by fitting the deviations.

    ``information`` is w V by row, ``inverse`` the pseudo-inverse of its Laplacian;
    ``times`` and ``groups`` are of these rows, too.
    Rows of one pair in one group count as one row, so that copies change nothing.
    """
    used = np.flatnonzero(information > 0)
    known, n_models = information[used], cut.n_models
    # A pair is the same whichever model comes first.
    left, right = cut.left[used], cut.right[used]
    pair = np.minimum(left, right) * n_models + np.maximum(left, right)
    if times is not None:
        # The squares of equal rows are summed, not the square of their sum.
        times = times[used]
        known = known / (np.sqrt(times) if groups is None else times)
    if groups is None:
        squares = np.asarray(np.bincount(pair, known**2, n_models**2), np.float64)
        per_group = 1.0
    else:
        squares, n_sums, n_groups = groups[used].squares(
            pair[:, None], known[:, None], n_models**2
        )
        # Squares are of sums by group, in which what was fitted to each of its cells
        # adds up. What is taken is set in proportion to the number of cells in a group.
        per_group = n_sums / n_groups
    # Variance of u_a - u_b in the fit: (e_a - e_b)' inverse (e_a - e_b).
    size = np.diag(inverse)
    variance = size[:, None] + size - 2.0 * inverse
    return float(per_group * (squares @ variance.ravel()))
