"""Scores from human rows alone, those of the new models included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor.baselines._joint_btl import JointBTL
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample


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

    def _read(self, sample: Sample) -> Sample:
        X = sample.X
        # Judge rows stay in the sample with weight zero.
        human = np.where(X.is_human, sample.weight, 0.0)
        present = human * X.is_usable > 0
        voted = set(X.models[np.union1d(X.left[present], X.right[present])].tolist())
        lost = [model for model in self.new_models or () if model not in voted]
        if lost:
            raise BattlesError(
                f"HumanOnly needs human rows of the new models, and {lost} have none. "
                "Add them to X and y."
            )
        return sample.weighted(human)

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        # Judge rows, as for every method, so that scores compare; else human rows.
        judge = super()._scored_rows(X)
        return judge if judge.any() else X.is_human
