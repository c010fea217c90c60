"""What every method that ends in a ranking offers once it is fitted.

There are three kinds: methods that know their error (:class:`RankingEstimator`), those
that end in scores alone (:class:`ScoreEstimator`), and those whose outputs are not on
the scale of the human scores and can only be ranked (:class:`RankOnlyEstimator`). What
a kind does not know it does not offer.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skanchor.base import ComparisonEstimator
from skanchor.comparisons import Comparisons, decide_roles, usable_features
from skanchor.exceptions import BattlesError
from skanchor.inference import PointResult, RankingResult
from skanchor.judges import unused_judges

__all__ = [
    "RankOnlyEstimator",
    "RankingEstimator",
    "ScoreEstimator",
    "check_ranking",
    "count_rows",
    "decide_ranking",
    "leave_out_few",
    "leave_out_judges",
]

ROWS_PER_PARAMETER = 5
"""Historical rows of a judge for its sensitivity and each feature; with fewer its bias
may be anything, and its one-step corrections harm the scores of all models."""


class _Ranked(ComparisonEstimator):
    """What all three kinds share."""

    result_: Any
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        # A string would be read as a list of letters.
        "new_models": ["array-like", None],
    }

    def _result(self) -> Any:
        if "result_" not in self.__dict__:
            # hasattr then says that an unfitted estimator has no results.
            raise AttributeError(
                f"This {type(self).__name__} instance is not fitted yet; call fit."
            )
        return self.result_

    @property
    def ranks_(self) -> pd.Series:
        """Insertion rank of each new model among the historical ones; 1 is best."""
        return self._result().ranks

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
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
            As :meth:`skanchor.inference.PointResult.leaderboard`, with ``score``.
        """
        check_is_fitted(self)
        return self.result_.leaderboard("score")


class RankOnlyEstimator(_Ranked):
    """An estimator whose outputs rank the new models, on no scale of their own."""

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
            As :meth:`skanchor.inference.PointResult.leaderboard`, with ``win_rate``.
        """
        check_is_fitted(self)
        return self.result_.leaderboard("win_rate")


class RankingEstimator(_Scored):
    """An estimator whose fitted ``result_`` ranks new models with intervals.

    The results are the attributes and methods of ``result_``, a
    :class:`skanchor.inference.RankingResult`.
    """

    result_: RankingResult

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
        """Differences of each new model to every other model.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            As :meth:`skanchor.inference.RankingResult.contrasts`.
        """
        check_is_fitted(self)
        return self.result_.contrasts(level)

    def rank_sets(self, level: float = 0.95, among: str = "historical") -> pd.DataFrame:
        """Ranks of the new models with simultaneous confidence sets.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).
        among : {"historical", "all"}, default="historical"
            Opponents.

        Returns
        -------
        DataFrame
            Columns ``rank``, ``low``, ``high`` by new model; 1 is best.
        """
        check_is_fitted(self)
        return self.result_.rank_sets(level, among)

    def leaderboard(self, level: float = 0.95) -> pd.DataFrame:
        """All models, best first.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            As :meth:`skanchor.inference.RankingResult.leaderboard`.
        """
        check_is_fitted(self)
        return self.result_.leaderboard(level)


def check_ranking(X: Comparisons, new_models: Any) -> None:
    """Refuse roles that leave nothing to rank or no scale to rank on."""
    if not (X.is_human & X.is_usable).any():
        raise BattlesError(
            f"No row is by a human: column 'judge' holds {X.judges[:10].tolist()}. "
            "Human rows carry the label 'human'; split_battles(table, human=...) "
            "gives it to another label."
        )
    if not X.is_new.any() and new_models is None:
        unjudged = "" if len(X.judges) else " (all rows, without a column 'judge')"
        raise BattlesError(
            f"There is no new model: every model has human rows{unjudged}. Name the "
            "models to treat as new in new_models, or pass new_models=[] for the "
            "historical leaderboard."
        )
    n_historical = len(X.models) - int(X.is_new.sum())
    if n_historical < 2:
        raise BattlesError(
            f"Historical models with human rows: {n_historical}; at least two are "
            "needed for a scale."
        )


def count_rows(
    X: Comparisons, weight: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count the human and the judge rows of each model."""
    used = X.is_usable & (weight > 0)
    size = len(X.models)
    human, judge = (
        np.bincount(X.left[rows], minlength=size)
        + np.bincount(X.right[rows], minlength=size)
        for rows in (used & X.is_human, used & ~X.is_human)
    )
    return human, judge


def decide_ranking(
    X: Comparisons, weight: NDArray[np.float64], new_models: Any
) -> tuple[Comparisons, list[Warning]]:
    """Fix roles, leave out judges without history, refuse what cannot be ranked."""
    battles = decide_roles(X, weight, new_models)
    check_ranking(battles, new_models)
    return leave_out_judges(battles, weight)


def _without(X: Comparisons, judges: list[Any]) -> Comparisons:
    """The rows, those of these judges unusable."""
    keep = np.array([judge not in judges for judge in X.judges.tolist()], dtype=bool)
    return X.relabel(X.models, X.judges[keep])


def leave_out_few(
    X: Comparisons, weight: NDArray[np.float64]
) -> tuple[Comparisons, list[Warning]]:
    """Leave out judges with too little history, where others place every new model."""
    needed = ROWS_PER_PARAMETER * (1 + X.features_left.shape[1])
    few, notices = unused_judges(X, weight, needed)
    battles = _without(X, few)
    used = battles.is_usable & (weight > 0)
    seen = np.concatenate([battles.left[used], battles.right[used]])
    if few and len(battles.judges) and np.isin(np.flatnonzero(X.is_new), seen).all():
        return battles, notices
    return X, []


def leave_out_judges(
    X: Comparisons, weight: NDArray[np.float64]
) -> tuple[Comparisons, list[Warning]]:
    """Leave out judges without history; refuse new models that nothing else places."""
    battles = X
    unused, notices = unused_judges(battles, weight)
    if unused:
        battles = _without(X, unused)
        if not len(battles.judges):
            raise BattlesError(
                f"Judges {unused} have no row between two models with human votes, "
                "so no judge can be calibrated."
            )
    used = battles.is_usable & (weight > 0)
    for model in battles.models[battles.is_new].tolist():
        code = battles.models.tolist().index(model)
        if not (used & ((battles.left == code) | (battles.right == code))).any():
            lost = f" ({unused} have no historical row)" if unused else ""
            raise BattlesError(
                f"New model {model!r} has no comparison by a calibrated judge{lost}."
            )
    return usable_features(battles, used & ~battles.is_human), notices
