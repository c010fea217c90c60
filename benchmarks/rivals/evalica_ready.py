"""evalica with its list of outcomes made beforehand, which is not timed."""

from __future__ import annotations

from typing import Any

import evalica
import pandas as pd

from rivals.evalica_points import INTERVALS, WINNERS, scores

__all__ = ["INTERVALS", "NAME", "fit", "prepare", "scores"]

NAME = "evalica, outcomes ready"


def prepare(table: pd.DataFrame) -> tuple[pd.Series, pd.Series, list[Any]]:
    winners = [WINNERS[winner] for winner in table["winner"]]
    return table["model_a"], table["model_b"], winners


def fit(prepared: tuple[pd.Series, pd.Series, list[Any]]) -> Any:
    return evalica.bradley_terry(*prepared)
