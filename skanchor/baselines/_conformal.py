"""Intervals around any method, from how far it places old models off."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skanchor._checks import check_level
from skanchor._ranking import AroundMethod, ScoreEstimator
from skanchor.baselines._soft_elo import SoftElo
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError
from skanchor.results import PointResult
from skanchor.sample import Sample


class ConformalRanking(AroundMethod, ScoreEstimator):
    """A method with conformal intervals over models.

    Each historical model with votes is left out in turn and placed as if it were new.
    The interval of a new model is its score, plus and minus the k-th smallest of the K
    distances from the human scores, ``k = ceil((K + 1) level)``. If the new model is
    exchangeable with the historical ones, the interval contains the human score that a
    fit to votes would estimate with probability ``level``, whether or not the
    assumptions of the method hold. All intervals have the same width. They need at
    least ``1 / (1 - level) - 1`` historical models.

    Parameters
    ----------
    estimator : estimator, optional
        The method, which must give scores; None stands for ``SoftElo()``.
    n_jobs : int, optional
        Models that are left out in parallel, as in joblib.
    new_models : sequence of labels, optional
        Models to place; None leaves the choice to the method.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_ : ndarray
        Labels of all models, and of the new ones.
    estimator_ : estimator
        The method fitted on all rows.
    left_out_ : DataFrame
        Result of :func:`skanchor.evaluation.leave_one_model_out`, by model.
    result_ : PointResult
        Scores of the method.

    Raises
    ------
    BattlesError
        If intervals are asked for at a level that needs more historical models.

    Examples
    --------
    >>> from skanchor.baselines import ConformalRanking, DirectScore
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(n_historical=3000, random_state=0)
    >>> method = ConformalRanking(DirectScore()).fit(data.X, data.y)
    >>> method.conf_int(level=0.9).columns.tolist()
    ['low', 'high']
    """

    _stands_for: ClassVar = {"estimator": lambda value: SoftElo()}

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        n_jobs: int | None = None,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.new_models = new_models
        self.unseen = unseen

    @property
    def distances_(self) -> pd.Series:
        """Distance of each historical model's score from its human score, in logits."""
        check_is_fitted(self)
        table = self.left_out_
        return (table["score"] - table["true_score"]).abs().rename("distance")

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Conformal intervals of the new models' scores.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            Columns ``low`` and ``high`` in logits, by new model.
        """
        check_level(level)
        distances = np.sort(self.distances_.to_numpy())
        # Rounding must not turn 19 of 20 at level .95 into 20.
        k = int(np.ceil((len(distances) + 1) * level - 1e-9))
        if k > len(distances):
            needed = int(np.ceil(level / (1.0 - level) - 1e-9))
            most = len(distances) / (len(distances) + 1)
            raise BattlesError(
                f"Conformal intervals at level {level:g} need {needed} historical "
                f"models with votes, and there are {len(distances)}: ask for a level "
                f"of at most {np.floor(most * 1000) / 1000:g}."
            )
        scores = self.scores_
        return pd.DataFrame(
            {"low": scores - distances[k - 1], "high": scores + distances[k - 1]}
        )

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        method = self._method()
        # The outcomes of a sample are preferences in [0, 1], no longer labels.
        rows = sample.X.as_preferences(), sample.y, sample.weight, sample.groups
        self.estimator_ = clone(method).fit(*rows)
        X, y, weight, groups = rows
        self.left_out_ = leave_one_model_out(
            method, X, y, sample_weight=weight, groups=groups, n_jobs=self.n_jobs
        )
        inner = self.estimator_.result_
        self.models_, self.new_models_ = inner.models, inner.models[inner.is_new]
        scores = inner.all_scores.to_numpy(dtype=np.float64)
        counts = inner.n_human, inner.n_judge
        self.result_ = PointResult(
            inner.models, inner.is_new, scores, *counts, inner.inputs
        )
