"""Methods of wins: win rates, which only rank; soft wins; conformal intervals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import Comparisons
from skanchor._checks import check_level
from skanchor._estimators.btl import BTLRegressor
from skanchor._model.logistic import fit_logistic
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.baselines._base import (
    OfVotes,
    mean_residual,
    placed,
    wins_of,
    with_outcomes,
)
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError
from skanchor.results import PointResult
from skanchor.results.estimators import AroundMethod, RankOnlyEstimator, ScoreEstimator


class RankOnly(OfVotes, RankOnlyEstimator):
    """Win rates of new models, and those of historical models from human scores."""

    def _new_rates(self, sample: Sample) -> Array:
        """Win rates of the new models, of shape (n_new,), NaN without opponents."""
        raise NotImplementedError

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._fit_votes(self._admit(sample), start)
        X = sample.X
        assert X.scores is not None
        theta = X.scores[~X.is_new]
        # Of historical model j: mean over k of sigma(theta_j - theta_k), with k = j.
        rates = np.empty(len(X.models))
        rates[~X.is_new] = expit(theta[:, None] - theta).mean(axis=1)
        with np.errstate(invalid="ignore"):
            rates[X.is_new] = self._new_rates(sample)
        self._conclude(sample, rates)

    def _annotate(self, X: Comparisons) -> Comparisons:
        rates = self.result_.values.reindex(self.new_models_)
        old, scores = self.btl_.scores_.to_numpy(), self.btl_.scores_.copy()
        # The score t that a rate implies: mean over j of sigma(t - theta_j) is the
        # rate. It may lie outside (0, 1), where no score is finite.
        for model, rate in rates.clip(1e-6, 1.0 - 1e-6).items():

            def excess(t: float, rate: float = rate) -> float:
                return float(expit(t - old).mean() - rate)

            scores[model] = brentq(excess, -40.0, 40.0, xtol=1e-12)
        new_models = tuple(self.new_models_.tolist())
        ranked = scores.reindex(X.models).to_numpy()
        return X.with_columns(scores=ranked, new_models=new_models)


class HistoricalPPR(RankOnly):  # numpydoc ignore=PR02
    """Win rate of the new model in verdicts, corrected on the historical models.

    The value of a new model is the mean over historical models j of its win rate
    against j in verdicts, plus a correction: the mean human residual minus the mean
    judge residual of the historical rows as recorded, with residuals ``Y -
    sigma(theta_i - theta_j)``. The value of a historical model j is the mean over k of
    ``sigma(theta_j - theta_k)``, k = j included. The mean of a new model leaves out
    opponents without a comparison. "Adapts prediction-powered ranking (Chatzi et al.,
    2024)" (the paper, Section 5).

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a rank.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    win_rates_ : Series
        Mean win rate by model.
    ranks_ : Series
        Insertion rank by new model; 1 is best.
    btl_ : BTLRegressor
        The fitted model of the human rows.
    result_ : PointResult
        Win rates of all models.

    Examples
    --------
    >>> from skanchor.baselines import HistoricalPPR
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> HistoricalPPR().fit(data.X, data.y).ranks_.index.tolist()
    ['new-model']
    """

    def _new_rates(self, sample: Sample) -> Array:
        X, judged = sample.X, ~sample.X.is_human
        # Weighted numbers of wins and games of new against historical models at all
        # judges together, of shape (n_new, n_historical).
        wins, box = wins_of(sample, judged), np.ix_(X.is_new, ~X.is_new)
        games, wins = (wins + wins.T)[box], wins[box]
        met = games > 0
        rate = np.divide(wins, games, out=np.zeros_like(wins), where=met)
        rectifier = mean_residual(sample, X.is_human & ~X.involves_new)
        rectifier -= mean_residual(sample, judged & ~X.involves_new)
        return np.asarray(rate.sum(axis=1) / met.sum(axis=1) + rectifier)


class LogisticJudge(RankOnly):  # numpydoc ignore=PR02
    """Sigmoid recalibration of each judge's win rates, averaged over judges.

    Human and judge rows share no comparison. The verdict of judge m on a pair is
    therefore its smoothed win rate ``p_mij = (wins + 1/2) / (n + 1)`` over all its rows
    of the pair. The judge's slope is fitted to human rows, ``P(Y = 1 | i, j) =
    sigma(b_m logit p_mij)``, without an intercept. The value of a new model is the mean
    of ``sigma(b_m logit p_m,new,j)`` over judges m and the historical models j that
    judge m has compared it with. The value of a historical model j is the mean over k
    of ``sigma(theta_j - theta_k)``, k = j included. "Adapts sigmoid recalibration (Guo
    et al., 2017)" (the paper, Section 5).

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a rank.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    slopes_ : Series
        Slope b by judge.
    win_rates_ : Series
        Mean win rate by model.
    ranks_ : Series
        Insertion rank by new model; 1 is best.
    btl_ : BTLRegressor
        The fitted model of the human rows.
    result_ : PointResult
        Win rates of all models.

    Examples
    --------
    >>> from skanchor.baselines import LogisticJudge
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> LogisticJudge().fit(data.X, data.y).ranks_.index.tolist()
    ['new-model']
    """

    def _new_rates(self, sample: Sample) -> Array:
        X = sample.X
        votes = np.flatnonzero(sample.counts & X.is_human & ~X.involves_new)
        # New models against historical ones.
        box = np.ix_(X.is_new, ~X.is_new)
        total, count, slopes = 0.0, 0, []
        for m in range(len(X.judges)):
            wins = wins_of(sample, X.judge == m)
            # One game is added to each pair, half won: a weight is a number of games.
            games = wins + wins.T
            verdict = logit((wins + 0.5) / (games + 1.0))
            seen = verdict[X.left[votes], X.right[votes]][:, None]
            fit = fit_logistic(seen, sample.y[votes], sample.weight[votes])
            slopes.append(float(fit.coef[0]))
            met = games[box] > 0
            total = total + (met * expit(slopes[-1] * verdict[box])).sum(axis=1)
            count = count + met.sum(axis=1)
        index = pd.Index(X.judges, name="judge")
        self.slopes_ = pd.Series(slopes, index, name="slope")
        return np.asarray(total / count)


class SoftElo(OfVotes, ScoreEstimator):
    """Scores fitted to soft wins, which are computed from the margins of verdicts.

    A verdict has a margin g. One slope b for all judges is fitted to the human votes
    other than ties, ``P(Y = 1) = sigma(b g)``. The soft win of a verdict is ``s =
    sigma(b g)``. The score t of a new model solves ``sum over its rows of [s - sigma(t
    - theta_J)] = 0``, with the scores of the historical models fixed at those of the
    votes. For intervals see :class:`ConformalRanking`.

    All judges have the same slope, no bias and no position effect. Errors of the
    historical scores are ignored.

    Parameters
    ----------
    margin : {"verdict", "features"}, default="verdict"
        Definition of the margin. With ``"verdict"`` it is the outcome of the row, from
        -1 (second side) to 1; for a vote it is the mean over the historical verdicts on
        the same two models. With ``"features"`` it is the mean difference of the
        features of the two responses, such as points that a judge gave for several
        criteria; votes need these features, too.
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    slope_ : float
        Human logits per unit of the margin.
    btl_ : BTLRegressor
        The fitted model of the human rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Raises
    ------
    BattlesError
        If no vote has a margin, or if there are no features to compute it from.

    Examples
    --------
    >>> from skanchor.baselines import SoftElo
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> SoftElo().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OfVotes._parameter_constraints,
        "margin": [StrOptions({"verdict", "features"})],
    }

    def __init__(
        self,
        margin: Literal["verdict", "features"] = "verdict",
        btl: BTLRegressor | None = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        super().__init__(btl, new_models=new_models, unseen=unseen)
        self.margin = margin

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        self._features = self.margin == "features"
        voted = self._fit_votes(self._admit(sample), start)
        X, y = voted.X, voted.y
        judged, margins = ~X.is_human, 2.0 * y - 1.0
        if self._features and not len(X.feature_names):
            raise BattlesError("margin='features' needs features of the responses.")
        if self._features:
            margins = (X.features_left - X.features_right).mean(axis=1)
        else:
            # Of a vote: the mean verdict on its pair, NaN where there is none.
            wins = wins_of(voted, judged & ~X.involves_new)
            with np.errstate(invalid="ignore"):
                means = 2.0 * wins / (wins + wins.T) - 1.0
            margins = np.where(judged, margins, means[X.left, X.right])
        votes = voted.counts & X.is_human & ~X.involves_new & (y != 0.5)
        # A margin of zero says nothing about the slope.
        rows = votes & np.isfinite(margins) & (margins != 0)
        if not rows.any():
            raise BattlesError(
                "No vote that is not a tie has a margin: it needs verdicts on the same "
                "two models, with margin='features' features of its own."
            )
        fit = fit_logistic(margins[rows, None], y[rows], voted.weight[rows])
        self.slope_ = float(fit.coef[0])
        is_arrival = voted.counts & judged & X.involves_new
        wins = np.where(is_arrival, expit(self.slope_ * margins), y)
        # Soft wins are as if by people without a bias.
        X = X.with_columns(sensitivities=np.ones(len(X.judges)))
        soft = placed(with_outcomes(voted.with_battles(X), wins))
        self._conclude(voted, soft.X.learned_scores())


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
        check_is_fitted(self)
        check_level(level)
        table = self.left_out_
        distances = np.sort((table["score"] - table["true_score"]).abs())
        # Rounding must not turn 19 of 20 at level .95 into 20.
        k = int(np.ceil((len(distances) + 1) * level - 1e-9))
        if k > len(distances):
            needed = int(np.ceil(level / (1.0 - level) - 1e-9))
            raise BattlesError(
                f"Conformal intervals at level {level:g} need {needed} historical "
                f"models with votes, and there are {len(distances)}: lower the level."
            )
        scores, width = self.scores_, distances[k - 1]
        return pd.DataFrame({"low": scores - width, "high": scores + width})

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        method, rows = self._method(), self._rows(sample)
        self.estimator_ = clone(method).fit(**rows)
        self.left_out_ = leave_one_model_out(method, **rows, n_jobs=self.n_jobs)
        inner = self.estimator_.result_
        self.models_, self.new_models_ = inner.models, inner.models[inner.is_new]
        scores = inner.all_scores.to_numpy(dtype=np.float64)
        labels, counts = (inner.models, inner.is_new), (inner.n_human, inner.n_judge)
        self.result_ = PointResult(*labels, scores, *counts, inner.inputs)
