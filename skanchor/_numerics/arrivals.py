"""The equation of the new scores, with all else known, for many replicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import expit

from skanchor._numerics.batched import newton
from skanchor._numerics.types import Array

__all__ = ["SCORE_BOUND", "ArrivalRows"]


SCORE_BOUND = 15.0
"""Bound on the absolute score of a new model, in logits."""


@dataclass(frozen=True, eq=False, slots=True)
class ArrivalRows:
    """Rows that involve new models.

    Attributes
    ----------
    signs : ndarray of shape (n_rows, n_new)
        +1 where the new model is first, -1 where it is second.
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
            First scores.
        shift : ndarray of shape (n_replicates,), optional
            Added to the mean.
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
        pair = self.signs[:, :, None] * self.signs[:, None, :]
        pair = pair.reshape(len(pair), n_new**2)
        total = self.weight @ np.abs(self.signs)
        given = np.zeros(len(slope)) if shift is None else shift

        def equations(scores: Array, at: NDArray[np.intp]) -> tuple[Array, Array]:
            """Left sides and their derivatives."""
            # All replicates, most often: then there is nothing to copy.
            rows = slice(None) if len(at) == len(slope) else at
            c, w, n = slope[rows], self.weight[rows], np.maximum(total[rows], 1e-300)
            p = expit(offset[rows] + c * (scores @ self.signs.T))
            rest = w * p
            curvature = rest * (1.0 - p)
            curvature *= c
            np.subtract(self.first[rows], rest, out=rest)
            if weighting == "sensitivity":
                rest *= c
                curvature *= c
            second = (curvature @ pair).reshape(len(at), n_new, n_new)
            left = (rest @ self.signs) / n + given[rows, None]
            return left, -second / n[:, :, None]

        values, converged = newton(equations, np.tile(start, (len(slope), 1)), tol=tol)
        missing = total == 0
        missing |= ~np.isfinite(slope + offset).all(axis=1, keepdims=True)
        low, high = bounds
        inside = ((values > low) & (values < high)).all(axis=1)
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
    """Solve one replicate's equations within the bounds, as nearly as they allow."""
    at = np.array([replicate])

    def left(scores: Array) -> Array:
        return np.asarray(equations(scores[None], at)[0][0])

    def jacobian(scores: Array) -> Array:
        return np.asarray(equations(scores[None], at)[1][0])

    low, high = bounds
    middle, reach = np.full_like(start, 0.5 * (low + high)), (high - low) / 6.0
    starts = [np.clip(start, middle - reach, middle + reach), middle]
    if ((start <= low) | (start >= high)).any():
        # Where the likelihood has no maximum within the bounds, this has no zero.
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
