"""Slices, copies, other vocabularies and logits."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tables import columns_of

from skanchor import Comparisons


def learned():
    X = Comparisons.from_battles(pd.DataFrame(columns_of()), new_models=["Émile, 3"])
    return X.with_columns(
        scores=np.arange(4.0), sensitivities=np.array([0.5, 2.0]), biases=np.arange(6.0)
    )


@pytest.mark.parametrize(
    "rows",
    [
        np.array([4, 0, 1]),
        [4, 0, 1],
        np.array([True, False, False, True, True, False]),
        [True, False, False, True, True, False],
        slice(1, 4),
        slice(None, None, -2),
        np.array([], dtype=int),
        [],
        2,
    ],
    ids=str,
)
def test_slicing_keeps_vocabulary_and_roles(rows):
    X = learned()
    X.logits(), X.by_judge(1), X.involves_new, X.is_usable
    cut = X[rows]
    index = np.array(rows, dtype=None if rows else int) if type(rows) is list else rows
    at = np.atleast_1d(np.arange(6)[index])
    assert len(cut) == len(at)
    assert_array_equal(cut.models, X.models)
    assert_array_equal(cut.judges, X.judges)
    assert cut.new_models == X.new_models
    assert_array_equal(cut.scores, X.scores)
    for name in ("left", "right", "judge", "order", "biases", "features_left"):
        assert_array_equal(getattr(cut, name), getattr(X, name)[at])
    assert_array_equal(cut.logits(), X.logits()[at])
    assert_array_equal(cut.involves_new, X.involves_new[at])
    of_judge = cut.by_judge(1)
    assert_array_equal(of_judge.left, cut.left[of_judge.rows])
    assert_array_equal(np.sort(of_judge.rows), np.flatnonzero(cut.judge == 1))


def test_relabel():
    X = learned()
    models = np.array(["zeta", "other", "alpha"], dtype=object)
    moved = X.relabel(models, np.array(["gpt"], dtype=object))
    assert moved.left.tolist() == [0, 2, -1, 2, 0, -1]
    assert moved.judge.tolist() == [-1, 0, -1, -2, 0, -1]
    assert_array_equal(moved.scores, [2, np.nan, 0])
    assert_array_equal(moved.sensitivities, [2.0])
    assert moved.is_usable.tolist() == [True, False, False, False, False, False]
    assert X.relabel(X.models, X.judges) is X


def test_logits_by_hand():
    X = learned().with_columns(position_effects=np.array([0.25, -0.5]))
    # scores alpha 0, mid 1, zeta 2, Émile 3; claude 0.5, gpt 2; biases 0 to 5.
    expected = [
        2,
        2 * -1 + 1 - 0.5,
        -1 + 2,
        0.5 * -2 + 3 + 0.25,
        2 * 1 + 4 - 0.5,
        3 + 5,
    ]
    assert_allclose(X.logits(), expected)
