"""Rows put into cells give what the rows give: numbers, warnings and errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from fuzz import tables
from numpy.testing import assert_allclose, assert_array_equal

from skanchor import AnchorPipeline, JudgeCalibrator, _cells
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles

# One table or two for each thing that may be done to one. Among the others there are
# judges fitted where their likelihood is flat, to seven digits.
SEEDS = [0, 2, 3, 4, 5, 8, 11, 12, 16, 17, 19, 20, 26, 27, 28, 31, 36, 37, 46, 49, 52,
         56]  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")


@pytest.fixture
def rows_alone(monkeypatch):
    """Call, from which on each row is its own."""

    def call():
        monkeypatch.setattr(_cells, "MOST_SHARE", -1.0)

    return call


def outcome(X, y, weight=None, groups=None, **settings):
    """All that a fit says; the text of the error where there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            anchor = AnchorPipeline(**settings).fit(X, y, weight, groups)
        except (ValueError, TypeError) as error:
            return None, [str(error)], {}
        numbers = said_by(anchor)
    return anchor, sorted(str(warning.message) for warning in caught), numbers


def said_by(anchor):
    result, actual = anchor.result_, {}
    leaderboard = anchor.leaderboard().select_dtypes("number")
    actual["board"] = leaderboard.to_numpy(float)
    actual["judges"] = anchor.summary().select_dtypes("number").to_numpy(float)
    actual["parts"] = anchor.variance_.to_numpy(float)
    actual["order"] = anchor._sample.X.order
    actual["weights"] = anchor._sample.weight
    reference = result.diagnostics
    if reference is not None:
        actual["influence"] = anchor.influence_
        actual["models"] = reference.models.to_numpy(float)
        actual["ties"] = reference.ties.to_numpy(float)
        actual["historical"] = reference.historical.to_numpy(float)
        actual["scale"] = np.array([reference.scale_z])
    return actual


def assert_same(mine, theirs, rtol=1e-8):
    (anchor, messages, numbers), (other, also_said, reference) = mine, theirs
    assert (anchor is None) == (other is None)
    assert messages == also_said
    assert list(numbers) == list(reference)
    for name, values in numbers.items():
        expected = reference[name]
        assert_array_equal(np.isfinite(values), np.isfinite(expected), err_msg=name)
        finite = np.isfinite(expected)
        scale = np.abs(expected[finite]).max(initial=0.0)
        assert_allclose(
            values[finite], expected[finite], rtol=0, atol=rtol * scale, err_msg=name
        )


def bare(n_copies=3, **settings):
    """A table without features, in which many rows are equal."""
    data = simulate_battles(
        n_historical=1500, n_new=300, n_models=6, random_state=4, **settings
    )
    keep = [name for name in data.X if name[0] != "x"]
    X = pd.concat([data.X[keep]] * n_copies, ignore_index=True)
    y = np.tile(np.asarray(data.y, dtype=float), n_copies)
    rng = np.random.default_rng(5)
    flip = rng.random(len(y))
    return X, np.where(flip < 0.2, 1.0 - y, np.where(flip < 0.3, 0.5, y)), rng


def settings_of(rng):
    return {
        "random_state": 0,
        "cv": int(rng.choice([2, 3, 5])),
        "n_repeats": int(rng.choice([1, 1, 2])),
        "item_effects": rng.choice(["auto", "none", "random", "auto"]),
        "historical_fit": rng.choice(["joint", "two-step"]),
        "ties": rng.choice(["half", "drop"]),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_odd_tables(seed, rows_alone, monkeypatch):
    rng = np.random.default_rng([7, seed])
    case = tables.draw(rng)
    names = [name for name in case.X if not str(name).startswith("x")]
    settings = settings_of(rng)
    inputs = case.X[names], case.y, case.weight, case.groups
    monkeypatch.setattr(_cells, "MOST_SHARE", 2.0)
    mine = outcome(*inputs, **settings)
    rows_alone()
    # Processors round differently: on some one influence differs by 1.2e-8.
    assert_same(mine, outcome(*inputs, **settings), rtol=5e-8)


@pytest.mark.parametrize(
    "case",
    ["plain", "weights", "counts", "orders", "bad", "context", "folds", "repeats",
     "several new", "few rows of a judge"],
)  # fmt: skip
def test_tables_whose_rows_repeat(case, rows_alone):
    n_new = 2 if case == "several new" else 1
    X, y, rng = bare(n_new_models=n_new)
    weight, settings = None, {"random_state": 0, "cv": 4}
    if case == "weights":
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(y))
    elif case == "counts":
        weight = rng.integers(0, 4, len(y))
        settings["weights"] = "frequency"
    elif case == "orders":
        X["shown_first"] = rng.choice(["model_a", "model_b", None], len(y))
    elif case == "bad":
        names = np.array(["model_b", "tie", "model_a"], dtype=object)
        y = names[(2 * y).astype(int)]
        y[(y == "tie") & (rng.random(len(y)) < 0.5)] = "tie (bothbad)"
    elif case == "context":
        X["kind"] = rng.choice(["a", "b"], len(y))
        settings["context"] = "kind"
    elif case == "folds":
        fold = rng.integers(0, 3, len(y))
        settings["cv"] = [(fold != k, fold == k) for k in range(3)]
    elif case == "repeats":
        settings["n_repeats"] = 3
    elif case == "few rows of a judge":
        few = (X["judge"] == "judge-2") & (rng.random(len(y)) < 0.985)
        X, y = X[~few].reset_index(drop=True), y[~few]
    mine = outcome(X, y, weight, **settings)
    anchor = mine[0]
    cells = anchor._inference.cells
    assert len(cells.sample) < 0.5 * len(cells.rows)
    assert len(anchor.comparisons_) == len(anchor.influence_) == len(cells.rows)
    rows_alone()
    theirs = outcome(X, y, weight, **settings)
    assert theirs[0]._inference.cells.cell is None
    assert_same(mine, theirs)
    assert cells.rows.digest == theirs[0]._inference.cells.rows.digest
    for one, other in zip(anchor.fold_plan_, theirs[0].fold_plan_, strict=True):
        for split, again in zip(one, other, strict=True):
            for part, same in zip(split, again, strict=True):
                assert_array_equal(part, same)


def few_levels(seed):
    """A table of features with few levels, and settings of a fit."""
    rng = np.random.default_rng([11, seed])
    X, y, _ = bare(n_copies=1, n_new_models=1 + seed % 2)
    for name in ("x1", "x2"):
        for side in "ab":
            X[f"{name}_{side}"] = rng.integers(0, 2, len(X)).astype(float)
    settings, weight = settings_of(rng), None
    if seed % 3 == 1:
        weight = rng.choice([0.0, 0.5, 1.0, 2.0], len(y))
    if seed % 5 == 3:
        X["shown_first"] = rng.choice(["model_a", "model_b", None], len(y))
    if seed % 5 == 4:
        X["kind"] = rng.choice(["a", "b"], len(y))
        settings["context"] = "kind"
    if seed % 6 == 5:
        settings["calibrator"] = JudgeCalibrator(bias=LinearBias(alpha=0.01))
    return (X, y, weight), settings


@pytest.mark.parametrize("seed", [1, 3, 4, 5])
def test_features_that_repeat(seed, rows_alone, monkeypatch):
    table, settings = few_levels(seed)
    monkeypatch.setattr(_cells, "MOST_SHARE", 2.0)
    mine = outcome(*table, **settings)
    assert mine[0] is not None and mine[0]._inference.cells.cell is not None
    rows_alone()
    theirs = outcome(*table, **settings)
    assert theirs[0]._inference.cells.cell is None
    assert_same(mine, theirs, rtol=1e-9)


def test_a_table_that_is_repeated_is_put_into_cells():
    # Its first rows, more than are looked at, all differ.
    data = simulate_battles(
        n_models=40, n_human=5000, n_historical=9000, n_new=200, random_state=0
    )
    table = data.X[["model_a", "model_b", "judge"]].assign(y=data.y).drop_duplicates()
    assert len(table) > _cells.LOOK
    table = pd.concat([table] * 3, ignore_index=True)
    anchor = AnchorPipeline(cv=2, item_effects="none", random_state=0)
    anchor.fit(table.drop(columns="y"), table["y"])
    assert len(anchor._distinct_sample) == len(table) / 3
