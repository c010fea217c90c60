"""Scores of the new models, read off the comparisons that involve them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import expit
from sklearn.utils._param_validation import StrOptions

from skanchor._numerics.logistic import fit_logistic
from skanchor.base import ComparisonEstimator, check_bounds
from skanchor.comparisons import Comparisons, align, usable_features
from skanchor.exceptions import BattlesError, BoundWarning

__all__ = ["ArrivalScorer"]

Array = NDArray[np.float64]


class ArrivalScorer(ComparisonEstimator):
    """Scores of the new models with everything else held fixed.

    Reads the rows that involve a new model: judge rows, human rows of a warm arrival,
    and rows between two new models.

    Parameters
    ----------
    equation : {"likelihood", "unweighted"}, default="likelihood"
        The likelihood, which weighs a row by its judge's sensitivity, or the equation
        that sets the plain sum of each new model's residuals to zero.
    score_bounds : tuple of (low, high), default=(-15, 15)
        Bounds of the new scores, in logits.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    new_models_ : ndarray of shape (n_new,)
        New models.
    scores_ : Series
        Score by new model, in logits.
    at_bound_ : ndarray of shape (n_new,)
        New models whose score lies on a bound.

    Raises
    ------
    BattlesError
        If a new model has no row that can score it.

    Notes
    -----
    Solves eq:arrival-estimation-v2 for all new models at once.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from skanchor import ArrivalScorer, BTLRegressor, JudgeCalibrator
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> chain = make_pipeline(BTLRegressor(), JudgeCalibrator(), ArrivalScorer())
    >>> chain.fit(data.X, data.y)[-1].scores_.index.tolist()
    ['new-model']
    """

    scores_: pd.Series
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        "equation": [StrOptions({"likelihood", "unweighted"})],
        "score_bounds": [tuple, list],
    }

    def __init__(
        self,
        *,
        equation: str = "likelihood",
        score_bounds: tuple[float, float] = (-15.0, 15.0),
        unseen: str = "warn",
    ):
        self.equation = equation
        self.score_bounds = score_bounds
        self.unseen = unseen

    def _fit(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None = None,
        start: ArrivalScorer | None = None,
    ) -> list[Warning]:
        low, high = check_bounds("score_bounds", self.score_bounds)
        new = np.flatnonzero(X.is_new)
        self.new_models_ = X.models[new]
        calibrated = np.append(_sensitivities(X), [np.nan, 1.0])
        slope = calibrated[X.judge]
        rows = np.flatnonzero(
            X.involves_new & X.is_usable & (weight > 0) & np.isfinite(slope)
        )
        used = np.zeros(len(X), dtype=bool)
        used[rows] = True
        X = usable_features(X, used & ~X.is_human)
        place = np.full(len(X.models) + 1, -1)
        place[new] = np.arange(len(new))
        signs = np.zeros((len(rows), len(new)))
        for side, sign in ((X.left[rows], 1.0), (X.right[rows], -1.0)):
            hit = place[side] >= 0
            signs[np.flatnonzero(hit), place[side[hit]]] = sign
        lonely = self.new_models_[~signs.any(axis=0)].tolist()
        if lonely:
            raise BattlesError(
                f"New models {lonely} have no comparison by a calibrated judge or a "
                "human; nothing places them."
            )
        # With the new scores at zero the logit is the known part of the row.
        scores = np.where(X.is_new, 0.0, _known_scores(X))
        known = X.without_features()[rows].with_columns(scores=scores)
        offset = known.logits()
        if not np.isfinite(offset).all():
            bad = np.flatnonzero(~np.isfinite(offset))
            names = known[bad].unscored_models()
            raise BattlesError(
                f"New models meet opponents without a score: {names[:5]} "
                f"({len(bad)} rows)."
            )
        first = None
        if start is not None:
            first = start._scores_of(self.new_models_)
            first = None if np.isnan(first).any() else first
        design = signs * slope[rows, None]
        index = pd.Index(self.new_models_, name="model")
        if not len(new):
            self.scores_ = pd.Series(index=index, dtype=float, name="score")
            self.at_bound_ = np.zeros(0, dtype=bool)
            return []
        fit = fit_logistic(
            design,
            y[rows],
            weight[rows],
            offset=offset,
            lower=np.full(len(new), low),
            upper=np.full(len(new), high),
            start=first,
        )
        values = fit.coef
        if self.equation == "unweighted":
            values = _unweighted_root(
                signs, design, offset, y[rows], weight[rows], values, (low, high)
            )
        margin = 1e-6 * (high - low)
        self.at_bound_ = (values <= low + margin) | (values >= high - margin)
        self.scores_ = pd.Series(values, index=index, name="score")
        if self.at_bound_.any():
            names = self.new_models_[self.at_bound_].tolist()
            return [
                BoundWarning(
                    f"Scores of new models {names} lie on the bounds {(low, high)}: "
                    "they won or lost every comparison. Their errors are infinite."
                )
            ]
        return []

    def _scores_of(self, models: NDArray[Any]) -> Array:
        return np.asarray(align(self.scores_.to_numpy(), self.new_models_, models))

    def _annotate(self, X: Comparisons) -> Comparisons:
        known = _known_scores(X)
        fitted = self._scores_of(X.models)
        return X.with_columns(scores=np.where(np.isnan(fitted), known, fitted))

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return X.involves_new


def _known_scores(X: Comparisons) -> Array:
    return np.full(len(X.models), np.nan) if X.scores is None else X.scores


def _sensitivities(X: Comparisons) -> Array:
    if X.sensitivities is None:
        if (X.judge >= 0).any():
            raise BattlesError(
                "These comparisons carry no sensitivities; transform them with a "
                "fitted JudgeCalibrator first."
            )
        return np.full(len(X.judges), np.nan)
    return X.sensitivities


def _unweighted_root(
    signs: Array,
    design: Array,
    offset: Array,
    y: Array,
    weight: Array,
    start: Array,
    bounds: tuple[float, float],
) -> Array:
    """Zero of ``sum sign (y - sigma(eta))`` for each new model."""
    weight = weight / weight.sum()

    def equations(scores: Array) -> Array:
        residual = weight * (y - expit(offset + design @ scores))
        return np.asarray(signs.T @ residual)

    def jacobian(scores: Array) -> Array:
        p = expit(offset + design @ scores)
        return -(signs * (weight * p * (1.0 - p))[:, None]).T @ design

    low, high = bounds
    inside = np.clip(start, low + 1e-9 * (high - low), high - 1e-9 * (high - low))
    found = least_squares(
        equations, inside, jacobian, bounds=bounds, xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    return np.asarray(found.x)
