"""Base classes of estimators that rank models: their results once they are fitted.

There are three kinds: methods with standard errors (:class:`RankingEstimator`), methods
that give scores alone (:class:`ScoreEstimator`), and methods whose outputs are not on
the scale of the human scores and only give ranks (:class:`RankOnlyEstimator`). Each
kind has only the methods for which it has the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import Comparisons
from skanchor._estimators.base import ComparisonEstimator
from skanchor._sample.sample import Sample
from skanchor.results import PointResult, RankingResult

P = ParamSpec("P")
Found = TypeVar("Found")


def of_result(
    method: Callable[Concatenate[Any, P], Found],
) -> Callable[Concatenate[Any, P], Found]:
    """A method of a result, as one of the fitted estimator that has the result."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Found:
        value: Found = getattr(self._result(), method.__name__)(*args, **kwargs)
        return value

    return call


class _Ranked(ComparisonEstimator):
    """Base class of all three kinds."""

    result_: Any
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        # No string: it would be read as a list of letters.
        "new_models": ["array-like", None],
    }

    def _result(self) -> Any:
        """The ``result_``; an AttributeError before the fit, as hasattr expects it."""
        check_is_fitted(self)
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


class _Listed(_Ranked):
    """An estimator whose fitted ``result_`` holds values without their errors."""

    result_: PointResult
    _value: ClassVar[str] = "score"

    def leaderboard(self) -> pd.DataFrame:
        """All models, best first.

        Returns
        -------
        DataFrame
            As :meth:`skanchor.results.PointResult.leaderboard`, with ``score`` or
            ``win_rate``.
        """
        table: pd.DataFrame = self._result().leaderboard(self._value)
        return table


class ScoreEstimator(_Scored, _Listed):
    """An estimator whose fitted ``result_`` holds scores without their error.

    Intervals come from :class:`skanchor.bootstrap.Bootstrapped`.
    """


class RankOnlyEstimator(_Listed):
    """An estimator whose outputs rank the new models but are not scores."""

    _value = "win_rate"

    @property
    def win_rates_(self) -> pd.Series:
        """Mean win rate of each model against the historical ones, in [0, 1]."""
        return self._result().values.rename("win_rate")


class AroundMethod(_Scored):
    """An estimator whose scores are those of another, its parameter ``estimator``."""

    estimator: Any
    estimator_: Any
    new_models: Any
    _parameter_constraints: ClassVar = {
        **_Ranked._parameter_constraints,
        "estimator": [HasMethods(["fit", "get_params"]), None],
        "n_jobs": [Integral, None],
    }

    def _method(self) -> Any:
        """The other estimator, unfitted, with the new models of this one."""
        method = clone(self._part("estimator"))
        if isinstance(method, RankOnlyEstimator):
            raise TypeError(
                f"{type(method).__name__} only ranks: it has no scores to bound. For "
                "intervals of ranks call skanchor.bootstrap.bootstrap, then "
                "rank_intervals(), or give a method with scores."
            )
        if self.new_models is not None:
            method.set_params(new_models=self.new_models)
        return method

    def _rows(self, sample: Sample) -> dict[str, Any]:
        """Arguments of the other estimator's ``fit``."""
        # The outcomes of a sample are preferences in [0, 1], no longer labels.
        X, weight = sample.X.with_columns(named=True), sample.weight
        return dict(X=X, y=sample.y, sample_weight=weight, groups=sample.groups)

    def _annotate(self, X: Comparisons) -> Comparisons:
        annotated: Comparisons = self.estimator_.transform(X)
        return annotated


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

    conf_int = of_result(RankingResult.conf_int)
    contrasts = of_result(RankingResult.contrasts)
    rank_sets = of_result(RankingResult.rank_sets)
    best_set = of_result(RankingResult.best_set)
    prob_best = of_result(RankingResult.prob_best)
    leaderboard = of_result(RankingResult.leaderboard)
