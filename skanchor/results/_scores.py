"""Results by model: what all share, values alone, and scores with their covariance."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import Inputs
from skanchor._battles.labels import label_index
from skanchor._checks import check_level
from skanchor._model.one_sided import OpenRows, OpenScores
from skanchor._text import printable
from skanchor._typing import Array
from skanchor.results.intervals import (
    combine_repeats,
    limits_on_log_scale,
    satterthwaite,
    t_quantile,
)

SHOWN = 10
"""Models on top, and new models, that a short look at a result shows."""


class ModelResult:
    """What results by model share: labels, inputs, a short look at the new models."""

    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]
    inputs: Inputs

    @property
    def _index(self) -> pd.Index:
        return label_index(self.models, "model")

    @property
    def all_scores(self) -> pd.Series:
        """Scores of every model."""
        raise NotImplementedError

    def leaderboard(self) -> pd.DataFrame:
        """All models, best first."""
        raise NotImplementedError

    @property
    def scores(self) -> pd.Series:
        """Scores of the new models."""
        return self.all_scores[self.is_new]

    def _shown(self) -> pd.DataFrame:
        """What the short look shows of the new models."""
        raise NotImplementedError

    def _head(self) -> str:
        """What kind of result it is, of how many models and rows."""
        # Both sides of a row count it.
        human, judge = (int(rows.sum()) // 2 for rows in (self.n_human, self.n_judge))
        return (
            f"{type(self).__name__}: {len(self.models)} models, "
            f"{int(self.is_new.sum())} of them new; {human} human and {judge} judge "
            "rows"
        )

    def __repr__(self) -> str:
        head = self._head()
        if not self.is_new.any():
            return f"{head}; see leaderboard()\n{self.inputs}"
        table = self._shown()
        shown = table.head(SHOWN).rename_axis(None)
        text = shown.to_string(float_format="{:.3f}".format)
        more = len(table) - SHOWN
        tail = f"\nand {more} more: see leaderboard()" if more > 0 else ""
        return f"{head}\n{text}{tail}\n{self.inputs}"

    def _repr_html_(self) -> str:
        """The best models, and the new ones, as a table that takes a notebook's looks.

        All text is escaped.
        """
        table_of_all = self.leaderboard()
        new = table_of_all.index[table_of_all["is_new"]][:SHOWN]
        shown = table_of_all[
            table_of_all.index.isin([*table_of_all.index[:SHOWN], *new])
        ]
        names = [printable(str(model)) for model in shown.index]
        table = shown.set_axis(names).to_html(border=0, float_format="{:.3f}".format)
        more = len(table_of_all) - len(shown)
        tail = f"\n<p>And {more} more: see leaderboard().</p>" if more else ""
        return f"<p>{escape(printable(self._head()))}</p>\n{table}{tail}"


@dataclass(frozen=True, eq=False, repr=False)
class PointResult(ModelResult):
    """A value for every model, and the resulting ranks.

    Attributes
    ----------
    models : ndarray of shape (n_models,)
        Labels.
    is_new : ndarray of shape (n_models,)
        Whether the model is new.
    estimates : ndarray of shape (n_models,)
        Scores in logits, centred over the historical models, or win rates.
    n_human, n_judge : ndarray of shape (n_models,)
        Number of human and of judge rows of each model.
    inputs : Inputs
        Which parts of the table were used: features, groups, and the columns ignored.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> result = DirectScore().fit(data.X, data.y).result_
    >>> type(result).__name__
    'PointResult'
    >>> result.leaderboard().columns.tolist()
    ['score', 'rank', 'is_new', 'n_human', 'n_judge']
    """

    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    estimates: Array
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]
    inputs: Inputs = field(default_factory=Inputs)

    @property
    def values(self) -> pd.Series:
        """Estimates of every model."""
        return pd.Series(self.estimates, index=self._index)

    @property
    def all_scores(self) -> pd.Series:
        """Scores of every model."""
        return self.values.rename("score")

    def _shown(self) -> pd.DataFrame:
        return pd.DataFrame({"estimate": self.values[self.is_new], "rank": self.ranks})

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
class ScoreResult(ModelResult):
    """Scores of all models with their joint covariance.

    Its attributes are described in :class:`skanchor.results.RankingResult`, which adds
    ranks.
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
    scale_z: float = np.inf
    open_rows: OpenRows | None = None

    def _combined(
        self, estimates: Array, quadratic: Callable[[Array], Array]
    ) -> tuple[Array, Array, Array]:
        """Combine the repeats for linear targets.

        Parameters
        ----------
        estimates : ndarray of shape (n_repeats, n_targets)
            Estimate of each target.
        quadratic : callable
            Variances of the targets, (n_repeats, n_targets), from covariances.

        Returns
        -------
        estimate, variance, items : ndarray of shape (n_targets,)
            ``items`` is the part of the variance that comes from item effects.
        """
        variances = np.maximum(quadratic(self.covariances), 0.0)
        estimate, variance = combine_repeats(estimates, variances)
        if self.item_covariances is None:
            return estimate, variance, np.zeros(len(estimate))
        return estimate, variance, np.median(quadratic(self.item_covariances), axis=0)

    def _with_errors(
        self,
        estimates: Array,
        quadratic: Callable[[Array], Array],
        unbounded: NDArray[np.bool_],
    ) -> tuple[Array, Array, Array]:
        """Estimate, standard error and degrees of freedom of linear targets."""
        estimate, variance, items = self._combined(estimates, quadratic)
        # Only the part of the item effects has a variance that is estimated from few
        # numbers, so that the degrees of freedom depend on its share.
        df = satterthwaite(variance, items, self.item_df)
        return estimate, np.where(unbounded, np.inf, np.sqrt(variance)), df

    def combinations(self, coefficients: Array) -> tuple[Array, Array, Array]:
        """Combinations of scores, by coefficients of shape (n_models, n_targets).

        Returns
        -------
        estimate, variance, items : ndarray of shape (n_targets,)
            ``items`` is the part of the variance that comes from item effects.
        """
        return self._combined(
            self.estimates @ coefficients,
            lambda c: np.einsum("it,rij,jt->rt", coefficients, c, coefficients),
        )

    def half_widths(self, variance: Array, items: Array, level: float) -> Array:
        """Half widths in logits of intervals, by variances and their item parts."""
        df = satterthwaite(variance, items, self.item_df)
        return np.asarray(t_quantile(level, df) * np.sqrt(variance))

    def _pairs(
        self, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> tuple[Array, Array, Array]:
        """Score differences of pairs, straight from the covariance entries."""

        def quadratic(c: Array) -> Array:
            return np.asarray(
                c[:, first, first] + c[:, second, second] - 2 * c[:, first, second]
            )

        return self._with_errors(
            self.estimates[:, first] - self.estimates[:, second],
            quadratic,
            self.unbounded[first] | self.unbounded[second],
        )

    @cached_property
    def _open(self) -> OpenScores | None:
        """Limits and tests of models without a finite estimate."""
        if self.open_rows is None:
            return None
        return OpenScores(self.open_rows, *self._joint_moments)

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Models whose score the data bound, on one side at least."""
        if self._open is None:
            return ~self.unbounded
        return ~self.unbounded | (self._open.side != 0)

    @cached_property
    def _joint_moments(self) -> tuple[Array, Array]:
        """Scores and their covariance over the repeats, zero where it is unknown."""
        scores = np.median(self.estimates, axis=0)
        # With repeats, the spread between them is part of the error, as in `moments`.
        spread = self.estimates - scores
        covariance = self.covariances.mean(axis=0) + spread.T @ spread / len(spread)
        return scores, np.where(np.isfinite(covariance), covariance, 0.0)

    def new_pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Each new model, and every other model beside it.

        Returns
        -------
        first, second : ndarray of shape (n_pairs,)
            Their places among the models, in the order of :meth:`contrasts`.
        """
        new, n_models = np.flatnonzero(self.is_new), len(self.models)
        first = np.repeat(new, n_models)
        second = np.tile(np.arange(n_models), len(new))
        keep = first != second
        return first[keep], second[keep]

    def _pair_index(
        self, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> pd.MultiIndex:
        return pd.MultiIndex.from_arrays(
            [self.models[first], self.models[second]], names=["model", "opponent"]
        )

    @property
    def moments(self) -> tuple[Array, Array, Array]:
        """Score, standard error and degrees of freedom of every model."""
        return self._with_errors(
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

    def _limits(
        self, estimate: Array, error: Array, half: Array, level: float
    ) -> tuple[Array, Array]:
        """Limits of intervals whose half widths would be symmetric."""
        if 0.0 < self.scale_z < np.inf:
            # The common scale of the scores is estimated, which moves the limit away
            # from zero farther off, and the other one nearer.
            return limits_on_log_scale(estimate, error, half, level, self.scale_z)
        return estimate - half, estimate + half

    def _interval(
        self, estimate: Array, error: Array, df: Array, level: float
    ) -> tuple[Array, Array]:
        half = t_quantile(check_level(level), df) * error
        return self._limits(estimate, error, half, level)

    def _with_limits(
        self,
        first: NDArray[np.intp],
        second: NDArray[np.intp] | None,
        limits: tuple[Array, Array],
        level: float,
    ) -> tuple[Array, Array]:
        """Intervals, with one limit each for models without a finite estimate."""
        if self._open is None:
            return limits
        low, high = (limit.copy() for limit in limits)
        lost = self.unbounded[first]
        if second is not None:
            lost = (lost | self.unbounded[second]) & (first != second)
        for at in np.flatnonzero(lost).tolist():
            other = None if second is None else int(second[at])
            low[at], high[at] = self._open.limit(int(first[at]), other, level)
        return low, high

    def intervals(
        self, level: float = 0.95, relative_to: Hashable | None = None
    ) -> pd.DataFrame:
        """Scores of all models with their errors and intervals.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).
        relative_to : label, optional
            The model whose score and error are set to zero. None leaves the scores
            centred over the historical models.

        Returns
        -------
        DataFrame
            ``score``, ``standard_error``, ``low`` and ``high`` in logits, by model.
        """
        all_models, fixed = np.arange(len(self.models)), None
        if relative_to is None:
            score, error, df = self.moments
        else:
            fixed = np.full_like(all_models, self._index.get_loc(relative_to))
            score, error, df = self._pairs(all_models, fixed)
        limits = self._interval(score, error, df, level)
        low, high = self._with_limits(all_models, fixed, limits, level)
        columns = {"score": score, "standard_error": error, "low": low, "high": high}
        return pd.DataFrame(columns, index=self._index)

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals of the new models' scores.

        A model that won, or lost, all its rows has one limit, by its likelihood. Like
        each limit of the other intervals, it errs with probability ``(1 - level) / 2``.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            Columns ``low`` and ``high`` in logits, by new model.
        """
        return self.intervals(level).loc[self.is_new, ["low", "high"]]
