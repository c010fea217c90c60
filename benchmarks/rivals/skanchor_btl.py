"""skanchor: maximum likelihood with sandwich intervals, from the table as it is."""

from __future__ import annotations

import pandas as pd

from skanchor import BTLRegressor, split_battles

NAME = "skanchor"
INTERVALS = True


def prepare(table: pd.DataFrame) -> pd.DataFrame:
    return table


def fit(table: pd.DataFrame) -> tuple[pd.Series, pd.DataFrame]:
    btl = BTLRegressor().fit(*split_battles(table))
    return btl.scores_, btl.conf_int()


def scores(result: tuple[pd.Series, pd.DataFrame]) -> pd.Series:
    return result[0]
