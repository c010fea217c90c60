"""Estimating equation of the new scores, all else known, for many replicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import expit

from skanchor._numerics.batched import newton
from skanchor._numerics.types import Array

SCORE_BOUND = 15.0
"""Bound on the absolute score of a new model, in logits."""


@dataclass(frozen=True, eq=False, slots=True)
class ArrivalRows:
    """Rows that involve new models, in several replicates (sets of row weights).

    Attributes
    ----------
    signs : ndarray of shape (n_rows, n_new)
        +1 where the new model is first, -1 where it is second, else 0.
    weight, first : ndarray of shape (n_replicates, n_rows)
        Weights, and weights times outcomes.
    slope : ndarray of shape (n_replicates, n_rows)
        Sensitivity c of the row's judge; one for humans.
    offset : ndarray of shape (n_replicates, n_rows)
        Logit of the row with the new scores at zero.
    """

    signs: Array
    weight: Array
    first: Array
    slope: Array
    offset: Array

    def root(
        self,
        weighting: str,
        start: Array,
        *,
        shift: Array | None = None,
        tol: float = 1e-18,
        bounds: tuple[float, float] = (-SCORE_BOUND, SCORE_BOUND),
    ) -> Array:
        """Solve one equation for each new model g.

        ``mean over its rows of k sign_g (y - sigma(offset + c theta)) + shift = 0``,
        with k the sensitivity c, which is eq:arrival-estimation-v2, or one.

        Parameters
        ----------
        weighting : {"sensitivity", "equal"}
            The factor k.
        start : ndarray of shape (n_new,)
            Start of the scores, in logits.
        shift : ndarray of shape (n_replicates,), optional
            Constant added to the mean, zero by default.
        tol : float
            Accepted error of the scores.
        bounds : tuple of (low, high)
            Bounds of the scores.

        Returns
        -------
        ndarray of shape (n_replicates, n_new)
            Scores within the bounds; NaN where a new model has no row, and in
            replicates with a judge whose sensitivity or bias is not finite.
        """
        slope, offset = self.slope, self.offset
        n_new = self.signs.shape[1]
        # Products sign_g sign_h of each row, (n_rows, n_new * n_new), by which one
        # matrix product sums the derivatives of all replicates.
        pair = self.signs[:, :, None] * self.signs[:, None, :]
        pair = pair.reshape(len(pair), n_new**2)
        # Sum of the weights of each new model's rows, (n_replicates, n_new).
        total = self.weight @ np.abs(self.signs)
        given = np.zeros(len(slope)) if shift is None else shift

        def equations(scores: Array, at: NDArray[np.intp]) -> tuple[Array, Array]:
            """Left sides (r, n_new) and Jacobians (r, n_new, n_new) of replicates."""
            # Usually these are all replicates, and a slice avoids a copy.
            reps = slice(None) if len(at) == len(slope) else at
            c, w, n = slope[reps], self.weight[reps], np.maximum(total[reps], 1e-300)
            p = expit(offset[reps] + c * (scores @ self.signs.T))
            # Arrays are reused in place: ``rest`` is w p, then the residual w (y - p),
            # and ``curvature`` becomes k c w p (1 - p).
            rest = w * p
            curvature = rest * (1.0 - p)
            curvature *= c
            np.subtract(self.first[reps], rest, out=rest)
            if weighting == "sensitivity":
                rest *= c
                curvature *= c
            second = (curvature @ pair).reshape(len(at), n_new, n_new)
            left = (rest @ self.signs) / n + given[reps, None]
            return left, -second / n[:, :, None]

        values, converged = newton(equations, np.tile(start, (len(slope), 1)), tol=tol)
        missing = total == 0
        missing |= ~np.isfinite(slope + offset).all(axis=1, keepdims=True)
        low, high = bounds
        inside = ((values > low) & (values < high)).all(axis=1)
        # Replicates that failed, or left the bounds, are solved one by one.
        for r in np.flatnonzero(~(converged & inside) & ~missing.all(axis=1)):
            values[r] = _bounded_root(equations, int(r), start, bounds)
        values[missing] = np.nan
        return values


def _bounded_root(
    equations: Callable[..., tuple[Array, Array]],
    replicate: int,
    start: Array,
    bounds: tuple[float, float],
) -> Array:
    """Scores within the bounds with the least squared left sides, of one replicate."""
    at = np.array([replicate])

    def left(scores: Array) -> Array:
        return np.asarray(equations(scores[None], at)[0][0])

    def jacobian(scores: Array) -> Array:
        return np.asarray(equations(scores[None], at)[1][0])

    low, high = bounds
    # The first two starts lie in the middle third of the bounds.
    middle, reach = np.full_like(start, 0.5 * (low + high)), (high - low) / 6.0
    starts = [np.clip(start, middle - reach, middle + reach), middle]
    if ((start <= low) | (start >= high)).any():
        # The likelihood may have no maximum within the bounds. The equations then have
        # no root, and the nearest point is on a bound: start just inside of it.
        margin = 1e-9 * (high - low)
        starts.append(np.clip(start, low + margin, high - margin))
    found = [
        least_squares(
            left,
            first,
            jacobian,
            bounds=bounds,
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        for first in starts
    ]
    return np.asarray(min(found, key=lambda fit: float(fit.cost)).x)
