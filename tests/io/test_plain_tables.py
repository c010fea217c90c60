"""Tables that no tool wrote: the one reading that fits, or all of those that do."""

import numpy as np
import pandas as pd
import pytest

from skanchor import read_battles, split_battles
from skanchor.exceptions import AssumptionWarning, BattlesError, DataWarning
from skanchor.io._plain_tables.names import name_key, pairs_of_sides, side_pairs
from skanchor.io._plain_tables.outcomes import readings
from skanchor.io._plain_tables.sources import human_like, people_patterns

PAIRS = [("owl", "elk"), ("elk", "fox"), ("fox", "owl")]


def battles(outcomes, a="model_a", b="model_b", winner="winner", **more):
    rows = [PAIRS[n % 3] for n in range(len(outcomes))]
    return pd.DataFrame(rows, columns=[a, b]).assign(**{winner: outcomes}, **more)


def split(table, **options):
    with pytest.warns(AssumptionWarning):
        return split_battles(table, **options)


# ------------------------------------------------------------------------------ names
def test_names_are_compared_without_case_and_signs():
    assert (
        len({name_key(n) for n in ("Model A", "model-a", "MODEL_A ", "model.a")}) == 1
    )
    assert name_key("Model B") != name_key("Model A")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["Model 1", "Model 2"], [("Model 1", "Model 2")]),
        (["left_model", "right_model"], [("left_model", "right_model")]),
        (["System A Name", "System B Name"], [("System A Name", "System B Name")]),
        (["model_a", "model_b", "left", "right"], [("model_a", "model_b")]),
        (["left", "right", "system_a", "system_b"],
         [("left", "right"), ("system_a", "system_b")]),
        (["model_a", "model_2"], []),
    ],
)  # fmt: skip
def test_columns_of_the_models(names, found):
    assert side_pairs(names) == found


def test_models_may_be_numbers_beside_which_of_them_stood_first(tmp_path):
    """A column that names two other columns of numbers is no table of wins."""
    first = ["model_a", "model_b", "model_a", "model_b"]
    table = pd.DataFrame({"model_a": [1, 2, 3, 1], "model_b": [2, 3, 1, 3]})
    table = table.assign(judge=["human"] * 4, winner=first, shown_first=first)
    table.to_csv(tmp_path / "battles.csv", index=False)
    found = read_battles(tmp_path / "battles.csv")
    assert found["model_a"].tolist() == ["1", "2", "3", "1"]
    assert found["shown_first"].tolist() == first


def test_a_cell_of_two_models_may_be_empty():
    table = battles([1, 2, 1]).drop(columns=["model_a", "model_b"])
    X, _ = split(table.assign(pair=["owl vs elk", "owl vs fox", None]))
    assert X["model_a"].isna().tolist() == [False, False, True]
    assert X["model_b"].tolist()[:2] == ["elk", "fox"]


def test_two_pairs_of_models_are_refused_with_both():
    table = battles(["A", "B", "A"], "left", "right").assign(
        system_a="x", system_b=["y", "z", "y"]
    )
    with pytest.raises(BattlesError, match="may be in 'left' and 'right' or") as caught:
        split_battles(table)
    for sides in ("'left': 'model_a', 'right'", "'system_a': 'model_a', 'system_b'"):
        assert sides in str(caught.value)


def test_features_are_marked_as_the_models_are():
    names = ["Model 1", "Model 2", "length 1", "length 2", "rank_1", "words_a"]
    assert pairs_of_sides(names, ("Model 1", "Model 2")) == {
        "length": ("length 1", "length 2")
    }
    table = battles([1, 2, 1], "Model 1", "Model 2").assign(
        **{"Length 1": [1.0, 2.0, 3.0], "Length 2": 0.5, "Text 1": "so", "Text 2": "no"}
    )
    X, _ = split(table)
    assert X["Length_a"].tolist() == [1.0, 2.0, 3.0]
    assert "Text_a" not in X


def test_rows_of_one_prompt_are_named():
    X, _ = split(battles(["A", "B", "A"]).assign(prompt=["say", "say", "do"]))
    assert X["prompt_id"].tolist() == X["prompt"].tolist() == ["say", "say", "do"]


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_other_tables_are_read_alike(kind):
    table = battles(["A", "B", "Tie"], "Left", "Right").assign(
        Judge=["human", "g", "g"]
    )
    if kind == "polars":
        given = pytest.importorskip("polars").from_pandas(table)
    else:
        given = __import__("pyarrow").Table.from_pandas(table)
    X, y = split(given)
    assert type(X) is type(given)
    assert list(np.asarray(y)) == ["model_a", "model_b", "tie"]
    assert set(X.column_names if kind == "pyarrow" else X.columns) >= {
        "model_a",
        "judge",
    }


# --------------------------------------------------------------------------- outcomes
def meant(outcomes, levels=None):
    table = battles(outcomes)
    return readings(table["winner"], table["model_a"], table["model_b"], levels or {})


@pytest.mark.parametrize(
    ("outcomes", "due"),
    [
        (["A", "B", "Tie"], [1, 0, 0.5]),
        (["model 1", "Model-2", "same"], [1, 0, 0.5]),
        (["[[A]]", "[[B]]", "[[C]]"], [1, 0, 0.5]),
        (["leftvote", "rightvote", "bothbad_vote"], [1, 0, 0.5]),
        ([1, 2, 1], [1, 0, 1]),
        (["1", "2", "tie"], [1, 0, 0.5]),
        (["A>B", "B>A", "A=B"], [1, 0, 0.5]),
        (["A>>B", "B>A", "A=B"], [1, 0.25, 0.5]),
        (["A++", "B+", "A=B"], [1, 0.25, 0.5]),
        (["A is much better", "B is slightly better", "tie"], [1, 0.25, 0.5]),
        (["owl", "fox", "tie"], [1, 0, 0.5]),
        (["OWL", "Fox", None], [1, 0, np.nan]),
    ],
)
def test_outcomes_of_one_reading(outcomes, due):
    (found,) = meant(outcomes)
    np.testing.assert_array_equal(found.numbers(), due)


@pytest.mark.parametrize(
    ("outcomes", "n"),
    [
        ([0, 1, 1], 2), ([-1, 1, 0], 2), ([1, 5, 3], 2), ([0.2, 0.7, 1.0], 2),
        ([0, 1, 2], 3),
    ],
)  # fmt: skip
def test_numbers_that_go_either_way(outcomes, n):
    found = meant(outcomes)
    assert len(found) == n
    # In as many ways as there are: no two of them agree.
    assert len({tuple(each.numbers()) for each in found}) == n
    # Every reading is what its own arguments give.
    for each in found:
        _, y = split_or_plain(battles(outcomes), **each.arguments)
        y = (
            y.map({"model_a": 1.0, "model_b": 0.0, "tie": 0.5})
            if y.dtype != float
            else y
        )
        np.testing.assert_allclose(y.to_numpy(float), each.numbers())


def split_or_plain(table, **options):
    return split_battles(table, **options)


@pytest.mark.parametrize(
    "outcomes",
    [["A", "B", "who knows"], ["A>B", "A", "x"], ["", "A", "B?"], ["A", 3, "B"],
     ["elk?", "fox", "owl"]],
)  # fmt: skip
def test_outcomes_of_no_reading(outcomes):
    assert meant(outcomes) == []


def test_a_winner_that_is_a_model_and_a_label_is_refused_unless_both_agree():
    rows = pd.DataFrame({"left": ["A", "B"], "right": ["B", "A"], "winner": ["A", "A"]})
    with pytest.raises(BattlesError, match="may mean 2 things, and row 1") as caught:
        split_battles(rows)
    assert "names of the winning models: columns=" in str(caught.value)
    # Both calls work, and say two things.
    _, name = split_battles(rows, columns={"winner": "winner_name", "left": "model_a",
                                           "right": "model_b"})  # fmt: skip
    assert name.tolist() == ["model_a", "model_b"]
    both = {"left": "model_a", "right": "model_b"}
    _, side = split_battles(rows, columns=both, labels={"A": "model_a", "B": "model_b"})
    assert side.tolist() == ["model_a", "model_a"]
    _, y = split(rows.assign(left="A", right="B"))
    assert y.tolist() == ["model_a", "model_a"]


@pytest.mark.parametrize("flags", [[False, True], ["no", "Yes"], [0, 1]])
def test_a_flag_of_ties_beside_winner_and_loser_counts(flags):
    table = pd.DataFrame(
        {"winner": ["owl", "elk"], "loser": ["elk", "owl"], "draw": flags,
         "judge": ["human", "gpt-9"]}
    )  # fmt: skip
    with pytest.warns(AssumptionWarning, match="'draw' says which rows are ties"):
        X, y = split_battles(table)
    assert X["model_a"].tolist() == ["owl", "elk"]
    assert list(y) == ["model_a", "tie"]
    with pytest.raises(BattlesError, match=r"'draw' should say .* holds 'maybe' in 1"):
        split_battles(table.assign(draw=["maybe", "no"]))


def test_levels_of_a_scale_are_its_ends():
    _, y = split_battles(battles([1, 4, 7]), levels={"1": 1.0, "7": 0.0})
    assert y.tolist() == [1.0, 0.5, 0.0]
    with pytest.raises(BattlesError, match="outside a scale from 1 to 5, the first in"):
        split_battles(battles([1, 4, 7]), levels={"1": 1.0, "5": 0.0})


def test_levels_of_grades_may_be_given():
    table = battles(["A>>B", "A>B", "B>A"])
    _, y = split(table, levels={"A>B": 0.9, "B>A": 0.1})
    assert y.tolist() == [1.0, 0.9, 0.1]


def test_failed_verdicts_and_strangers_end_in_a_call_that_leaves_them_out(tmp_path):
    for outcomes in (["A", "error", "B"], ["owl", "owl", "fox"]):
        battles(outcomes).to_csv(path := tmp_path / "b.csv", index=False)
        with pytest.raises(BattlesError, match="drop_invalid=True"):
            read_battles(path)
        with (
            pytest.warns(AssumptionWarning),
            pytest.warns(DataWarning, match="1 of 3 rows hold no verdict"),
        ):
            assert len(read_battles(path, drop_invalid=True)) == 2


# ---------------------------------------------------------------------------- sources
def test_labels_that_mean_people():
    assert human_like(["gpt", "Human", "crowd", "human_2", "humanoid"]) == [
        "Human", "crowd", "human_2",
    ]  # fmt: skip
    assert people_patterns(["expert_1", "expert_2", "gpt-4"]) == ["expert_*"]
    assert people_patterns(["ann", "bob", "gpt-4"]) == ["ann", "bob"]
    assert people_patterns(["ann", "bob"]) == []
    # People have not compared new models.
    labels = ["fable-x", "gpt-9", "staff", "tiny"]
    assert people_patterns(labels, ["staff"]) == ["staff"]
    assert people_patterns(labels, ["gpt-9"]) == ["fable-x", "staff", "tiny"]


def test_judges_or_people_is_asked():
    table = battles(["A", "B", "A"], annotator=["ann", "bob", "gpt-4"])
    with pytest.raises(BattlesError, match="may name judges or people") as caught:
        split_battles(table)
    assert "columns={'annotator': 'judge'}, human=['ann', 'bob']" in str(caught.value)
    X, _ = split(table, columns={"annotator": "judge"}, human=["ann", "bob"])
    assert X["judge"].tolist() == ["human", "human", "gpt-4"]
    X, _ = split(table, columns={"annotator": "rater"})
    assert "judge" not in X


def test_a_column_of_people_may_hold_judges_after_all():
    X, _ = split(battles(["A", "B", "A"], worker=[11, 12, 13]))
    assert X["rater"].tolist() == [11, 12, 13]
    with pytest.raises(BattlesError, match=r"'worker' .* may name judges or"):
        split_battles(battles(["A", "B", "A"], worker=["w1", "gpt-4", "claude"]))


def test_files_name_their_judges_and_columns_people(tmp_path):
    battles(["A", "B", "A"], annotator=["x", "y", "x"]).to_csv(
        people := tmp_path / "people.csv", index=False
    )
    battles(["A", "B", "A"]).to_csv(judge := tmp_path / "gpt-4.csv", index=False)
    with pytest.warns(AssumptionWarning) as said:
        table = read_battles([people, judge])
    assert any("'annotator' names people" in str(one.message) for one in said)
    assert table["judge"].tolist() == ["people"] * 3 + ["gpt-4"] * 3
    assert split(table)[0]["judge"].tolist() == ["human"] * 3 + ["gpt-4"] * 3
    with (
        pytest.raises(BattlesError, match="may name judges or people"),
        pytest.warns(AssumptionWarning),
    ):
        read_battles([people.rename(tmp_path / "some.csv"), judge])


# ---------------------------------------------------------------------------- ratings
def rated(score=(5, 3, 4, 2, 2, 1)):
    rows = [(p, m) for p in ("p1", "p2") for m in ("owl", "elk", "fox")]
    table = pd.DataFrame(rows, columns=["Question", "System"])
    return table.assign(Annotator="human", Rating=score)


def read(frame, tmp_path, **options):
    frame.to_csv(path := tmp_path / "ratings.csv", index=False)
    with pytest.warns(AssumptionWarning, match="a higher one is better"):
        return read_battles(path, **options)


def test_ratings_become_pairs_by_prompt_and_rater(tmp_path):
    both = pd.concat([rated(), rated((1, 1, 5, 3, 2, 1)).assign(Annotator="gpt")])
    table = read(both, tmp_path)
    assert len(table) == 2 * 2 * 3
    keys = ["prompt_id", "judge", "model_a", "model_b"]
    found = table.set_index(keys)["winner"]
    assert found["p1", "human", "owl", "elk"] == "model_a"
    assert found["p2", "human", "owl", "elk"] == "tie"
    assert found["p1", "gpt", "elk", "fox"] == "model_b"
    close = read(both, tmp_path, tie_margin=1.0).set_index(keys)["winner"]
    assert close["p1", "human", "owl", "elk"] == "model_a"
    assert close["p1", "human", "owl", "fox"] == "tie"


def test_wide_ratings_are_the_long_ones(tmp_path):
    both = pd.concat([rated(), rated((1, 1, 5, 3, 2, 1)).assign(Annotator="gpt")])
    wide = both.pivot_table(
        index=["Question", "System"], columns="Annotator", values="Rating"
    ).reset_index()
    keys = ["prompt_id", "judge", "model_a", "model_b"]
    one = read(wide, tmp_path).sort_values(keys)[[*keys, "winner"]]
    two = read(both.sort_values(["Question", "System"]), tmp_path).sort_values(keys)
    assert one.to_numpy().tolist() == two[[*keys, "winner"]].to_numpy().tolist()
    # A column that is no rating is none, and one that may be must be named.
    odd = read(wide.assign(length=[200 * n for n in range(6)]), tmp_path)
    assert set(odd["judge"]) == {"human", "gpt"}
    named = read(wide.assign(age=31), tmp_path, ratings=["human", "gpt"])
    assert set(named["judge"]) == {"human", "gpt"}


def test_ratings_of_one_model_are_refused(tmp_path):
    rated().assign(System="owl").to_csv(path := tmp_path / "b.csv", index=False)
    with pytest.raises(BattlesError, match="Ratings of one model only, 'owl'"):
        read_battles(path)


def test_raters_who_rated_once_are_counted(tmp_path):
    table = rated().assign(Annotator=["human"] * 5 + ["gpt"])
    with pytest.warns(DataWarning, match="1 of 6 ratings are compared with no other"):
        assert len(read(table, tmp_path)) == 4
    table.assign(Annotator=list("abcdef")).to_csv(
        path := tmp_path / "c.csv", index=False
    )
    with pytest.raises(BattlesError, match="No rater has rated two models"):
        read_battles(path)


# --------------------------------------------------------------------------- refusals
def test_a_leaderboard_is_called_one(tmp_path):
    board = pd.DataFrame({"Model": ["x", "y", "z"], "Arena Score": [3, 2, 1]})
    board.to_csv(path := tmp_path / "arena_hard_leaderboard.csv", index=False)
    match = r"arena_hard_leaderboard\.csv: A leaderboard: it holds scores of 3 models"
    with pytest.raises(BattlesError, match=match):
        read_battles(path)


def test_pairs_of_responses_without_models_are_refused(tmp_path):
    llmbar = pd.DataFrame(
        {"input": ["a", "b"], "output_1": ["x", "y"], "output_2": ["u", "v"],
         "label": [1, 2]}
    )  # fmt: skip
    llmbar.to_json(path := tmp_path / "dataset.json", orient="records")
    with pytest.raises(BattlesError, match="but not the models that gave them"):
        read_battles(path)


def test_all_that_is_wrong_is_named(tmp_path):
    (path := tmp_path / "b.csv").write_text("first thing,other,n\nx,1,2\n")
    with pytest.raises(BattlesError, match=r"lacks \['model_a', 'model_b', 'winner'\]"):
        read_battles(path)
