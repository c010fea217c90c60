"""The result of the cross-fitted chain: parts of the variance, influence, folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor import readouts
from skanchor._battles import Comparisons
from skanchor._typing import Array, Indices, InfluenceSource
from skanchor.results._ranking import RankingResult

if TYPE_CHECKING:
    from skanchor._crossfit.folds import FoldPlan
    from skanchor._diagnostics.report import Diagnostics


def padded(values: NDArray[Any], places: Indices, size: int) -> Array:
    """Values by score, the last axis, at their places among others, which are zero."""
    result = np.zeros((*values.shape[:-1], size))
    result[..., places] = values
    return result


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AnchorResult(RankingResult):
    """Result of :class:`AnchorPipeline`: scores, covariance and influence values.

    Attributes
    ----------
    rows : InfluenceSource
        What ``influence`` is computed from.
    influence : ndarray of shape (n_rows, n_models)
        Influence of each row on each score, in logits; the mean over repeats. It has no
        rows in a result that is stored beside the reported one.
    part_covariances : ndarray of shape (n_repeats, 4, n_models, n_models)
        The parts of the covariance: human, judge, cross (= 2 C_HJ) and item effects.
    parts : ndarray of shape (n_repeats, 4, n_models)
        The same parts of the variance.
    lower_bound : ndarray of shape (n_models,)
        Part of the variance that only more human votes can lower, B_l.
    plug_in : ndarray of shape (n_repeats, n_models)
        Scores before the correction.
    fold_plan : list of lists of (train, test)
        The folds of each repeat.
    diagnostics : Diagnostics or None
        Signs that an interval is unreliable; None for a plug-in.
    fitted : FittedRows
        Rows and learners of the fit, and its Riesz system, from which read-outs are
        computed.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> result = anchor.result_
    >>> result.ranks.to_dict()
    {'ivory-lynx': 4, 'jade-finch': 6}
    >>> result.conf_int(0.9).columns.tolist()
    ['low', 'high']
    """

    rows: InfluenceSource
    part_covariances: Array
    lower_bound: Array
    plug_in: Array
    fold_plan: list[FoldPlan]
    fitted: readouts.FittedRows
    diagnostics: Diagnostics | None = None

    # ----------------------------------------------------------------------- read-outs
    sensitivity = readouts.sensitivity
    breakdown = readouts.breakdown
    benchmarks = readouts.benchmarks
    worth = readouts.worth
    outlook = readouts.outlook
    design = readouts.design

    @cached_property
    def exposures(self) -> readouts.Exposures | None:
        """How much favours of the judges change each score; None for a plug-in."""
        if self.fitted.debiaser is None:
            return None
        pad = self._padded
        return readouts.Exposures.of(self.fitted).mapped(pad, pad, pad)

    @cached_property
    def plan(self) -> readouts.Plan:
        """Predicted errors with other numbers of rows."""
        return readouts.Plan.of(self)

    def extended(
        self,
        X: Comparisons,
        human_scores: pd.Series,
        n_human: NDArray[np.intp],
        n_judge: NDArray[np.intp],
    ) -> AnchorResult:
        """Add the models that were left out, at the scores of the human fit.

        Parameters
        ----------
        X : Comparisons
            Rows in the vocabulary of all models.
        human_scores : Series
            Scores of the historical models among them.
        n_human, n_judge : ndarray of shape (n_models,)
            Rows of each model.

        Returns
        -------
        AnchorResult
            With an infinite error for each model that was left out.
        """
        outside, context = ~np.isin(X.models, self.models), X.items.context
        scores = human_scores.reindex(X.models).to_numpy(np.float64, copy=True)
        for code in np.unique(context):
            inside = context == code
            scores[inside] -= np.nanmean(scores[inside & ~outside])
        pad = partial(padded, places=np.flatnonzero(~outside), size=len(X.models))
        result = self.mapped(
            pad,
            models=X.models,
            is_new=X.is_new,
            unbounded=outside | (pad(self.unbounded) > 0),
            n_human=n_human,
            n_judge=n_judge,
            lower_bound=np.where(outside, np.nan, pad(self.lower_bound)),
        )
        for values in (result.estimates, result.plug_in):
            values[:, outside] = scores[outside]
        result.part_covariances[..., outside, :] = np.nan
        return result

    def mapped(self, scores: Callable[[Array], Array], **labels: Any) -> Self:
        """The result for other scores, which are linear in these.

        Parameters
        ----------
        scores : callable
            Takes arrays whose last axis is of these scores to that of the others.
        **labels : ndarray
            Fields that are not linear.
        """

        def square(values: Array) -> Array:
            # M C M' for the matrix M of the map: once for the columns, once for rows.
            turned = np.swapaxes(scores(values), -1, -2)
            return np.swapaxes(scores(turned), -1, -2)

        return replace(
            self,
            estimates=scores(self.estimates),
            plug_in=scores(self.plug_in),
            covariances=square(self.covariances),
            item_covariances=square(self.item_covariances),
            part_covariances=square(self.part_covariances),
            # A combination of scores has no limit where one of them has none.
            open_rows=None,
            **labels,
        )

    def _padded(self, values: Array) -> Array:
        """Values by score of the fit, and zero for models that were left out of it."""
        is_fitted = np.isin(self.models, self.fitted.sample.X.models)
        return padded(values, np.flatnonzero(is_fitted), len(self.models))

    @property
    def parts(self) -> Array:
        """Human, judge, cross and item parts of each variance."""
        return np.diagonal(self.part_covariances, axis1=-2, axis2=-1)

    @cached_property
    def influence(self) -> Array:
        """Influence of each row on each score, in logits; computed when asked for."""
        return self._padded(self.rows.values())

    @property
    def variance(self) -> pd.DataFrame:
        """Parts of the new models' variance.

        The columns ``human``, ``judge``, ``cross`` and ``items`` add up to the squared
        standard error, except for the variance between repeats. ``lower_bound`` is the
        part that more verdicts cannot lower.
        """
        names = ["human", "judge", "cross", "items"]
        parts = pd.DataFrame(np.median(self.parts, axis=0).T, self._index, names)
        return parts.assign(lower_bound=self.lower_bound)[self.is_new]
