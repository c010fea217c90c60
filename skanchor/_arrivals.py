"""Scores of the new models from the comparisons that involve them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from skanchor._base import ComparisonEstimator
from skanchor._battles import Comparisons, align, usable_features
from skanchor._battles.labels import label_index
from skanchor._checks import check_bounds
from skanchor._model.logistic import fit_logistic
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, BoundWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn


class ArrivalScorer(ComparisonEstimator):
    """Scores of the new models, with all other parameters held fixed.

    Uses the rows that involve a new model: judge rows, human rows if there are any, and
    rows between two new models.

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
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.equation = equation
        self.score_bounds = score_bounds
        self.unseen = unseen

    def _fit(
        self,
        sample: Sample,
        start: ArrivalScorer | None = None,
        seed_offset: int = 0,
    ) -> None:
        bounds = check_bounds("score_bounds", self.score_bounds)
        X = sample.X
        new = np.flatnonzero(X.is_new)
        self.new_models_ = X.models[new]
        # Sensitivity by code of the source: judges 0, 1, ...; then -2 (unknown judges,
        # NaN) and -1 (people, one) as the last entries.
        slopes = np.append(_sensitivities(X), [np.nan, 1.0])
        rows = np.flatnonzero(X.involves_new & sample.counts)
        rows = rows[np.isfinite(slopes[X.judge[rows]])]
        if not X.features_complete:
            X = usable_features(X, np.isin(np.arange(len(X)), rows) & ~X.is_human)
        signs = self._signs(X, rows, new)
        if not len(new):
            self._take(np.zeros(0))
            return
        y, weight = sample.y[rows], sample.weight[rows]
        # Logit of a row: offset + factor * signs' theta, where ``signs`` (n_rows,
        # n_new) picks the new scores, and the offset has the opponents' scores and the
        # bias.
        offset, factor = _offset(X, rows), slopes[X.judge[rows]]
        low, high = bounds
        first = None
        if start is not None:
            first = start.scores_for(self.new_models_)
            first = None if np.isnan(first).any() else first
        if self.equation == "unweighted":
            # A residual has the sensitivity as a factor in the derivative of the loss.
            # A judge without any has no say.
            size = np.abs(factor)
            weight = np.divide(weight, size, out=np.zeros(len(rows)), where=size > 0)
        # Maximum of eq:arrival-estimation-v2, within the bounds.
        values = fit_logistic(
            signs * factor[:, None],
            y,
            weight,
            offset=offset,
            lower=np.full(len(new), low),
            upper=np.full(len(new), high),
            start=first,
        ).coef
        self._take(values)

    def with_scores(self, models: NDArray[Any], scores: Array) -> Self:
        """Set scores that were estimated elsewhere; warn of those on the bounds.

        Parameters
        ----------
        models : ndarray of shape (n_new,)
            New models.
        scores : ndarray of shape (n_new,)
            Their scores, in logits.

        Returns
        -------
        self
        """
        self.new_models_ = models
        self._take(scores)
        return self

    def _take(self, values: Array) -> None:
        """Set the scores of the new models; warn of those on the bounds."""
        low, high = check_bounds("score_bounds", self.score_bounds)
        margin = 1e-6 * (high - low)
        self.at_bound_ = (values <= low + margin) | (values >= high - margin)
        index = label_index(self.new_models_, "model")
        self.scores_ = pd.Series(values, index=index, name="score")
        if self.at_bound_.any():
            names = self.new_models_[self.at_bound_].tolist()
            warn(
                BoundWarning(
                    f"Scores of new models {names} lie on the bounds {(low, high)}: "
                    "they won or lost every comparison. Their errors are infinite.",
                    code="new-scores-at-bound",
                    subject=names,
                )
            )

    def _signs(
        self, X: Comparisons, rows: NDArray[np.intp], new: NDArray[np.intp]
    ) -> Array:
        """+1 where a new model is first, -1 where it is second, (n_rows, n_new)."""
        # Place of each model among the new ones, -1 for others; the last entry is that
        # of the code -1, an unknown model.
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
                "human, so they cannot be placed."
            )
        return signs

    def scores_for(self, models: NDArray[Any]) -> Array:
        """Scores of the given models, in logits.

        Parameters
        ----------
        models : ndarray of shape (n,)
            Labels.

        Returns
        -------
        ndarray of shape (n,)
            NaN for a model that is not new.
        """
        return np.asarray(align(self.scores_.to_numpy(), self.new_models_, models))

    def _annotate(self, X: Comparisons) -> Comparisons:
        known = _known_scores(X)
        fitted = self.scores_for(X.models)
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


def _offset(X: Comparisons, rows: NDArray[np.intp]) -> Array:
    """Known part of the logits of the rows: the new scores count zero."""
    scores = np.where(X.is_new, 0.0, _known_scores(X))
    known = X.without_features()[rows].with_columns(scores=scores)
    offset = known.logits()
    if not np.isfinite(offset).all():
        bad = np.flatnonzero(~np.isfinite(offset))
        names = known[bad].unscored_models()
        raise BattlesError(
            f"New models meet opponents without a score: {names[:5]} ({len(bad)} rows)."
        )
    return offset
