"""A row that counts n comparisons is n rows, whatever looks at it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tables import quiet, warnings_of

from skanchor import (
    AnchorPipeline,
    BTLRegressor,
    JudgeCalibrator,
    read_battles,
    split_battles,
)
from skanchor.baselines import DirectScore
from skanchor.bootstrap import Bootstrapped, bootstrap
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError, CountWarning, DataWarning
from skanchor.simulation import simulate_battles

KEYS = ["model_a", "model_b", "judge"]


def counted(features=(), seed=0, item_effects=0.4):
    """A table of counts with ties, and its rows one by one."""
    data = simulate_battles(
        n_models=7, n_judges=2, n_new=400, n_historical=2200, tau=0.0, random_state=seed
    )
    rng = np.random.default_rng(seed)
    X = data.X[KEYS].copy()
    # What judges think of a model beyond its score.
    deviation = item_effects * rng.standard_normal((3, 8))
    source = pd.factorize(X["judge"])[0]
    a, b = (pd.factorize(X[side], sort=True)[0] for side in KEYS[:2])
    shift = np.where(
        X["judge"] == "human", 0, deviation[source, a] - deviation[source, b]
    )
    p = 1 / (1 + np.exp(-shift))
    y = np.where(rng.random(len(X)) < 0.2, 0.5, np.asarray(data.y))
    y = np.where(rng.random(len(X)) < 0.4, rng.random(len(X)) < p, y)
    for name in features:
        for side in "ab":
            X[f"{name}_{side}"] = rng.integers(0, 2, len(X)).astype(float)
    table = X.assign(y=y).groupby([*X.columns, "y"], as_index=False).size()
    copies = np.repeat(np.arange(len(table)), table["size"])
    assert len(copies) == len(X) > 2 * len(table) or features
    return table[[*X.columns]], table["y"].to_numpy(), table["size"].to_numpy(), copies


def both(X, y, n, copies, groups=None, **params):
    anchor = AnchorPipeline(weights="frequency", cv=3, random_state=0, **params)
    anchor.fit(X, y, sample_weight=n, groups=groups)
    params["cv"] = anchor.fold_plan_
    listed = AnchorPipeline(**params)
    rows = X.iloc[copies].reset_index(drop=True)
    return anchor, listed.fit(
        rows, y[copies], groups=None if groups is None else groups[copies]
    )


POSITION = JudgeCalibrator(position_effect=True)


@pytest.mark.parametrize("features", [(), ("x",)], ids=["bare", "feature"])
@pytest.mark.parametrize(
    "params",
    [{"item_effects": "none"}, {"item_effects": "random"}, {"calibrator": POSITION}],
    ids=["none", "random", "position"],
)
def test_counts_equal_the_rows_that_they_count(features, params):
    X, y, n, copies = counted(features)
    anchor, listed = quiet(both, X, y, n, copies, **params)
    for name in ("estimates", "covariances", "parts", "lower_bound", "plug_in"):
        result, expected = (getattr(fit.result_, name) for fit in (anchor, listed))
        assert_allclose(result, expected, rtol=1e-10, atol=1e-12)
    assert anchor.result_.diagnostics.item_p == listed.result_.diagnostics.item_p
    for name in ("judges", "models", "deviations"):
        result, expected = (
            getattr(fit.result_.diagnostics, name) for fit in (anchor, listed)
        )
        pd.testing.assert_frame_equal(result, expected)
    pd.testing.assert_frame_equal(anchor.summary(), listed.summary())
    pd.testing.assert_frame_equal(anchor.leaderboard(), listed.leaderboard())
    assert_allclose(anchor.influence_, listed.influence_, atol=1e-12)
    if anchor.item_covariance_ is not None:
        assert_allclose(anchor.item_covariance_, listed.item_covariance_, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_copies_share_the_group_of_their_row():
    X, y, n, copies = counted(item_effects=0.0)
    groups = np.arange(len(X)) // 3
    anchor, listed = both(X, y, n, copies, groups, item_effects="none")
    assert_allclose(anchor.standard_errors_, listed.standard_errors_, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_copies_of_a_row_without_a_prompt_are_a_group():
    X, y, n, copies = counted(item_effects=0.0)
    prompts = np.arange(len(X)) // 3
    lost = np.arange(len(X)) % 7 == 0
    X = X.assign(prompt_id=pd.Series(prompts).astype("Int64").mask(lost))
    groups = np.where(lost, len(X) + np.arange(len(X)), prompts)
    anchor = AnchorPipeline(weights="frequency", cv=3, random_state=0)
    anchor.set_params(item_effects="none").fit(X, y, sample_weight=n)
    listed = AnchorPipeline(cv=anchor.fold_plan_, item_effects="none")
    listed.fit(X.iloc[copies].reset_index(drop=True), y[copies], None, groups[copies])
    assert_allclose(anchor.standard_errors_, listed.standard_errors_, rtol=1e-10)


def test_a_row_is_divided_over_the_folds_by_its_count():
    X, y, n, copies = counted(item_effects=0.0)
    anchor = AnchorPipeline(weights="frequency", cv=5, random_state=0)
    anchor.fit(X, y, sample_weight=n)
    fold = np.empty(n.sum(), dtype=int)
    for k, (_, test) in enumerate(anchor.fold_plan_[0]):
        fold[test] = k
    spread = [len(set(fold[copies == row])) for row in np.flatnonzero(n >= 8)]
    assert np.mean(spread) > 3.5


def test_btl_errors_are_those_of_the_votes():
    X, y, n, copies = counted()
    one_by_one = BTLRegressor().fit(X.iloc[copies], y[copies])
    result = BTLRegressor(weights="frequency").fit(X, y, sample_weight=n)
    assert_allclose(result.scores_, one_by_one.scores_, atol=1e-10)
    assert_allclose(result.covariance_, one_by_one.covariance_, rtol=1e-8)
    with pytest.warns(CountWarning, match="whole numbers, up to"):
        read = BTLRegressor().fit(X, y, sample_weight=n)
    assert (read.standard_errors_ > 1.2 * one_by_one.standard_errors_).all()


def test_whole_numbers_read_as_importance_are_told_once():
    X, y, n, _ = counted(item_effects=0.0)
    anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0)
    result = warnings_of(lambda: anchor.fit(X, y, sample_weight=n))
    (warning,) = (one for one in result if type(one) is CountWarning)
    assert "weights to frequency" in str(warning)


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (-1.0, "Negative values"),
        (np.inf, "infinity"),
        (np.nan, "NaN"),
        (1.5, "1 are not, the first is 1.5 in row 0"),
        (2.0**53, r"stand for 9\.01e\+15 rows"),
        (2e8, r"stand for 2e\+08 rows, more than the 1e\+08"),
    ],
)
def test_what_is_no_count_is_refused(weight, match):
    X, y, n, _ = counted()
    n = n.astype(float)
    n[0] = weight
    with pytest.raises(ValueError, match=match):
        BTLRegressor(weights="frequency").fit(X, y, sample_weight=n)


def test_refits_and_models_left_out_know_of_counts():
    X, y, n, copies = counted(item_effects=0.0)
    rows, outcomes = X.iloc[copies].reset_index(drop=True), y[copies]
    settings = {"n_resamples": 10, "random_state": 0}
    counting = DirectScore(btl=BTLRegressor(weights="frequency"))
    expected = bootstrap(DirectScore(), rows, outcomes, **settings)
    result = bootstrap(counting, X, y, sample_weight=n, **settings)
    assert_allclose(result.replicates, expected.replicates, atol=1e-4)
    wrapped = Bootstrapped(counting, **settings).fit(X, y, sample_weight=n)
    assert_allclose(wrapped.standard_errors_, expected.standard_errors[-1:], rtol=1e-4)
    with pytest.warns(CountWarning):
        bootstrap(DirectScore(), X, y, sample_weight=n, **settings)
    anchor = AnchorPipeline(
        cv=3, item_effects="none", random_state=0, weights="frequency"
    )
    models = {"models": ["model-01"]}
    result = leave_one_model_out(anchor, X, y, sample_weight=n, **models)
    expected = leave_one_model_out(anchor, rows, outcomes, **models)
    pd.testing.assert_frame_equal(result, expected)


# --------------------------------------------------------------------------- win tables
def wins(path, names=("wins", "losses")):
    X, y, n, _ = counted(item_effects=0.0)
    table = X.assign(y=y, n=n).pivot_table("n", KEYS, "y", "sum", fill_value=0)
    table = table.astype(int)[[1.0, 0.0, 0.5]].reset_index()
    table.columns = [*KEYS, *names, "ties"]
    table.to_csv(path, index=False)
    return X.iloc[np.repeat(np.arange(len(X)), n)], np.repeat(y, n)


@pytest.mark.parametrize("names", [("wins", "losses"), ("wins_a", "wins_b")])
def test_a_table_of_wins_is_the_rows_that_it_counts(tmp_path, names):
    rows, outcomes = wins(tmp_path / "w.csv", names)
    table = read_battles(tmp_path / "w.csv")
    assert table.attrs["mapping"].layout == "counts"
    X, y = split_battles(table)
    assert X["count"].sum() == len(rows)
    result = BTLRegressor(weights="frequency").fit(X, y, sample_weight=X["count"])
    expected = BTLRegressor().fit(rows, outcomes)
    assert_allclose(result.covariance_, expected.covariance_, rtol=1e-8)
    with pytest.warns(DataWarning, match="'count' holds whole.*weights to frequency"):
        BTLRegressor().fit(X, y)


def test_rows_of_other_files_count_one(tmp_path):
    (tmp_path / "w.csv").write_text(
        "model_a,model_b,judge,wins,losses\na,b,human,3,1\n"
    )
    (tmp_path / "b.csv").write_text("model_a,model_b,judge,winner\na,b,gpt,model_a\n")
    table = read_battles([tmp_path / "w.csv", tmp_path / "b.csv"])
    assert table["count"].tolist() == [3, 1, 1]
    assert table["winner"].tolist() == ["model_a", "model_b", "model_a"]


@pytest.mark.parametrize("cell", ["-1", "1.5", "inf", "x"])
def test_cells_that_are_no_counts_are_refused(tmp_path, cell):
    path = tmp_path / "w.csv"
    path.write_text(f"model_a,model_b,judge,wins,losses\na,b,human,{cell},1\n")
    with pytest.raises(
        BattlesError, match=r"column 'wins' (should )?hold|no column is known"
    ):
        read_battles(path)
