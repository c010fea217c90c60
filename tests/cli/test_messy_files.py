"""Files as people have them: ranked at once, or after an argument that is offered.

Every file holds the same battles, so that the leaderboard is known: it is that of the
table with standard names.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skanchor._cli import main
from skanchor.simulation import simulate_battles

FLAGS = ["--cv", "2", "--item-effects", "none"]
SIDES = ["model_a", "model_b"]


def make_truth():
    """Votes and verdicts with ties, ids of prompts, and a feature."""
    data = simulate_battles(240, 80, n_models=4, n_judges=2, tau=0.5, random_state=3)
    rng = np.random.default_rng(0)
    y = np.where(np.asarray(data.y) > 0.5, *SIDES)
    frame = data.X[["model_a", "model_b", "judge"]].copy()
    frame["judge"] = frame["judge"].replace({"judge-1": "gpt-4", "judge-2": "claude"})
    frame["winner"] = np.where(rng.random(len(frame)) < 0.15, "tie", y)
    frame["question_id"] = [f"q{n // 2}" for n in range(len(frame))]
    return frame


TRUTH = make_truth()
HUMAN = TRUTH["judge"] == "human"
A, B, WON = TRUTH["model_a"], TRUTH["model_b"], TRUTH["winner"]


def meaning(a, b, tie):
    """The outcomes in other words."""
    return WON.map({"model_a": a, "model_b": b, "tie": tie})


def named(a, b, judge, winner, *, outcome=WON, question="question_id"):
    """The battles with other names of columns."""
    columns = {"model_a": a, "model_b": b, "judge": judge, "winner": winner}
    return TRUTH.assign(winner=outcome).rename(
        columns={**columns, "question_id": question}
    )


def by_name():
    return A.where(WON == "model_a", B.where(WON == "model_b", "tie"))


def csv(frame, sep=","):
    return lambda path: frame.to_csv(path, index=False, sep=sep)


def jsonl(frame):
    return lambda path: frame.to_json(path, orient="records", lines=True)


AT_ONCE = {
    "spreadsheet.csv": csv(
        named("Model A", "Model B", "Evaluator", "Winner",
              outcome=meaning("A", "B", "Tie")),
        ";",
    ),
    "numbered.csv": csv(
        named("model_1", "model_2", "annotator", "preference",
              outcome=meaning(1, 2, "tie"))
    ),
    "numbers_only.csv": csv(
        named("System-1", "System-2", "rater", "choice",
              outcome=meaning("1", "2", "Tie"))
    ),
    "sides.csv": csv(
        named("left", "right", "judge", "vote",
              outcome=meaning("left", "right", "draw"))
    ),
    "left_model.csv": csv(
        named("left model", "right model", "Judge Name", "Verdict",
              outcome=meaning("Left", "Right", "Equal"))
    ),
    "winner_by_name.csv": csv(
        named("model_a", "model_b", "judge", "winner", outcome=by_name())
    ),
    "winner_in_capitals.csv": csv(
        named("Player 1", "Player 2", "judge", "Winning model",
              outcome=by_name().str.upper())
    ),
    "brackets.jsonl": jsonl(
        named("assistant_a", "assistant_b", "judge", "verdict",
              outcome=meaning("[[A]]", "[[B]]", "[[C]]"))
    ),
    "levels.jsonl": jsonl(
        named("model_a", "model_b", "judge", "label",
              outcome=meaning("A>B", "B>A", "A=B"))
    ),
    "in_words.csv": csv(
        named("System A", "System B", "Grader", "Result",
              outcome=meaning("A is better", "B is better", "About the same"))
    ),
    "responses.tsv": csv(
        named("LLM_1", "LLM_2", "evaluator", "outcome",
              outcome=meaning("Response 1", "Response 2", "tie")),
        "\t",
    ),
    "capital_human.csv": csv(
        named("MODEL_A", "MODEL_B", "JUDGE", "WINNER").replace(
            {"JUDGE": {"human": "Human"}}
        )
    ),
    "crowd.csv": csv(
        named("model_a", "model_b", "judge", "winner").replace(
            {"judge": {"human": "crowd"}}
        )
    ),
}  # fmt: skip


PASTED = {
    # Numbers that go either way.
    "zero_one.csv": (
        csv(named("left", "right", "judge", "pref", outcome=meaning(1, 0, 0.5))),
        "of which larger ones favour 'left'",
    ),
    "minus_one.csv": (
        csv(named("model_a", "model_b", "judge", "score_diff",
                  outcome=meaning(-1, 1, 0)).rename(columns={"score_diff": "label"})),
        "favour 'model_b'",
    ),
    "codes.csv": (
        csv(named("model_a", "model_b", "judge", "winner", outcome=meaning(1, 2, 0))),
        "1 is 'model_a' won, 2 is 'model_b' won, 0 is a tie",
    ),
    # Words of another language.
    "cesky.csv": (
        csv(named("Modell A", "Modell B", "judge", "winner",
                  outcome=meaning("vlevo", "vpravo", "nic")).rename(
            columns={"Modell A": "model a", "Modell B": "model b"})),
        "If 'vlevo' means",
    ),
    # A label that is no verdict, and one that failed.
    "unsure.csv": (
        csv(named("model_a", "model_b", "judge", "winner",
                  outcome=meaning("A", "B", "hard to say"))),
        "If they are ties",
    ),
    # Names that nobody could know.
    "own_names.csv": (
        csv(named("erstes System", "zweites System", "judge", "winner")),
        "'erstes System' and 'zweites System' are the models",
    ),
    "own_outcome.csv": (
        csv(named("model_a", "model_b", "judge", "who then?")),
        "'who then?' holds the outcome",
    ),
    # Who decided: judges, people, or both.
    "annotators.csv": (
        csv(named("model_a", "model_b", "annotator", "winner").replace(
            {"annotator": {"human": "ann"}})),
        "names judges and people",
    ),
}  # fmt: skip


def rated(seed=0):
    """Ratings of four old models by people and judges, and of a new one by judges."""
    rng = np.random.default_rng(seed)
    quality = {"owl": 0.0, "elk": 0.4, "fox": 0.8, "cat": -0.3, "new": 0.3}
    rows = [
        (f"p{p}", model, rater, int(np.clip(np.rint(3 + q + rng.normal()), 1, 5)))
        for p in range(60)
        for model, q in quality.items()
        for rater in ("human", "gpt-4")
        if rater != "human" or model != "new"
    ]
    return pd.DataFrame(rows, columns=["Prompt", "System", "Rater", "Score"])


def wide(table):
    keys = ["Prompt", "System"]
    return table.pivot_table(index=keys, columns="Rater", values="Score").reset_index()


def scores(out):
    return {row["model"]: row["score"] for row in json.loads(out)["models"]}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Scores by the table with standard names."""
    path = tmp_path_factory.mktemp("truth") / "truth.csv"
    TRUTH.rename(columns={"question_id": "prompt_id"}).to_csv(path, index=False)
    board = path.with_name("board.json")
    assert main(["rank", str(path), *FLAGS, "-o", str(board)]) == 0
    return scores(board.read_text())


@pytest.mark.parametrize("name", AT_ONCE)
def test_it_is_ranked_at_once(run, tmp_path, known, name):
    AT_ONCE[name](path := tmp_path / name)
    code, out, err = run("rank", path, *FLAGS, "--json")
    assert code == 0, err
    assert scores(out) == pytest.approx(known)
    # What was assumed stands above the result, and in JSON.
    assert any(line.startswith("skanchor: read as: ") for line in err)
    told = json.loads(out)["summary"]["warnings"]
    assert any(one["category"] == "AssumptionWarning" for one in told)


@pytest.mark.parametrize("name", PASTED)
def test_it_is_ranked_after_one_argument_that_is_offered(run, tmp_path, known, name):
    write, case = PASTED[name]
    write(path := tmp_path / name)
    code, out, err = run("rank", path, *FLAGS, "--json")
    assert (code, out) == (2, "")
    assert sum(line.startswith("skanchor: error: ") for line in err) == 1
    (again,) = [words for said, words in run.offered if case in said]
    code, out, err = run(*again)
    assert code == 0, err
    assert scores(out) == pytest.approx(known)


def test_every_argument_that_is_offered_works(run, tmp_path):
    """None of the readings that a message offers ends in another refusal."""
    for name, (write, _) in PASTED.items():
        write(path := tmp_path / name)
        run("rank", path, *FLAGS)
        found = run.offered
        assert found, name
        for case, words in found:
            if "file of people's votes" in case:
                continue
            code, _, err = run(*words)
            assert code == 0, (name, case, err)


# ------------------------------------------------------------------ other than battles
def test_ratings_long_and_wide_are_ranked_at_once_and_alike(run, tmp_path):
    long, flat = tmp_path / "long.csv", tmp_path / "wide.csv"
    rated().sort_values(["Prompt", "System"]).to_csv(long, index=False)
    wide(rated()).to_csv(flat, index=False)
    boards = [run("rank", path, *FLAGS, "--json") for path in (long, flat)]
    assert [code for code, _, _ in boards] == [0, 0]
    found = [scores(out) for _, out, _ in boards]
    assert found[0] == pytest.approx(found[1], abs=0.1)
    assert max(found[0], key=found[0].get) == "fox"
    inputs = json.loads(boards[0][1])["summary"]["inputs"]
    # Rows of one prompt belong together.
    assert (inputs["groups"], inputs["n_groups"]) == ("prompt_id", 60)


def test_raters_by_name_are_ranked_once_people_are_named(run, tmp_path):
    flat = wide(rated()).rename(columns={"human": "ann"})
    flat.to_csv(path := tmp_path / "wide.csv", index=False)
    code, _, err = run("rank", path, *FLAGS)
    assert code == 2 and "name it in human" in err[-1]
    assert run("rank", path, *FLAGS, "--human", "ann")[0] == 0


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
    code, _, (error,) = run("rank", "gpt-4.json", "--no-new", *FLAGS)
    assert code == 2 and "Results of a judge by 'idx'" in error
    assert "testset-v1.json" in error
    files = ["testset-v1.json", "gpt-4.json"]
    code, out, _ = run("rank", *files, "--no-new", *FLAGS, "--json")
    rows = json.loads(out)["summary"]["rows"]
    assert code == 0 and (rows["human"], rows["historical"]) == (450, 150)


REFUSED = {
    "arena_hard_leaderboard.csv": (
        pd.DataFrame({"model": ["x", "y"], "score": [61.2, 50.0], "CI": ["-1", "+1"]}),
        "A leaderboard: it holds scores of 2 models, not battles",
    ),
    # LLMBar's kind: pairs of outputs without their models.
    "dataset.jsonl": (
        pd.DataFrame({"input": ["a", "b"], "output_1": ["x", "y"],
                      "output_2": ["u", "v"], "label": [1, 2]}),
        "but not the models that gave them",
    ),
    # JudgeBench's kind: both responses are of one model.
    "judgebench.jsonl": (
        pd.DataFrame({"pair_id": ["p", "q"], "response_model": "gpt-4o",
                      "response_A": ["x", "y"], "response_B": ["u", "v"],
                      "label": ["A>B", "B>A"]}),
        "but not the models that gave them",
    ),
    "one_model.csv": (
        pd.DataFrame({"prompt": ["p", "q"], "model": "owl", "score": [1, 2]}),
        "Ratings of one model only, 'owl'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_holds_no_battles_is_called_what_it_is(run, tmp_path, name):
    frame, said = REFUSED[name]
    (csv if name.endswith("csv") else jsonl)(frame)(path := tmp_path / name)
    code, out, (error,) = run("rank", path)
    assert (code, out) == (2, "") and said in error


def test_a_table_of_judges_alone_asks_for_votes(run, tmp_path, known, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TRUTH[~HUMAN].to_csv("verdicts.csv", index=False)
    TRUTH[HUMAN].drop(columns="judge").to_csv("people.csv", index=False)
    code, _, err = run("rank", "verdicts.csv", *FLAGS)
    assert code == 2 and "add the rows of people on the same models" in err[-1]
    code, out, err = run("rank", "people.csv", "verdicts.csv", *FLAGS, "--json")
    assert code == 0, err
    assert scores(out).keys() == known.keys()


def test_notes_of_reading_are_no_warnings(run, tmp_path):
    table = TRUTH.rename(columns={"judge": "Evaluator"})
    table.to_csv(path := tmp_path / "notes.csv", index=False)
    code, out, _ = run("rank", path, *FLAGS)
    assert code == 0
    assert "Read as:" in out
    assert "judges are in 'Evaluator'" in " ".join(out.split())
    warned = out[out.index("Warnings:") :]
    assert "Evaluator" not in warned
