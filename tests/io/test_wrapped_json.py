"""Objects of JSON that hold a table: in a list, or by columns."""

import json

import pandas as pd
import pytest

from skanchor import read_battles, split_battles
from skanchor.exceptions import BattlesError

ROWS = [
    {"model_a": "owl", "model_b": "elk", "judge": "human", "winner": "model_a"},
    {"model_a": "elk", "model_b": "fox", "judge": "gpt-4", "winner": "tie"},
]


def written(tmp_path, record):
    path = tmp_path / "wrapped.json"
    path.write_text(json.dumps(record, indent=1))
    return path


@pytest.mark.parametrize(
    "record",
    [
        {"exported": "2026-01-02", "comparisons": ROWS},
        {"version": 3, "results": {"by": "us", "all": ROWS}},
        {"battles": ROWS, "models": [{"name": "owl"}]},
        {"rows": ROWS, "models": ["owl", "elk"]},
        {name: [row[name] for row in ROWS] for name in ROWS[0]},
        {name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]},
    ],
)
def test_the_table_in_an_object_is_found(tmp_path, record):
    table = read_battles(written(tmp_path, record))
    assert table[[*ROWS[0]]].to_dict("records") == ROWS


def test_texts_beside_the_list_are_of_every_row(tmp_path):
    rows = [{k: v for k, v in row.items() if k != "judge"} for row in ROWS]
    record = {"judge": "gpt-4", "day": "Monday", "comparisons": rows}
    table = read_battles(written(tmp_path, record))
    assert table["judge"].tolist() == ["gpt-4", "gpt-4"]
    assert table["day"].tolist() == ["Monday", "Monday"]


def test_two_lists_are_refused_with_both_named(tmp_path):
    path = written(tmp_path, {"votes": ROWS, "more": {"verdicts": ROWS * 2}})
    match = r"'votes' \(2\) and 'more.verdicts' \(4\).* jq '.\"votes\"' .*more.verdicts"
    with pytest.raises(BattlesError, match=match):
        read_battles(path)


def test_one_battle_with_lists_is_no_wrapper(tmp_path):
    record = {"candidates": [{"model": "owl"}, {"model": "elk"}], "winner": "A"}
    with pytest.warns(UserWarning):
        table = read_battles(written(tmp_path, record))
    assert table[["model_a", "model_b"]].to_numpy().tolist() == [["owl", "elk"]]


def test_fields_that_a_tool_has_flattened_have_their_own_names(tmp_path):
    names = {"model_a": "pair.model_a", "model_b": "pair.model_b",
             "winner": "judgement.winner", "judge": "judgement.judge"}  # fmt: skip
    path = tmp_path / "flat.csv"
    pd.DataFrame(ROWS).rename(columns=names).to_csv(path, index=False)
    assert read_battles(path)[[*ROWS[0]]].to_dict("records") == ROWS


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.AssumptionWarning")
@pytest.mark.parametrize("sides", ["columns", "responses"])
def test_lists_of_verdicts_are_a_row_for_each(tmp_path, sides):
    rows = []
    for number, (one, two) in enumerate(
        [("owl", "elk"), ("elk", "fox"), ("fox", "owl")]
    ):
        models = {"model_a": one, "model_b": two}
        if sides == "responses":
            models = {"responses": [{"model": m, "text": "..."} for m in (one, two)]}
        verdicts = [("human_1", "AB"[number % 2]), ("gpt-4", "B"), ("claude-3", "tie")]
        verdicts = verdicts[: 3 - number % 2]
        listed = [{"annotator": who, "choice": what} for who, what in verdicts]
        rows.append({"id": f"x{number}", **models, "annotations": listed})
    path = tmp_path / "battles.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    X, y = split_battles(read_battles(path, columns={"annotator": "judge"}))
    assert X["judge"].tolist() == [
        "human", "gpt-4", "claude-3", "human", "gpt-4", "human", "gpt-4", "claude-3"
    ]  # fmt: skip
    assert X["model_a"].tolist() == ["owl"] * 3 + ["elk"] * 2 + ["fox"] * 3
    assert y.tolist()[:5] == ["model_a", "model_b", "tie", "model_b", "model_b"]
    # A battle without a verdict is no reason to lose the others in silence.
    rows[1]["annotations"] = []
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(BattlesError, match="lacks"):
        read_battles(path)
