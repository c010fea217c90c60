"""Tables with odd rows or cells: counts, empty cells, other encodings and files."""

import json

import numpy as np
import pandas as pd
import pytest
from offers import offers

from skanchor import BTLRegressor, read_battles, split_battles
from skanchor.exceptions import AssumptionWarning, BattlesError, DataWarning

PAIRS = pd.DataFrame(
    {
        "Model": ["owl", "owl", "elk"],
        "Opponent": ["elk", "fox", "fox"],
        "Source": ["human panel", "human panel", "gpt-4"],
        "Wins": [3, 0, 2],
        "Losses": [1, 2, 0],
        "Draws": [0, 1, 0],
    }
)


def written(tmp_path, table, name="odd.csv", encoding="utf-8", **options):
    path = tmp_path / name
    text = table.to_csv(index=False, **options)
    path.write_bytes(text.encode(encoding))
    return path


def calls_of(error):
    return offers(error.value)


# ------------------------------------------------------------------------------ counts
def test_counts_become_weighted_rows(tmp_path):
    with pytest.warns(AssumptionWarning, match="'Wins' and 'Losses' count"):
        table = read_battles(written(tmp_path, PAIRS))
    found = table[["model_a", "model_b", "judge", "winner", "count"]]
    assert found.to_records(index=False).tolist() == [
        ("owl", "elk", "human panel", "model_a", 3),
        ("owl", "elk", "human panel", "model_b", 1),
        ("owl", "fox", "human panel", "model_b", 2),
        ("owl", "fox", "human panel", "tie", 1),
        ("elk", "fox", "gpt-4", "model_a", 2),
    ]
    assert [*table.attrs["formats"].values()] == ["wins"]


def test_shares_of_games_become_wins_losses_and_ties(tmp_path):
    games, share = np.array([5, 5, 4, 7]), np.array([0.5, 0.7, 0.25, 0.5])
    pairs = {
        "model_a": ["owl", "elk", "fox", "cat"],
        "model_b": ["elk", "fox", "cat", "owl"],
    }
    shares = pd.DataFrame(pairs | {"win_rate_a": share, "games": games})
    with pytest.warns(AssumptionWarning, match="share of wins"):
        table = read_battles(written(tmp_path, shares))
    counts = table.pivot_table("count", "model_a", "winner", "sum", fill_value=0)
    counts = counts.loc[pairs["model_a"]]
    assert counts["model_a"].tolist() == [2, 3, 1, 3]
    assert counts["model_b"].tolist() == [2, 1, 3, 3]
    assert counts["tie"].tolist() == [1, 1, 0, 1]


def test_counts_score_as_the_rows_that_they_count(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [
        rng.choice(["owl", "elk", "fox", "cat"], 2, replace=False) for _ in "x" * 300
    ]
    rows = pd.DataFrame(pairs, columns=["model_a", "model_b"])
    result = rng.choice(["wins", "losses", "ties"], 300, p=[0.5, 0.4, 0.1])
    counted = pd.crosstab([rows["model_a"], rows["model_b"]], result).reset_index()
    names = {"wins": "Won", "losses": "Lost", "ties": "Tied"}
    with pytest.warns(AssumptionWarning):
        table = read_battles(written(tmp_path, counted.rename(columns=names)))
    by_count = BTLRegressor(weights="frequency").fit(
        *split_battles(table), sample_weight=table["count"]
    )
    labels = {"wins": "model_a", "losses": "model_b", "ties": "tie"}
    by_row = BTLRegressor().fit(rows, [labels[each] for each in result])
    np.testing.assert_allclose(by_count.scores_, by_row.scores_, atol=1e-6)
    np.testing.assert_allclose(by_count.covariance_, by_row.covariance_, atol=1e-6)


def test_counts_that_do_not_add_up_are_refused(tmp_path):
    path = written(tmp_path, PAIRS.assign(Games=[4, 3, 5]))
    with pytest.raises(BattlesError, match=r"'Games' in 1 rows, .* row 2: 2 a"):
        read_battles(path)
    with pytest.warns(AssumptionWarning):
        assert len(read_battles(path, columns={"Games": "note"})) == 5


def test_counts_in_memory_are_refused():
    """Nothing would weight the rows by them."""
    with pytest.raises(BattlesError, match="lacks the columns"):
        split_battles(PAIRS)


def test_flags_without_a_winner_are_no_counts(tmp_path):
    table = PAIRS.assign(Wins=[1, 0, 0], Losses=[0, 1, 0]).drop(columns="Draws")
    with pytest.raises(BattlesError, match="format is not known"):
        read_battles(written(tmp_path, table))


# ---------------------------------------------------------------------- single outcomes
def test_numbers_of_both_signs_go_either_way(tmp_path):
    table = PAIRS[["Model", "Opponent"]].assign(slide=[-70, 100, 0])
    with pytest.raises(BattlesError) as error:
        read_battles(written(tmp_path, table))
    assert [call[1]["levels"] for call in calls_of(error)] == [
        {"-100": 0.0, "100": 1.0},
        {"-100": 1.0, "100": 0.0},
    ]
    with pytest.warns(AssumptionWarning):
        found = read_battles(tmp_path / "odd.csv", **calls_of(error)[1][1])
    assert found["winner"].tolist() == [0.85, 0.0, 0.5]


def test_empty_outcomes_are_ties_or_no_verdicts(tmp_path):
    table = PAIRS[["Model", "Opponent"]].assign(winner=["owl", "", "fox"])
    path = written(tmp_path, table)
    with pytest.raises(BattlesError, match=r"empty in 1 of 3 rows, .* row 1") as error:
        read_battles(path)
    (_, tie), (_, drop) = calls_of(error)
    with pytest.warns(AssumptionWarning):
        found = read_battles(path, **tie)
    assert found["winner"].tolist() == ["model_a", "tie", "model_b"]
    with pytest.warns(AssumptionWarning), pytest.warns(DataWarning, match="1 of 3"):
        assert len(read_battles(path, **drop)) == 2


def test_whole_numbers_are_names_beside_empty_cells(tmp_path):
    ids = {"owl": 17, "elk": 4, "fox": 31}
    table = PAIRS[["Model", "Opponent"]].apply(lambda names: names.map(ids))
    table["winner_id"] = [17, None, 31]
    with pytest.warns(AssumptionWarning, match="names of the winning models"):
        found = read_battles(written(tmp_path, table), labels={"": "tie"})
    assert found["winner"].tolist() == ["model_a", "tie", "model_b"]
    assert found["model_a"].tolist() == ["17", "17", "4"]


def test_models_of_other_roles_stand_as_in_the_file(tmp_path):
    """The first place is that of the column that stands first, wins are the model's."""
    table = PAIRS[["Opponent", "Model"]].assign(result=["first", "second", "first"])
    with pytest.warns(AssumptionWarning, match="'Opponent' and 'Model', shown in"):
        assert read_battles(written(tmp_path, table))["model_a"][0] == "elk"
    table["result"] = ["win", "loss", "win"]
    with pytest.warns(AssumptionWarning, match="'Model' and 'Opponent', shown in"):
        assert read_battles(written(tmp_path, table))["model_a"][0] == "owl"


# ------------------------------------------------------------------------- other files
@pytest.mark.parametrize(
    ("encoding", "words"),
    [("gb18030", "模型甲"), ("shift_jis", "モデルの勝者"), ("cp1252", "modèle préféré"),
     ("cp1251", "победитель")],
)  # fmt: skip
def test_likely_encodings_are_offered(tmp_path, encoding, words):
    table = pd.DataFrame({"model_a": ["x"], "model_b": ["y"], words: ["A"]})
    path = written(tmp_path, table, encoding=encoding)
    with pytest.raises(BattlesError, match="not readable as CSV") as error:
        read_battles(path)
    found = {call["encoding"]: when for when, call in calls_of(error)}
    assert words in found[encoding] and len(found) < 5


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_utf_16_needs_no_mark(tmp_path, encoding, suffix):
    table = pd.DataFrame({"model_a": ["ü"], "model_b": ["y"], "winner": ["model_a"]})
    path = written(tmp_path, table, f"b{suffix}", encoding)
    if suffix == ".jsonl":
        path.write_bytes(table.to_json(orient="records", lines=True).encode(encoding))
    assert read_battles(path)["model_a"].tolist() == ["ü"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [("b.xlsx", b"PK\x03\x04", "a workbook"), ("b.csv", b"PK\x03\x04", "a workbook"),
     ("b.md", b"| a |", "a Markdown text"), ("b.csv", b"<html>", "a web page"),
     ("b.pdf", b"%PDF", "a PDF document"), ("b.jsonl", b"%PDF-1", "a PDF document")],
)  # fmt: skip
def test_other_kinds_of_files_are_to_be_saved_as_csv(tmp_path, name, content, words):
    (path := tmp_path / name).write_bytes(content)
    with pytest.raises(BattlesError, match=f"{words}, which is not read. Save .* CSV"):
        read_battles(path)


# ----------------------------------------------------------- what cells and rows hold
def lines(tmp_path, records):
    path = tmp_path / "odd.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return path


def test_two_objects_in_a_list_are_the_sides(tmp_path):
    record = {
        "battle": {"candidates": [{"model": "owl", "text": "x", "slot": 1},
                                  {"model": "elk", "text": "y", "slot": 0}]},
        "by": {"kind": "person", "id": "u1"},
        "outcome": {"chosen_index": 1},
    }  # fmt: skip
    other = json.loads(json.dumps(record).replace("person", "llm").replace("u1", "gpt"))
    other["outcome"]["chosen_index"] = 0
    with pytest.warns(AssumptionWarning, match="places from 0"):
        table = read_battles(lines(tmp_path, [record, other]))
    found = table[["model_a", "model_b", "winner"]].to_numpy().tolist()
    assert found == [["owl", "elk", "model_b"], ["owl", "elk", "model_a"]]
    # The place of a response in the list is no feature of it.
    assert not {"slot_a", "slot_b"} & {*table}


def test_fields_at_any_depth_can_be_renamed(tmp_path):
    """As Label Studio exports comparisons: lists of one item are that item."""
    record = {
        "data": {"left": "owl", "right": "elk"},
        "annotations": [{"completed_by": {"email": "ann@x"}, "result": [
            {"value": {"choices": ["Left is better"]}}]}],
    }  # fmt: skip
    with pytest.warns(AssumptionWarning, match="the outcome is 'choices'"):
        table = read_battles(
            lines(tmp_path, [record, record]),
            columns={"annotations_completed_by_email": "judge"},
        )
    assert table["judge"].tolist() == ["ann@x"] * 2
    assert table["winner"].tolist() == ["model_a"] * 2


def test_the_last_mark_of_a_text_is_its_verdict(tmp_path):
    texts = ["A is [short]. [[B]]", "First [[A]], but no: [[C]]", "[[A>>B]]", "I can't"]
    table = pd.DataFrame({"model_a": "owl", "model_b": "elk", "response": texts[:2]})
    with pytest.warns(AssumptionWarning, match=r"the last mark, .* in 'response'"):
        found = read_battles(written(tmp_path, table))
    assert found["winner"].tolist() == ["model_b", "tie"]
    table = pd.DataFrame({"model_a": "owl", "model_b": "elk", "judgment": texts})
    path = written(tmp_path, table)
    with pytest.raises(BattlesError, match="holds no verdict in 1 rows"):
        read_battles(path)
    with pytest.warns(AssumptionWarning), pytest.warns(DataWarning, match="1 of 4"):
        found = read_battles(path, drop_invalid=True)
    assert found["winner"].tolist() == [0.25, 0.5, 1.0]


RESULTS = pd.DataFrame(
    {
        "battle_id": [1, 2, 1, 2],
        "model": ["owl", "fox", "elk", "owl"],
        "evaluator": ["human", "gpt-4", "human", "gpt-4"],
        "outcome": ["win", "draw", "loss", "draw"],
    }
)


def test_two_rows_of_a_battle_are_one_comparison(tmp_path):
    with pytest.warns(AssumptionWarning, match="the result of one of two models"):
        table = read_battles(written(tmp_path, RESULTS))
    found = table[["model_a", "model_b", "judge", "winner"]].to_numpy().tolist()
    assert found == [
        ["owl", "elk", "human", "model_a"],
        ["fox", "owl", "gpt-4", "tie"],
    ]


@pytest.mark.parametrize(
    "table",
    [
        RESULTS.iloc[:3],
        RESULTS.assign(outcome=["win", "draw", "win", "loss"]),
        pd.concat([RESULTS, RESULTS.iloc[:1]]),
    ],
    ids=["one row", "two winners", "three rows"],
)
def test_rows_of_a_battle_that_are_not_two_are_refused(tmp_path, table):
    with pytest.raises(BattlesError, match=r"should have two rows, .* row [01]"):
        read_battles(written(tmp_path, table))


@pytest.mark.parametrize("prefix", ["", "rank_"])
def test_columns_of_models_are_ranks_or_ratings(tmp_path, prefix):
    ranks = pd.DataFrame({"owl": [1, 2, None], "elk": [2, 1, 1], "fox-2": [3, 3, 2]})
    table = ranks.add_prefix(prefix).assign(task=["p", "q", "r"], judge="human")
    path = written(tmp_path, table)
    with pytest.raises(BattlesError, match="format is not known") as error:
        read_battles(path)
    found = dict(calls_of(error))
    assert len(found) == (1 if prefix else 2)
    ((_, ranked),) = [each for each in found.items() if "1 is the best" in each[0]]
    with pytest.warns(AssumptionWarning, match="a lower one is better"):
        battles = read_battles(path, **ranked)
    wins = battles[["model_a", "model_b", "winner"]].to_numpy().tolist()
    assert wins == [
        ["owl", "elk", "model_a"], ["owl", "fox-2", "model_a"],
        ["elk", "fox-2", "model_a"], ["owl", "elk", "model_b"],
        ["owl", "fox-2", "model_a"], ["elk", "fox-2", "model_a"],
        ["elk", "fox-2", "model_a"],
    ]  # fmt: skip


def test_decimal_commas_of_scores_are_points(tmp_path):
    table = PAIRS[["Model", "Opponent"]].rename(
        columns={"Model": "System 1", "Opponent": "System 2"}
    )
    table["Score System 1"] = ["7,5", "1,0", "3,25"]
    table["Score System 2"] = ["7,4", "2,0", "3,5"]
    with pytest.warns(AssumptionWarning, match="the higher one wins"):
        found = read_battles(written(tmp_path, table, sep=";"))
    assert found["winner"].tolist() == ["model_a", "model_b", "model_b"]


def test_llms_that_are_compared_in_no_row_are_judges(tmp_path):
    table = PAIRS[["Model", "Opponent"]].set_axis(["model_a", "model_b"], axis=1)
    table = table.assign(winner="model_a", model=["gpt-4", "gpt-4", "claude-3"])
    with pytest.warns(AssumptionWarning, match="judges are in 'model'"):
        found = read_battles(written(tmp_path, table))
    assert found["judge"].tolist() == ["gpt-4", "gpt-4", "claude-3"]
