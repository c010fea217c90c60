"""Methods whose outputs are win rates, not scores: their order alone has a meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit

from skanchor._battles import Comparisons
from skanchor._battles.labels import positions
from skanchor._model.logistic import fit_logistic
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.baselines._base import OfVotes, mean_residual, wins_of
from skanchor.results.estimators import RankOnlyEstimator


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
            scores[model] = brentq(
                lambda t, rate=rate: expit(t - old).mean() - rate, -40.0, 40.0,
                xtol=1e-12,
            )  # fmt: skip
        known = X.with_columns(
            scores=scores.reindex(X.models).to_numpy(),
            new_models=tuple(self.new_models_.tolist()),
        )
        return known.with_columns(biases=self._biases(known))

    def _biases(self, X: Comparisons) -> Array:
        """Logit of each row, less the difference of the implied scores."""
        return np.zeros(len(X))


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
        X = sample.X
        judged = ~X.is_human
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
        total, count, slopes, verdicts = 0.0, 0, [], []
        for m in range(len(X.judges)):
            wins = wins_of(sample, X.judge == m)
            # One game is added to each pair, half won: a weight is a number of games.
            games = wins + wins.T
            verdict = logit((wins + 0.5) / (games + 1.0))
            seen = verdict[X.left[votes], X.right[votes]][:, None]
            fit = fit_logistic(seen, sample.y[votes], sample.weight[votes])
            slopes.append(float(fit.coef[0]))
            verdicts.append(verdict)
            met = games[box] > 0
            total = total + (met * expit(slopes[-1] * verdict[box])).sum(axis=1)
            count = count + met.sum(axis=1)
        index = pd.Index(X.judges, name="judge")
        self.slopes_ = pd.Series(slopes, index, name="slope")
        self._verdicts = np.array(verdicts)
        return np.asarray(total / count)

    def _biases(self, X: Comparisons) -> Array:
        """Bias that makes the logit of a judge row the judge's own verdict on the pair.

        On human rows it is the logit of the recalibrated win rate, averaged over
        judges.
        """
        slopes = self.slopes_.to_numpy()[:, None, None]
        rate = expit(slopes * self._verdicts).mean(axis=0)
        # Tables of logits by judge, then that of people (code -1), then NaN for judges
        # that are not known (code -2); and NaN for models that are not known.
        tables = np.array([*self._verdicts, logit(rate)])
        tables = np.pad(tables, [(0, 1)] * 3, constant_values=np.nan)
        judge = np.append(positions(X.judges, self.judges_), [-1, -2])
        model = np.append(positions(X.models, self.models_), -1)
        eta = tables[judge[X.judge], model[X.left], model[X.right]]
        return np.asarray(eta - X.score_differences)
