"""The result of the cross-fitted chain: parts of the variance, influence, folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor import readouts
from skanchor._battles import Comparisons
from skanchor._typing import Array, InfluenceSource
from skanchor.results._ranking import RankingResult

if TYPE_CHECKING:
    from skanchor._crossfit.folds import FoldPlan
    from skanchor._diagnostics.report import Diagnostics


def pad_scores(
    values: NDArray[Any], positions: NDArray[np.intp], size: int, fill: float = 0.0
) -> Array:
    """Values by score, the last axis, at their places among ``size`` scores."""
    result = np.full((*values.shape[:-1], size), fill)
    result[..., positions] = values
    return result


@dataclass(frozen=True, eq=False, slots=True)
class MappedInfluence:
    """Influence on other scores, which are linear in these.

    Attributes
    ----------
    inner : InfluenceSource
        Influence of each row on these.
    scores : callable
        Takes arrays with an axis of these scores, the last, to one of the others.
    """

    inner: InfluenceSource
    scores: Callable[[Array], Array]

    def values(self) -> Array:
        """Influence of each row on each score, of shape (n_rows, n_scores)."""
        return self.scores(self.inner.values())


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
        # Models that were left out take no part.
        positions = np.flatnonzero(np.isin(self.models, self.fitted.sample.X.models))
        pad = partial(pad_scores, positions=positions, size=len(self.models))
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
        positions = np.flatnonzero(np.isin(X.models, self.models))
        size = len(X.models)
        scores = human_scores.reindex(X.models).to_numpy(np.float64, copy=True)
        outside, context = ~np.isin(np.arange(size), positions), X.items.context
        for code in np.unique(context):
            inside = context == code
            scores[inside] -= np.nanmean(scores[inside & ~outside])

        padded = partial(pad_scores, positions=positions, size=size)

        def square(values: Array, fill: float = 0.0) -> Array:
            turned = np.swapaxes(padded(values, fill=fill), -1, -2)
            return np.swapaxes(padded(turned, fill=fill), -1, -2)

        estimates, plug_in = padded(self.estimates), padded(self.plug_in)
        items, rows = self.item_covariances, self.open_rows
        estimates[:, outside] = plug_in[:, outside] = scores[outside]
        return replace(
            self,
            models=X.models,
            is_new=X.is_new,
            estimates=estimates,
            covariances=square(self.covariances),
            unbounded=outside | (padded(self.unbounded) > 0),
            n_human=n_human,
            n_judge=n_judge,
            item_covariances=items if items is None else square(items),
            rows=MappedInfluence(self.rows, padded),
            part_covariances=square(self.part_covariances, np.nan),
            lower_bound=padded(self.lower_bound, fill=np.nan),
            plug_in=plug_in,
            open_rows=rows if rows is None else rows.padded(positions, size),
        )

    @property
    def parts(self) -> Array:
        """Human, judge, cross and item parts of each variance."""
        return np.diagonal(self.part_covariances, axis1=-2, axis2=-1)

    @cached_property
    def influence(self) -> Array:
        """Influence of each row on each score, in logits; computed when asked for."""
        return self.rows.values()

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
