"""Cells that rank models by name become battles."""

import json

import pandas as pd
import pytest
from offers import offers

from skanchor import read_battles
from skanchor.exceptions import AssumptionWarning, BattlesError


def written(tmp_path, table, name="rankings.csv"):
    path = tmp_path / name
    if name.endswith(".csv"):
        table.to_csv(path, index=False)
    else:
        path.write_text("\n".join(map(json.dumps, table.to_dict("records"))))
    return path


def rows_of(path, **arguments):
    with pytest.warns(AssumptionWarning) as caught:
        table = read_battles(path, **arguments)
    names = ["model_a", "model_b", "winner"]
    return (
        table,
        table[names].to_records(index=False).tolist(),
        " ".join(str(each.message) for each in caught),
    )


def test_relations_of_two_models_name_the_better_one(tmp_path):
    cells = ["owl > elk", "elk<fox", "owl = fox", "fox > elk", "owl beats elk",
             "elk is worse than owl", "fox ties with owl"]  # fmt: skip
    path = written(tmp_path, pd.DataFrame({"result": cells, "judge": "human"}))
    table, rows, said = rows_of(path)
    assert rows == [
        ("owl", "elk", "model_a"), ("fox", "elk", "model_a"), ("owl", "fox", "tie"),
        ("fox", "elk", "model_a"), ("owl", "elk", "model_a"), ("owl", "elk", "model_a"),
        ("fox", "owl", "tie"),
    ]  # fmt: skip
    assert "'result' names the better model first" in said
    # Who stands first is no display order, and two models are one comparison.
    assert table["shown_first"].isna().all()
    assert "prompt_id" not in table


def test_all_pairs_of_a_ranking_belong_together(tmp_path):
    cells = ["owl>elk=fox", "fox>owl>elk", "elk>fox>owl", "owl>fox>elk"]
    path = written(tmp_path, pd.DataFrame({"ranking": cells, "judge": "human"}))
    table, rows, said = rows_of(path)
    assert rows[:3] == [
        ("owl", "elk", "model_a"), ("owl", "fox", "model_a"), ("elk", "fox", "tie"),
    ]  # fmt: skip
    assert len(table) == 12
    assert table.groupby("prompt_id").size().tolist() == [3] * 4
    assert "all pairs are compared; those of one row belong together" in said


def test_rankings_of_one_prompt_belong_together(tmp_path):
    frame = pd.DataFrame(
        {"task": ["t1", "t1", "t2", "t2"], "judge": "human",
         "order": ["owl>elk>fox", "fox>owl>elk", "elk>fox>owl", "owl>fox>elk"]}
    )  # fmt: skip
    table, _, _ = rows_of(written(tmp_path, frame))
    assert table["prompt_id"].tolist() == ["t1"] * 6 + ["t2"] * 6


def test_marks_of_a_ranking_are_those_of_columns(tmp_path):
    frame = pd.DataFrame(
        {"Model A": ["owl", "elk", "fox"], "Model B": ["elk", "fox", "owl"],
         "Model C": ["fox", "owl", "elk"], "judge": "human",
         "ranking": ["B>A>C", "A>B>C", "A>B=C"]}
    )  # fmt: skip
    _, rows, _ = rows_of(written(tmp_path, frame))
    assert rows[:3] == [
        ("elk", "owl", "model_a"), ("elk", "fox", "model_a"), ("owl", "fox", "model_a"),
    ]  # fmt: skip
    assert rows[-1] == ("owl", "elk", "tie")


def test_numbers_that_no_column_names_are_no_models(tmp_path):
    frame = pd.DataFrame({"ranking": ["1>2>3", "2>1>3"], "judge": "human"})
    with pytest.raises(BattlesError, match="format is not known"):
        read_battles(written(tmp_path, frame))


def test_strong_signs_are_levels(tmp_path):
    cells = ["owl >> elk", "elk > fox", "owl = fox", "fox << owl"]
    path = written(tmp_path, pd.DataFrame({"verdict": cells, "judge": "human"}))
    _, rows, _ = rows_of(path)
    assert [row[2] for row in rows] == [1.0, 0.75, 0.5, 1.0]
    _, rows, _ = rows_of(path, levels={"A>B": 1.0})
    assert [row[2] for row in rows] == [1.0, 1.0, 0.5, 1.0]


def test_relations_beside_two_columns_of_models_are_about_these(tmp_path):
    frame = pd.DataFrame(
        {"model_a": ["owl", "owl", "elk"], "model_b": ["elk", "fox", "owl"],
         "judge": "human", "relation": ["owl>elk", "fox > owl", "elk=owl"]}
    )  # fmt: skip
    table, rows, said = rows_of(written(tmp_path, frame))
    assert [row[2] for row in rows] == [1.0, 0.0, 0.5]
    assert table["model_a"].tolist() == ["owl", "owl", "elk"]
    assert "A and B being 'model_a' and 'model_b'" in said
    frame.loc[2, "relation"] = "elk=cat"
    with pytest.raises(BattlesError):
        read_battles(written(tmp_path, frame))


def test_a_list_is_asked_which_end_is_the_best(tmp_path):
    frame = pd.DataFrame(
        {"judge": "human", "ranking": [["owl", "elk", "fox"], ["fox", "owl", "elk"]]}
    )
    path = written(tmp_path, frame, "lists.jsonl")
    with pytest.raises(BattlesError, match="which end is the best") as error:
        read_battles(path)
    best, worst = (more for _, more in offers(error.value))
    _, rows, _ = rows_of(path, **best)
    assert rows[0] == ("owl", "elk", "model_a")
    _, rows, _ = rows_of(path, **worst)
    assert rows[0] == ("elk", "owl", "model_a")


def test_texts_that_list_models_from_best_to_worst(tmp_path):
    frame = pd.DataFrame(
        {"judge": "human", "Best to worst": ["owl, elk, fox", "fox; owl; elk"]}
    )
    _, rows, _ = rows_of(written(tmp_path, frame))
    assert [row[:2] for row in rows[3:]] == [("fox", "owl"), ("fox", "elk"),
                                             ("owl", "elk")]  # fmt: skip


def test_rankings_of_several_judges(tmp_path):
    cells = ["owl>elk", "elk>fox", "fox>owl", "owl>fox"]
    frame = pd.DataFrame(
        {"human ranking": cells, "ranking_gpt4": cells[::-1], "task": [*"abcd"]}
    )
    table, _, said = rows_of(written(tmp_path, frame))
    assert table["judge"].value_counts().to_dict() == {"human": 4, "gpt4": 4}
    assert "hold the rankings of a judge each" in said
    frame = frame.set_axis(["ranking ann", "ranking bob", "task"], axis=1)
    path = written(tmp_path, frame)
    with pytest.raises(BattlesError, match="holds 2 outcomes") as error:
        read_battles(path)
    found = [more for _, more in offers(error.value)]
    table, _, _ = rows_of(path, ratings=found[0]["ratings"])
    assert {*table["judge"]} == {"ranking ann", "ranking bob"}
    table, _, _ = rows_of(path, columns=found[-1]["columns"])
    assert len(table) == 4


@pytest.mark.parametrize(
    "cells",
    [
        ["A>B", "B>A", "A=B"],
        ["owl > elk < fox", "elk > owl"],
        ["temperature=0.7", "temperature=0.2"],
        ["owl > owl", "elk > fox"],
    ],
)
def test_other_cells_are_no_rankings(tmp_path, cells):
    frame = pd.DataFrame({"setup": cells * 2, "judge": "human"})
    with pytest.raises(BattlesError, match="format is not known"):
        read_battles(written(tmp_path, frame))
