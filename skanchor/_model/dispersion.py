"""Dispersion of the residuals of a source, which is one for independent votes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from skanchor._model.linalg import SymmetricSystem
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

NO_DISPERSION = 1e-10
"""Dispersion below which the residuals of a source are rounding."""


def dispersion(rows: SourceRows, p: Array, *, without_items: bool) -> float:
    """Variance of the residuals of a source in units of that of independent votes.

    It is below one for half-wins, and above one for rows of a group that agree, or rows
    of large weight.

    Parameters
    ----------
    rows : SourceRows
        Rows of the source; their spans are not used.
    p : ndarray of shape (n,)
        Their fitted probabilities.
    without_items : bool
        Whether an effect on each item is first taken out of the residuals.

    Returns
    -------
    float
        One if the rows have no information.
    """
    n = rows.n_items
    expected, residual = rows.weight * p * (1.0 - p), rows.weight * (rows.y - p)
    total, taken = float(expected.sum()), 0.0
    if not total > 0.0:
        return 1.0
    is_alone = rows.group < 0
    # Of k equal rows, each has this share of what they are together.
    each = 1.0 / rows.count
    group = np.unique(rows.group[~is_alone], return_inverse=True)[1]
    left, right = rows.left[~is_alone], rows.right[~is_alone]
    if without_items:
        system = SymmetricSystem.of(rows.gram(expected)[:n, :n])
        effects = system.solve(rows.sums(residual)[:n])
        residual = residual - expected * rows.differences(effects)
        # The expected decrease of the sum of squares by that fit. Rows of one pair in a
        # group count as one, and what was fitted to the pairs of a group adds up.
        known = expected * each
        pair = np.minimum(left, right) * n + np.maximum(left, right)
        unit = np.unique(group * n**2 + pair, return_inverse=True)[1]
        known[~is_alone] = np.bincount(unit, expected[~is_alone])[unit]
        root, squared = system.inverse_root, rows.gram(expected * known)
        n_alone = np.count_nonzero(is_alone)
        per_group = (n_alone + unit.max(initial=-1) + 1) / (
            n_alone + group.max(initial=-1) + 1
        )
        taken = per_group * float(np.vdot(root, squared[:n, :n] @ root))
    squares = float(np.sum((residual**2 * each)[is_alone]))
    if not is_alone.all():
        # Of rows in a group, sums by item are squared; both items of a row have one.
        values = residual[~is_alone]
        at = np.concatenate([group, group]), np.concatenate([left, right])
        by_item = csr_array((np.concatenate([values, -values]), at))
        squares += 0.5 * float(np.sum(by_item.data**2))
    return squares / max(total - taken, 0.5 * total)
