"""Dispersion of each source's residuals, which is one for independent votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import JudgeRows
from skanchor._model.graph import laplacian
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import sigmoid
from skanchor._typing import Array
from skanchor.sample import Sample

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
        variances = None
        if has_deviations:
            # One step of weighted least squares on the item columns: r loses the part
            # w V (u_a - u_b) that deviations explain.
            solver = SymmetricSolver.factorise(laplacian(cut.pair_sums(w * v)))
            r -= w * v * cut.differences(solver.solve(cut.net(r)))
            # Variance of u_a - u_b in the fit: (e_a - e_b)' inverse (e_a - e_b).
            inverse = solver.inverse()
            size = np.diag(inverse)
            variances = size[:, None] + size - 2.0 * inverse
        some = np.flatnonzero((r != 0) | (v > 0))
        squares, taken = _sums(sample, cut, some, r[some], (w * v)[some], variances)
        found[m] = squares / max(total - taken, 0.5 * total)
    return found


def _sums(
    sample: Sample,
    cut: JudgeRows,
    some: NDArray[np.intp],
    r: Array,
    information: Array,
    variances: Array | None,
) -> tuple[float, float]:
    """Sum of squared residuals of some rows, and what deviations take of it.

    What they take is the decrease of the expected sum by fitting them, zero where
    ``variances``, of the fitted differences of each pair of models, is None.
    ``information`` is w V by row. Rows of one pair in one group count as one row, so
    that copies change nothing.
    """
    rows, n_models = cut.rows[some], cut.n_models
    left, right = cut.left[some], cut.right[some]
    times, groups = sample.multiplicity_of(rows), sample.membership(rows)
    # A pair is the same whichever model comes first.
    pair = np.minimum(left, right) * n_models + np.maximum(left, right)
    each, known = r, information
    if times is not None:
        each = r / times
        # The squares of equal rows are summed, not the square of their sum.
        known = information / (np.sqrt(times) if groups is None else times)
    if groups is None:
        taken = 0.0
        if variances is not None:
            taken = float(known**2 @ variances.ravel()[pair])
        return float(r @ each), taken
    # Values count with a minus where a model is second.
    sides = np.column_stack([left, right]), np.column_stack([each, -each]), n_models
    if variances is None:
        ((squares, _, _),) = groups.squares(sides)
        return 0.5 * float(squares.sum()), 0.0
    of_sides, (by_pair, n_sums, n_groups) = groups.squares(
        sides, (pair[:, None], known[:, None], n_models**2)
    )
    # Squares are of sums by group, in which what was fitted to each of its cells adds
    # up. What is taken is set in proportion to the number of cells in a group.
    taken = n_sums / n_groups * float(by_pair @ variances.ravel())
    return 0.5 * float(of_sides[0].sum()), taken
