"""Judges' win tables, recalibrated to human votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from skanchor._comparisons import Comparisons
from skanchor._comparisons.labels import positions
from skanchor._model.logistic import fit_logistic
from skanchor._typing import Array
from skanchor.baselines._fits import Fits
from skanchor.baselines._rank_only import RankOnly


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

    def _new_rates(self, fits: Fits) -> Array:
        X = fits.X
        # New models against historical ones.
        box = np.ix_(X.is_new, ~X.is_new)
        total, count = np.zeros((2, np.count_nonzero(X.is_new)))
        slopes, logits = {}, []
        for m, judge in enumerate(X.judges.tolist()):
            wins = fits.wins(fits.sample.counts & (X.judge == m))
            # One game is added to each pair, half won: a weight is a number of games.
            games = wins + wins.T
            verdict = logit((wins + 0.5) / (games + 1.0))
            slopes[judge] = slope = _human_slope(fits, verdict)
            logits.append(verdict)
            met = games[box] > 0
            total += (met * expit(slope * verdict[box])).sum(axis=1)
            count += met.sum(axis=1)
        self.slopes_ = pd.Series(slopes, name="slope").rename_axis("judge")
        self._verdicts = np.array(logits)
        # A new model that has met no historical one gets 0 / 0 = NaN: refused later.
        with np.errstate(invalid="ignore"):
            return np.asarray(total / count)

    def _row_logits(self, X: Comparisons) -> Array:
        """Logits of rows: on judge rows the judge's own verdict on the pair.

        On human rows the logit of the recalibrated win rate, averaged over judges.
        """
        # Codes of the models of X in the fit; -1 is unknown, and the -1 at the end
        # serves models of X that are unknown already.
        code = np.append(positions(X.models, self.models_), -1)
        left, right = code[X.left], code[X.right]
        known = (left >= 0) & (right >= 0)
        slopes = self.slopes_.to_numpy()[:, None, None]
        rate = expit(slopes * self._verdicts).mean(axis=0)
        # One table of logits (n_models, n_models) for human rows, one for each judge of
        # X (NaN if it was not in the fit), and one of NaN for unknown judges.
        tables = [logit(rate)]
        for judge in X.judges.tolist():
            at = np.flatnonzero(self.judges_ == judge)
            tables.append(
                self._verdicts[at[0]] if len(at) else np.full_like(tables[0], np.nan)
            )
        tables.append(np.full_like(tables[0], np.nan))
        # Code -1 (human) reads the first table, code -2 (unknown judge) the last.
        which = np.where(X.judge >= -1, X.judge + 1, len(tables) - 1)
        return np.where(known, np.array(tables)[which, left, right], np.nan)


def _human_slope(fits: Fits, verdict: Array) -> float:
    """Slope of the human votes on a judge's logits, of shape (n_models, n_models)."""
    X, votes = fits.X, fits.votes
    x = verdict[X.left[votes], X.right[votes]]
    return float(fit_logistic(x[:, None], fits.y[votes], fits.weight[votes]).coef[0])
