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
from skanchor._typing import Array, Indices
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
        leaderboard = self.leaderboard()
        is_new, place = leaderboard["is_new"], np.arange(len(leaderboard))
        shown = leaderboard[(place < SHOWN) | (is_new & (is_new.cumsum() <= SHOWN))]
        names = [printable(str(model)) for model in shown.index]
        table = shown.set_axis(names).to_html(border=0, float_format="{:.3f}".format)
        more = len(leaderboard) - len(shown)
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
    item_covariances: Array = None  # type: ignore[assignment]
    item_df: float = np.inf
    inputs: Inputs = field(default_factory=Inputs)
    scale_z: float = np.inf
    open_rows: OpenRows | None = None

    def __post_init__(self) -> None:
        # A result that is made without item effects has a covariance of zero.
        if self.item_covariances is None:
            none = np.zeros_like(self.covariances)
            object.__setattr__(self, "item_covariances", none)

    # -------------------------------------------------- scores and what is made of them
    def _combined(
        self, estimates: Array, quadratic: Callable[[Array], Array]
    ) -> tuple[Array, Array, Array]:
        """Estimate, variance and its part from item effects, over the repeats.

        Of linear targets with estimates of shape (n_repeats, n_targets); ``quadratic``
        gives their variances, of the same shape, from covariances.
        """
        variances = np.maximum(quadratic(self.covariances), 0.0)
        items = np.median(quadratic(self.item_covariances), axis=0)
        return *combine_repeats(estimates, variances), items

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

    def differences(
        self, first: Indices, second: Indices | None = None
    ) -> tuple[Array, Array, Array]:
        """Differences between the scores of two models each; scores without a second.

        Parameters
        ----------
        first, second : ndarray of shape (n_targets,)
            Places of models.

        Returns
        -------
        estimate, error, df : ndarray of shape (n_targets,)
            ``df`` has the degrees of freedom.
        """
        estimates, unbounded = self.estimates[:, first], self.unbounded[first]
        if second is not None:
            estimates = estimates - self.estimates[:, second]
            unbounded = unbounded | self.unbounded[second]

        def quadratic(c: Array) -> Array:
            # Straight from the entries, as there may be many pairs.
            diagonal = np.diagonal(c, axis1=1, axis2=2)
            if second is None:
                return diagonal[:, first]
            return diagonal[:, first] + diagonal[:, second] - 2 * c[:, first, second]

        estimate, variance, items = self._combined(estimates, quadratic)
        # Only the part of the item effects has a variance that is estimated from few
        # numbers, so that the degrees of freedom depend on its share.
        df = satterthwaite(variance, items, self.item_df)
        return estimate, np.where(unbounded, np.inf, np.sqrt(variance)), df

    @property
    def moments(self) -> tuple[Array, Array, Array]:
        """Score, standard error and degrees of freedom of every model."""
        return self.differences(np.arange(len(self.models)))

    def half_widths(self, variance: Array, items: Array, level: float) -> Array:
        """Half widths in logits of intervals, by variances and their item parts."""
        df = satterthwaite(variance, items, self.item_df)
        return np.asarray(t_quantile(level, df) * np.sqrt(variance))

    @cached_property
    def _open(self) -> OpenScores | None:
        """Limits and tests of models without a finite estimate."""
        if self.open_rows is None:
            return None
        return OpenScores(self.open_rows, *self._joint_moments)

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Models whose score the data bound, on one side at least."""
        has_limit = False if self._open is None else self._open.side != 0
        return np.asarray(~self.unbounded | has_limit)

    @cached_property
    def _joint_moments(self) -> tuple[Array, Array]:
        """Scores and their covariance over the repeats, zero where it is unknown."""
        scores = np.median(self.estimates, axis=0)
        # With repeats, the spread between them is part of the error, as in `moments`.
        spread = self.estimates - scores
        covariance = self.covariances.mean(axis=0) + spread.T @ spread / len(spread)
        return scores, np.where(np.isfinite(covariance), covariance, 0.0)

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

    def limits(
        self, first: Indices, second: Indices | None, level: float
    ) -> tuple[Array, Array]:
        """Limits of scores, or of differences, as in :meth:`differences`.

        Models without a finite estimate have one each.
        """
        estimate, error, df = self.differences(first, second)
        half = t_quantile(check_level(level), df) * error
        low, high = limits_on_log_scale(estimate, error, half, level, self.scale_z)
        if self._open is None:
            return low, high
        is_open = self.unbounded[first]
        if second is not None:
            is_open = (is_open | self.unbounded[second]) & (first != second)
        for at in np.flatnonzero(is_open).tolist():
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
        if relative_to is not None:
            fixed = np.full_like(all_models, self._index.get_loc(relative_to))
        score, error, _ = self.differences(all_models, fixed)
        low, high = self.limits(all_models, fixed, level)
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
