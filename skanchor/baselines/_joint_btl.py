"""One BTL model of human and judge rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone

from skanchor._admission import check_ranking
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons, count_rows, decide_roles
from skanchor._ranking import RankingEstimator
from skanchor.baselines._base import with_fitted_scores
from skanchor.baselines._fits import check_plain
from skanchor.results import RankingResult
from skanchor.sample import Sample


class JointBTL(RankingEstimator):
    """One BTL model of all human and judge rows, including those of the new models.

    Treats every judge as one more human: it "pools human and judge comparisons under
    a common BTL model, ignoring judge-specific sensitivities and feature-dependent
    bias" (the paper, Section 5). The errors assume that this model holds.

    Parameters
    ----------
    btl : BTLRegressor, optional
        The model; None stands for ``BTLRegressor()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_ : ndarray
        Labels of all models, and of the new ones.
    btl_ : BTLRegressor
        The fitted model.
    result_ : RankingResult
        Scores re-centred over the historical models, with the sandwich covariance.

    Examples
    --------
    >>> from skanchor.baselines import JointBTL
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> JointBTL().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _stands_for = {"btl": lambda value: BTLRegressor()}  # noqa: RUF012
    _parameter_constraints: ClassVar = {
        **RankingEstimator._parameter_constraints,
        "btl": [BTLRegressor, None],
    }

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.btl = btl
        self.new_models = new_models
        self.unseen = unseen

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._read(sample)
        X = decide_roles(sample.X, sample.weight, self.new_models)
        check_ranking(X, self.new_models)
        alike = sample.with_battles(X.as_human())
        check_plain(self._part("btl"))
        near = None if start is None else start.btl_
        self.btl_: BTLRegressor = clone(self._part("btl")).fit_sample(alike, near)
        self.models_ = X.models
        self.new_models_ = X.models[X.is_new]
        covariance = self.btl_.covariance_.copy()
        # Infinite variances would turn R C R' into NaN; the mask reports them instead.
        unbounded = ~np.isfinite(np.diag(covariance))
        covariance[unbounded, unbounded] = 0.0
        # BTLRegressor centres over all models. R = I - 1 h', with h one over the number
        # of historical models with a finite error there and zero at the others, centres
        # over those.
        size, centre = len(X.models), np.where(X.is_new | unbounded, 0.0, 1.0)
        if not centre.any():
            centre = np.where(X.is_new, 0.0, 1.0)
        recentre = np.eye(size) - centre / centre.sum()
        self.result_ = RankingResult(
            X.models,
            X.is_new,
            (recentre @ self.btl_.scores_.to_numpy())[None],
            (recentre @ covariance @ recentre.T)[None],
            unbounded,
            *count_rows(X, sample.weight),
            inputs=sample.inputs.without_features(),
            open_rows=self.btl_.open_rows_,
        )

    def _read(self, sample: Sample) -> Sample:
        """The sample that the model is fitted to; a subclass may change its weights."""
        return sample

    def _annotate(self, X: Comparisons) -> Comparisons:
        return with_fitted_scores(X, self)
