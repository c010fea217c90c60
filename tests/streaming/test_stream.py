"""A streamed history is the one that the engine in memory keeps."""

import warnings
from collections import deque

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import FunctionTransformer
from streams import (
    anchor_of,
    apart,
    battles,
    in_memory,
    in_pieces,
    repeated,
    sums_of,
    tables,
    whole_sums_of,
)

from skanchor import AnchorPipeline, BTLRegressor, RieszDebiaser
from skanchor._historical import _fit
from skanchor._items import ItemLikelihood
from skanchor._treatments import ItemChoice
from skanchor.bias import BoostedBias, LinearBias
from skanchor.exceptions import BattlesError, DataWarning, LearnerError
from skanchor.streaming import Folds, StreamOptions, stream_history
from skanchor.streaming._reading import Reading

WITHOUT = ("times", "importance")


def streamed(data, anchor, options=None):
    options = StreamOptions(**(options or {}))
    return stream_history(data, anchor, options=options)


@pytest.fixture
def exact(monkeypatch):
    """The engine in memory fits its folds to the last digit, too."""
    monkeypatch.setattr(_fit, "NEAR", 1e-10)
    monkeypatch.setitem(ItemLikelihood.minimum.__kwdefaults__, "tol", 1e-10)


@pytest.mark.parametrize(
    ("historical_fit", "bias", "item_effects", "n_repeats"),
    [
        ("joint", "linear", None, 1),
        ("two-step", "linear", "random", 2),
        ("two-step", LinearBias(alpha=0.02), None, 1),
        ("joint", LinearBias(FunctionTransformer(np.tanh), alpha=0.02), "random", 1),
    ],
)
def test_streamed_is_in_memory(
    exact, monkeypatch, historical_fit, bias, item_effects, n_repeats
):
    table, _ = tables()
    anchor = anchor_of(
        bias,
        historical_fit=historical_fit,
        item_effects=item_effects,
        n_repeats=n_repeats,
    )
    found = streamed(in_pieces(table, 700), anchor)
    plans = found.folds.plans(len(table))
    # The covariance of the item effects is compared elsewhere.
    items = found.state.items
    monkeypatch.setattr(ItemChoice, "covariance", lambda *args: items)
    memory = in_memory(table, anchor, plans)
    assert found.n_rows == len(table)
    assert apart(memory, found.state, 3, n_repeats) < 1e-3
    assert_allclose(found.state.human_errors, memory.human_errors, rtol=1e-6)


def test_a_ridge_on_the_scores_is_that_of_the_rows(exact):
    table, _ = tables()
    anchor = anchor_of(btl=BTLRegressor(alpha=0.05))
    found = streamed(in_pieces(table, 700), anchor)
    memory = in_memory(table, anchor, found.folds.plans(len(table)))
    assert apart(memory, found.state, 3) < 1e-3
    assert_allclose(found.state.fits.x[0], memory.fits.x[0], atol=1e-6)
    assert_allclose(found.state.human_errors, memory.human_errors, rtol=1e-6)


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.filterwarnings("ignore:.* equal an earlier one in all columns")
def test_counts_are_the_rows_they_stand_for(features):
    table, _ = tables()
    if not features:
        table = table.drop(
            columns=[
                c for c in table if c[-2:] in ("_a", "_b") and not c.startswith("model")
            ]
        )
    anchor = anchor_of(weights="frequency")
    found = streamed(in_pieces(table, 700), anchor, {"weight": "times"})
    expanded = repeated(table)
    plans = found.folds.plans(len(table), table["times"].to_numpy())
    memory = in_memory(expanded, anchor, plans)
    if features:
        assert apart(memory, found.state, 3) < 1e-3
    mine, theirs = sums_of(found.state), sums_of(memory)
    assert_allclose(mine, theirs, rtol=0.02, atol=2.0)


def test_weights_of_importance():
    table, _ = tables()
    anchor = anchor_of()
    found = streamed(in_pieces(table, 700), anchor, {"weight": "importance"})
    plans = found.folds.plans(len(table))
    weight = table["importance"].to_numpy()
    assert apart(in_memory(table, anchor, plans, weight), found.state, 3) < 1e-3


def test_however_it_is_stored(tmp_path):
    """A file, a folder, a data set, tables and a function give the same sums."""
    table = tables()[0][:3000]
    whole = pa.Table.from_pandas(table.drop(columns=[*WITHOUT]))
    pq.write_table(whole, tmp_path / "all.parquet", row_group_size=1000)
    (tmp_path / "parts").mkdir()
    for i, start in enumerate(range(0, len(whole), 2000)):
        pq.write_table(
            whole.slice(start, 2000),
            tmp_path / "parts" / f"{i}.parquet",
            row_group_size=1000,
        )
    anchor, options = anchor_of(), {"job_rows": 1, "batch_rows": 1000}
    expected = sums_of(streamed(tmp_path / "all.parquet", anchor, options).state)
    pieces = [whole.slice(start, 1000) for start in range(0, len(whole), 1000)]
    for data in (
        str(tmp_path / "parts"),
        ds.dataset(tmp_path / "parts"),
        (tmp_path / "all.parquet").as_uri(),
        pieces,
        lambda: iter(pieces),
        deque(pieces),
        [piece.to_pandas() for piece in pieces],
    ):
        found = streamed(data, anchor, options)
        assert_array_equal(sums_of(found.state), expected)
    other = streamed(pieces, anchor, {"job_rows": 10**6, "batch_rows": 333})
    assert_allclose(sums_of(other.state), expected, rtol=1e-9, atol=1e-9)


def test_features_that_smell_of_the_outcome_are_read_when_asked_for(tmp_path):
    table, _ = tables()
    table = battles(table).assign(winner=table["winner"])
    table = table.rename(columns={"x1_a": "my_score_a", "x1_b": "my_score_b"})
    table.to_parquet(tmp_path / "all.parquet")
    options = {"features": ["my_score"]}
    found = streamed(tmp_path / "all.parquet", anchor_of(), options)
    assert found.features == ("my_score",)


def test_folds_are_even_and_independent():
    fold = Folds(10, 2, seed=3).of_rows(np.arange(100_000))
    counts = np.bincount(fold[0] * 10 + fold[1], minlength=100)
    # One of 100 cells is five deviations off once in 17,000 tries.
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    late = Folds(10, 2, seed=3).of_rows(np.arange(5_000, 6_000))
    assert_array_equal(late, fold[:, 5_000:6_000])


def test_models_without_votes_are_left_out():
    table, late = tables()
    with pytest.warns(DataWarning, match=r"'new.*have no human row.*arrivals"):
        found = streamed([table, late], anchor_of())
    assert not any(model.startswith("new") for model in found.models)
    assert found.n_rows == len(table) + len(late)


def test_what_a_stream_cannot_do_is_refused():
    table, _ = tables()
    pieces = in_pieces(table, 700)
    with pytest.raises(TypeError, match="An iterator can be read only once"):
        streamed(iter(pieces), anchor_of())
    with pytest.raises(LearnerError, match="'judge-1' has the learner BoostedBias"):
        streamed(pieces, anchor_of(BoostedBias(max_rounds=1)))
    with pytest.raises(BattlesError, match="There is no file or folder"):
        streamed("nowhere.parquet", anchor_of())
    for name, value in (("item_effects", "perhaps"), ("cv", 1), ("n_repeats", 0)):
        with pytest.raises(ValueError, match=f"'{name}' parameter of AnchorPipeline"):
            streamed(pieces, anchor_of(**{name: value}))
    other = anchor_of(debiaser=RieszDebiaser(LinearBias(alpha=1.0)))
    with pytest.raises(LearnerError, match="must have the learner of the bias"):
        streamed(pieces, other)
    # The first time the tables are looked at for a column of prompts.
    shorter = iter([pieces, pieces, pieces[:-1]])
    with pytest.raises(BattlesError, match="The stream has changed"):
        streamed(lambda: iter(next(shorter)), anchor_of())
    with pytest.raises(BattlesError, match="different features"):
        streamed([table, table.drop(columns=["x1_a", "x1_b"])], anchor_of())


def test_streams_without_what_a_history_needs_are_refused():
    table, _ = tables()
    human = table["judge"] == "human"
    early = table.groupby("judge").cumcount() < 8
    refused = {
        "no human rows": table[~human],
        "no judge rows": table[human],
        "No judge has enough rows": table[human | early],
    }
    for message, part in refused.items():
        with pytest.raises(BattlesError, match=message):
            streamed([part], anchor_of())
    scores = BTLRegressor().fit(battles(table)[human], table["winner"][human]).scores_
    gap = table["model_a"].map(scores) - table["model_b"].map(scores)
    sure = table["winner"].mask(table["judge"] == "judge-1", (gap > 0).astype(int))
    with pytest.raises(BattlesError, match=r"separate .* judges \['judge-1'\].*Leave"):
        streamed([table.assign(winner=sure)], anchor_of())


def test_labels_of_people_are_named_where_they_count_as_judges():
    """A stream that is not told takes only "human" for people, as a fit does."""
    table, _ = tables()
    human = table["judge"] == "human"
    crowd = table.assign(judge=table["judge"].mask(human, "crowd"))
    with pytest.raises(BattlesError, match=r"holds \['crowd', .* in human"):
        streamed([crowd], anchor_of())
    some = table.assign(
        judge=table["judge"].mask(human & (table.index % 2 == 0), "crowd")
    )
    with pytest.warns(DataWarning, match=r"\['crowd'\] have labels of people, but"):
        streamed([some], anchor_of())


def test_a_judge_of_few_rows_is_left_out_and_told():
    table, _ = tables()
    own = table["judge"] == "judge-1"
    few = table[~own | (table.groupby("judge").cumcount() < 8)]
    with pytest.warns(DataWarning, match=r"\['judge-1'\] have fewer rows than the 20"):
        found = streamed([few], anchor_of())
    without = streamed([table[~own]], anchor_of())
    assert found.judges.tolist() == without.judges.tolist() == ["judge-2", "judge-3"]
    # Rows lie in other folds.
    own, other = (whole_sums_of(one.state) for one in (found, without))
    assert_allclose(own, other, atol=1e-9)


def test_passes_are_told_and_a_bar_stays_off_the_output(capsys):
    table, _ = tables()
    found = streamed([table], anchor_of(verbose=1))
    assert [what for what, *_ in found.passes][:3] == [
        "survey",
        "judges",
        "all rows",
    ]
    assert {n_rows for _, n_rows, _ in found.passes} == {len(table)}
    assert capsys.readouterr().out == ""


def test_judges_under_another_name_are_asked_about():
    """In memory they would be found, or asked about, too."""
    rows = {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["tie", "tie"]}
    table = pa.table({**rows, "Evaluator": ["human", "gpt"]})
    reading = Reading()
    with pytest.raises(
        BattlesError, match=r"\['Evaluator'\] may name judges or people"
    ):
        reading.split(table)
    X, _ = Reading(columns={"Evaluator": "judge"}).split(table)
    assert X["judge"].to_pylist() == ["human", "gpt"]
    assert "judge" not in reading.split(pa.table(rows))[0].column_names


def test_counts_that_are_not_used_are_told():
    table = tables()[0].rename(columns={"times": "count"}).drop(columns="importance")
    anchor = AnchorPipeline(cv=2, random_state=0, item_effects="none")
    said = "'count' holds whole numbers, up to 3, and each row is taken for one"
    named = table.rename(columns={"count": "n"})
    for rows, columns in ((table, None), (named, {"n": "count"})):
        with pytest.warns(DataWarning, match=said):
            stream_history([rows], anchor, options=StreamOptions(columns=columns))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        stream_history([named], anchor)
        stream_history([table], anchor, options=StreamOptions(weight="count"))
