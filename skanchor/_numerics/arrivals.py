"""Estimating equation of the new scores, all else known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from skanchor._model.link import sigmoid
from skanchor._numerics.types import Array

SCORE_BOUND = 15.0
"""Bound on the absolute score of a new model, in logits."""

_LONGEST_STEP = 2.0
"""Largest change of a score by one Newton step, in logits."""

_LAST_STEP, _MOST_STEPS = 1e-9, 20
"""Longest step that is the last one, as the next would be its square; most steps."""


@dataclass(frozen=True, eq=False, slots=True)
class ArrivalRows:
    """Rows that involve new models.

    Attributes
    ----------
    signs : ndarray of shape (n_rows, n_new)
        +1 where the new model is first, -1 where it is second, else 0.
    weight, y : ndarray of shape (n_rows,)
        Weights and outcomes.
    slope : ndarray of shape (n_rows,)
        Sensitivity c of the row's judge; one for humans.
    offset : ndarray of shape (n_rows,)
        Logit of the row with the new scores at zero.
    """

    signs: Array
    weight: Array
    y: Array
    slope: Array
    offset: Array

    def root(
        self,
        weighting: str,
        start: Array,
        *,
        shift: float = 0.0,
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
        shift : float
            Constant added to the mean.
        bounds : tuple of (low, high)
            Bounds of the scores.

        Returns
        -------
        ndarray of shape (n_new,)
            Scores within the bounds; NaN where a new model has no row, and all of them
            if the sensitivity or bias of a judge is not finite.
        """
        total = self.weight @ np.abs(self.signs)
        if not total.any() or not np.isfinite(self.slope + self.offset).all():
            return np.full(len(total), np.nan)
        factor = self.slope if weighting == "sensitivity" else np.ones_like(self.slope)
        share = np.maximum(total, 1e-300)

        def equations(scores: Array) -> tuple[Array, Array]:
            """Left sides, of shape (n_new,), and their derivatives by the scores."""
            p = sigmoid(self.offset + self.slope * (self.signs @ scores))
            residual = factor * self.weight * (self.y - p)
            curvature = factor * self.slope * self.weight * p * (1.0 - p)
            slopes = self.signs.T @ (curvature[:, None] * self.signs)
            return residual @ self.signs / share + shift, -slopes / share[:, None]

        scores, converged = np.array(start, dtype=np.float64), False
        for _ in range(_MOST_STEPS):
            left, jacobian = equations(scores)
            try:
                step = -np.linalg.solve(jacobian, left)
            except np.linalg.LinAlgError:
                break
            size = float(np.abs(step).max())
            if not np.isfinite(size):
                break
            scores += step * min(1.0, _LONGEST_STEP / max(size, 1e-300))
            if size <= _LAST_STEP:
                converged = True
                break
        low, high = bounds
        if not (converged and ((scores > low) & (scores < high)).all()):
            scores = _bounded_root(equations, start, bounds)
        scores[total == 0] = np.nan
        return scores


def _bounded_root(
    equations: Callable[[Array], tuple[Array, Array]],
    start: Array,
    bounds: tuple[float, float],
) -> Array:
    """Scores within the bounds with the least squared left sides."""
    low, high = bounds
    # The first two starts lie in the middle third of the bounds.
    middle, reach = np.full_like(start, 0.5 * (low + high)), (high - low) / 6.0
    starts = [np.clip(start, middle - reach, middle + reach), middle]
    if ((start <= low) | (start >= high)).any():
        # The likelihood may have no maximum within the bounds. The equations then have
        # no root, and the nearest point is on a bound: start just inside of it.
        margin = 1e-9 * (high - low)
        starts.append(np.clip(start, low + margin, high - margin))

    def left(scores: Array) -> Array:
        return equations(scores)[0]

    def jacobian(scores: Array) -> Array:
        return equations(scores)[1]

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
