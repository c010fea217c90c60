"""Groups of dependent rows in a stream: those of a fit in memory in the same folds."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from streams import battles, in_pieces, tables

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.streaming import StreamOptions, _grouping, stream_history
from skanchor.streaming._groups import (
    GroupSketch,
    GroupTable,
    group_hashes,
)

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
    # The joint fit stops when its step is short; all else is the same to rounding.
    rtol = 1e-8 if historical_fit == "two-step" and item_effects == "none" else 1e-4
    placed, expected = errors(found.history, late), errors(memory, late)
    assert_allclose(placed, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    assert mine.treatment == theirs.treatment
    assert_allclose(mine.check.p_value, theirs.check.p_value, rtol=1e-6)
    if item_effects == "none":
        assert_allclose(mine.sums.noise, theirs.sums.noise, rtol=1e-5)
    one, other = (state.history.whole.btl for state in (mine, theirs))
    assert_allclose(one.standard_errors_, other.standard_errors_, rtol=1e-8)
    # Rows taken as independent have other errors.
    alone = streamed(table, anchor, options=StreamOptions(groups=None))
    assert alone.groups is None and alone.state.groups is None
    by_row = alone.state.history.whole.btl.standard_errors_
    assert np.abs(one.standard_errors_ - by_row).max() > 1e-3


def test_however_a_stream_is_cut(prompted, tmp_path):
    table, late = prompted
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    one = streamed(table, anchor)
    two = streamed(table, anchor, size=5000, n_jobs=2)
    assert_allclose(errors(one.history, late), errors(two.history, late), rtol=1e-6)
    one.history.save(tmp_path / "history")
    loaded = AnchorHistory.load(tmp_path / "history")
    assert_array_equal(errors(one.history, late), errors(loaded, late))
    # Rows of a batch that is sorted by prompt are the same rows.
    turned = streamed(table.sort_values("prompt_id"), anchor)
    state = turned.state.groups
    own = dict(zip(state.labels, state.folds[0], strict=True))
    known = one.state.groups
    for label, fold in zip(known.labels, known.folds[0], strict=True):
        if not label.startswith("row "):
            assert own[label] == fold


def test_an_interrupted_stream_with_groups_goes_on(prompted, tmp_path):
    table, late = prompted
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    pieces = in_pieces(battles(table).assign(winner=table["winner"]), 700)
    left = [20]

    def source():
        for piece in pieces:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            yield piece

    options = StreamOptions(job_rows=1)
    path = tmp_path / "checkpoint"
    settings = {"options": options, "checkpoint": path}
    for stop in (20, 30, -1):
        left[0] = stop
        try:
            found = stream_history(source, anchor, **settings)
        except KeyboardInterrupt:
            continue
    whole = stream_history(lambda: iter(pieces), anchor, options=options)
    assert_array_equal(errors(found.history, late), errors(whole.history, late))


def test_prompts_decide_by_default(prompted):
    table, _ = prompted
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    plain = StreamOptions()
    once = table.assign(prompt_id=np.arange(len(table)))
    found = streamed(once, anchor, options=plain)
    assert found.groups is None
    bare = streamed(table.drop(columns="prompt_id"), anchor, options=plain)
    assert_array_equal(
        found.stored.whole.X.sensitivities, bare.stored.whole.X.sensitivities
    )
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


def test_sketch_of_prompts(monkeypatch):
    monkeypatch.setattr("skanchor.streaming._groups._SKETCH", 500)
    rng = np.random.default_rng(0)

    def columns(values):
        return (pa.chunked_array([part]) for part in np.array_split(values, 9))

    many = rng.permutation(np.repeat(np.arange(20_000), 2))
    sketch = GroupSketch.of(columns(many))
    assert sketch.repeats and not sketch.is_whole and len(sketch.sizes) == 500
    # Of 500 groups, their number has a relative error of 500 ** -0.5.
    assert 0.8 < sketch.n_groups / 20_000 < 1.25
    assert (sketch.sizes == 2).all()
    assert not GroupSketch.of(columns(np.arange(20_000))).repeats
    few = GroupSketch.of(columns(np.arange(20_000) % 40))
    assert few.is_whole and few.n_groups == 40 and few.sizes.sum() == 20_000


def test_hashes_are_those_of_the_labels():
    column = pa.chunked_array([["a", None, "b"], ["a", None]])
    hashes, known, labels = group_hashes(column, 10)
    assert hashes[0] == hashes[3] and len(set(hashes.tolist())) == 4
    told = dict(zip(known.tolist(), labels.tolist(), strict=True))
    assert [told[code] for code in hashes.tolist()] == [
        "a",
        "row 11 without a prompt",
        "b",
        "a",
        "row 14 without a prompt",
    ]
    other = group_hashes(pa.chunked_array([["b", "a"]]))[0]
    assert_array_equal(other, hashes[[2, 0]])


def test_sums_by_group_are_gathered_in_any_order():
    rng = np.random.default_rng(1)
    keys, values = rng.integers(0, 50, (400, 2)), rng.random((400, 3))
    total = GroupTable.of(keys.T, values)
    parts = [GroupTable.of(keys[i::7].T, values[i::7]) for i in range(7)]
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    frame = pd.DataFrame(np.column_stack([keys, values]))
    expected = frame.groupby([0, 1]).sum().reset_index().to_numpy()
    for table in (found, total):
        # Keys are told apart by their order, too: (1, 2) is not (2, 1).
        mine = pd.DataFrame(np.column_stack(table.merged())).sort_values([0, 1])
        assert_allclose(mine.to_numpy(), expected)
