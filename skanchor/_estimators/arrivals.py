"""Scores of the new models from the comparisons that involve them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from skanchor._battles import Comparisons, align, usable_features
from skanchor._battles.labels import label_index
from skanchor._checks import check_bounds
from skanchor._estimators.base import ComparisonEstimator
from skanchor._estimators.pipeline_fit import carried
from skanchor._model.fit import Fit
from skanchor._model.newton import FitOfAllRows, steps_of
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, BoundWarning
from skanchor.warning_log import warn_of_data

_TOLERANCE = 1e-14
"""Squared Newton decrement of the last step."""


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

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        bounds, X = check_bounds("score_bounds", self.score_bounds), sample.X
        fit, rows = _laid_out(sample) if start is None else (start.fit, start.sources)
        met = [np.append(part.left, part.right) for part in rows if part.is_new]
        is_met = np.isin(np.arange(len(X.models)), np.concatenate([[], *met]))
        lonely = X.models[X.is_new & ~is_met].tolist()
        if lonely:
            raise BattlesError(
                f"New models {lonely} have no comparison by a calibrated judge or a "
                "human, so they cannot be placed."
            )
        layout, is_unweighted = fit.layout, self.equation == "unweighted"
        *_, step = steps_of(layout, is_joint=False, is_unweighted=is_unweighted)
        # Maximum of eq:arrival-estimation-v2, within the bounds. A model that won or
        # lost everything has to arrive at one, where the likelihood is nearly flat.
        limits = layout.bounds_of_new(bounds)
        fit = FitOfAllRows.of(fit, [step], rows, limits, _TOLERANCE).fit
        self.with_scores(X.models[X.is_new], fit.scores[X.is_new])

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
        self.scores_ = pd.Series(scores, label_index(models, "model"), name="score")
        low, high = check_bounds("score_bounds", self.score_bounds)
        margin = 1e-6 * (high - low)
        self.at_bound_ = (scores <= low + margin) | (scores >= high - margin)
        names = models[self.at_bound_].tolist()
        if names:
            text = (
                f"Scores of new models {names} lie on the bounds {(low, high)}: they "
                "won or lost every comparison, or features of their rows are far from "
                "those of the history, such as in other units. Their errors are "
                "infinite."
            )
            warn_of_data("new-scores-at-bound", names, text, BoundWarning)
        return self

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
        new = self.scores_for(X.models)
        scores = np.full(len(new), np.nan) if X.scores is None else X.scores
        return X.with_columns(scores=np.where(np.isnan(new), scores, new))

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return X.involves_new


def _laid_out(sample: Sample) -> tuple[Fit, list[SourceRows]]:
    """Parameters that the rows carry, and the rows of new models, by source."""
    X, slopes = sample.X, sample.X.sensitivities
    if slopes is None and (X.judge >= 0).any():
        raise BattlesError(
            "These comparisons carry no sensitivities; transform them with a "
            "fitted JudgeCalibrator first."
        )
    slopes = np.zeros(len(X.judges)) if slopes is None else slopes
    # An unknown judge has no sensitivity, and its rows are not read.
    used = X.involves_new & sample.counts
    used &= np.append(np.isfinite(slopes), [False, True])[X.judge]
    X = usable_features(X, used & ~X.is_human).with_columns(
        scores=np.where(X.is_new, 0.0, X.learned_scores()),
        sensitivities=np.nan_to_num(slopes),
        deviations=None,
    )
    lost = X[used & ~np.isfinite(X.score_differences)]
    if len(lost):
        raise BattlesError(
            f"New models meet opponents without a score: {lost.unscored_models()[:5]} "
            f"({len(lost)} rows)."
        )
    rows = sample.with_battles(X).weighted(np.where(used, sample.weight, 0.0))
    return carried(X), source_rows(rows)
