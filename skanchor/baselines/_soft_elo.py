"""Soft wins from the margins of verdicts, placed against anchored scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils._param_validation import StrOptions

from skanchor._admission import admit_to_ranking
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._model.logistic import fit_logistic
from skanchor._ranking import ScoreEstimator
from skanchor._typing import Array
from skanchor.baselines._base import check_scores, point_result, with_fitted_scores
from skanchor.baselines._fits import Fits
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample

_MARGINS = ("verdict", "features")


class SoftElo(ScoreEstimator):
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

    _stands_for: ClassVar = {"btl": lambda value: BTLRegressor()}
    _parameter_constraints: ClassVar = {
        **ScoreEstimator._parameter_constraints,
        "margin": [StrOptions(set(_MARGINS))],
        "btl": [BTLRegressor, None],
    }

    def __init__(
        self,
        margin: Literal["verdict", "features"] = "verdict",
        btl: BTLRegressor | None = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.margin = margin
        self.btl = btl
        self.new_models = new_models
        self.unseen = unseen

    @property
    def uses_features(self) -> bool:
        """Whether the method uses the features of the responses."""
        return self.margin == "features"

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        if not self.uses_features:
            sample = sample.without_features()
        sample = admit_to_ranking(sample, self.new_models)
        X = sample.X
        fits = Fits(sample, self._part("btl"), start=start)
        self.slope_ = self._slope(fits)
        # Verdicts are as if by people without a bias.
        arrivals = fits.arrivals()
        judged = arrivals.judge >= 0
        wins = arrivals.y.copy()
        wins[judged] = expit(self.slope_ * self._margins(X, sample.y, fits.arrived))
        scores = fits.scores.copy()
        scores[X.is_new] = arrivals.root("equal", y=wins)
        check_scores(X, scores)
        self.btl_ = fits.btl_
        self.models_, self.judges_ = X.models, X.judges
        self.new_models_ = X.models[X.is_new]
        self.result_ = point_result(sample, scores)

    def _margins(self, X: Comparisons, y: Array, rows: NDArray[np.bool_]) -> Array:
        """Margins of judge rows, of shape (n_rows,)."""
        if self.margin == "verdict":
            return 2.0 * y[rows] - 1.0
        return _feature_margins(X, rows)

    def _slope(self, fits: Fits) -> float:
        """Slope of the votes on their margins."""
        X, y = fits.X, fits.y
        rows = fits.votes & (y != 0.5)
        if self.margin == "features":
            x = _feature_margins(X, rows)
        else:
            # Mean verdict of each pair of models, NaN where there is none.
            wins = fits.wins(fits.verdicts)
            with np.errstate(invalid="ignore"):
                means = 2.0 * wins / (wins + wins.T) - 1.0
            x = means[X.left[rows], X.right[rows]]
        # A margin of zero says nothing about the slope.
        known = np.isfinite(x) & (x != 0)
        if not known.any():
            raise BattlesError(
                "No vote that is not a tie has a margin: margin='verdict' needs "
                "verdicts on pairs of models that people have voted on, "
                "margin='features' features in the rows of people."
            )
        votes = np.flatnonzero(rows)[known]
        fit = fit_logistic(x[known, None], y[votes], fits.weight[votes])
        return float(fit.coef[0])

    def _annotate(self, X: Comparisons) -> Comparisons:
        return with_fitted_scores(X, self)


def _feature_margins(X: Comparisons, rows: NDArray[np.bool_]) -> Array:
    """Mean difference of the features of rows, NaN where one is missing."""
    if not len(X.feature_names):
        raise BattlesError("margin='features' needs features of the responses.")
    left, right = X.features_left[rows], X.features_right[rows]
    return np.asarray((left - right).mean(axis=1))
