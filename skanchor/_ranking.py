"""Base classes of estimators that rank models: their results once they are fitted.

There are three kinds: methods with standard errors (:class:`RankingEstimator`), methods
that give scores alone (:class:`ScoreEstimator`), and methods whose outputs are not on
the scale of the human scores and only give ranks (:class:`RankOnlyEstimator`). Each
kind has only the methods for which it has the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skanchor._base import ComparisonEstimator
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor.results import PointResult, RankingResult, Scale


class _Ranked(ComparisonEstimator):
    """Base class of all three kinds."""

    result_: Any
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        # No string: it would be read as a list of letters.
        "new_models": ["array-like", None],
    }

    def _validate_params(self) -> None:
        super()._validate_params()
        btl = self.get_params(deep=False).get("btl")
        if isinstance(btl, BTLRegressor) and btl.position_effect:
            raise ValueError(
                f"{type(self).__name__} takes people's votes without a position "
                "effect: set position_effect=False in btl."
            )

    def _result(self) -> Any:
        """The fitted ``result_``, for properties."""
        if "result_" not in self.__dict__:
            # An AttributeError, so that hasattr(estimator, "scores_") is False before
            # the fit.
            raise AttributeError(
                f"This {type(self).__name__} instance is not fitted yet; call fit."
            )
        return self.result_

    @property
    def ranks_(self) -> pd.Series:
        """Insertion rank of each new model among the historical ones; 1 is best."""
        return self._result().ranks

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        # Judge rows; people are coded -1, unknown judges -2.
        return X.judge >= 0


class _Scored(_Ranked):
    """An estimator whose fitted ``result_`` holds scores."""

    @property
    def scores_(self) -> pd.Series:
        """Score of each new model, in logits."""
        return self._result().scores


class ScoreEstimator(_Scored):
    """An estimator whose fitted ``result_`` holds scores without their error.

    Intervals come from :class:`skanchor.bootstrap.Bootstrapped`.
    """

    result_: PointResult

    def leaderboard(self) -> pd.DataFrame:
        """All models, best first.

        Returns
        -------
        DataFrame
            As :meth:`skanchor.results.PointResult.leaderboard`, with ``score``.
        """
        check_is_fitted(self)
        return self.result_.leaderboard("score")


class RankOnlyEstimator(_Ranked):
    """An estimator whose outputs rank the new models but are not scores."""

    result_: PointResult

    @property
    def win_rates_(self) -> pd.Series:
        """Mean win rate of each model against the historical ones, in [0, 1]."""
        return self._result().values.rename("win_rate")

    def leaderboard(self) -> pd.DataFrame:
        """All models, best first.

        Returns
        -------
        DataFrame
            As :meth:`skanchor.results.PointResult.leaderboard`, with ``win_rate``.
        """
        check_is_fitted(self)
        return self.result_.leaderboard("win_rate")


class RankingEstimator(_Scored):
    """An estimator whose fitted ``result_`` ranks new models with intervals.

    The results are the attributes and methods of ``result_``, a
    :class:`skanchor.results.RankingResult`.
    """

    result_: RankingResult
    _has_errors = True

    @property
    def standard_errors_(self) -> pd.Series:
        """Standard error of each new model's score, in logits."""
        return self._result().standard_errors

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
        check_is_fitted(self)
        return self.result_.conf_int(level)

    def contrasts(self, level: float = 0.95) -> pd.DataFrame:
        """Score differences between each new model and every other model.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            As :meth:`skanchor.results.RankingResult.contrasts`.
        """
        check_is_fitted(self)
        return self.result_.contrasts(level)

    def rank_sets(
        self,
        level: float = 0.95,
        among: str = "historical",
        method: Literal["romano-wolf", "holm"] = "romano-wolf",
        n_draws: int | None = None,
    ) -> pd.DataFrame:
        """Ranks with simultaneous confidence sets.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).
        among : {"historical", "all", "board"}, default="historical"
            Opponents of the new models; ``"board"`` ranks every model among all others.
        method : {"romano-wolf", "holm"}, default="romano-wolf"
            Step-down procedure.
        n_draws : int, optional
            Draws for Romano and Wolf's procedure.

        Returns
        -------
        DataFrame
            As :meth:`skanchor.results.RankingResult.rank_sets`.
        """
        check_is_fitted(self)
        return self.result_.rank_sets(level, among, method, n_draws)

    def best_set(
        self, tau: int = 1, level: float = 0.95, simultaneous: bool = False
    ) -> pd.Index:
        """Models that may be among the best ``tau`` of all.

        Parameters
        ----------
        tau : int, default=1
            Number of best models.
        level : float, default=0.95
            Confidence level in (0, 1).
        simultaneous : bool, default=False
            Whether the level must also hold if the best models have equal scores.

        Returns
        -------
        Index
            As :meth:`skanchor.results.RankingResult.best_set`.
        """
        check_is_fitted(self)
        return self.result_.best_set(tau, level, simultaneous)

    def prob_best(self, tau: int = 1) -> pd.Series:
        """Probability that each model is among the best ``tau`` of all.

        Parameters
        ----------
        tau : int, default=1
            Number of best models.

        Returns
        -------
        Series
            As :meth:`skanchor.results.RankingResult.prob_best`.
        """
        check_is_fitted(self)
        return self.result_.prob_best(tau)

    def leaderboard(
        self,
        level: float = 0.95,
        scale: Literal["logit", "elo"] | Scale = "logit",
        anchor: Mapping[Any, float] | None = None,
        sort: Literal["score", "low"] = "score",
        ranks: Literal["score", "shared", "tier"] = "score",
    ) -> pd.DataFrame:
        """All models, best first; undetermined ones come last.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).
        scale : {"logit", "elo"} or Scale, default="logit"
            Unit of the scores.
        anchor : mapping of one model to its score, optional
            Model with a fixed score, such as ``{"gpt-4": 1000}``, from which the others
            are measured.
        sort : {"score", "low"}, default="score"
            Whether to sort by the score or by the lower end of the interval.
        ranks : {"score", "shared", "tier"}, default="score"
            Meaning of ``rank``: the rank by score, a shared rank, or a tier.

        Returns
        -------
        DataFrame
            As :meth:`skanchor.results.RankingResult.leaderboard`.
        """
        check_is_fitted(self)
        return self.result_.leaderboard(level, scale, anchor, sort, ranks)
