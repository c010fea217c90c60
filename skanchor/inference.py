"""Intervals, contrasts and rank sets from scores and their covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri, stdtr, stdtrit

from skanchor.base import check_level

__all__ = [
    "PointResult",
    "RankingResult",
    "combine_repeats",
    "holm_adjust",
    "rank_limits",
]

Array = NDArray[np.float64]

SHOWN = 10
"""Most new models that the short look at a result shows."""


def combine_repeats(estimates: Array, variances: Array) -> tuple[Array, Array]:
    """Combine repeated cross-fits, target by target.

    Parameters
    ----------
    estimates, variances : ndarray of shape (n_repeats, n_targets)
        Estimate and variance of each split.

    Returns
    -------
    estimate, variance : ndarray of shape (n_targets,)
        Median estimate, and median of the variance plus the squared distance to it.
    """
    middle = np.median(estimates, axis=0)
    return middle, np.median(variances + (estimates - middle) ** 2, axis=0)


def holm_adjust(p: Array) -> Array:
    """Holm's step-down adjusted p-values of one family."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * (len(p) - np.arange(len(p)))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def t_quantile(level: float, df: Array) -> Array:
    """Two-sided quantile of the t law; infinite degrees of freedom are normal."""
    finite = np.isfinite(df)
    upper = 0.5 + level / 2.0
    return np.where(finite, stdtrit(np.where(finite, df, 1.0), upper), ndtri(upper))


def t_distribution(df: Array, z: Array) -> Array:
    """Distribution function of the t law; infinite degrees of freedom are normal."""
    finite = np.isfinite(df)
    return np.where(finite, stdtr(np.where(finite, df, 1.0), z), ndtr(z))


def satterthwaite(total: Array, items: Array, item_df: float) -> Array:
    """Degrees of freedom of a variance whose item part is estimated.

    Parameters
    ----------
    total, items : ndarray
        Variance, and the part of it from item effects.
    item_df : float
        Degrees of freedom of the item part; infinite where it is known.

    Returns
    -------
    ndarray
        At least one; infinite without an item part.
    """
    df = np.full(np.shape(total), np.inf)
    some = items > 0
    df[some] = np.maximum(item_df * (total[some] / items[some]) ** 2, 1.0)
    return df


def one_sided_p(
    difference: Array, error: Array, df: Array | float = np.inf
) -> tuple[Array, Array]:
    """P-values of "difference >= 0" and of "difference <= 0".

    They are one where the error is zero or infinite.
    """
    usable = np.isfinite(error) & (error > 0)
    z = np.divide(difference, error, out=np.zeros_like(difference), where=usable)
    df = np.broadcast_to(df, z.shape)
    below, above = t_distribution(df, z), t_distribution(df, -z)
    return np.where(usable, below, 1.0), np.where(usable, above, 1.0)


def rank_limits(
    difference: Array, error: Array, level: float, df: Array | float = np.inf
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Best and worst rank that Holm's procedure leaves possible.

    Parameters
    ----------
    difference, error : ndarray of shape (n_rows, n_opponents)
        Contrasts of each model to its opponents and their standard errors. All
        entries of one sign form one family (eq:simulation-rank-set).
    level : float
        Confidence level.
    df : ndarray or float
        Degrees of freedom of each contrast.

    Returns
    -------
    low, high : ndarray of shape (n_rows,)
        Smallest and largest rank; 1 is best.
    """
    below, above = one_sided_p(difference, error, df)
    half = (1.0 - level) / 2.0
    loses = holm_adjust(below.ravel()).reshape(below.shape) <= half
    wins = holm_adjust(above.ravel()).reshape(above.shape) <= half
    n_opponents = difference.shape[1]
    return 1 + loses.sum(axis=1), n_opponents + 1 - wins.sum(axis=1)


class _OfModels:
    """What results by model share: their labels, and a short look at the new ones."""

    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]

    @property
    def _index(self) -> pd.Index:
        return pd.Index(self.models, name="model")

    @property
    def all_scores(self) -> pd.Series:
        """Scores of every model."""
        raise NotImplementedError

    @property
    def scores(self) -> pd.Series:
        """Scores of the new models."""
        return self.all_scores[self.is_new]

    def _shown(self) -> tuple[str, pd.DataFrame]:
        """What the short look shows of the new models, and what it is called."""
        raise NotImplementedError

    def __repr__(self) -> str:
        # Both sides of a row count it.
        human, judge = (int(rows.sum()) // 2 for rows in (self.n_human, self.n_judge))
        head = (
            f"{type(self).__name__}: {len(self.models)} models, "
            f"{int(self.is_new.sum())} of them new; {human} human and {judge} judge "
            "rows"
        )
        if not self.is_new.any():
            return f"{head}; see leaderboard()"
        what, table = self._shown()
        shown = table.head(SHOWN).rename_axis(None)
        text = shown.to_string(float_format="{:.3f}".format)
        more = len(table) - SHOWN
        tail = f"\nand {more} more: see leaderboard()" if more > 0 else ""
        return f"{head}\n{what}\n{text}{tail}"


@dataclass(frozen=True, eq=False, repr=False)
class PointResult(_OfModels):
    """A value for every model, and the order that follows from it.

    Attributes
    ----------
    models : ndarray of shape (n_models,)
        Labels.
    is_new : ndarray of shape (n_models,)
        Whether the model is new.
    estimates : ndarray of shape (n_models,)
        Scores in logits, centred over the historical models, or win rates.
    n_human, n_judge : ndarray of shape (n_models,)
        Rows of each kind.
    """

    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    estimates: Array
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]

    @property
    def values(self) -> pd.Series:
        """Estimates of every model."""
        return pd.Series(self.estimates, index=self._index)

    @property
    def all_scores(self) -> pd.Series:
        """Scores of every model."""
        return self.values.rename("score")

    def _shown(self) -> tuple[str, pd.DataFrame]:
        table = pd.DataFrame({"estimate": self.values[self.is_new], "rank": self.ranks})
        return "estimates, and ranks among the historical models", table

    @property
    def ranks(self) -> pd.Series:
        """Insertion rank of each new model among the historical ones; 1 is best."""
        new, old = self.estimates[self.is_new], self.estimates[~self.is_new]
        above = (old[None, :] > new[:, None]).sum(axis=1)
        return pd.Series(1 + above, index=self._index[self.is_new], name="rank")

    def leaderboard(self, name: str = "score") -> pd.DataFrame:
        """All models, best first.

        Parameters
        ----------
        name : str, default="score"
            Name of the column of the estimates.

        Returns
        -------
        DataFrame
            The estimates, ``rank`` among all models, ``is_new``, ``n_human`` and
            ``n_judge`` rows of the model.
        """
        table = pd.DataFrame(
            {
                name: self.estimates,
                "rank": 1 + (self.estimates[None] > self.estimates[:, None]).sum(1),
                "is_new": self.is_new,
                "n_human": self.n_human,
                "n_judge": self.n_judge,
            },
            index=self._index,
        )
        return table.sort_values(name, ascending=False, kind="stable")


@dataclass(frozen=True, eq=False, repr=False)
class RankingResult(_OfModels):
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

    # ------------------------------------------------------------------ linear targets
    def _moments(
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

        return self._moments(
            self.estimates[:, first] - self.estimates[:, second],
            quadratic,
            self.unbounded[first] | self.unbounded[second],
        )

    @property
    def _all(self) -> tuple[Array, Array, Array]:
        return self._moments(
            self.estimates,
            lambda c: np.diagonal(c, axis1=1, axis2=2),
            self.unbounded,
        )

    # -------------------------------------------------------------------------- scores
    @property
    def all_scores(self) -> pd.Series:
        """Scores of every model."""
        return pd.Series(self._all[0], index=self._index, name="score")

    @property
    def all_standard_errors(self) -> pd.Series:
        """Standard errors of every model's score."""
        return pd.Series(self._all[1], index=self._index, name="standard_error")

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
        table = self._interval(*self._all, level).set_axis(self._index)
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
        score, error, df = self._all
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
