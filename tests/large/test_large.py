"""A history of a data set that is read in batches is that of its rows in memory."""

import os
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from skanchor import (
    AnchorHistory,
    AnchorPipeline,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
)
from skanchor.bias import BoostedBias, LinearBias
from skanchor.exceptions import (
    BattlesError,
    DataWarning,
    LearnerError,
    SeparationWarning,
)
from skanchor.large import fit_history
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

BARE = ["model_a", "model_b", "judge", "shown_first", "winner"]


def rows(n=9_000, *, prompts=False, features=True, seed=0):
    """Historical rows in no order, and rows of two new models, with outcomes."""
    data = simulate_battles(
        n, 500, n_models=7, n_new_models=2, new_score=[0.5, -0.3], n_extra_human=0,
        item_sd=0.2, random_state=seed,
    )  # fmt: skip
    rng, table = np.random.default_rng(seed), data.X.assign(winner=data.y)
    table["shown_first"] = rng.choice(["model_a", "model_b"], len(table))
    table["times"] = rng.integers(0, 4, len(table))
    table["importance"] = rng.exponential(size=len(table))
    if prompts:
        number = pd.Series(rng.integers(0, n // 3, len(table)), table.index)
        # Rows without a prompt are groups of their own.
        table["prompt_id"] = ("p" + number.astype(str)).where(
            rng.random(len(table)) > 0.05
        )
    if not features:
        table = table.drop(columns=[c for c in table if c[:1] == "x"])
    sides = table["model_a"], table["model_b"]
    new = np.any([one.str.startswith("new") for one in sides], axis=0)
    old = table[~new].sample(frac=1.0, random_state=seed).reset_index(drop=True)
    return old, table[new].reset_index(drop=True)


def battles(table):
    return table.drop(columns=["winner", "times", "importance"])


def in_folder(path, table, n_files=3, **settings):
    """A folder of Parquet files."""
    path.mkdir()
    for number, at in enumerate(np.array_split(np.arange(len(table)), n_files)):
        part = pa.Table.from_pandas(table.iloc[at], preserve_index=False)
        pq.write_table(part, path / f"{number}.parquet", row_group_size=1500)
    return path


def apart(one, other):
    """Largest distance of two results: of all scores, and of their errors."""
    error = np.sqrt(np.diagonal(other.covariances, axis1=1, axis2=2))
    ratio = np.sqrt(np.diagonal(one.covariances, axis1=1, axis2=2)) / error
    scores = np.abs(one.estimates - other.estimates) / error
    return max(scores.max(), np.abs(ratio - 1.0).max())


def joined(plans, new_plan):
    """Folds of old rows and of new ones after them."""
    result = []
    for old, new in zip(plans, new_plan, strict=True):
        n_old = sum(len(test) for _, test in old)
        pairs = zip(old, new, strict=True)
        result.append(
            [(np.r_[a, n_old + c], np.r_[b, n_old + d]) for (a, b), (c, d) in pairs]
        )
    return result


SETTINGS = {
    "features": {},
    "repeats": {"n_repeats": 2, "item_effects": None},
    "two-step": {"historical_fit": "two-step", "item_effects": "random"},
    "ridges": {
        "btl": BTLRegressor(alpha=0.05),
        "calibrator": JudgeCalibrator(LinearBias(alpha=(0.02, 0.5, 0.0))),
        "item_effects": None,
    },
    "feature map": {
        "calibrator": JudgeCalibrator(LinearBias(FunctionTransformer(np.tanh)))
    },
}


def memory_and_batches(folder, anchor, old, **settings):
    """The same history by batches, and in memory in the same folds."""
    large = fit_history(folder, anchor, **settings)
    same = clone(anchor).set_params(cv=[list(plan) for plan in large.fold_plan_])
    return large, same


@pytest.mark.parametrize(
    ("name", "prompts"), [("features", False), *((name, True) for name in SETTINGS)]
)
def test_placed_is_fitted_is_larger_than_memory(name, prompts, tmp_path):
    """With groups, item effects, position effects and several new models."""
    old, new_rows = rows(prompts=prompts)
    folder = in_folder(tmp_path / "rows", old.drop(columns=["times", "importance"]))
    anchor = AnchorPipeline(cv=5, random_state=0, **SETTINGS[name])
    large, same = memory_and_batches(folder, anchor, old, batch_rows=1000)
    placed = large.place(battles(new_rows), new_rows["winner"])
    memory = AnchorHistory(same).fit(battles(old), old["winner"])
    expected = memory.place(battles(new_rows), new_rows["winner"], cv=placed.fold_plan)
    both = pd.concat([old, new_rows], ignore_index=True)
    plans = joined(large.fold_plan_, placed.fold_plan)
    fitted = clone(anchor).set_params(cv=plans).fit(battles(both), both["winner"])
    assert apart(expected, fitted.result_) < 1e-6
    # What the sums miss falls with the number of rows.
    assert apart(placed, expected) < 0.01
    mine, theirs = large.state_, memory.state_
    assert mine.treatment == theirs.treatment
    assert_allclose(mine.check.p_value, theirs.check.p_value, rtol=1e-3)
    assert_allclose(mine.human_errors, theirs.human_errors, rtol=1e-9)
    assert_allclose(mine.sums.noise, theirs.sums.noise, rtol=1e-3)
    assert mine.facts == theirs.facts
    for one, other in zip(mine.sums.features, theirs.sums.features, strict=True):
        assert_array_equal([one.low, one.high], [other.low, other.high])
    if name == "feature map":
        # A file holds no functions.
        return
    large.save(tmp_path / "history")
    again = AnchorHistory.load(tmp_path / "history")
    again = again.place(battles(new_rows), new_rows["winner"], cv=placed.fold_plan)
    assert_array_equal(again.estimates, placed.estimates)


def test_without_features_counts_are_the_rows(tmp_path):
    old, new_rows = rows(features=False)
    folder = in_folder(tmp_path / "rows", old[BARE])
    anchor = AnchorPipeline(cv=5, random_state=0)
    large, same = memory_and_batches(folder, anchor, old)
    # ``fold_plan_`` numbers the different rows, each as often as it occurs.
    listed = old[BARE].sort_values(BARE, kind="stable")
    memory = AnchorHistory(same).fit(listed[BARE[:-1]], listed["winner"])
    placed = large.place(battles(new_rows), new_rows["winner"])
    expected = memory.place(battles(new_rows), new_rows["winner"], cv=placed.fold_plan)
    assert apart(placed, expected) < 1e-6
    # Its rows are kept as counts, to which others can be added.
    assert large.state_.counts.counts.sum() == len(old)
    large.update(battles(old[:100]), old["winner"][:100])
    assert large.updated_from_ == "counts"


@pytest.mark.parametrize("features", [True, False])
def test_ties_are_left_out(features, tmp_path):
    old, new_rows = rows(features=features)
    tied = np.random.default_rng(1).random(len(old)) < 0.2
    old["winner"] = np.where(tied, 0.5, old["winner"])
    anchor = AnchorPipeline(cv=5, random_state=0, ties="drop")
    folder = in_folder(tmp_path / "rows", old.drop(columns=["times", "importance"]))
    large, same = memory_and_batches(folder, anchor, old)
    table = old if features else old.sort_values(BARE, kind="stable")
    memory = AnchorHistory(same).fit(battles(table), table["winner"])
    placed = large.place(battles(new_rows), new_rows["winner"])
    expected = memory.place(battles(new_rows), new_rows["winner"], cv=placed.fold_plan)
    assert apart(placed, expected) < (0.02 if features else 1e-6)


def test_counts_are_equal_rows(tmp_path):
    old, new_rows = rows(features=False)
    anchor = AnchorPipeline(cv=5, random_state=0, weights="frequency")
    folder = in_folder(tmp_path / "rows", old[[*BARE, "times"]])
    large, same = memory_and_batches(folder, anchor, old, sample_weight="times")
    table = old.loc[np.repeat(old.index, old["times"])]
    table = table.sort_values([*BARE, "times"], kind="stable")
    memory = AnchorHistory(same.set_params(weights="importance"))
    memory.fit(battles(table), table["winner"])
    placed = large.place(battles(new_rows), new_rows["winner"])
    expected = memory.place(battles(new_rows), new_rows["winner"], cv=placed.fold_plan)
    assert apart(placed, expected) < 1e-6


def test_a_sample_decides_shapes_alone(tmp_path):
    """A fit that starts from few rows ends where that from all rows ends."""
    old, new_rows = rows(30_000)
    data = ds.dataset(pa.Table.from_pandas(old.drop(columns=["times", "importance"])))
    anchor = AnchorPipeline(cv=10, random_state=0)
    whole, few = (fit_history(data, anchor, sample_rows=n) for n in (10**6, 300))
    one = whole.place(battles(new_rows), new_rows["winner"])
    other = few.place(battles(new_rows), new_rows["winner"], cv=one.fold_plan)
    assert apart(one, other) < 0.02
    # The dispersion, by which it is divided, is that of the sample.
    assert_allclose(
        np.log(few.state_.check.p_value), np.log(whole.state_.check.p_value), rtol=0.2
    )


@pytest.mark.slow
def test_a_million_rows_with_features(tmp_path):
    old, new_rows = rows(10**6)
    data = ds.dataset(pa.Table.from_pandas(old.drop(columns=["times", "importance"])))
    anchor = AnchorPipeline(cv=10, random_state=0)
    large, same = memory_and_batches(data, anchor, old)
    memory = AnchorHistory(same).fit(battles(old), old["winner"])
    placed = large.place(battles(new_rows), new_rows["winner"])
    expected = memory.place(battles(new_rows), new_rows["winner"], cv=placed.fold_plan)
    assert apart(placed, expected) < 1e-3


@pytest.mark.parametrize("features", [True, False])
def test_rare_models_and_late_judges_have_their_roles(features, tmp_path):
    old, _ = rows(20_000, features=features)
    rare = old[:5].assign(
        model_a="rare", judge="human", winner=[1.0, 0.0, 1.0, 0.0, 1.0]
    )
    last = old[old["judge"] == "judge-1"].assign(judge="late")[:200]
    unvoted = old[old["judge"] == "judge-1"][:3].assign(model_b="unvoted")
    table = pd.concat([old, rare, unvoted, last], ignore_index=True)
    folder = in_folder(tmp_path / "rows", table.drop(columns=["times", "importance"]))
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    with pytest.warns(DataWarning, match=r"\['unvoted'\] have no human row"):
        result = fit_history(folder, anchor, sample_rows=500)
    assert "rare" in result.models_ and "unvoted" not in result.models_
    assert "late" in result.judges_
    with pytest.warns(DataWarning, match=r"'late'"):
        table = table[table["model_b"] != "unvoted"]
        few = table[
            (table["judge"] != "late") | (np.arange(len(table)) > len(table) - 4)
        ]
        folder = in_folder(tmp_path / "few", few.drop(columns=["times", "importance"]))
        assert "late" not in fit_history(folder, anchor, sample_rows=500).judges_


@pytest.mark.filterwarnings("ignore:Judge 'judge-1' sides with people")
def test_judges_that_features_settle_are_left_out():
    old, _ = rows()
    settled = old["judge"] == "judge-1"
    won = (old["x1_a"] > old["x1_b"]).astype(float)
    old["winner"] = np.where(settled, won, old["winner"])
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    with pytest.warns(SeparationWarning, match=f"All {settled.sum()} are left out"):
        result = fit_history([battles(old).assign(winner=old["winner"])], anchor)
    assert result.judges_.tolist() == ["judge-2", "judge-3"]


def test_models_without_a_limit_are_left_out():
    old, _ = rows()
    lost = old["model_b"] == "model-01"
    keep = old["model_a"] != "model-01"
    old = old.assign(winner=np.where(lost, 1.0, old["winner"]))[keep]
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    with pytest.warns(UserWarning, match="have no limit|on one side"):
        result = fit_history([battles(old).assign(winner=old["winner"])], anchor)
    assert result.state_.lost.tolist() == ["model-01"]
    assert "model-01" not in result.models_


# ------------------------------------------------------------------------- workers
def sums_of(history):
    fits = history.state_.fits
    return np.concatenate([a.ravel() for a in (fits.gram, fits.score, fits.outer)])


@pytest.mark.parametrize("prompts", [False, True])
def test_one_worker_and_two_give_the_same_numbers(prompts, tmp_path):
    old, _ = rows(prompts=prompts)
    folder = in_folder(tmp_path / "rows", old.drop(columns=["times", "importance"]))
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    alone = fit_history(folder, anchor)
    with joblib.parallel_config(backend="threading"):
        two = fit_history(folder, clone(anchor).set_params(n_jobs=2))
    assert_array_equal(sums_of(two), sums_of(alone))
    # Batches of another size add the same rows up in another order.
    other = fit_history(folder, anchor, batch_rows=333)
    assert_allclose(sums_of(other), sums_of(alone), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_is_killed_and_nothing_changes(tmp_path):
    distributed = pytest.importorskip("distributed")
    old, _ = rows(12_000)
    folder = in_folder(tmp_path / "rows", old.drop(columns=["times", "importance"]), 12)
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    alone = fit_history(folder, anchor)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        first, *_ = client.run(os.getpid).values()
        killed = threading.Event()

        def kill():
            # In the middle: once parts have been read, and before all have.
            deadline = time.monotonic() + 60.0
            while time.monotonic() < deadline:
                if len(client.has_what()) and any(client.processing().values()):
                    break
                time.sleep(0.01)
            os.kill(first, signal.SIGKILL)
            killed.set()

        thread = threading.Thread(target=kill)
        thread.start()
        with joblib.parallel_config(backend="dask"):
            result = fit_history(folder, clone(anchor).set_params(n_jobs=-1))
        thread.join()
        assert killed.is_set() and first not in client.run(os.getpid).values()
    assert_array_equal(sums_of(result), sums_of(alone))


# ----------------------------------------------------------------------- bad data sets
def test_parts_that_differ_are_refused_by_name(tmp_path):
    old, _ = rows(3000)
    table = battles(old).assign(winner=old["winner"])
    anchor = AnchorPipeline(cv=3)
    for name, part in {
        "x1_a": table.drop(columns="x1_a"),
        "winner": table.assign(winner=table["winner"].astype(str)),
    }.items():
        folder = in_folder(tmp_path / name, table)
        part.to_parquet(folder / "9.parquet")
        with pytest.raises(BattlesError, match=rf"Column '{name}' is .*9\.parquet"):
            fit_history(folder, anchor)
        with pytest.raises(BattlesError, match=rf"Column '{name}' is .*Table 1"):
            fit_history([table, part], anchor)
    (folder / "9.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(BattlesError, match=r"9\.parquet cannot be read as Parquet"):
        fit_history(folder, anchor)


def test_a_file_that_is_given_twice_is_refused(tmp_path):
    old, _ = rows(3000)
    table = battles(old).assign(winner=old["winner"])
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    folder = in_folder(tmp_path / "rows", table)
    (folder / "9.parquet").write_bytes((folder / "1.parquet").read_bytes())
    with pytest.raises(BattlesError, match=r"9.parquet holds the same rows as .*1.par"):
        fit_history(folder, anchor)


def test_a_data_set_without_rows_is_refused(tmp_path):
    old, _ = rows(3000)
    table = battles(old).assign(winner=old["winner"])
    folder = in_folder(tmp_path / "empty", table[:0], 1)
    with pytest.raises(BattlesError, match=r"holds no rows.*0\.parquet"):
        fit_history(folder, AnchorPipeline(cv=3))
    # One part without rows changes nothing.
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    for part in (table, table.assign(count=1)):
        one, two = fit_history([part], anchor), fit_history([part[:0], part], anchor)
        assert_array_equal(sums_of(one), sums_of(two))


@pytest.mark.parametrize("how", ["other outcomes", "fewer rows", "one feature"])
def test_a_data_set_that_changes_between_passes_is_refused(how, tmp_path, monkeypatch):
    old, _ = rows(3000)
    table = battles(old).assign(winner=old["winner"])
    folder = in_folder(tmp_path / "rows", table)
    other = {
        "other outcomes": table.assign(winner=1.0 - table["winner"]),
        "fewer rows": table[:-10],
        "one feature": table.assign(x1_a=table["x1_a"] + (table.index == 5)),
    }[how]

    class Overwriting(LinearBias):
        """A learner during whose fit the files change."""

        def fit(self, *args, **kwargs):
            for path in folder.glob("*.parquet"):
                path.unlink()
            number = np.array_split(np.arange(len(other)), 3)
            for k, at in enumerate(number):
                part = pa.Table.from_pandas(other.iloc[at], preserve_index=False)
                pq.write_table(part, folder / f"{k}.parquet", row_group_size=1500)
            return super().fit(*args, **kwargs)

    anchor = AnchorPipeline(cv=3, calibrator=JudgeCalibrator(Overwriting()))
    with pytest.raises(
        BattlesError, match=r"parquet.* has changed while|has changed while.*parquet"
    ):
        fit_history(folder, anchor)


def test_what_it_cannot_do_is_refused():
    old, _ = rows(3000)
    tables = [battles(old).assign(winner=old["winner"])]
    refused = [
        (TypeError, "A large data set is a Parquet file", iter(tables), {}),
        (BattlesError, "cannot be read as Parquet", "nowhere.parquet", {}),
        (ValueError, "is a number of folds", tables, {"cv": [(0, 1)]}),
        (BattlesError, "cannot have new_models", tables,
         {"new_models": ["x"]}),
        (LearnerError, "'judge-1'.* has no span", tables,
         {"calibrator": JudgeCalibrator(BoostedBias(max_rounds=1))}),
        (LearnerError, "must have the learner of the bias", tables,
         {"debiaser": RieszDebiaser(LinearBias(alpha=1.0))}),
        (BattlesError, "human_bias", tables, {"human_bias": "linear"}),
        (BattlesError, "passthrough", tables, {"debiaser": "passthrough"}),
    ]  # fmt: skip
    for category, message, data, settings in refused:
        with pytest.raises(category, match=message):
            fit_history(data, AnchorPipeline(**settings))
    lost = tables[0].assign(x1_a=tables[0]["x1_a"].where(old.index != 7))
    at = old.index[old["judge"] != "human"][0]
    lost.loc[at, "x1_a"] = np.nan
    with pytest.raises(BattlesError, match=r"Table 0: Feature 'x1' contains NaN"):
        fit_history([lost], AnchorPipeline())
    with pytest.raises(BattlesError, match="'swapped' may say which rows"):
        swapped = tables[0].drop(columns="shown_first").assign(swapped=True)
        fit_history([swapped], AnchorPipeline())
    with pytest.raises(BattlesError, match=r"'Evaluator' may say who decided"):
        fit_history(
            [tables[0].rename(columns={"judge": "Evaluator"})], AnchorPipeline()
        )
    with pytest.raises(BattlesError, match=r"'expert'.* name it in human"):
        experts = tables[0].replace({"judge": {"human": "expert"}})
        fit_history([experts], AnchorPipeline())
    with pytest.raises(BattlesError, match="There is no column 'w'"):
        fit_history(tables, AnchorPipeline(), sample_weight="w")
    with pytest.raises(BattlesError, match="rows without features and groups"):
        table = tables[0].assign(w=1)
        fit_history([table], AnchorPipeline(weights="frequency"), sample_weight="w")
    plain, renames = old[BARE].assign(w=0.5), {"sample_weight": "w"}
    with pytest.raises(BattlesError, match="it needs frequency as weights"):
        fit_history([plain], AnchorPipeline(), **renames)
    with pytest.raises(BattlesError, match="must be whole numbers"):
        fit_history([plain], AnchorPipeline(weights="frequency"), **renames)


# -------------------------------------------------------------------- names and groups
def test_names_of_columns_and_people():
    old, _ = rows(3000)
    table = battles(old).assign(winner=old["winner"])
    other = table.rename(
        columns={"judge": "who", "x1_a": "my_score_a", "x1_b": "my_score_b"}
    )
    other["who"] = other["who"].replace("human", "crowd")
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    named = fit_history(
        [other], anchor, columns={"who": "judge"}, human="crowd",
        features=["my_score", "x2", "x3"],
    )  # fmt: skip
    plain = fit_history([table], anchor)
    assert (
        set(named.features_) == {"my_score", "x2", "x3"} and len(plain.features_) == 3
    )
    assert_allclose(named.state_.fits.x[0][:7], plain.state_.fits.x[0][:7], atol=1e-6)
    fewer = fit_history([table], anchor, drop_features=["x1"])
    assert set(fewer.features_) == {"x2", "x3"}


def test_prompts_decide_by_default():
    old, _ = rows(3000, prompts=True)
    table = battles(old).assign(winner=old["winner"])
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    assert fit_history([table], anchor).state_.n_groups
    assert fit_history([table], anchor, groups=None).state_.n_groups is None
    once = table.assign(prompt_id=np.arange(len(table)))
    assert fit_history([once], anchor).state_.n_groups is None
    with pytest.warns(DataWarning, match="has only 29 different values, too few"):
        few = fit_history([table.assign(prompt_id=once["prompt_id"] % 29)], anchor)
    assert few.state_.n_groups is None
    raters = pd.Series((np.arange(len(table)) % 40).astype(str))
    voted = once.assign(rater=raters.where(table["judge"] == "human"))
    with pytest.warns(DataWarning, match="no sums by rater"):
        fit_history([voted], anchor)
    with pytest.raises(BattlesError, match="'pages' of groups holds"):
        lists = table.assign(pages=[[k] for k in range(len(table))])
        fit_history([lists], anchor, groups="pages")


def test_groups_lie_in_their_folds_in_any_order():
    old, new_rows = rows(3000, prompts=True)
    old = old[old["prompt_id"].notna()]
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    first, second = (
        fit_history([battles(one).assign(winner=one["winner"])], anchor)
        for one in (old, old.sample(frac=1.0, random_state=1))
    )
    mine, theirs = (item.state_.fits.groups for item in (first, second))
    for my_groups, other in zip(mine, theirs, strict=True):
        assert_array_equal(my_groups.codes, other.codes)
    one, two = (
        item.place(battles(new_rows), new_rows["winner"]) for item in (first, second)
    )
    assert apart(one, two) < 1e-6


def test_what_is_told_of_a_table_in_memory_is_told_here():
    old, _ = rows(3000)
    table = battles(old).assign(winner=old["winner"])
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    with pytest.warns(DataWarning, match="'count' holds whole numbers, up to 3"):
        fit_history([table.assign(count=old["times"])], anchor)
