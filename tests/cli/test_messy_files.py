"""Files as people have them: ranked at once, or after one command that is printed.

Every file holds the same battles, so that the leaderboard is known: it is that of the
table with standard names.
"""

import json

import numpy as np
import pytest

from skanchor._cli import main
from skanchor.simulation import simulate_battles

FLAGS = ["--folds", "2", "--item-effects", "none"]
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
        "larger numbers, of 0 to 1, favour 'left'",
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
    "deutsch.csv": (
        csv(named("Modell A", "Modell B", "judge", "winner",
                  outcome=meaning("links", "rechts", "beide")).rename(
            columns={"Modell A": "model a", "Modell B": "model b"})),
        "If 'links' means",
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
        csv(named("model_a", "model_b", "judge", "who won?")),
        "'who won?' holds the outcome",
    ),
    # Who decided: judges, people, or both.
    "annotators.csv": (
        csv(named("model_a", "model_b", "annotator", "winner").replace(
            {"annotator": {"human": "ann"}})),
        "names judges and people",
    ),
    "experts.csv": (
        csv(named("model_a", "model_b", "judge", "winner").assign(
            judge=TRUTH["judge"].mask(
                HUMAN, "expert_" + (TRUTH.index % 3).astype(str)))),
        "",
    ),
}  # fmt: skip


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
def test_it_is_ranked_after_one_command_that_is_printed(run, tmp_path, known, name):
    write, case = PASTED[name]
    write(path := tmp_path / name)
    code, out, err = run("rank", path, *FLAGS, "--json")
    assert (code, out) == (2, "")
    assert sum(line.startswith("skanchor: error: ") for line in err) == 1
    (again,) = [words for said, words in run.offered if case in said]
    code, out, err = run(*again)
    assert code == 0, err
    assert scores(out) == pytest.approx(known)


def test_every_command_that_is_printed_works(run, tmp_path):
    """None of the readings that a message offers ends in another refusal."""
    for name, (write, _) in PASTED.items():
        write(path := tmp_path / name)
        run("rank", path, *FLAGS)
        found = run.offered
        assert found, name
        for case, words in found:
            if "people.csv" in words:
                continue
            code, _, err = run(*words)
            assert code == 0, (name, case, err)
