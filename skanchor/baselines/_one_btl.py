"""One BTL model: of people and judges alike, and of people alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._admission import check_ranking
from skanchor._comparisons import Comparisons, decide_roles
from skanchor._ranking import RankingEstimator
from skanchor.baselines._base import OfVotes, ranking_result
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample


class JointBTL(OfVotes, RankingEstimator):  # numpydoc ignore=PR02
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

    def _admit(self, sample: Sample) -> Sample:
        X = decide_roles(sample.X, sample.weight, self.new_models)
        check_ranking(X, self.new_models)
        return sample.with_battles(X)

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._admit(sample)
        X = sample.X
        self._fit_votes(sample.with_battles(X.as_human()), start)
        self.new_models_ = X.models[X.is_new]
        covariance = self.btl_.covariance_.copy()
        # Infinite variances would turn R C R' into NaN; the mask reports them instead.
        unbounded = ~np.isfinite(np.diag(covariance))
        covariance[unbounded, unbounded] = 0.0
        # BTLRegressor centres over all models. R = I - 1 h', with h one over the number
        # of historical models with a finite error there and zero at the others, centres
        # over those.
        centre = np.where(X.is_new | unbounded, 0.0, 1.0)
        if not centre.any():
            centre = np.where(X.is_new, 0.0, 1.0)
        recentre = np.eye(len(X.models)) - centre / centre.sum()
        self.result_ = ranking_result(
            sample.without_features(),
            recentre @ self.btl_.scores_.to_numpy(),
            recentre @ covariance @ recentre.T,
            unbounded,
            self.btl_.open_rows_,
        )


class HumanOnly(JointBTL):  # numpydoc ignore=PR02
    """BTL fitted to human rows alone, including those of the new models.

    A reference for the information in votes: it needs human rows of the models in
    ``new_models``, such as the extra rows of ``simulate_battles``, and uses no judge
    row. The errors come from the joint information of all human rows, so that they
    account "for both human samples" (the paper, Section 5).

    Parameters
    ----------
    btl : BTLRegressor, optional
        The model; None stands for ``BTLRegressor()``.
    new_models : sequence of labels, optional
        New models to rank. They must be named, because they have human rows.
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
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skanchor.baselines import HumanOnly
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> X = pd.concat([data.X, data.extra_X], ignore_index=True)
    >>> y = np.append(data.y, data.extra_y)
    >>> human = HumanOnly(new_models=["new-model"]).fit(X, y)
    >>> bool(0.1 < human.standard_errors_["new-model"] < 0.3)
    True
    """

    def _admit(self, sample: Sample) -> Sample:
        X = sample.X
        # Judge rows stay in the sample with weight zero.
        sample = sample.weighted(np.where(X.is_human, sample.weight, 0.0))
        voted = X.models[X.rows.appearances(sample.counts) > 0].tolist()
        lost = [model for model in self.new_models or () if model not in voted]
        if lost:
            raise BattlesError(
                f"HumanOnly needs human rows of the new models, and {lost} have none. "
                "Add them to X and y."
            )
        return super()._admit(sample)

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        # Judge rows, as for every method, so that scores compare; else human rows.
        judge = super()._scored_rows(X)
        return judge if judge.any() else X.is_human
