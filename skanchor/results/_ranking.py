"""What scores with their covariance say: contrasts, rank sets, leaderboards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from skanchor._checks import check_level, check_whole
from skanchor._typing import Array, Indices
from skanchor.results._board import Scale
from skanchor.results._rank_sets import DRAWS, BetterTests, check_draws, pairs_of
from skanchor.results._scores import ScoreResult
from skanchor.results.adjustment import JointErrors, holm_adjust
from skanchor.results.intervals import (
    bias_aware_quantile,
    half_width_to_zero,
    largest_bias,
    limits_on_log_scale,
    one_sided_p,
)

EQUAL = 1e-9
"""Difference in logits up to which scores are equal: what is left is rounding."""

ROMANO_WOLF_MODELS = 100
"""Most models of a leaderboard whose rank sets are worth seconds of draws."""


@dataclass(frozen=True, eq=False, repr=False)
class RankingResult(ScoreResult):
    """Scores of all models with their joint covariance, and inference from them.

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
        Models whose score the data bound on one side at most; their error is infinite.
    n_human, n_judge : ndarray of shape (n_models,)
        Number of human and of judge rows of each model.
    item_covariances : ndarray of shape (n_repeats, n_models, n_models)
        Part of ``covariances`` that comes from item effects; zero by default.
    item_df : float
        Degrees of freedom of that part.
    inputs : Inputs
        Which parts of the table were used: features, groups, and the columns ignored.
    scale_z : float
        One over the standard error of the logarithm of the scores' common scale. A
        finite value makes intervals longer away from zero than towards it; with an
        infinite value they are symmetric.
    open_rows : OpenRows or None
        Rows of models without a finite estimate, from which limits of their scores and
        tests against the other models are computed.

    Examples
    --------
    >>> from skanchor.baselines import HumanOnly
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> result = HumanOnly(new_models=["model-03"]).fit(data.X, data.y).result_
    >>> type(result).__name__
    'RankingResult'
    >>> result.rank_sets(0.9, among="board").columns.tolist()
    ['rank', 'low', 'high']
    """

    def _shown(self) -> pd.DataFrame:
        ranks = self.rank_sets().rename(columns={"low": "from", "high": "to"})
        return pd.concat(
            [self.scores, self.standard_errors, self.conf_int(), ranks], axis=1
        )

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
            the two Holm-adjusted one-sided p-values. Those of a model that won, or
            lost, all its rows are by likelihood ratio.
        """
        first, second = self.new_pairs()
        difference, error, df = self.differences(first, second)
        low, high = self.limits(first, second, level)
        below, above = one_sided_p(difference, error, df)
        if self._open is not None:
            below = self._open.replaced(below, second, first)
            above = self._open.replaced(above, first, second)
        p = 2.0 * np.minimum(holm_adjust(below), holm_adjust(above))
        return pd.DataFrame(
            {
                "difference": difference,
                "standard_error": error,
                "low": low,
                "high": high,
                "win_probability": expit(difference),
                "win_low": expit(low),
                "win_high": expit(high),
                "p_adjusted": np.minimum(p, 1.0),
            },
            index=self._pair_index(first, second),
        )

    # ---------------------------------------------------------------------- with a bias
    def within_bias(
        self, bias: Array, sizes: Sequence[float], level: float, method: str
    ) -> pd.DataFrame:
        """Intervals and rank sets that hold whatever bias differences have, to a bound.

        Parameters
        ----------
        bias : ndarray of shape (n_models, n_models)
            Largest bias of the difference of two models for a size of one, either way.
        sizes : sequence of float
            Sizes, by which it is multiplied.
        level, method
            As in :meth:`rank_sets`.

        Returns
        -------
        DataFrame
            Indexed by (``model``, ``opponent``, ``gamma``), the size: ``bias``; ``low``
            and ``high`` of the difference (Armstrong and Kolesar); ``rank_low`` and
            ``rank_high`` of the model among the historical ones.
        """
        first, second = self.new_pairs()
        estimate, error, df = (
            column[:, None] for column in self.differences(first, second)
        )
        # By pair and size.
        largest = bias[first, second][:, None] * np.asarray(sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(error > 0, largest / error, 0.0)
        half = bias_aware_quantile(share, level, df) * error
        half = np.where(error > 0, half, largest)
        low, high = limits_on_log_scale(estimate, error, half, level, self.scale_z)
        tests, old = self._tests(level, method, None), ~self.is_new[second]
        pairs = first[old], second[old]
        sets = [
            replace(tests, bias=size * bias).insertion(pairs, level) for size in sizes
        ]
        best, worst = np.transpose(sets, (1, 2, 0))
        # Sizes of a pair side by side, pairs in the order of the contrasts.
        columns = np.stack([largest, low, high, best[first], worst[first]], axis=-1)
        table = pd.DataFrame(
            columns.reshape(-1, 5),
            self._pair_index(*(np.repeat(one, len(sizes)) for one in (first, second))),
            ["bias", "low", "high", "rank_low", "rank_high"],
        )
        gamma = pd.Index(np.tile(sizes, len(low)), name="gamma")
        ranks = dict.fromkeys(["rank_low", "rank_high"], int)
        return table.set_index(gamma, append=True).astype(ranks)

    def bias_margins(self, level: float) -> pd.DataFrame:
        """How large a bias of each difference may be before a statement falls.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            By pair as :meth:`contrasts`: the ``difference``; ``margin``, the bias that
            makes it zero, NaN where it has no finite error; and ``room``, the largest
            bias with which its interval excludes zero.
        """
        first, second = self.new_pairs()
        estimate, error, df = self.differences(first, second)
        margin = np.where(np.isfinite(error), np.abs(estimate), np.nan)
        half = half_width_to_zero(estimate, error, level, self.scale_z)
        # All of the difference where it has no error.
        has_error, room = np.isfinite(error) & (error > 0), margin.copy()
        room[has_error] = error[has_error] * largest_bias(
            half[has_error] / error[has_error], level, df[has_error]
        )
        return pd.DataFrame(
            {"difference": estimate, "margin": margin, "room": room},
            index=self._pair_index(first, second),
        )

    # --------------------------------------------------------------------------- ranks
    def new_pairs(self) -> tuple[Indices, Indices]:
        """Places of each new model and of every other one, as in :meth:`contrasts`."""
        return pairs_of(np.flatnonzero(self.is_new), np.arange(len(self.models)))

    def _pair_index(self, first: Indices, second: Indices) -> pd.MultiIndex:
        labels = [self.models[first], self.models[second]]
        return pd.MultiIndex.from_arrays(labels, names=["model", "opponent"])

    def _joint_errors(self, n_draws: int) -> JointErrors:
        """Draws from the joint law of the scores' errors."""
        scores, covariance = self._joint_moments
        # A model whose error is unknown proves nothing, whatever is drawn for it.
        is_known = np.isfinite(self.covariances.mean(axis=0))
        items = np.where(is_known, self.item_covariances.mean(axis=0), 0.0)
        return JointErrors.draw(covariance, items, self.item_df, scores, n_draws)

    def _tests(self, level: float, method: str, n_draws: int | None) -> BetterTests:
        check_level(level)
        if method not in ("romano-wolf", "holm"):
            raise ValueError(f"method must be 'romano-wolf' or 'holm', got {method!r}.")
        n_draws = check_draws(n_draws, level)
        errors = self._joint_errors(n_draws) if method == "romano-wolf" else None
        return BetterTests(len(self.models), self.differences, errors, self._open)

    def _ranks(self, first: Indices, second: Indices) -> Indices:
        """Rank of each model among those that it is paired with; 1 is best."""
        is_behind = self.differences(first, second)[0] < -EQUAL
        return 1 + np.bincount(first[is_behind], minlength=len(self.models))

    def rank_sets(
        self,
        level: float = 0.95,
        among: str = "historical",
        method: Literal["romano-wolf", "holm"] = "romano-wolf",
        n_draws: int | None = None,
    ) -> pd.DataFrame:
        """Ranks with simultaneous confidence sets.

        Computes eq:simulation-rank-set.

        Parameters
        ----------
        level : float, default=0.95
            Probability that every set contains its model's rank.
        among : {"historical", "all", "board"}, default="historical"
            Which models are ranked, and among which. With ``"historical"`` each new
            model is ranked among the historical ones, with ``"all"`` among all other
            models. With ``"board"`` every model is ranked among all others.
        method : {"romano-wolf", "holm"}, default="romano-wolf"
            Step-down procedure. Romano and Wolf's uses the correlations of the
            differences, so its sets are never longer than Holm's. Holm's is the
            paper's.
        n_draws : int, optional
            Draws for Romano and Wolf's procedure, at least ``99 / (1 - level)``. None
            means 9,999, or more if the level needs more. Their seed is fixed.

        Returns
        -------
        DataFrame
            Columns ``rank``, ``low``, ``high`` by model; 1 is best. All sets hold
            together with probability ``level``. With ``among="board"``, models whose
            score is not determined share the last rank.
        """
        if among not in ("historical", "all", "board"):
            raise ValueError(
                f"among must be 'historical', 'all' or 'board', got {among!r}."
            )
        tests = self._tests(level, method, n_draws)
        rows, n_models = np.flatnonzero(self.is_new), len(self.models)
        opponents = ~self.is_new if among == "historical" else np.full(n_models, True)
        if among == "board":
            rows, opponents = np.arange(n_models), self.determined
        pairs = pairs_of(rows, np.flatnonzero(opponents))
        rank = self._ranks(*pairs)
        if among == "board":
            rank = np.where(opponents, rank, 1 + opponents.sum())
            low, high = tests.leaderboard(level)
        else:
            low, high = tests.insertion(pairs, level)
        columns = {"rank": rank, "low": low, "high": high}
        return pd.DataFrame(columns, self._index).iloc[rows]

    @property
    def ranks(self) -> pd.Series:
        """Insertion rank of each new model among the historical ones; 1 is best."""
        new, historical = np.flatnonzero(self.is_new), np.flatnonzero(~self.is_new)
        ranks = self._ranks(*pairs_of(new, historical))
        return pd.Series(ranks, self._index, name="rank").iloc[new]

    def best_set(
        self, tau: int = 1, level: float = 0.95, simultaneous: bool = False
    ) -> pd.Index:
        """Models that may be among the best ``tau`` of all.

        Parameters
        ----------
        tau : int, default=1
            Number of best models, from 1 to the number of models less one.
        level : float, default=0.95
            Probability that the best ``tau`` are all in the set.
        simultaneous : bool, default=False
            Whether ``level`` holds if several of the best models have equal scores.
            With False each of them is in the set with probability ``level`` or more,
            but all of them together may be missing with a larger probability. With
            True the set has the models whose rank sets among all models begin at
            ``tau`` or better. It is larger.

        Returns
        -------
        Index
            Their labels, best first.
        """
        check_whole("tau", tau, 1, len(self.models) - 1)
        tests = self._tests(level, "romano-wolf", None)
        if simultaneous:
            keep = tests.leaderboard(level)[0] <= tau
        else:
            keep = tests.best(tau, level)
        order = np.argsort(-self.moments[0], kind="stable")
        return self._index[order[keep[order]]]

    def prob_best(self, tau: int = 1) -> pd.Series:
        """Probability that each model is among the best ``tau`` of all.

        This is a posterior probability under a flat prior of the scores, from 9,999
        draws with a fixed seed. It does not bound an error rate; :meth:`best_set` does.

        Parameters
        ----------
        tau : int, default=1
            Number of best models, from 1 to the number of models less one.

        Returns
        -------
        Series
            By model; the sum is ``tau``. A model whose error is infinite or unknown has
            NaN, and the others are compared among themselves.
        """
        check_whole("tau", tau, 1, len(self.models) - 1)
        scores, error, _ = self.moments
        has_error = np.isfinite(scores) & np.isfinite(error)
        draws = self._joint_errors(DRAWS).posterior(scores)[has_error]
        # Draws of all scores, (n_known, n_draws); the best ``tau`` models of each draw.
        best = np.argsort(-draws, axis=0, kind="stable")[:tau]
        probability = np.full(len(self.models), np.nan)
        counts = np.bincount(best.ravel(), minlength=len(draws))
        probability[has_error] = counts / draws.shape[1]
        return pd.Series(probability, index=self._index, name="probability")

    def leaderboard(
        self,
        level: float = 0.95,
        scale: Literal["logit", "elo"] | Scale = "logit",
        anchor: Mapping[Any, float] | None = None,
    ) -> pd.DataFrame:
        """All models, best first; undetermined ones come last.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the intervals and rank sets.
        scale : {"logit", "elo"} or Scale, default="logit"
            Unit of scores and errors: log-odds, or Elo points. A logit is 400 / ln 10
            Elo points.
        anchor : mapping of one model to its score, optional
            Such as ``{"gpt-4": 1000}``: this model gets exactly this score, and errors
            and intervals of the others are those of the differences to it. None centres
            the scores over the historical models, at 0 logits or 1000 points.
        Returns
        -------
        DataFrame
            ``score``, ``standard_error``, ``low``, ``high``; ``rank``, ``rank_low``,
            ``rank_high`` among all models; ``is_new``; ``determined``; and the numbers
            of human and judge rows of the model, ``n_human`` and ``n_judge``.
            A model that won, or lost, all its rows has an infinite error and one limit;
            its score is a convention. ``determined`` is False for a model whose score
            the data do not bound; it shares the last rank, whatever its score.
            The rank sets of all models hold jointly, as those of
            ``rank_sets(among="board")``. Each interval has its level for one model
            only, so intervals that do not overlap do not establish the order of all
            models. With more than 100 models the sets are Holm's, because the others
            take long.
        """
        shown = Scale.of(scale, anchor)
        shown.check(self.models, self.unbounded)
        many = len(self.models) > ROMANO_WOLF_MODELS
        sets = self.rank_sets(level, "board", "holm" if many else "romano-wolf")
        table = shown.apply(self.intervals(level, shown.anchor)).assign(
            rank=sets["rank"],
            rank_low=sets["low"],
            rank_high=sets["high"],
            is_new=self.is_new,
            determined=self.determined,
            n_human=self.n_human,
            n_judge=self.n_judge,
        )
        return table.sort_values(["determined", "score"], ascending=False)
