"""Groups of dependent rows in a stream: those of a fit in memory in the same folds."""

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from streams import battles, in_pieces, tables

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io.reading import read_given
from skanchor.streaming import (
    StreamOptions,
    _grouping,
    _survey_result,
    stream_history,
)
from skanchor.streaming._groups import (
    GroupLabels,
)
from skanchor.streaming._hashes import group_hashes

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

EXACT = StreamOptions(pilot_rows=10**6)


@pytest.fixture(scope="module")
def prompted():
    """History and arrivals with prompts of three rows on average, scattered."""
    table, late = tables()
    rng, n = np.random.default_rng(0), len(table) // 3
    # Rows without a prompt are groups of their own.
    prompts = pd.Series([f"p{k}" for k in rng.integers(0, n, len(table))])
    table = table.assign(prompt_id=prompts.mask(rng.random(len(table)) < 0.05))
    return table, late.assign(
        prompt_id=[f"p{k}" for k in rng.integers(0, n, len(late))]
    )


def streamed(table, anchor, size=700, **settings):
    pieces = in_pieces(battles(table).assign(winner=table["winner"]), size)
    return stream_history(pieces, anchor, **{"options": EXACT, **settings})


def in_memory(table, found, anchor):
    plans = found.folds.plans(len(table), groups=table["prompt_id"])
    cv = plans if len(plans) > 1 else plans[0]
    same = AnchorPipeline(**{**anchor.get_params(deep=False), "cv": cv})
    return AnchorHistory(same).fit(battles(table), table["winner"])


def errors(history, late):
    result = history.place(battles(late), late["winner"])
    return np.r_[result.scores, result.standard_errors, result.parts.ravel()]


@pytest.mark.parametrize(
    ("item_effects", "historical_fit", "n_repeats"),
    [("none", "joint", 2), ("none", "two-step", 1), ("auto", "two-step", 1)],
)
def test_streamed_groups_are_those_in_memory(
    prompted, item_effects, historical_fit, n_repeats
):
    table, late = prompted
    anchor = AnchorPipeline(
        cv=3,
        n_repeats=n_repeats,
        random_state=0,
        item_effects=item_effects,
        historical_fit=historical_fit,
    )
    found = streamed(table, anchor)
    assert found.groups == "prompt_id"
    memory = in_memory(table, found, anchor)
    mine, theirs = found.state, memory.state_
    assert len(mine.groups.labels) == len(theirs.groups.labels)
    own = dict(zip(mine.groups.labels, mine.groups.folds.T.tolist(), strict=True))
    assert own == dict(
        zip(theirs.groups.labels, theirs.groups.folds.T.tolist(), strict=True)
    )
    # The joint fit stops when its step is short, and so do the fits of folds.
    rtol = 1e-6 if historical_fit == "two-step" and item_effects == "none" else 1e-4
    placed, expected = errors(found.history, late), errors(memory, late)
    assert_allclose(placed, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    assert mine.treatment == theirs.treatment
    assert_allclose(mine.check.p_value, theirs.check.p_value, rtol=1e-6)
    if item_effects == "none":
        assert_allclose(mine.sums.noise, theirs.sums.noise, rtol=1e-5)
    assert_allclose(mine.human_errors, theirs.human_errors, rtol=1e-8)
    # Rows taken as independent have other errors.
    alone = streamed(table, anchor, options=StreamOptions(groups=None))
    assert alone.groups is None and alone.state.groups is None
    assert np.abs(mine.human_errors - alone.state.human_errors).max() > 1e-3


def test_however_a_stream_is_cut(prompted, tmp_path):
    table, late = prompted
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    one = streamed(table, anchor)
    with joblib.parallel_config(backend="threading"):
        two = streamed(table, clone(anchor).set_params(n_jobs=2), size=5000)
    assert_allclose(errors(one.history, late), errors(two.history, late), rtol=1e-6)
    one.history.save(tmp_path / "history")
    loaded = AnchorHistory.load(tmp_path / "history")
    assert_array_equal(errors(one.history, late), errors(loaded, late))


def test_rows_with_prompts_may_come_in_any_order(prompted):
    table, late = prompted
    # The fold of a row without a prompt is that of its number.
    table = table[table["prompt_id"].notna()]
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    expected = streamed(table, anchor)
    orders = (
        table.sort_values("judge", kind="stable"),
        table.sample(frac=1.0, random_state=1),
    )
    for turned in orders:
        found = streamed(turned, anchor)
        for part in ("labels", "folds"):
            assert_array_equal(
                getattr(found.state.groups, part), getattr(expected.state.groups, part)
            )
        assert_allclose(
            errors(found.history, late), errors(expected.history, late), rtol=1e-6
        )


@pytest.mark.parametrize("size", [500, 800])
def test_a_stream_with_groups_that_is_cut_in_another_way_is_refused(prompted, size):
    table, _ = prompted
    rows = battles(table).assign(winner=table["winner"])
    sizes = iter([700, size])
    options = StreamOptions(groups="prompt_id")
    anchor = AnchorPipeline(cv=3, random_state=0)
    with pytest.raises(
        BattlesError, match=f"there were 700 rows from number 0 on, and now .* {size}"
    ):
        stream_history(
            lambda: iter(in_pieces(rows, next(sizes))), anchor, options=options
        )


def test_prompts_decide_by_default(prompted):
    table, _ = prompted
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    plain = StreamOptions()
    once = table.assign(prompt_id=np.arange(len(table)))
    found = streamed(once, anchor, options=plain)
    assert found.groups is None
    bare = streamed(table.drop(columns="prompt_id"), anchor, options=plain)
    assert_array_equal(found.state.fits.x[0], bare.state.fits.x[0])
    with pytest.warns(DataWarning, match="has only 29 different values, too few"):
        few = streamed(table.assign(prompt_id=once["prompt_id"] % 29), anchor)
    assert few.groups is None
    other = table.rename(columns={"prompt_id": "question"})
    named = streamed(other, anchor, options=StreamOptions(groups="question"))
    assert named.groups == "question" and len(named.state.groups.labels) > 1000
    numbers = streamed(
        table.assign(prompt_id=once["prompt_id"] // 3), anchor, options=plain
    )
    assert numbers.state.groups.labels.dtype.kind == "i"


def test_prompts_that_are_numbers_with_gaps_are_those_of_arrivals(prompted):
    table, late = (
        one.assign(prompt_id=pd.to_numeric(one["prompt_id"].str[1:]))
        for one in prompted
    )
    assert table["prompt_id"].dtype == float and late["prompt_id"].dtype == int
    anchor = AnchorPipeline(
        cv=3, random_state=0, item_effects="none", historical_fit="two-step"
    )
    found = streamed(table, anchor)
    expected = errors(in_memory(table, found, anchor), late)
    atol = 1e-6 * np.abs(expected).max()
    assert_allclose(errors(found.history, late), expected, rtol=1e-6, atol=atol)


def test_raters_who_vote_repeatedly_are_not_ignored_in_silence(prompted):
    """A table in memory has errors by rater; a stream says that it has none."""
    table = prompted[0].drop(columns="prompt_id")
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    human = table["judge"] == "human"
    raters = pd.Series(np.arange(len(table)).astype(str)).where(human)
    streamed(table.assign(rater=raters), anchor, options=StreamOptions())
    voted = (np.arange(len(table)) % 40).astype(str)
    repeated = table.assign(rater=pd.Series(voted).where(human))
    with pytest.warns(DataWarning, match="no sums by rater.* column 'rater' names"):
        streamed(repeated, anchor, options=StreamOptions())
    streamed(repeated, anchor, options=StreamOptions(groups=None))


def test_sums_that_do_not_fit_are_refused(prompted, monkeypatch):
    monkeypatch.setattr(_grouping, "available_bytes", lambda: 1e5)
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    with pytest.raises(
        BattlesError, match=r"sums of \d+ groups of dependent rows take"
    ):
        streamed(prompted[0], anchor)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([3, 1, 3], [1, 3]),
        ([3, None, 3], [3, "row 8 without a prompt"]),
        (np.array([2**63 + 5, 1, 1], np.uint64), [1, 2**63 + 5]),
        ([2.5, 1.0, 1.0], [1.0, 2.5]),
        ([5.0, None, 5.0], [5, "row 8 without a prompt"]),
        ([True, None, True], ["True", "row 8 without a prompt"]),
        ([None, None], ["row 7 without a prompt", "row 8 without a prompt"]),
        (["3", "", None], ["", "3", "row 9 without a prompt"]),
        ([], []),
    ],
)
def test_labels_are_those_that_arrivals_have(values, labels):
    """Numbers equal numbers, also where rows without a prompt have texts as labels."""
    column = pa.array(values)
    hashes = group_hashes(pa.chunked_array([column]), 7)
    known = GroupLabels.of(hashes, pa.chunked_array([column]), 7).labels.tolist()
    assert set(known) == set(labels)
    coded = pa.chunked_array([column.dictionary_encode()])
    assert_array_equal(group_hashes(coded, 7), hashes)
    assert GroupLabels.of(hashes, coded, 7).labels.tolist() == known


def test_groups_that_are_no_labels_are_refused_by_name(prompted):
    table = prompted[0]
    n = np.arange(len(table))
    months = pd.period_range("2000-01", periods=600, freq="M")[n % 600]
    for odd in (
        months,
        pd.Categorical(months),
        pd.arrays.IntervalArray.from_breaks(np.arange(len(n) + 1)),
        [[k] for k in n],
        [{"k": k} for k in n],
    ):
        for column, groups in (("month", "month"), ("prompt_id", "auto")):
            found = table.assign(**{column: odd})
            with pytest.raises(BattlesError, match=f"Column '{column}' of groups has"):
                streamed(
                    found, AnchorPipeline(cv=2), options=StreamOptions(groups=groups)
                )
    # What Arrow has no type for, in any column.
    for odd in (1j * n, pd.Series(2**70 + n.astype(object))):
        with pytest.raises(BattlesError, match="Column 'z' of a table"):
            streamed(table.assign(z=odd), AnchorPipeline(cv=2))
    mixed = pd.Series(n, dtype=object).where(n > 3, "a")
    with pytest.raises(TypeError, match="for column z with type"):
        streamed(table.assign(z=mixed), AnchorPipeline(cv=2))


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.AssumptionWarning")
def test_groups_of_a_feature_are_told(prompted, tmp_path):
    """In memory, in a stream, and from a file, whose labels are read as texts."""
    table = prompted[0].drop(columns="prompt_id")
    table = table.assign(x1_a=table["x1_a"].round(1) + 0.0)
    anchor = AnchorPipeline(cv=2, item_effects="none", random_state=0)
    with pytest.warns(DataWarning, match="values of 'x1_a', a column of feature 'x1'"):
        found = streamed(table, anchor, options=StreamOptions(groups="x1_a"))
    assert len(found.history.state_.groups.labels) == table["x1_a"].nunique()
    with pytest.warns(DataWarning, match="values of 'x1_a', a column of feature 'x1'"):
        AnchorHistory(anchor).fit(battles(table), table["winner"], groups="x1_a")
    table.to_csv(path := tmp_path / "battles.csv", index=False)
    assert read_given({"path": [path]}, ["x1_a"], 0)["x1_a"].dtype == float


def test_large_streams_take_the_dispersion_from_a_sample(prompted, monkeypatch):
    table, late = prompted
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    whole = streamed(table, anchor)
    monkeypatch.setattr(_survey_result, "SAMPLED", 400)
    found, again = streamed(table, anchor), streamed(table, anchor, size=1500)
    noise, expected = found.state.sums.noise, whole.state.sums.noise
    # People's is that of all votes. A judge's has about 400 groups here.
    assert noise[-1] == expected[-1]
    assert (noise[:-1] != expected[:-1]).all()
    assert_allclose(noise, expected, rtol=4 * (2 / 400) ** 0.5)
    # The sample depends on the labels alone.
    assert_allclose(again.state.sums.noise, noise, rtol=1e-6)
    # It scales tests, and by these the widening of errors, but no score.
    mine, theirs = errors(found.history, late), errors(whole.history, late)
    assert mine[0] == theirs[0]
    assert_allclose(mine, theirs, rtol=0.02)
