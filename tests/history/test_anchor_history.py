"""A kept history places new models where a fit of all rows places them."""

import copy
import json
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.preprocessing import SplineTransformer
from tables import quiet, warnings_of

from skanchor import (
    AnchorHistory,
    AnchorPipeline,
    ArrivalScorer,
    JudgeCalibrator,
    RieszDebiaser,
    SourceKFold,
    judge_fingerprint,
)
from skanchor._battles.grouping import label_codes
from skanchor.bias import BoostedBias, LinearBias
from skanchor.exceptions import BattlesError, DataWarning, LearnerError
from skanchor.io.archive import read_archive, write_archive
from skanchor.large import fit_history
from skanchor.simulation import simulate_battles

N_FOLDS = 3


def table(n_new=2, features=True, seed=0, **options):
    """History, and rows of new models, of whom one is warm and two meet each other."""
    data = simulate_battles(
        2400, 200, n_models=6, n_new_models=n_new, item_sd=0.3, random_state=seed,
        **options,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    X, y = data.X.copy(), pd.Series(np.asarray(data.y, dtype=float))
    y[::11] = 0.5
    X["shown_first"] = rng.choice(["model_a", "model_b"], len(X))
    new = sorted(set(X.model_a[X.model_a.str.startswith("new")]))
    of_source = np.flatnonzero(X.model_a == new[0])
    if n_new > 1:
        X.loc[of_source[20:50], "model_b"] = new[1]
    X.loc[of_source[:20], "judge"] = "human"
    if not features:
        X = X.drop(columns=[name for name in X if name[:1] == "x"])
    return X, y, new


def is_late(X, new):
    return (X.model_a.isin(new) | X.model_b.isin(new)).to_numpy()


def bare_history():
    """Rows of a history without features, and those of a new model, with outcomes."""
    X, y, new = table(n_new=1, features=False, seed=5)
    is_old = ~is_late(X, new)
    past = X[is_old].reset_index(drop=True), y[is_old].to_numpy()
    return *past, X[~is_old], y[~is_old]


def both_fits(anchor, X, y, new, weight=None, groups=None, path=None):
    """Result of the pipeline on all rows, and of arrivals at a kept history."""
    is_new_row = is_late(X, new)
    n_repeats = anchor.n_repeats
    plans = [
        list(
            SourceKFold(N_FOLDS, random_state=seed, new_models=new).split(
                X, groups=groups
            )
        )
        for seed in range(n_repeats)
    ]
    position = np.where(is_new_row, np.cumsum(is_new_row), np.cumsum(~is_new_row)) - 1

    def part(of, values):
        return None if values is None else np.asarray(values)[of]

    def folds(of):
        return [
            [tuple(position[rows[of[rows]]] for rows in split) for split in plan]
            for plan in plans
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = clone(anchor).set_params(cv=plans, new_models=new)
        whole.fit(X, y, weight, groups)
        history = AnchorHistory(clone(anchor).set_params(cv=folds(~is_new_row)))
        history.fit(
            X[~is_new_row],
            y[~is_new_row],
            part(~is_new_row, weight),
            part(~is_new_row, groups),
        )
        if path is not None:
            history.save(path)
            history = AnchorHistory.load(path)
        placed = history.place(
            X[is_new_row],
            y[is_new_row],
            part(is_new_row, weight),
            part(is_new_row, groups),
            cv=folds(is_new_row),
        )
    return whole.result_, placed


def assert_same(one, other):
    assert one.models.tolist() == other.models.tolist()
    assert one.is_new.tolist() == other.is_new.tolist()
    assert one.unbounded.tolist() == other.unbounded.tolist()
    assert one.n_human.tolist() == other.n_human.tolist()
    assert one.n_judge.tolist() == other.n_judge.tolist()
    error = one.standard_errors[np.isfinite(one.standard_errors)].min()
    for name in ("estimates", "covariances", "plug_in", "parts", "lower_bound"):
        reference, result = getattr(one, name), getattr(other, name)
        assert_allclose(result, reference, rtol=0, atol=1e-6 * error, err_msg=name)
    assert_allclose(one.item_df, other.item_df, rtol=1e-9)
    assert_frame_equal(one.contrasts(), other.contrasts(), atol=1e-6, rtol=0)
    assert one.rank_sets().equals(other.rank_sets())
    reference, result = one.diagnostics, other.diagnostics
    # These are read off some of the historical rows, which are kept.
    by_some = ["effective_share", "largest_ratio"]
    assert_frame_equal(
        result.judges.drop(columns=by_some), reference.judges.drop(columns=by_some),
        rtol=1e-6, atol=1e-8,
    )  # fmt: skip
    assert_frame_equal(result.judges[by_some], reference.judges[by_some], rtol=0.15)
    # Without groups a history has no rows to look at.
    by_row = [] if reference.grouped else ["largest_influence"]
    assert_frame_equal(
        result.models.drop(columns=by_row),
        reference.models.drop(columns=by_row),
        rtol=1e-6,
    )
    assert_frame_equal(result.deviations, reference.deviations, rtol=1e-6, atol=1e-8)
    assert_frame_equal(result.historical, reference.historical, rtol=1e-6)
    assert_frame_equal(result.arrivals.models, reference.arrivals.models, rtol=1e-5)
    assert_frame_equal(
        result.arrivals.changes, reference.arrivals.changes, rtol=1e-5, atol=1e-8
    )
    assert_allclose(result.scale_z, reference.scale_z, rtol=1e-8)
    assert result.grouped == reference.grouped


SETTINGS = {
    "default": {},
    "random": {"item_effects": "random"},
    "plain": {"item_effects": None, "n_repeats": 2},
    "ridges": {"calibrator": JudgeCalibrator(LinearBias(alpha=(0.02, 0.5, 0.0)))},
    "two-step": {
        "historical_fit": "two-step",
        "calibrator": JudgeCalibrator(position_effect=False),
        "item_effects": None,
    },
}


@pytest.mark.parametrize("name", SETTINGS)
def test_placed_is_fitted(name, tmp_path):
    X, y, new = table()
    anchor = AnchorPipeline(random_state=0, **SETTINGS[name])
    path = tmp_path / "history" if name != "default" else None
    assert_same(*both_fits(anchor, X, y, new, path=path))


@pytest.mark.parametrize(
    "case", ["one judge", "a model wins all", "a judge of old models", "a lost model"]
)
def test_placed_is_fitted_with_little(case, tmp_path):
    # People vote on the first of two new models alone.
    X, y, new = table(2)
    keep = np.ones(len(X), dtype=bool)
    if case == "one judge":
        keep = X["judge"].isin(["human", "judge-1"]).to_numpy()
    elif case == "a judge of old models":
        keep = ~(is_late(X, new) & (X["judge"] == "judge-3").to_numpy())
    elif case == "a model wins all":
        y = y.mask(X["model_a"] == new[1], 1.0).mask(X["model_b"] == new[1], 0.0)
    else:
        # Its votes are left out of the history, and it is not on the board.
        X = pd.concat([X, X[:4].assign(model_a="loser")], ignore_index=True)
        y = pd.concat([y, pd.Series([0.0] * 4)], ignore_index=True)
        X.loc[np.flatnonzero(is_late(X, new))[-2:], "model_b"] = "loser"
        keep = np.ones(len(X), dtype=bool)
    X, y = X[keep].reset_index(drop=True), y[keep].reset_index(drop=True)
    anchor = AnchorPipeline(random_state=0)
    one, other = both_fits(anchor, X, y, new, path=tmp_path / "history")
    assert other.unbounded[-1] == (case == "a model wins all")
    if case != "a lost model":
        return assert_same(one, other)
    stays = one.models != "loser"
    assert other.models.tolist() == one.models[stays].tolist() != one.models.tolist()
    assert_allclose(other.estimates, one.estimates[:, stays], rtol=0, atol=1e-8)
    result, reference = other.covariances, one.covariances[:, stays][..., stays]
    assert_allclose(result, reference, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("features", "n_groups"), [(False, 870), (True, 870), (True, 40)]
)
def test_weights_and_groups(features, n_groups, tmp_path):
    X, y, new = table(features=features, seed=1)
    rng = np.random.default_rng(0)
    weight = rng.exponential(size=len(X))
    groups = np.array([f"prompt {i}" for i in rng.integers(0, n_groups, len(X))])
    anchor = AnchorPipeline(random_state=0, item_effects="random")
    assert_same(*both_fits(anchor, X, y, new, weight, groups, tmp_path / "history"))


def test_few_prompts_of_new_rows_are_prompts_of_the_history():
    """A table of rows would count as independent rows, which these do not."""
    X, y, new = table(n_new=1, seed=6)
    X = X.assign(prompt_id=np.arange(len(X)) % 300)
    history, rows, outcomes = fitted(X, y, new)
    rows, outcomes = rows[:40], outcomes[:40]
    for prompts in (np.arange(40) // 4, np.where(np.arange(40) < 4, np.nan, 7.0)):
        with_prompts = rows.assign(prompt_id=prompts)
        result = warnings_of(
            lambda with_prompts=with_prompts: history.place(with_prompts, outcomes)
        )
        assert quiet(history.place, with_prompts, outcomes).diagnostics.grouped
        assert not any("independent" in str(one) for one in result)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ties", ["half", "drop"])
def test_counts_are_equal_rows(ties, tmp_path):
    X, y, new = table(n_new=1, seed=8)
    is_new_row, times = is_late(X, new), np.arange(len(X)) % 3
    copies = np.repeat(np.arange(len(X)), times)
    listed = AnchorPipeline(cv=N_FOLDS, random_state=0, ties=ties)
    counted = clone(listed).set_params(weights="frequency")
    history, *_ = fitted(X, y, new, counted, sample_weight=times[~is_new_row])
    history.save(tmp_path / "history")
    history = AnchorHistory.load(tmp_path / "history")
    one = history.place(X[is_new_row], y[is_new_row], times[is_new_row])
    history, rows, outcomes = fitted(X.iloc[copies], y.iloc[copies], new, listed)
    other = history.place(rows, outcomes)
    assert_allclose(one.estimates, other.estimates, rtol=0, atol=1e-9)
    assert_allclose(one.covariances, other.covariances, rtol=0, atol=1e-9)
    assert one.inputs.n_ties == other.inputs.n_ties == (outcomes == 0.5).sum() > 0


def fitted(X, y, new, anchor=None, **options):
    """A history without the rows of new models, and these rows."""
    is_new_row = is_late(X, new)
    anchor = anchor or AnchorPipeline(cv=N_FOLDS, random_state=0)
    history = quiet(
        AnchorHistory(anchor).fit, X[~is_new_row], y[~is_new_row], **options
    )
    return history, X[is_new_row], y[is_new_row]


@pytest.fixture(scope="module")
def simple():
    X, y, new = table(n_new=1, seed=3)
    return (X, y, new, *fitted(X, y, new))


@pytest.fixture(scope="module")
def grouped():
    """A history with groups, rows of a new model, and the groups of these."""
    X, y, new = table(n_new=1, seed=6)
    groups = np.arange(len(X)) % 300
    is_new_row = is_late(X, new)
    return *fitted(X, y, new, groups=groups[~is_new_row]), groups[is_new_row]


@pytest.mark.filterwarnings("ignore")
def test_saved_is_what_was_fitted(simple, tmp_path):
    X, y, new, *_, rows, outcomes = simple
    prior = {"item_effects": "random", "item_prior": np.array([0.4, 3.0])}
    anchor = AnchorPipeline(cv=N_FOLDS, random_state=0, **prior)
    history, *_ = fitted(X, y, new, anchor)
    history.save(tmp_path / "one")
    again = AnchorHistory.load(tmp_path / "one")
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert again.anchor.cv == N_FOLDS and again.anchor.item_prior == (0.4, 3.0)
    assert again.models_.tolist() == history.models_.tolist()
    reference, result = (item.place(rows, outcomes) for item in (history, again))
    np.testing.assert_array_equal(result.estimates, reference.estimates)
    np.testing.assert_array_equal(result.covariances, reference.covariances)
    with pytest.raises(FileExistsError):
        history.save(tmp_path / "one", overwrite=False)
    for odd in ({"j": object()}, {"j": np.array(["linear"])}):
        history.anchor.set_params(calibrator=JudgeCalibrator(odd))
        with pytest.raises(BattlesError, match=r"stored in a file"):
            history.save(tmp_path / "odd")
    assert not (tmp_path / "odd").exists()


def test_the_file_does_not_grow_with_the_rows(tmp_path):
    sizes = []
    for n in (1200, 4800):
        data = simulate_battles(n, 50, n_models=6, n_features=2, random_state=0)
        new = ["new-model"]
        history, *_ = fitted(data.X, np.asarray(data.y), new)
        history.save(tmp_path / "history")
        sizes.append((tmp_path / "history").stat().st_size)
    # What is kept of features of the first 500 rows of each judge.
    assert sizes[1] < 1.2 * sizes[0] + 3 * 500 * 2 * 8


def test_damaged_foreign_and_newer_files_are_refused(simple, tmp_path):
    """`io.test_archive` cuts a file and flips its bits at many more places."""
    path = tmp_path / "history"
    simple[3].save(path)
    whole = path.read_bytes()
    for content in (
        whole[: len(whole) // 2],
        whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
        whole.replace(b"format 2", b"format 1", 1),
        whole.replace(b"format 2", b"format 3", 1),
        b"model_a,model_b,winner\n",
    ):
        path.write_bytes(content)
        with pytest.raises(BattlesError, match=r"Build it again: AnchorHistory"):
            AnchorHistory.load(path)
    write_archive(path, {"models": []}, {})
    with pytest.raises(BattlesError, match=r"is no history that can be read .KeyError"):
        AnchorHistory.load(path)
    with pytest.raises(FileNotFoundError):
        AnchorHistory.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "value"),
    [("indices", 10**6), ("indices", -1), ("indptr", 10**9), ("indptr", -3)],
)
def test_sums_of_models_that_are_not_there_are_refused(grouped, tmp_path, name, value):
    """A product with them would read memory beyond the arrays."""
    path = tmp_path / "history"
    grouped[0].save(path)
    stored = read_archive(path)
    stored.arrays[f"state.fits.groups.0.scores.{name}"][1] = value
    write_archive(path, stored.header, stored.arrays)
    with pytest.raises(BattlesError, match=r"is no history that can be read"):
        AnchorHistory.load(path)


def test_arrays_of_any_other_shape_or_kind_are_refused(grouped, tmp_path):
    """Each array is cut, or has one more axis, or other numbers."""
    path = tmp_path / "history"
    grouped[0].save(path)
    whole = read_archive(path)
    for name, array in whole.arrays.items():
        if name.endswith(".contrasts"):
            # Of however many rows.
            continue
        kind = float if array.dtype == bool else bool
        for other in (array[:-1], array[None], array.astype(kind)):
            if other.shape != array.shape or other.dtype != array.dtype:
                write_archive(path, whole.header, whole.arrays | {name: other})
                with pytest.raises(BattlesError, match=r"is no history that can be"):
                    AnchorHistory.load(path)


def parts_of(content, path=()):
    """Paths to the parts of a header."""
    inner = enumerate(content[:3]) if isinstance(content, list) else ()
    for key, one in content.items() if isinstance(content, dict) else inner:
        yield (*path, key)
        yield from parts_of(one, (*path, key))


DEEP = json.loads("[" * 900 + "]" * 900)
ODD = (None, -1, 10**30, "", [], {"list": []}, {"class": "Layout", "values": {}}, DEEP)


@pytest.mark.filterwarnings("ignore")
def test_a_header_with_anything_else_in_it_is_refused_or_read(simple, tmp_path):
    """No change of a header ends in another error, when it is read or used."""
    path, (*_, history, new_rows, outcomes) = tmp_path / "history", simple
    history.save(path)
    whole, refused = read_archive(path), 0
    places = list(parts_of(whole.header))
    rng = np.random.default_rng(0)
    for number in rng.choice(len(places), 100, replace=False):
        header = inner = copy.deepcopy(whole.header)
        *steps, last = places[number]
        for key in steps:
            inner = inner[key]
        inner[last] = ODD[number % len(ODD)]
        write_archive(path, header, whole.arrays)
        try:
            AnchorHistory.load(path).place(new_rows, outcomes)
        except (BattlesError, ValueError):
            refused += 1
    assert refused > 70


class OwnBias(LinearBias):
    """A learner of a user, linear in fixed columns."""


def folds_of(history, labels):
    """Fold of each label that a history has rows of."""
    codes = label_codes(np.array(labels, dtype=object), "groups")
    pairs = zip(labels, history.state_.folds_of(codes)[0].tolist(), strict=True)
    return {label: fold for label, fold in pairs if fold >= 0}


START = pd.Timestamp("2024-01-01")
TYPED = {
    "numbers": lambda k: pd.Series(k),
    "gaps": lambda k: pd.Series(k).mask(k % 10 == 0),
    "texts": lambda k: pd.Series(k).astype(str),
    "times": lambda k: START + pd.to_timedelta(k * 1.0001, unit="h"),
    "zones": lambda k: (START + pd.to_timedelta(k, unit="h")).tz_localize(
        "Europe/Berlin", ambiguous=True
    ),
    "decimals": lambda k: pd.Series([Decimal(number) / 4 for number in k.tolist()]),
    "bytes": lambda k: pd.Series([b"%d" % number for number in k.tolist()]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "by_batches"),
    [*((kind, True) for kind in TYPED),
     *((kind, False) for kind in ("numbers", "gaps", "texts", "times", "decimals"))],
)  # fmt: skip
def test_prompts_of_any_type_meet_again(kind, by_batches, tmp_path):
    """Their types differ between libraries, and files of text have texts."""
    X, y, new = table(n_new=1, features=False, seed=6)
    numbers = np.random.default_rng(0).integers(0, 500, len(X))
    is_new_row = is_late(X, new)
    old = X[~is_new_row].assign(prompt_id=TYPED[kind](numbers)[~is_new_row])
    # Those of a history of texts come as numbers.
    rows = X[is_new_row].assign(
        prompt_id=TYPED["numbers" if kind == "texts" else kind](numbers)[is_new_row]
    )
    anchor = AnchorPipeline(cv=N_FOLDS, random_state=0, item_effects=None)
    if by_batches:
        history = fit_history([old.assign(winner=y[~is_new_row])], anchor)
    else:
        history = AnchorHistory(anchor).fit(old, y[~is_new_row])
    (plan,) = history.fold_plan_
    fold = {}
    for number, (_, test) in enumerate(plan):
        fold |= dict.fromkeys(numbers[~is_new_row][test].tolist(), number)
    history.save(tmp_path / "history")
    history = AnchorHistory.load(tmp_path / "history")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    # Of a column with gaps the file has "45.0", which as a text is another prompt.
    dtype = None if kind == "gaps" else {"prompt_id": str}
    texts = pd.read_csv(tmp_path / "rows.csv", dtype=dtype)
    for as_table in (rows, pa.Table.from_pandas(rows), texts):
        seen = 0
        placed = history.place(as_table, y[is_new_row])
        for number, (_, test) in enumerate(placed.fold_plan[0]):
            # A group of the history is in the fold that holds its other rows.
            for label in numbers[is_new_row][test].tolist():
                if kind == "gaps" and label % 10 == 0:
                    continue
                seen += label in fold
                assert fold.get(label, number) == number
        assert seen > 50


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_repeats", [1, 2])
def test_updated_from_counts_is_a_fit_of_all_rows(n_repeats, tmp_path):
    old, past, arrivals, outcomes = bare_history()
    anchor = AnchorPipeline(cv=N_FOLDS, random_state=0, n_repeats=n_repeats)
    history = AnchorHistory(anchor).fit(old[:2000], past[:2000])
    history.save(tmp_path / "history")
    history = AnchorHistory.load(tmp_path / "history")
    before = history.state_.counts
    with pytest.raises(BattlesError, match="without groups and weights"):
        history.update(old[2000:], past[2000:], np.full(len(old) - 2000, 0.5))
    weighted = clone(history).fit(old, past, np.full(len(old), 2.0))
    with pytest.raises(BattlesError, match="has features, groups or weights, so"):
        weighted.update(old[2000:], past[2000:])
    history.update(old[2000:], past[2000:])
    assert history.updated_from_ == "counts"
    placed = history.place(arrivals, outcomes)
    # The old rows as the counts list them, then the new ones, in the same folds.
    listed = np.repeat(np.arange(len(before.counts)), before.counts)
    whole = pd.concat([before.table().loc[listed], old[2000:]])
    values = np.append(before.outcomes[listed], past[2000:])
    plans = [list(plan) for plan in history.fold_plan_]
    again = AnchorHistory(clone(anchor).set_params(cv=plans)).fit(whole, values)
    fresh = again.place(arrivals, outcomes, cv=placed.fold_plan)
    assert sum(history.state_.counts.counts) == len(old)
    assert_allclose(placed.estimates, fresh.estimates, rtol=0, atol=1e-9)
    assert_allclose(placed.covariances, fresh.covariances, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_with_features_the_old_rows_are_needed_again(simple):
    X, y, new, history, new_rows, outcomes = simple
    history = clone(history).fit(X[~is_late(X, new)], y[~is_late(X, new)])
    votes = new_rows[:40].assign(judge="human")
    with pytest.raises(BattlesError, match=r"fitted on all rows.* as past"):
        history.promote(new[0], votes, outcomes[:40])
    old = ~is_late(X, new)
    more = pd.concat([new_rows, votes], ignore_index=True)
    results = np.concatenate([outcomes, outcomes[:40]])
    history.promote(new[0], more, results, past=(X[old], y[old]))
    assert history.updated_from_ == "rows"
    assert new[0] in history.models_
    with pytest.raises(BattlesError, match="is historical already"):
        history.promote(new[0], more, results)
    judged = X[old].assign(model_a="another", judge="judge-1")
    with pytest.raises(BattlesError, match="has no human row here"):
        history.promote("another", judged, y[old])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by_column", [True, False])
def test_updates_join_groups_and_weights_of_old_and_new_rows(by_column):
    old, past, rows, outcomes = bare_history()
    labels = np.array([f"p{i % 90}" for i in range(len(old))])
    old["prompt"] = labels
    weight = np.r_[np.ones(2000), np.full(len(old) - 2000, 0.5)]
    first, others = slice(None, 2000), slice(2000, None)
    groups = ["prompt"] * 3 if by_column else [labels[first], labels[others], labels]
    history = AnchorHistory(AnchorPipeline(cv=N_FOLDS, random_state=0))
    whole = clone(history).fit(old, past, weight, groups[2])
    history.fit(old[first], past[first], groups=groups[0])
    before = old[first], past[first], None, groups[0]
    added = old[others], past[others], weight[others]
    with pytest.raises(BattlesError, match="has features, groups or weights, so"):
        history.update(*added, groups[1])
    for other in ("model_a", "auto", None):
        with pytest.raises(BattlesError, match="groups of one kind"):
            history.update(*added, groups=other, past=before)
    history.update(*added, groups[1], past=before)
    one, other = (
        item.place(rows, outcomes, groups=np.arange(len(rows))).estimates
        for item in (history, whole)
    )
    assert_allclose(one, other, rtol=0, atol=1e-9)
    with pytest.raises(TypeError, match="pandas, polars or pyarrow table"):
        history.update(history.state_, past[others], past=(old, past))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("update", ["counts", "rows"])
def test_rows_that_are_added_again_are_told(update, tmp_path):
    X, y, *_ = bare_history()
    anchor = AnchorPipeline(cv=N_FOLDS, random_state=0, item_effects=None)
    history = AnchorHistory(anchor).fit(X[:1200], y[:1200])
    past = None if update == "counts" else (X[:1200], y[:1200])
    added = X[1200:1800], y[1200:1800]
    assert not any("already" in str(one) for one in warnings_of(
        lambda: history.update(*added, past=past)))  # fmt: skip
    history.save(tmp_path / "history")
    history = AnchorHistory.load(tmp_path / "history")
    for again in (added, (X[:1200], y[:1200])):
        result = warnings_of(lambda again=again: history.update(*again, past=past))
        assert sum("already: they count twice" in str(one) for one in result) == 1


def _positions(history):
    fits = history.state_.fits
    return fits.x[0][fits.layout.position_effects][1:]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("update", ["counts", "rows"])
@pytest.mark.parametrize("shown", [(None, None), (None, "model_a"), ("-", "model_a"),
                                   ("model_a", "-"), ("-", None)])  # fmt: skip
def test_updates_keep_what_each_row_says_of_the_display(shown, update):
    X, y, *_ = bare_history()
    X = X.drop(columns="shown_first")
    # Judges favour the first side.
    favour = (X["judge"] != "human") & (np.arange(len(X)) % 4 == 0)
    y = np.where(favour, 1.0, y)
    # A table without the column says that the first model was shown first.
    old, others = (
        part if side == "-" else part.assign(shown_first=side)
        for part, side in zip((X[:1200], X[1200:]), shown, strict=True)
    )
    anchor = AnchorPipeline(cv=N_FOLDS, random_state=0, item_effects=None)
    history = AnchorHistory(anchor).fit(old, y[:1200])
    past = None if update == "counts" else (old, y[:1200])
    history.update(others, y[1200:], past=past)
    assert history.updated_from_ == update
    sides = [side if side != "-" else "model_a" for side in shown]
    whole = X.assign(shown_first=np.where(np.arange(len(X)) < 1200, *sides))
    expected = AnchorHistory(anchor).fit(whole, y)
    mine, theirs = (_positions(item) for item in (history, expected))
    assert mine.any() == theirs.any() == (shown != (None, None))
    if mine.any():
        assert_allclose(mine, theirs, rtol=1e-5)
        assert (np.abs(mine) > 0.2).all()


def test_updates_from_counts_name_features_that_are_not_used():
    X, y, *_ = bare_history()
    anchor = AnchorPipeline(cv=N_FOLDS, random_state=0, item_effects=None)
    history = AnchorHistory(anchor).fit(X[:1200], y[:1200])
    others = X[1200:].assign(size_a=1.0, size_b=2.0)
    with pytest.warns(DataWarning, match=r"features \['size'\] are not used"):
        history.update(others, y[1200:])
    assert not len(history.features_)


def test_changed_judges_are_refused(simple):
    X, y, new, _, new_rows, outcomes = simple
    reference = {
        f"judge-{i}": judge_fingerprint(f"judge-{i}", "prompt") for i in (1, 2)
    }
    history, *_ = fitted(X, y, new, fingerprints=reference)
    other = reference | {"judge-2": judge_fingerprint("judge-2", "another prompt")}
    with pytest.raises(BattlesError, match=r"Judges \['judge-2'\] have changed"):
        history.place(new_rows, outcomes, fingerprints=other)
    with pytest.warns(DataWarning, match=r"no fingerprint of judges \['judge-3'\]"):
        history.place(new_rows, outcomes, fingerprints=reference | {"judge-3": "x"})
    with pytest.warns(DataWarning, match="fingerprints of judges .*, and none"):
        history.place(new_rows, outcomes)


def test_what_cannot_be_kept_is_refused_by_name(simple, tmp_path):
    X, y, new, *_ = simple
    boosted = JudgeCalibrator(BoostedBias(max_rounds=2))
    other = RieszDebiaser(LinearBias(alpha=1.0))
    equal = ArrivalScorer(equation="unweighted")
    for anchor, kind, message in (
        (AnchorPipeline(cv=2, calibrator=boosted), LearnerError, "has no span.*linear"),
        (AnchorPipeline(cv=2, debiaser="passthrough"), BattlesError, "passthrough"),
        (AnchorPipeline(cv=2, debiaser=other), LearnerError, "learner of the bias"),
        (AnchorPipeline(cv=2, arrival=equal), BattlesError, "than 'likelihood'"),
        (AnchorPipeline(new_models=np.array(["a", "b"])), BattlesError, "have new_mod"),
    ):
        with pytest.raises(kind, match=message):
            fitted(X, y, new, anchor)
    judged = ~is_late(X, new) | (X.judge != "human").to_numpy()
    with pytest.raises(BattlesError, match=r"no human row.*place them with it"):
        AnchorHistory().fit(X[judged], y[judged])
    for learner in (LinearBias(SplineTransformer(3)), OwnBias()):
        anchor = AnchorPipeline(cv=2, calibrator=JudgeCalibrator(learner))
        history, *_ = fitted(X, y, new, anchor)
        with pytest.raises(
            BattlesError, match=r"judge-1.* cannot be stored .*fit Anch"
        ):
            history.save(tmp_path / "history")


@pytest.mark.filterwarnings("ignore")
def test_arrivals_that_cannot_be_placed_are_refused(simple):
    X, y, new, history, new_rows, outcomes = simple
    with pytest.raises(BattlesError, match="There is no new model"):
        history.place(X[~is_late(X, new)], y[~is_late(X, new)])
    with pytest.raises(BattlesError, match="has no comparison with a model of the"):
        history.place(new_rows.assign(judge="stranger"), outcomes)
    with pytest.raises(BattlesError, match=r"these rows lack \['x1'\]"):
        history.place(new_rows.drop(columns=["x1_a", "x1_b"]), outcomes)
    with pytest.raises(BattlesError, match="fitted without groups"):
        history.place(new_rows, outcomes, groups=np.arange(len(new_rows)))
    with pytest.raises(ValueError, match=r"cv must have \[3\] folds"):
        history.place(new_rows, outcomes, cv=2)


def test_rows_that_place_nobody_are_told(simple):
    X, y, new, history, new_rows, outcomes = simple
    both = pd.concat([new_rows, X[~is_late(X, new)][:7]])
    with pytest.warns(DataWarning, match="Rows that compare historical models .*: 7"):
        history.place(both, np.concatenate([outcomes, y[~is_late(X, new)][:7]]))
    with pytest.warns(DataWarning, match=r"features \['x9'\] are not used"):
        result = history.place(new_rows.assign(x9_a=0.5, x9_b=0.25), outcomes)
    assert_allclose(result.estimates, history.place(new_rows, outcomes).estimates)
    strange = new_rows.copy()
    strange.iloc[-3:, strange.columns.get_loc("judge")] = "stranger"
    with pytest.warns(DataWarning, match=r"does not know the judges \['stranger'\]"):
        history.place(strange, outcomes)


@pytest.mark.filterwarnings("ignore")
def test_groups_of_the_history_keep_their_fold(grouped):
    history, rows, outcomes, groups = grouped
    result = history.place(rows, outcomes, groups=groups)
    for number, (_, test) in enumerate(result.fold_plan[0]):
        assert set(folds_of(history, groups[test].tolist()).values()) <= {number}
    with pytest.raises(BattlesError, match="give the groups of these rows"):
        history.place(rows, outcomes)
    halves = [(np.arange(0, len(rows), 2), np.arange(1, len(rows), 2))]
    halves = [*halves, halves[0][::-1], (np.arange(len(rows)), np.arange(0))]
    with pytest.raises(ValueError, match=r"rows of its group in another|tear"):
        history.place(rows, outcomes, groups=groups, cv=halves)
