"""Riesz weights of all scores (eq:direct-riesz-objective-v2), by one linear system."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE
from skanchor._model.linalg import SymmetricSystem
from skanchor._typing import Array

_MISSED = 1e-5
"""Part of a target that weights miss, from which the rows leave it undetermined."""


@dataclass(frozen=True, eq=False)
class Information:
    """Information of all parameters with their prior, J + R, factorised once.

    Attributes
    ----------
    fit : Fit
        Where it was taken.
    at : ndarray of shape (n_estimated,)
        Parameters that rows decide.
    matrix : ndarray of shape (n_estimated, n_estimated)
        J + R of these, with the zero of the scores fixed.
    system : SymmetricSystem
        Its factor.
    """

    fit: Fit
    at: NDArray[np.intp]
    matrix: Array
    system: SymmetricSystem

    @classmethod
    def of(cls, fit: Fit, grams: Iterable[tuple[int, Array]], prior: Array) -> Self:
        """Add up sources.

        Parameters
        ----------
        fit : Fit
            Fitted to the rows.
        grams : iterable of (source, gram)
            Sums of ``weight V`` times products of local columns of the rows.
        prior : ndarray of shape (size, size)
            R, the precision of the prior of the item effects, and ridges of spans.

        Returns
        -------
        Information
        """
        whole = fit.centred(fit.information(grams)) + prior
        at = np.flatnonzero(fit.layout.estimated)
        matrix = whole[at[:, None], at]
        return cls(fit, at, matrix, SymmetricSystem.of(matrix))

    def solve(self, right: Array) -> Array:
        """Solve for right-hand sides, (size, k); zero where rows say nothing."""
        found = np.zeros_like(right)
        found[self.at] = self.system.solve(right[self.at])
        return found

    def variances(self, chosen: slice) -> Array:
        """Diagonal of the inverse at some parameters."""
        spread = np.zeros(self.fit.layout.size)
        spread[self.at] = np.sum(self.system.inverse_root**2, axis=1)
        return spread[chosen]

    def weights(self) -> RieszWeights:
        """Riesz weights of all scores."""
        targets = self.fit.layout.targets
        values = self.solve(targets)
        # Targets are of scores alone: other columns have units of their own.
        scores = self.at < self.fit.layout.n_items
        reached = self.matrix[scores] @ values[self.at]
        missed = np.abs(reached - targets[self.at[scores]]).max(axis=0)
        return RieszWeights(self.fit, values, missed > _MISSED)


@dataclass(frozen=True, eq=False)
class RieszWeights:
    """Weights W with (J + R) W = L, for the information J and the prior R.

    Attributes
    ----------
    fit : Fit
        Where the information was taken.
    values : ndarray of shape (size, n_items)
        W; the weight of a row of source m is its local columns times T_m W.
    undetermined : ndarray of shape (n_items,)
        Scores that the rows leave open.
    """

    fit: Fit
    values: Array
    undetermined: NDArray[np.bool_]

    @classmethod
    def solve(
        cls, fit: Fit, grams: Iterable[tuple[int, Array]], prior: Array
    ) -> RieszWeights:
        """Solve for the weights of all scores; see :meth:`Information.of`."""
        return Information.of(fit, grams, prior).weights()

    def local(self, source: int) -> Array:
        """What the local columns of a source's rows are multiplied with."""
        return self.fit.local_weights(source, self.values)

    def expected_parts(self, grams: Iterable[tuple[int, Array]]) -> Array:
        """Parts of the sampling covariance if outcomes were independent votes.

        Returns
        -------
        ndarray of shape (3, n_items, n_items)
            Of people's rows, of judges' rows, and of both together, which is zero.
        """
        n_items = self.values.shape[1]
        parts = np.zeros((3, n_items, n_items))
        for source, gram in grams:
            local = self.local(source)
            parts[0 if source == PEOPLE else 1] += local.T @ gram @ local
        return parts

    @property
    def of_item_effects(self) -> Array:
        """Weights of the item effects, (n_effects, n_items)."""
        return np.asarray(self.values[self.fit.layout.item_effects])

    @property
    def item_precision(self) -> Array:
        """Precision of the prior of the item effects, (n_effects, n_effects)."""
        at = self.fit.layout.item_effects
        return np.asarray(self.fit.precision[at, at])

    @property
    def prior_score(self) -> Array:
        """Correction by the prior's own score, -(R u)' W_u, of shape (n_items,)."""
        effects = self.fit.x[self.fit.layout.item_effects]
        return np.asarray(-(self.item_precision @ effects) @ self.of_item_effects)

    @property
    def item_covariance(self) -> Array:
        """Covariance that the item effects leave in the scores, W_u' R W_u."""
        weights = self.of_item_effects
        return np.asarray(weights.T @ self.item_precision @ weights)
