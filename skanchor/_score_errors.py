"""Covariance of BTL scores: information, sandwiches, and outcomes without noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.groups import positive_part
from skanchor._numerics.pair_counts import PairCounts, silent_pairs
from skanchor._numerics.sandwich import Bread
from skanchor._numerics.separated_scores import SeparatedScores
from skanchor._typing import Array
from skanchor._vote_counts import GroupedVotes
from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

_CANCELLED = 1e-12
"""Variance of a contrast, in that of independent votes, below which it is rounding."""


@dataclass(frozen=True, slots=True)
class ScoreErrors:
    """What errors are made of.

    Between models on different scales there is no information, and games against a
    model that is on none say nothing of the others.

    Attributes
    ----------
    models : ndarray of shape (n_models,)
        Labels.
    scores : ndarray of shape (n_models,)
        Scores of largest likelihood.
    scale : ndarray of shape (n_models,)
        Number of the scale of each model, -1 without one.
    bread : Bread
        Inverse information.
    noise, due : ndarray of shape (n_models, n_models)
        Summed squares of the residuals by pair, and those of independent votes.
    silent : ndarray of shape (n_models, n_models)
        Pairs of :func:`skanchor._numerics.pair_counts.silent_pairs`.
    """

    models: NDArray[Any]
    scores: Array
    scale: NDArray[np.intp]
    bread: Bread
    noise: Array
    due: Array
    silent: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        counts: PairCounts,
        separated_scores: SeparatedScores,
        models: NDArray[Any],
        ridge: float = 0.0,
    ) -> ScoreErrors:
        """Factorise the information at the scores, beside a ridge."""
        scores = separated_scores.scores
        scale = np.full(len(scores), -1)
        for number, at in enumerate(separated_scores.scales):
            scale[at] = number
        on = (scale >= 0) & (scale[:, None] == scale)
        information, noise, due = (
            np.where(on, table + table.T, 0.0)
            for table in (
                counts.information(scores),
                counts.meat(scores),
                counts.expected_meat(scores),
            )
        )
        bread = Bread.of(information, separated_scores.scales, ridge)
        silent = silent_pairs(noise, due)
        return cls(models, scores, scale, bread, noise, due, silent)

    def fisher(self) -> Array:
        """Inverse information."""
        return self.bread.centred(self.bread.inverse.copy())

    def sandwich(self) -> Array:
        """Sandwich of independent rows."""
        self._warn_of_silence()
        return self.bread.of_pairs(np.where(self.silent, self.due, self.noise))

    def clustered(self, votes: GroupedVotes) -> Array:
        """Sandwich of rows that depend on each other within groups."""
        # Sum over groups of s s', with s the sum of w eps (e_a - e_b) over a group.
        result = self.bread.of_groups(*self._residuals(votes))
        if self.silent.any():
            result += self.bread.of_pairs(self.due * self.silent)
        independent = self.bread.of_pairs(self.due)
        if _is_lost(result, independent, self.due > 0):
            n_groups = len(np.unique(votes.groups))
            warn(
                DataWarning(
                    f"Residuals of human rows cancel within their {n_groups} groups, "
                    "and leave differences of models without an error. The "
                    "errors are those that independent votes would have.",
                    code="residuals-cancel",
                )
            )
            return independent
        self._warn_of_silence()
        return result

    def by_rater(self, units: GroupedVotes, rater: NDArray[np.intp]) -> Array:
        """What raters add to a sandwich, as in :meth:`RaterSums.excess`.

        Parameters
        ----------
        units : GroupedVotes
            Votes in groups by rater and prompt.
        rater : ndarray of shape (n_units,)
            Rater of each of these.

        Returns
        -------
        ndarray of shape (n_models, n_models)
        """
        left, right, residual, unit = self._residuals(units)
        total = self.bread.of_groups(left, right, residual, rater[unit])
        return positive_part(total - self.bread.of_groups(left, right, residual, unit))

    def _residuals(
        self, votes: GroupedVotes
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, NDArray[np.intp]]:
        """Models, residual and group of each vote between models on one scale."""
        on = (self.scale[votes.left] >= 0) & (
            self.scale[votes.left] == self.scale[votes.right]
        )
        left, right = votes.left[on], votes.right[on]
        gap = self.scores[left] - self.scores[right]
        return left, right, votes.residuals(on, gap), votes.groups[on]

    def _warn_of_silence(self) -> None:
        """Warn of models whose outcomes are what their scores predict."""
        silent = np.asarray(self.silent.any(axis=1))
        if not silent.any():
            return
        where, what, names = "", "The errors are", []
        if not silent[self.scale >= 0].all():
            names = self.models[silent].tolist()
            where, what = (
                f" where models {names[:5]} hang on each other",
                "Errors there are",
            )
        warn(
            DataWarning(
                f"Human rows show no noise{where}: every outcome is what the scores "
                f"predict. {what} those that independent votes would have.",
                code="no-noise",
                subject=names,
            )
        )


def _is_lost(found: Array, independent: Array, met: NDArray[np.bool_]) -> bool:
    """Whether a score, or the difference of two that met, is left without an error."""
    gaps = _contrasts(found) <= _CANCELLED * _contrasts(independent)
    own, wanted = found.diagonal(), independent.diagonal()
    return bool(gaps[met].any() or ((own <= _CANCELLED * wanted) & (wanted > 0)).any())


def _contrasts(covariance: Array) -> Array:
    """Variance of the difference of each pair of scores."""
    # Var(s_i - s_j) = C_ii + C_jj - 2 C_ij, of shape (n_models, n_models).
    variance = covariance.diagonal()
    return np.asarray(variance[:, None] + variance - 2.0 * covariance)


def variance_of_differences(covariance: Array, at: int) -> Array:
    """Variance of the differences of all scores to one of them.

    Parameters
    ----------
    covariance : ndarray of shape (n_models, n_models)
        Covariance of the scores; infinite where nothing is known.
    at : int
        The one.

    Returns
    -------
    ndarray of shape (n_models,)
        Zero for the one itself.
    """
    total = np.diag(covariance) + covariance[at, at]
    known = np.isfinite(total)
    found = np.full(len(total), np.inf)
    np.subtract(total, 2.0 * covariance[at], out=found, where=known)
    found[at] = 0.0
    return found
