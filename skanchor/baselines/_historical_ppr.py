"""Prediction-powered ranking: win rates at the judges, corrected by human residuals."""

from __future__ import annotations

import numpy as np

from skanchor._typing import Array
from skanchor.baselines._fits import Fits
from skanchor.baselines._rank_only import RankOnly


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

    def _new_rates(self, fits: Fits) -> Array:
        # Weighted numbers of wins and games of new against historical models at all
        # judges together, of shape (n_new, n_historical).
        is_new = fits.X.is_new
        wins = fits.wins(fits.arrived)
        games = (wins + wins.T)[is_new][:, ~is_new]
        wins, met = wins[is_new][:, ~is_new], games > 0
        rate = np.divide(wins, games, out=np.zeros_like(wins), where=met)
        rectifier = fits.mean_residual(fits.votes) - fits.mean_residual(fits.verdicts)
        # A new model without opponents gets 0 / 0 = NaN, which is refused later.
        with np.errstate(invalid="ignore"):
            return np.asarray(rate.sum(axis=1) / met.sum(axis=1) + rectifier)
