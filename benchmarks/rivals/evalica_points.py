"""evalica: points only, from the table as it is."""

from __future__ import annotations

from typing import Any

import evalica
import numpy as np
import pandas as pd

NAME = "evalica"
INTERVALS = False
WINNERS = {
    "model_a": evalica.Winner.X,
    "model_b": evalica.Winner.Y,
    "tie": evalica.Winner.Draw,
}


def prepare(table: pd.DataFrame) -> pd.DataFrame:
    return table


def fit(table: pd.DataFrame) -> Any:
    winners = table["winner"].map(WINNERS).tolist()
    return evalica.bradley_terry(table["model_a"], table["model_b"], winners)


def scores(result: Any) -> pd.Series:
    return np.log(result.scores)
