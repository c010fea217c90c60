"""Rows that are added to counted ones: every old row stays in the fold it had."""

import numpy as np
import pandas as pd
import pytest

from skanchor import Comparisons
from skanchor._crossfit.folds import FoldPlan
from skanchor.exceptions import BattlesError
from skanchor.history._additions import with_rows
from skanchor.history._counts import RowCounts
from skanchor.sample import Sample


def votes(n, seed, weight=None):
    rng = np.random.default_rng(seed)
    left = rng.integers(4, size=n)
    table = pd.DataFrame(
        {"model_a": left, "model_b": (left + rng.integers(1, 4, size=n)) % 4}
    )
    table = table.assign(judge=rng.choice(["human", "j"], n)).astype(str)
    y = rng.integers(0, 2, n).astype(float)
    return Sample.admit(Comparisons.from_battles(table), y, weight)


def test_old_rows_keep_their_folds():
    sample, late = votes(300, 0), votes(40, 1)
    fold = np.random.default_rng(2).integers(3, size=300)
    plan = FoldPlan(fold, 3)
    counts = RowCounts.of(sample, None, [plan])
    both, (found,) = with_rows(counts, late, 0, [3])
    listed = both.listed()
    X, outcomes = listed.X, listed.y
    assert len(X) == 340
    table = np.column_stack([X.models[X.left], X.models[X.right]])
    X = sample.X
    names = np.column_stack([X.models[X.left], X.models[X.right]])

    def kinds(models, y):
        return sorted(zip(*models.T.tolist(), y.tolist(), strict=True))

    for (train, test), (_, known) in zip(found, plan, strict=True):
        assert sorted([*train, *test]) == list(range(340))
        old = test[test < 300]
        again = table[old]
        assert kinds(again, outcomes[old]) == kinds(names[known], sample.y[known])


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_weighted_rows_are_not_added_to_counts(weight):
    sample = votes(30, 0)
    counts = RowCounts.of(sample, None, [FoldPlan(np.repeat([0, -1], 15), 1)])
    with pytest.raises(BattlesError, match="without groups and weights"):
        with_rows(counts, votes(5, 1, np.full(5, weight)), 0, [2])
