"""A streamed history is an AnchorHistory: it places, decides and is kept alike."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from streams import battles, in_pieces, tables

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.exceptions import BattlesError, DataWarning, SeparationWarning
from skanchor.streaming import StreamOptions, stream_history

# Item effects are there, and are left out in some of these fits.
pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")


def streamed(table, anchor, **settings):
    pieces = in_pieces(battles(table).assign(winner=table["winner"]), 700)
    return stream_history(pieces, anchor, **settings)


def in_memory(table, found, **settings):
    """The same history, fitted on all rows in the same folds."""
    plan = found.folds.plans(len(table))[0]
    anchor = AnchorPipeline(cv=plan, random_state=0, **settings)
    return AnchorHistory(anchor).fit(battles(table), table["winner"])


def placed(history, n_splits=3):
    _, late = tables()
    fold = np.random.default_rng(0).integers(0, n_splits, len(late))
    plan = [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)
    ]
    return history.place(battles(late), late["winner"], cv=plan)


@pytest.fixture(scope="module", params=["auto", "none", "random"])
def both(request, tmp_path_factory):
    table, _ = tables()
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=request.param)
    found = streamed(table, anchor)
    path = tmp_path_factory.mktemp("history") / "streamed.anchor"
    found.history.save(path)
    memory = in_memory(table, found, item_effects=request.param)
    return found, AnchorHistory.load(path), memory


def test_places_as_the_history_in_memory(both):
    _, loaded, memory = both
    mine, theirs = placed(loaded), placed(memory)
    assert mine.models.tolist() == theirs.models.tolist()
    error = theirs.standard_errors
    assert np.abs(mine.scores - theirs.scores).max() < 1e-3 * error.min()
    assert_allclose(mine.standard_errors, error, rtol=1e-3)
    mine, theirs = mine.contrasts(), theirs.contrasts()
    assert_allclose(mine["difference"], theirs["difference"], atol=1e-3 * error.min())


def test_decides_on_item_effects_alike(both):
    _, loaded, memory = both
    assert loaded.item_effects_ == memory.item_effects_
    mine, theirs = loaded.state_.check, memory.state_.check
    assert_allclose(mine.p_value, theirs.p_value, rtol=1e-6)
    pd.testing.assert_frame_equal(mine.judges, theirs.judges, rtol=1e-6)


def test_sums_of_diagnostics_are_those_of_the_rows(both):
    _, loaded, memory = both
    mine, theirs = loaded.state_.sums, memory.state_.sums
    for m, one in theirs.sources.items():
        other, scale = mine.sources[m], np.abs(one.gram).max()
        assert_allclose(other.gram, one.gram, atol=1e-3 * scale)
        # Of thousands of residuals the sums are near zero where the fit ended.
        assert_allclose(other.score, one.score, atol=0.05)
        assert_allclose(other.rows, one.rows)
    assert_allclose(mine.n_human, theirs.n_human)
    assert_allclose(mine.n_judge, theirs.n_judge)
    assert_allclose(mine.verdicts, theirs.verdicts)
    assert_allclose(mine.spread_of_scores, theirs.spread_of_scores, rtol=1e-3)
    # Beside item effects, the fit in memory takes these from another fit.
    assert_allclose(mine.noise, theirs.noise, rtol=0.1)
    for one, other in zip(mine.features, theirs.features, strict=True):
        assert_allclose(one.low, other.low)
        assert_allclose(one.high, other.high)
        assert one.contrasts.shape == other.contrasts.shape
    assert loaded.state_.facts == {**memory.state_.facts, "streamed": True}


def test_diagnostics_of_a_placement(both):
    _, loaded, memory = both
    mine, theirs = (placed(one).diagnostics for one in (loaded, memory))
    names = ["sensitivity_error", "residual_share", "outside_features"]
    assert_allclose(mine.judges[names], theirs.judges[names], rtol=1e-3, atol=1e-4)
    assert_allclose(mine.historical["votes"], theirs.historical["votes"])


def with_settled(judges=("judge-1",)):
    """A table in which a feature decides all verdicts of some judges."""
    table = tables()[0].copy()
    decided = table["judge"].isin(judges)
    table["winner"] = np.where(
        decided, (table["x1_a"] > table["x1_b"]).astype(float), table["winner"]
    )
    return table, int(decided.sum())


def test_a_judge_that_features_settle_is_left_out():
    table, n = with_settled()
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    said = rf"'judge-1' .* by feature 'x1'.* All {n} are left out"
    with pytest.warns(SeparationWarning, match=said):
        found = streamed(table, anchor, options=StreamOptions(pilot_rows=600))
    assert "judge-1" not in found.history.judges_
    with pytest.warns(SeparationWarning, match=said):
        in_memory(table, found, item_effects=None)
    # With all of its rows sampled, the placement is that of the fit in memory, too.
    with pytest.warns(SeparationWarning, match=said):
        found = streamed(table, anchor)
    with pytest.warns(SeparationWarning, match=said):
        memory = in_memory(table, found, item_effects=None)
    for each in (found.history, memory):
        assert each.judges_.tolist() == ["judge-2", "judge-3"]
    with pytest.warns(DataWarning, match="does not know the judges"):
        mine, theirs = placed(found.history), placed(memory)
    error = theirs.standard_errors
    assert np.abs(mine.scores - theirs.scores).max() < 1e-3 * error.min()
    assert_allclose(mine.standard_errors, error, rtol=1e-3)


def test_judges_that_features_settle_are_refused_where_no_other_is_left():
    table, _ = with_settled(("judge-1", "judge-2", "judge-3"))
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    with pytest.raises(BattlesError, match=r"'x1', whatever .* no other judge is left"):
        streamed(table, anchor)


def test_update_asks_for_the_rows(both):
    _, loaded, _ = both
    table, _ = tables()
    with pytest.raises(BattlesError, match="it must be fitted on all rows"):
        loaded.update(battles(table), table["winner"])


def test_a_sample_stands_for_the_rows():
    """Where the sample is not all rows, what it stands in for is small enough."""
    table, _ = tables(24_000, 24_000)
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    found = streamed(table, anchor, options=StreamOptions(pilot_rows=4_000))
    memory = in_memory(table, found, item_effects=None)
    mine, theirs = placed(found.history), placed(memory)
    error = theirs.standard_errors.to_numpy()
    # Fewer rows than the default draws of so many; the error falls with their number.
    assert np.abs(mine.scores - theirs.scores).max() < 5e-3 * error.min()
    assert_allclose(mine.standard_errors, error, rtol=1e-3)


def test_models_left_out_are_on_the_board():
    table, _ = tables()
    names = sorted({*table["model_a"], *table["model_b"]})
    lost = table["model_a"].eq(names[0]) | table["model_b"].eq(names[0])
    # One that never won with anybody has no score.
    table = table.assign(
        winner=np.where(
            lost, np.where(table["model_a"] == names[0], 0.0, 1.0), table["winner"]
        )
    )
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    with pytest.warns(UserWarning, match="have no limit"):
        found = streamed(table, anchor)
    with pytest.warns(UserWarning, match="have no limit"):
        memory = in_memory(table, found, item_effects=None)
    mine, theirs = found.state.all_models, memory.state_.all_models
    assert found.state.lost.tolist() == [names[0]]
    assert_allclose(mine.scores, theirs.scores, rtol=1e-6)
    assert mine.n_human.tolist() == theirs.n_human.tolist()
    assert mine.n_judge.tolist() == theirs.n_judge.tolist()


def test_ties_are_left_out_as_in_memory():
    table, _ = tables()
    tied = np.random.default_rng(1).random(len(table)) < 0.2
    table = table.assign(winner=np.where(tied, 0.5, table["winner"]))
    settings = {"item_effects": None, "ties": "drop"}
    found = streamed(table, AnchorPipeline(cv=3, random_state=0, **settings))
    memory = in_memory(table, found, **settings)
    mine, theirs = placed(found.history), placed(memory)
    error = theirs.standard_errors.to_numpy()
    assert np.abs(mine.scores - theirs.scores).max() < 1e-3 * error.min()


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_a_judge_that_only_ties_is_not_tested_as_in_memory():
    """Nothing tells its noise, by which what its models show would be divided."""
    table, _ = tables()
    ties = table["judge"] == "judge-2"
    table = table.assign(winner=np.where(ties, 0.5, table["winner"]))
    found = streamed(table, AnchorPipeline(cv=3, random_state=0, item_effects="none"))
    memory = in_memory(table, found, item_effects="none")
    mine, theirs = found.history.state_.check, memory.state_.check
    assert_allclose(mine.p_value, theirs.p_value, rtol=1e-6)
    pd.testing.assert_frame_equal(mine.judges, theirs.judges, rtol=1e-6)
    assert mine.judges.loc["judge-2"].isna().any()
    # Its rows weigh as votes would.
    noise = [one.state_.sums.noise for one in (found.history, memory)]
    assert_allclose(*noise, rtol=0.1)
    assert noise[0][1] == 1.0


def test_settings_that_need_the_rows_are_refused():
    table, _ = tables()
    refused = {
        "human_bias needs the features of the votes": {"human_bias": "linear"},
        "cv of a stream is a number of folds": {"cv": [(np.arange(2), np.arange(2))]},
        "new_models of the anchor must be None": {"new_models": ["model-1"]},
    }
    for message, settings in refused.items():
        with pytest.raises((ValueError, BattlesError), match=message):
            streamed(table, AnchorPipeline(**settings))


def test_an_update_says_that_a_stream_keeps_no_rows(tmp_path):
    table, _ = tables()
    table = table[["model_a", "model_b", "judge", "winner", "times", "importance"]]
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    path = tmp_path / "streamed.anchor"
    streamed(table, anchor).history.save(path)
    with pytest.raises(BattlesError, match="was read as a stream, so that"):
        AnchorHistory.load(path).update(battles(table)[:20], table["winner"][:20])
