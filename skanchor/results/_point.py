"""What results by model share, and the results without errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import Inputs
from skanchor._battles.labels import label_index
from skanchor._text import printable
from skanchor._typing import Array

SHOWN = 10
"""Models on top, and new models, that a short look at a result shows."""


class ModelResult:
    """What results by model share: labels, inputs, a short look at the new models."""

    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]
    inputs: Inputs

    @property
    def _index(self) -> pd.Index:
        return label_index(self.models, "model")

    @property
    def all_scores(self) -> pd.Series:
        """Scores of every model."""
        raise NotImplementedError

    def leaderboard(self) -> pd.DataFrame:
        """All models, best first."""
        raise NotImplementedError

    @property
    def scores(self) -> pd.Series:
        """Scores of the new models."""
        return self.all_scores[self.is_new]

    def _shown(self) -> pd.DataFrame:
        """What the short look shows of the new models."""
        raise NotImplementedError

    def _head(self) -> str:
        """What kind of result it is, of how many models and rows."""
        # Both sides of a row count it.
        human, judge = (int(rows.sum()) // 2 for rows in (self.n_human, self.n_judge))
        return (
            f"{type(self).__name__}: {len(self.models)} models, "
            f"{int(self.is_new.sum())} of them new; {human} human and {judge} judge "
            "rows"
        )

    def __repr__(self) -> str:
        head = self._head()
        if not self.is_new.any():
            return f"{head}; see leaderboard()\n{self.inputs}"
        table = self._shown()
        shown = table.head(SHOWN).rename_axis(None)
        text = shown.to_string(float_format="{:.3f}".format)
        more = len(table) - SHOWN
        tail = f"\nand {more} more: see leaderboard()" if more > 0 else ""
        return f"{head}\n{text}{tail}\n{self.inputs}"

    def _repr_html_(self) -> str:
        """The best models, and the new ones, as a table that takes a notebook's looks.

        All text is escaped.
        """
        board = self.leaderboard()
        new = board.index[board["is_new"]][:SHOWN]
        shown = board[board.index.isin([*board.index[:SHOWN], *new])]
        names = [printable(str(model)) for model in shown.index]
        table = shown.set_axis(names).to_html(border=0, float_format="{:.3f}".format)
        more = len(board) - len(shown)
        tail = f"\n<p>And {more} more: see leaderboard().</p>" if more else ""
        return f"<p>{escape(printable(self._head()))}</p>\n{table}{tail}"


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

    def _shown(self) -> pd.DataFrame:
        return pd.DataFrame({"estimate": self.values[self.is_new], "rank": self.ranks})

    @property
    def ranks(self) -> pd.Series:
        """Insertion rank of each new model among the historical ones; 1 is best."""
        new, old = self.estimates[self.is_new], self.estimates[~self.is_new]
        above = (old[None, :] > new[:, None]).sum(axis=1)
        return pd.Series(1 + above, index=self._index[self.is_new], name="rank")

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
