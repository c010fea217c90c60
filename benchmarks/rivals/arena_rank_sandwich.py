"""arena-rank: maximum likelihood with sandwich intervals, from the table as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

NAME = "arena-rank"
INTERVALS = True


def prepare(table: pd.DataFrame) -> pd.DataFrame:
    return table


def fit(table: pd.DataFrame) -> dict[str, Any]:
    dataset = PairDataset.from_pandas(table)
    model = BradleyTerry(n_competitors=len(dataset.competitors))
    result = model.compute_ratings_and_cis(dataset)
    # The arrays are only promises until they are read.
    return {name: np.asarray(values) for name, values in result.items()}


def scores(result: dict[str, Any]) -> pd.Series:
    elo = 400.0 / np.log(10.0)
    return pd.Series(result["ratings"] / elo, index=result["competitors"])
