"""One adapter for each package that fits Bradley-Terry-Luce scores.

``prepare`` turns the table into what the package takes and is not timed; ``fit``, which
is, goes from there to a result; ``scores`` reads scores in logits by model from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from skanchor import BTLRegressor, split_battles


@dataclass(frozen=True)
class Rival:
    """A package and how it is called."""

    name: str
    module: str
    has_intervals: bool
    fit: Callable[[Any], Any]
    scores: Callable[[Any], pd.Series]
    prepare: Callable[[pd.DataFrame], Any] = lambda table: table

    def is_installed(self) -> bool:
        """Whether the package can be imported."""
        return find_spec(self.module) is not None


def fit_skanchor(table: pd.DataFrame) -> tuple[pd.Series, pd.DataFrame]:
    """Maximum likelihood with sandwich intervals, from the table as it is."""
    btl = BTLRegressor().fit(*split_battles(table))
    return btl.scores_, btl.conf_int()


def evalica_columns(table: pd.DataFrame) -> tuple[pd.Series, pd.Series, list[Any]]:
    """The two models, and the outcomes as evalica's objects."""
    import evalica

    outcomes = {
        "model_a": evalica.Winner.X,
        "model_b": evalica.Winner.Y,
        "tie": evalica.Winner.Draw,
    }
    winners = [outcomes[winner] for winner in table["winner"]]
    return table["model_a"], table["model_b"], winners


def fit_evalica(columns: tuple[pd.Series, pd.Series, list[Any]]) -> Any:
    """Points only."""
    import evalica

    return evalica.bradley_terry(*columns)


def fit_arena_rank(table: pd.DataFrame) -> dict[str, Any]:
    """Maximum likelihood with sandwich intervals, from the table as it is."""
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    pairs = PairDataset.from_pandas(table)
    model = BradleyTerry(n_competitors=len(pairs.competitors))
    result = model.compute_ratings_and_cis(pairs)
    # The arrays are only promises until they are read.
    return {name: np.asarray(values) for name, values in result.items()}


def scores_of_arena_rank(result: dict[str, Any]) -> pd.Series:
    """Scores in logits, from points of Elo."""
    elo = 400.0 / np.log(10.0)
    return pd.Series(result["ratings"] / elo, index=result["competitors"])


RIVALS = (
    Rival("skanchor", "skanchor", True, fit_skanchor, lambda result: result[0]),
    Rival(
        "evalica", "evalica", False,
        lambda table: fit_evalica(evalica_columns(table)),
        lambda result: np.log(result.scores),
    ),
    Rival(
        "evalica, outcomes ready", "evalica", False, fit_evalica,
        lambda result: np.log(result.scores), evalica_columns,
    ),
    Rival("arena-rank", "arena_rank", True, fit_arena_rank, scores_of_arena_rank),
)  # fmt: skip
