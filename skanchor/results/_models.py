"""What results by model share: labels, inputs, a short look at the new models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import Inputs
from skanchor._battles.labels import label_index

SHOWN = 10
"""Most new models that the short look at a result shows."""


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

    @property
    def scores(self) -> pd.Series:
        """Scores of the new models."""
        return self.all_scores[self.is_new]

    def _shown(self) -> tuple[str, pd.DataFrame]:
        """What the short look shows of the new models, and what it is called."""
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
        what, table = self._shown()
        shown = table.head(SHOWN).rename_axis(None)
        text = shown.to_string(float_format="{:.3f}".format)
        more = len(table) - SHOWN
        tail = f"\nand {more} more: see leaderboard()" if more > 0 else ""
        return f"{head}\n{what}\n{text}{tail}\n{self.inputs}"
