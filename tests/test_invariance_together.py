"""Laws of the pipeline where all its options meet.

Each table has fractional weights, ties, groups, features, a display order with position
effects, and item effects. A law turns the table into another one that says the same,
and carries the folds along.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tables import plan_of

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.SkanchorWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)
FOLDS = 3


@dataclass(frozen=True)
class Table:
    """Battles with all that belongs to a row, and what its labels were called."""

    X: pd.DataFrame
    y: Any
    weight: Any
    groups: Any
    fold: Any
    models: dict
    judges: dict

    def take(self, rows):
        return replace(
            self,
            X=self.X.iloc[rows].reset_index(drop=True),
            y=self.y[rows],
            weight=self.weight[rows],
            groups=self.groups[rows],
            fold=self.fold[rows],
        )

    def fit(self, item_effects):
        calibrator = JudgeCalibrator(LinearBias(alpha=0.05), position_effect=True)
        anchor = AnchorPipeline(
            calibrator=calibrator, cv=plan_of(self.fold), item_effects=item_effects
        )
        return anchor.fit(self.X, self.y, self.weight, self.groups)


@st.composite
def tables(draw):
    seed = draw(st.integers(0, 10_000))
    data = simulate_battles(
        n_historical=900,
        n_new=150,
        n_models=6,
        n_judges=2,
        item_sd=draw(st.sampled_from([0.0, 0.3])),
        random_state=seed,
    )
    rng = np.random.default_rng(seed)
    n = len(data.y)
    shown = rng.choice(["model_a", "model_b"], n, p=[0.7, 0.3])
    y = np.where(rng.random(n) < 0.15, 0.5, np.asarray(data.y, dtype=float))
    groups = rng.integers(0, n // 2, n)
    models = {name: name for name in {*data.X["model_a"], *data.X["model_b"]}}
    judges = {name: name for name in data.X["judge"].unique() if name != "human"}
    weight = rng.uniform(0.5, 1.5, n)
    X = data.X.assign(shown_first=shown)
    return Table(X, y, weight, groups, groups % FOLDS, models, judges), rng


def swap_sides(table, rng):
    """Turn some of the rows round, with their outcomes and displays."""
    turn = rng.random(len(table.y)) < 0.5
    X, y = table.X.copy(), np.where(turn, 1.0 - table.y, table.y)
    for name in [c for c in X if c.endswith("_a")]:
        pair = [name, name[:-1] + "b"]
        X.loc[turn, pair] = X.loc[turn, pair[::-1]].to_numpy()
    other = X["shown_first"].map({"model_a": "model_b", "model_b": "model_a"})
    X["shown_first"] = X["shown_first"].mask(turn, other)
    return replace(table, X=X, y=y)


def permute_rows(table, rng):
    return table.take(rng.permutation(len(table.y)))


def rename(table, rng):
    """Give models other names, and judges names in the opposite order."""
    n = len(table.models)
    models = dict(zip(sorted(table.models), rng.permutation(n), strict=True))
    models = {old: f"m{new}" for old, new in models.items()}
    judges = {old: f"j{9 - i}" for i, old in enumerate(sorted(table.judges))}
    X = table.X.replace({"model_a": models, "model_b": models, "judge": judges})
    return replace(table, X=X, models=models, judges=judges)


def split_rows(table, rng):
    """Give some rows as two of half the weight, in the same group."""
    n = len(table.y)
    twice = np.flatnonzero(rng.random(n) < 0.4)
    weight = table.weight.copy()
    weight[twice] /= 2
    return replace(table, weight=weight).take(np.r_[np.arange(n), twice])


def add_rows_of_weight_zero(table, rng):
    n = len(table.y)
    more = rng.integers(0, n, 40)
    X = table.X.iloc[more].assign(judge=rng.choice(["human", "stranger"], 40))
    X[[c for c in X if c[:1] == "x"]] = np.nan
    return replace(
        table,
        X=pd.concat([table.X, X], ignore_index=True),
        y=np.r_[table.y, rng.integers(0, 2, 40)],
        weight=np.r_[table.weight, np.zeros(40)],
        groups=np.r_[table.groups, table.groups[more]],
        fold=np.r_[table.fold, table.fold[more]],
    )


LAWS = [swap_sides, permute_rows, rename, split_rows, add_rows_of_weight_zero]


def assert_same(one, other, table):
    """Compare results, labels of the second turned back."""
    close = dict(rtol=1e-6, atol=1e-6)
    models = {new: old for old, new in table.models.items()}
    judges = {new: old for old, new in table.judges.items()}
    a = one.leaderboard()
    b = other.leaderboard().rename(index=models).loc[a.index]
    for column in ("score", "standard_error", "low", "high"):
        assert_allclose(b[column], a[column], err_msg=column, **close)
    for name in ("sensitivities_", "position_effects_"):
        result = getattr(other.calibrator_, name).rename(index=judges)
        reference = getattr(one.calibrator_, name)
        assert_allclose(result[reference.index], reference, err_msg=name, **close)


@settings(max_examples=3, database=None, phases=(Phase.explicit, Phase.generate))
@pytest.mark.parametrize("item_effects", [None, "random"])
@given(drawn=tables())
def test_another_table_that_says_the_same(item_effects, drawn):
    table, rng = drawn
    again = table
    for law in LAWS:
        again = law(again, rng)
    assert_same(table.fit(item_effects), again.fit(item_effects), again)
