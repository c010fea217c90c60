"""Scores, or win rates, without their error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import Inputs
from skanchor._typing import Array
from skanchor.results._html import board_html
from skanchor.results._models import ModelResult


@dataclass(frozen=True, eq=False, repr=False)
class PointResult(ModelResult):
    """A value for every model, and the resulting ranks.

    Attributes
    ----------
    models : ndarray of shape (n_models,)
        Labels.
    is_new : ndarray of shape (n_models,)
        Whether the model is new.
    estimates : ndarray of shape (n_models,)
        Scores in logits, centred over the historical models, or win rates.
    n_human, n_judge : ndarray of shape (n_models,)
        Number of human and of judge rows of each model.
    inputs : Inputs
        Which parts of the table were used: features, groups, and the columns ignored.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> result = DirectScore().fit(data.X, data.y).result_
    >>> type(result).__name__
    'PointResult'
    >>> result.leaderboard().columns.tolist()
    ['score', 'rank', 'is_new', 'n_human', 'n_judge']
    """

    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    estimates: Array
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]
    inputs: Inputs = field(default_factory=Inputs)

    @property
    def values(self) -> pd.Series:
        """Estimates of every model."""
        return pd.Series(self.estimates, index=self._index)

    @property
    def all_scores(self) -> pd.Series:
        """Scores of every model."""
        return self.values.rename("score")

    def _shown(self) -> tuple[str, pd.DataFrame]:
        table = pd.DataFrame({"estimate": self.values[self.is_new], "rank": self.ranks})
        return "estimates, and ranks among the historical models", table

    @property
    def ranks(self) -> pd.Series:
        """Insertion rank of each new model among the historical ones; 1 is best."""
        new, old = self.estimates[self.is_new], self.estimates[~self.is_new]
        above = (old[None, :] > new[:, None]).sum(axis=1)
        return pd.Series(1 + above, index=self._index[self.is_new], name="rank")

    def _repr_html_(self) -> str:
        return board_html(self.leaderboard("estimate"), self._head())

    def leaderboard(self, name: str = "score") -> pd.DataFrame:
        """All models, best first.

        Parameters
        ----------
        name : str, default="score"
            Name of the column of the estimates.

        Returns
        -------
        DataFrame
            The estimates, ``rank`` among all models, ``is_new``, ``n_human`` and
            ``n_judge`` rows of the model.
        """
        table = pd.DataFrame(
            {
                name: self.estimates,
                "rank": 1 + (self.estimates[None] > self.estimates[:, None]).sum(1),
                "is_new": self.is_new,
                "n_human": self.n_human,
                "n_judge": self.n_judge,
            },
            index=self._index,
        )
        return table.sort_values(name, ascending=False, kind="stable")
