"""The answer in plain words, and what is known of errors, agree with the numbers."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from reports.made_results import made_result

from skanchor import AnchorPipeline
from skanchor._battles import Inputs
from skanchor.baselines import JointBTL, PooledLLM
from skanchor.reports import to_dict
from skanchor.reports.readout import as_json_value
from skanchor.simulation import simulate_battles

# What diagnostics find in small tables is no matter here.
pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")


def answer(result, level=0.95):
    return to_dict(result, level)["answer"]


def one_new(score, error, n_old=4):
    old = np.linspace(1.5, -1.5, n_old)
    variance = np.append(np.full(n_old, 1e-6), error**2)
    return made_result(
        n_old + 1,
        1,
        estimates=np.append(old, score)[None],
        covariances=np.diag(variance)[None],
    )


@pytest.mark.parametrize(
    ("score", "error", "phrase"),
    [
        (0.0, 0.001, "3rd of 5; these rows exclude every other rank."),
        (0.0, 0.5, "3rd of 5; its rank lies between 2 and 4."),
        (3.0, 0.001, "1st of 5; these rows exclude every other rank."),
        (0.1, 50.0, "3rd of 5, but these rows exclude no rank."),
    ],
)
def test_rank_and_range_are_those_of_the_rank_set(score, error, phrase):
    first, last = answer(one_new(score, error))
    assert first.startswith(f"People would rank model-04 {phrase}")
    assert "1 is best. With 95 % confidence" in last


def test_chance_against_the_average_is_that_of_the_score():
    # A score of log 3 wins three of four.
    chance = "historical models in 75 % of comparisons (95 % interval: 75 % to 75"
    assert chance in answer(one_new(np.log(3.0), 0.01))[0]
    assert "in over 99 % of comparisons" in answer(one_new(12.0, 0.01))[0]
    assert "in under 1 % of comparisons" in answer(one_new(-2000.0, 0.01))[0]


def test_an_undetermined_model_is_said_to_be():
    result = made_result(5, 1, unbounded=np.arange(5) == 4)
    assert "do not determine where people would rank model-04" in answer(result)[0]


def test_the_mix_of_contexts_is_in_the_answer():
    mixed = Inputs(context="kind", mix=(("chat", 0.75), ("code", 0.25)))
    shares = "This is for prompts that are 75 % chat and 25 % code"
    assert answer(made_result(6, 1, inputs=mixed))[1].startswith(shares)
    assert shares in " ".join(answer(made_result(6, 0, inputs=mixed)))


def test_without_new_models_it_is_about_the_best():
    best, none = answer(made_result(6, 0, error=0.001))
    assert best == "People like model-00 best, with 95 % confidence."
    assert "No model is new" in none
    best, _ = answer(made_result(6, 0, error=9.0), 0.9)
    assert best.startswith("With 90 % confidence the model that people like best is")
    assert "one of these 6: model-00" in best


def test_many_new_models_are_counted():
    lines = answer(made_result(12, 6))
    assert len(lines) == 4 and lines[3].startswith("The leaderboard has 3 more new")


# ------------------------------------------------------------------------------- JSON
def test_json_has_the_numbers_of_the_result(anchor):
    record = to_dict(anchor, scale="elo", anchor={"amber-otter": 1000})
    json.dumps(record, allow_nan=False)
    leaderboard = anchor.leaderboard(scale="elo", anchor={"amber-otter": 1000})
    assert [row.pop("model") for row in record["models"]] == leaderboard.index.tolist()
    assert record["models"][0] == leaderboard.iloc[0].to_dict()
    best, chances = anchor.best_set(simultaneous=True), anchor.prob_best()
    result = [(row["model"], row["probability"]) for row in record["best"]]
    assert result == [(model, chances[model]) for model in best]
    for name, table in {
        "variance": anchor.variance_,
        "rank_sets": anchor.rank_sets(),
        "favours": anchor.breakdown(),
    }.items():
        index = table.index.names if table.index.nlevels > 1 else ["model"]
        result = pd.DataFrame(record[name]).set_index(index)
        numbers = table.select_dtypes("number")
        result = result[numbers.columns].astype(float)
        np.testing.assert_array_equal(result, numbers.astype(float))
    differences = anchor.contrasts()["difference"] * record["scale"]["per_logit"]
    result = [row["difference"] for row in record["contrasts"]]
    assert result == pytest.approx(differences.tolist())
    assert record["rows"] == {
        "human": 1100, "historical": 2200, "arrival": 700, "unused": 0,
    }  # fmt: skip
    assert record["inputs"]["n_groups"] == 1157 and record["warnings"] == []
    assert record["item_effects"]["reported"] == anchor.item_effects_ == "none"
    assert record["settings"]["cv"] == 2 and "numpy" in record["versions"]
    assert len(record["input_hash"]) == 64


def test_other_methods_tell_what_they_know():
    data = simulate_battles(600, 100, n_models=4, random_state=0)
    baseline = JointBTL().fit(data.X, data.y)
    for source in (baseline, baseline.result_):
        record = to_dict(source)
        assert record["item_effects"] is None and record["check"] is None
        assert record["variance"] == record["favours"] == []
        assert record["method"] == type(source).__name__
    with pytest.raises(TypeError, match=r"PooledLLM has none. Its leaderboard\(\) has"):
        to_dict(PooledLLM().fit(data.X, data.y))
    with pytest.raises(ValueError, match="is not fitted yet"):
        to_dict(AnchorPipeline())


def test_scores_without_errors_have_no_probability(plug_in):
    record = to_dict(plug_in)
    assert {row["probability"] for row in record["best"]} == {None}
    assert record["favours"] == []


@pytest.mark.parametrize("gap", np.linspace(0.15, 0.5, 8))
def test_the_best_are_those_whose_rank_sets_begin_at_one(gap):
    """Where one test of the best alone would decide more, the sets are what is said."""
    scores = np.array([gap, 0.0, 0.0, -2.0, -3.0])[None]
    result = made_result(5, 0, estimates=scores, covariances=np.eye(5)[None] * 0.01)
    record, leaderboard = to_dict(result), result.leaderboard()
    best = [row["model"] for row in record["best"]]
    assert best == leaderboard.index[leaderboard["rank_low"] == 1].tolist()
    is_alone = leaderboard["rank_high"].iloc[0] == 1
    assert record["answer"][0].startswith("People like model-00 best") == is_alone


def test_labels_of_types_that_json_lacks_are_their_texts():
    record = {b"a": datetime.date(2026, 1, 1), "b": [np.inf, np.nan, np.int64(3)]}
    plain = {"b'a'": "2026-01-01", "b": ["inf", None, 3]}
    assert as_json_value(record) == plain
