"""Scores with their covariance: intervals, contrasts, rank sets, leaderboards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._checks import check_level
from skanchor._typing import Array
from skanchor.comparisons import Inputs
from skanchor.inference import (
    combine_repeats,
    holm_adjust,
    one_sided_p,
    rank_limits,
    satterthwaite,
    t_quantile,
)
from skanchor.results._models import ModelResult

__all__ = ["RankingResult"]


@dataclass(frozen=True, eq=False, repr=False)
class RankingResult(ModelResult):
    """Scores of all models with a joint covariance, and what follows from them.

    Attributes
    ----------
    models : ndarray of shape (n_models,)
        Labels.
    is_new : ndarray of shape (n_models,)
        Whether the model is new.
    estimates : ndarray of shape (n_repeats, n_models)
        Scores in logits, centred over the historical models.
    covariances : ndarray of shape (n_repeats, n_models, n_models)
        Their covariance in each repeat.
    unbounded : ndarray of shape (n_models,)
        Models whose score the data bound on one side at most: infinite error.
    n_human, n_judge : ndarray of shape (n_models,)
        Rows of each kind.
    item_covariances : ndarray of shape (n_repeats, n_models, n_models) or None
        Part of ``covariances`` that comes from item effects.
    item_df : float
        Degrees of freedom of that part.
    inputs : Inputs
        What of the table was used: features, groups, and the columns ignored.
    """

    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    estimates: Array
    covariances: Array
    unbounded: NDArray[np.bool_]
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]
    item_covariances: Array | None = None
    item_df: float = np.inf
    inputs: Inputs = field(default_factory=Inputs)

    # ------------------------------------------------------------------ linear targets
    def _combined(
        self, estimates: Array, quadratic: Any, unbounded: NDArray[np.bool_]
    ) -> tuple[Array, Array, Array]:
        """Estimate, standard error and degrees of freedom of linear targets."""
        variances = np.maximum(quadratic(self.covariances), 0.0)
        estimate, variance = combine_repeats(estimates, variances)
        df = np.full(len(estimate), np.inf)
        if self.item_covariances is not None:
            items = np.median(quadratic(self.item_covariances), axis=0)
            df = satterthwaite(variance, items, self.item_df)
        return estimate, np.where(unbounded, np.inf, np.sqrt(variance)), df

    def _pairs(
        self, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> tuple[Array, Array, Array]:
        """Score differences of pairs, straight from the covariance entries."""

        def quadratic(c: Array) -> Array:
            return np.asarray(
                c[:, first, first] + c[:, second, second] - 2 * c[:, first, second]
            )

        return self._combined(
            self.estimates[:, first] - self.estimates[:, second],
            quadratic,
            self.unbounded[first] | self.unbounded[second],
        )

    @property
    def moments(self) -> tuple[Array, Array, Array]:
        """Score, standard error and degrees of freedom of every model."""
        return self._combined(
            self.estimates,
            lambda c: np.diagonal(c, axis1=1, axis2=2),
            self.unbounded,
        )

    # -------------------------------------------------------------------------- scores
    @property
    def all_scores(self) -> pd.Series:
        """Scores of every model."""
        return pd.Series(self.moments[0], index=self._index, name="score")

    @property
    def all_standard_errors(self) -> pd.Series:
        """Standard errors of every model's score."""
        return pd.Series(self.moments[1], index=self._index, name="standard_error")

    @property
    def standard_errors(self) -> pd.Series:
        """Standard errors of the new models' scores."""
        return self.all_standard_errors[self.is_new]

    def _shown(self) -> tuple[str, pd.DataFrame]:
        ranks = self.rank_sets().rename(columns={"low": "from", "high": "to"})
        what = "scores with 95 % intervals, and rank sets among the historical models"
        return what, pd.concat(
            [self.scores, self.standard_errors, self.conf_int(), ranks], axis=1
        )

    def _interval(
        self, estimate: Array, error: Array, df: Array, level: float
    ) -> pd.DataFrame:
        half = t_quantile(check_level(level), df) * error
        return pd.DataFrame({"low": estimate - half, "high": estimate + half})

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals of the new models' scores.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            Columns ``low`` and ``high`` in logits, by new model.
        """
        table = self._interval(*self.moments, level).set_axis(self._index)
        return table[self.is_new]

    def contrasts(self, level: float = 0.95) -> pd.DataFrame:
        """Differences of each new model to every other model.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            Indexed by (``model``, ``opponent``): ``difference``, ``standard_error``,
            ``low``, ``high`` in logits; ``win_probability`` that humans prefer the new
            model, with ``win_low``, ``win_high``; ``p_adjusted``, twice the smaller of
            the two Holm-adjusted one-sided p-values.
        """
        new, n_models = np.flatnonzero(self.is_new), len(self.models)
        first = np.repeat(new, n_models)
        second = np.tile(np.arange(n_models), len(new))
        keep = first != second
        first, second = first[keep], second[keep]
        difference, error, df = self._pairs(first, second)
        interval = self._interval(difference, error, df, level)
        below, above = one_sided_p(difference, error, df)
        p = 2.0 * np.minimum(holm_adjust(below), holm_adjust(above))
        index = pd.MultiIndex.from_arrays(
            [self.models[first], self.models[second]], names=["model", "opponent"]
        )
        return pd.DataFrame(
            {
                "difference": difference,
                "standard_error": error,
                "low": interval["low"].to_numpy(),
                "high": interval["high"].to_numpy(),
                "win_probability": expit(difference),
                "win_low": expit(interval["low"].to_numpy()),
                "win_high": expit(interval["high"].to_numpy()),
                "p_adjusted": np.minimum(p, 1.0),
            },
            index=index,
        )

    def rank_sets(self, level: float = 0.95, among: str = "historical") -> pd.DataFrame:
        """Ranks of the new models with simultaneous confidence sets.

        Computes eq:simulation-rank-set.

        Parameters
        ----------
        level : float, default=0.95
            Probability that every set holds its model's rank.
        among : {"historical", "all"}, default="historical"
            Whether opponents are the historical models or all others.

        Returns
        -------
        DataFrame
            Columns ``rank``, ``low``, ``high`` by new model; 1 is best.
        """
        check_level(level)
        if among not in ("historical", "all"):
            raise ValueError(f"among must be 'historical' or 'all', got {among!r}.")
        new = np.flatnonzero(self.is_new)
        rank, low, high = self._ranks(new, among, level)
        return pd.DataFrame(
            {"rank": rank, "low": low, "high": high}, index=self._index[new]
        )

    @property
    def ranks(self) -> pd.Series:
        """Insertion rank of each new model among the historical ones; 1 is best."""
        return self.rank_sets()["rank"]

    def _ranks(
        self, rows: NDArray[np.intp], among: str, level: float
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        n_models = len(self.models)
        opponents = (
            np.flatnonzero(~self.is_new)
            if among == "historical"
            else np.arange(n_models)
        )
        grid = np.tile(opponents, (len(rows), 1))
        if among == "all":
            grid = grid[grid != rows[:, None]].reshape(len(rows), n_models - 1)
        if grid.size == 0:
            ones = np.ones(len(rows), dtype=np.intp)
            return ones, ones, ones
        first = np.repeat(rows, grid.shape[1])
        difference, error, df = (
            values.reshape(grid.shape) for values in self._pairs(first, grid.ravel())
        )
        low, high = rank_limits(difference, error, level, df)
        return 1 + (difference < 0).sum(axis=1), low, high

    def leaderboard(self, level: float = 0.95) -> pd.DataFrame:
        """All models, best first.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the intervals and rank sets.

        Returns
        -------
        DataFrame
            ``score``, ``standard_error``, ``low``, ``high`` in logits; ``rank``,
            ``rank_low``, ``rank_high`` among all models; ``is_new``; ``n_human`` and
            ``n_judge`` rows of the model. The rank sets of the new models hold jointly;
            the set of a historical model stands on its own.
        """
        score, error, df = self.moments
        interval = self._interval(score, error, df, level)
        n_models = len(self.models)
        rank, low, high = (np.ones(n_models, dtype=np.intp) for _ in range(3))
        families = [np.flatnonzero(self.is_new)] if self.is_new.any() else []
        families += [np.array([j]) for j in np.flatnonzero(~self.is_new)]
        for rows in families:
            rank[rows], low[rows], high[rows] = self._ranks(rows, "all", level)
        table = pd.DataFrame(
            {
                "score": score,
                "standard_error": error,
                "low": interval["low"].to_numpy(),
                "high": interval["high"].to_numpy(),
                "rank": rank,
                "rank_low": low,
                "rank_high": high,
                "is_new": self.is_new,
                "n_human": self.n_human,
                "n_judge": self.n_judge,
            },
            index=self._index,
        )
        return table.sort_values("score", ascending=False, kind="stable")
