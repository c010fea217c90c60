"""From each tool's file to a leaderboard by one command, or to why there is none."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skanchor import read_battles

FAST = ["--set", "cv=2", "--set", "item_effects=none"]
FIXTURES = Path(__file__).parents[1] / "io" / "fixtures"

# Nothing in the files of these tools is by people.
OF_JUDGES = {
    "alpaca_eval": "weighted",
    "arena_hard": "gpt-4.1",
    "evalscope": "evalscope",
    "judge_arena": "llama",
    "mt_bench_pairs": "gpt-4",
    "mt_bench_scores": "gpt-4",
    "opencompass": "opencompass",
    "scores": "gpt",
    "wildbench": "wildbench",
}
# Their markers are not their own.
TOLD = {"scores": ["--from", "scores"]}


def of_each_tool(test):
    files = sorted(FIXTURES.iterdir())
    return pytest.mark.parametrize("path", files, ids=lambda path: path.stem)(test)


@of_each_tool
def test_alone_it_is_told_what_is_missing(path, run):
    code, out, err = run("rank", path, *TOLD.get(path.stem, ()))
    assert (code, out) == (2, "")
    # What comes before is of verdicts that failed.
    assert all("hold no verdict" in line for line in err[:-1])
    judge = OF_JUDGES.get(path.stem)
    if path.stem == "evalica":
        assert "there is no column judge" in err[-1]
    elif judge is None:
        assert "error: There is no new model" in err[-1]
        assert "--no-new" in err[-1]
    else:
        assert f"No row is by a human: column 'judge' holds ['{judge}']" in err[-1]
        assert "name it in human" in err[-1]


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DataWarning")
@of_each_tool
def test_with_votes_it_is_a_leaderboard(path, run, tmp_path):
    kind = "scores" if path.stem in TOLD else "auto"
    table = read_battles(path, kind)
    models = sorted({*table["model_a"], *table["model_b"]})
    votes = [
        (f"vote-{k}", *pair, "human", winner)
        for pair in permutations(models, 2)
        for k, winner in enumerate(["model_a", "model_b"] * 5)
    ]
    columns = ["prompt_id", "model_a", "model_b", "judge", "winner"]
    if kind != "auto":
        # One command, one format: what is told holds for all files.
        table.to_csv(path := tmp_path / "read.csv", index=False)
    pd.DataFrame(votes, columns=columns).to_csv(tmp_path / "votes.csv", index=False)
    flags = ["--no-new", "--set", "cv=2"]
    if path.stem == "mt_bench":
        # Its one verdict by a judge cannot be held out and fitted.
        flags += ["--without", "gpt4_pair"]
    code, out, err = run("rank", path, tmp_path / "votes.csv", *flags)
    assert code == 0, err
    assert all(model in out for model in models)
    assert all(line.startswith("skanchor: warning: ") for line in err)


def test_results_by_id_are_joined_with_their_pairs(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    models = ["bloom-7b", "llama-7b", "opt-7b", "pythia"]
    pairs = [rng.choice(models, 2, replace=False) for _ in range(150)]
    base = [
        {"idx": n, "cmp_key": "_".join(pair), "instruction": f"say {n}",
         "response1": "x", "response2": "y",
         **{f"annotator{k}": int(rng.integers(0, 3)) for k in (1, 2, 3)}}
        for n, pair in enumerate(pairs)
    ]  # fmt: skip
    results = [
        {"idx": n, "gpt_result": str(rng.integers(0, 3)), "gpt_reason": "so"}
        for n in range(150)
    ]
    Path("testset-v1.json").write_text(json.dumps(base))
    Path("gpt-4.json").write_text(json.dumps(results))
    code, _, (error,) = run("rank", "gpt-4.json", "--no-new", *FAST)
    assert code == 2 and "Results of a judge by 'idx'" in error
    assert "testset-v1.json" in error
    files = ["testset-v1.json", "gpt-4.json"]
    code, out, _ = run("rank", *files, "--no-new", *FAST, "--json")
    rows = json.loads(out)["rows"]
    assert code == 0 and (rows["human"], rows["historical"]) == (450, 150)


def test_notes_of_reading_are_no_warnings(run, battles, tmp_path):
    table = pd.read_csv(battles).rename(columns={"judge": "Evaluator"})
    table.to_csv(path := tmp_path / "notes.csv", index=False)
    code, out, (line,) = run("rank", path, *FAST)
    assert code == 0
    assert (
        line.startswith("skanchor: read as: ") and "judges are in 'Evaluator'" in line
    )
    # It stands once, where it was read.
    assert "Evaluator" not in out
