"""From each tool's file to a leaderboard by one command, or to why there is none."""

from itertools import permutations
from pathlib import Path
from shutil import copy

import pandas as pd
import pytest

from skanchor import read_battles

FIXTURES = Path(__file__).parents[1] / "io" / "fixtures"

# Nothing in the files of these tools is by people.
OF_JUDGES = {
    "alpaca_eval": "weighted",
    "arena_hard": "gpt-4.1",
    "judge_arena": "llama",
    "mt_bench_pairs": "gpt-4",
    "mt_bench_scores": "gpt-4",
    "scores": "gpt",
    "wildbench": "wildbench",
}


def of_each_tool(test):
    files = sorted(FIXTURES.iterdir())
    return pytest.mark.parametrize("path", files, ids=lambda path: path.stem)(test)


@of_each_tool
def test_alone_it_is_told_what_is_missing(path, run):
    code, out, err = run("rank", path)
    assert (code, out) == (2, "")
    # What comes before is of verdicts that failed.
    said = ("hold no verdict", "compared with no other")
    assert all(any(part in line for part in said) for line in err[:-1])
    judge = OF_JUDGES.get(path.stem)
    if path.stem == "evalica":
        assert "who decided in 'evalica'" in err[-1]
    elif judge is None:
        assert "error: There is no new model" in err[-1]
        assert "--no-new" in err[-1]
    else:
        assert f"No row is by a human: column 'judge' holds ['{judge}']" in err[-1]
        assert "name it in human" in err[-1]


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DataWarning")
@of_each_tool
def test_with_votes_it_is_a_leaderboard(path, run, tmp_path):
    if path.stem == "evalica":
        path = copy(path, tmp_path / "gpt-4.csv")
    table = read_battles(path)
    models = sorted({*table["model_a"], *table["model_b"]})
    votes = [
        (f"vote-{k}", *pair, "human", winner)
        for pair in permutations(models, 2)
        for k, winner in enumerate(["model_a", "model_b"] * 5)
    ]
    columns = ["prompt_id", "model_a", "model_b", "judge", "winner"]
    pd.DataFrame(votes, columns=columns).to_csv(tmp_path / "votes.csv", index=False)
    flags = ["--no-new", "--set", "cv=2"]
    if path.stem == "mt_bench":
        # Its one verdict by a judge cannot be held out and fitted.
        flags += ["--without", "gpt4_pair"]
    code, out, err = run("rank", path, tmp_path / "votes.csv", *flags)
    assert code == 0, err
    assert all(model in out for model in models)
    assert all(line.startswith("skanchor: warning: ") for line in err)
