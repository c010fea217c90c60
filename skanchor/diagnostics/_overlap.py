"""Are the features of the arrivals like those of a judge's historical rows?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import SymmetricSolver
from skanchor._typing import Array
from skanchor.comparisons import Comparisons

__all__ = ["feature_overlap"]


def feature_overlap(
    X: Comparisons, m: int, used: NDArray[np.bool_]
) -> dict[str, float]:
    """Share of arrival rows out of range, effective share, largest density ratio."""
    cut = X.by_judge(m)
    new = np.append(X.is_new, False)
    arrival = used & (new[cut.left] != new[cut.right])
    historical = used & ~new[cut.left] & ~new[cut.right]
    if not X.features_left.shape[1] or not arrival.any() or not historical.any():
        return {}
    # From the comparisons, so that no copy of the features outlives this.
    sides = (X.features_left, X.features_right)
    old, late = np.flatnonzero(historical), np.flatnonzero(arrival)
    limits = [_range_of(side.take(cut.rows[old], axis=0)) for side in sides]
    (low, high), (other_low, other_high) = limits
    low, high = np.minimum(low, other_low), np.maximum(high, other_high)
    first = new[cut.left[late]][:, None]
    fresh = np.where(first, *(side.take(cut.rows[late], axis=0) for side in sides))
    outside = ((fresh < low) | (fresh > high)).mean(axis=0).max()
    # The ratio of two normal densities with one covariance: a linear discriminant.
    # Historical pairs have no direction, so that they enter in both orders.
    known, turned = (cut.pairs[rows].contrast for rows in (old, late))
    shift = np.where(first, turned, -turned).mean(axis=0)
    solver = SymmetricSolver.factorise(known.T @ known / len(known))
    tilt = known @ solver.solve(shift)
    tilt = np.concatenate([tilt, -tilt])
    ratio = np.exp(tilt - tilt.max())
    mean = ratio.mean()
    return {
        "outside_features": float(outside),
        "effective_share": float(mean**2 / np.mean(ratio**2)),
        "largest_ratio": float(1.0 / mean),
    }


def _range_of(features: Array) -> tuple[Array, Array]:
    """Smallest and largest value of each column."""
    by_column = np.asfortranarray(features)
    return by_column.min(axis=0), by_column.max(axis=0)
