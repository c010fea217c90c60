"""Commands that are printed mend all that is wrong, not the first fault alone."""

import numpy as np
import pandas as pd
import pytest

from skanchor._cli.following import followed
from skanchor._cli.program import make_parser

RNG = np.random.default_rng(0)


def battles(n=60, **changes):
    """Table in which two judges and a person compare three models."""
    sides = np.array([RNG.choice(["owl", "elk", "fox"], 2, False) for _ in range(n)])
    table = {"model_a": sides[:, 0], "model_b": sides[:, 1],
             "winner": RNG.choice(["model_a", "model_b"], n),
             "judge": np.resize(["human", "gpt-4"], n)} | changes  # fmt: skip
    return pd.DataFrame({name: of for name, of in table.items() if of is not None})


@pytest.fixture
def two_faults(tmp_path):
    """File with an unknown label of ties, and judges in an unknown column."""
    outcome = RNG.choice(["A", "B", "hm"], 60)
    who = np.resize(["expert_1", "gpt-4"], 60)
    table = battles(winner=outcome, judge=None, annotator=who)
    table.to_csv(path := tmp_path / "two.csv", index=False)
    return path


def test_one_command_mends_two_faults(run, two_faults):
    code, _, err = run("rank", two_faults, "--folds", "2", "--item-effects", "none",
                       "--no-new")  # fmt: skip
    assert code == 2
    assert "Unknown outcome labels ['hm']" in err[0]
    cases = [case for case, _ in run.offered]
    assert "If they are ties, and if 'annotator' names judges and people:" in cases
    for _, words in run.offered:
        assert run(*words)[0] == 0, words


def test_files_too_large_to_read_again_are_left_at_the_first_command(
    run, two_faults, monkeypatch
):
    monkeypatch.setattr("skanchor._cli.following._LARGEST", 10)
    run("rank", two_faults)
    assert [case for case, _ in run.offered] == [
        "If they are ties:", "If they are no verdicts:",
    ]  # fmt: skip


def test_a_command_without_a_way_on_is_left_out(tmp_path):
    battles().to_csv(path := tmp_path / "b.csv", index=False)
    works = ["rank", str(path), "--no-new"]
    cases = [("If it works", works), ("If not", [*works, "--labels", "hm=tie"])]
    found = followed(cases, [str(path)], make_parser().parse_args)
    assert found == cases[:1]
    # All of them stay where none works.
    assert followed(cases[1:], [str(path)], make_parser().parse_args) == cases[1:]


@pytest.mark.parametrize("line", ["history build b.csv", "rank - --all-human"])
def test_other_commands_stay_as_they_are(line):
    cases = [("", line.split())]
    assert followed(cases, ["-"], make_parser().parse_args) == cases


def test_notes_of_reading_are_no_warnings(run, tmp_path):
    table = battles(300).rename(columns={"judge": "Evaluator"})
    table.to_csv(path := tmp_path / "notes.csv", index=False)
    code, out, _ = run("rank", path, "--no-new", "--folds", "2",
                       "--item-effects", "none")  # fmt: skip
    assert code == 0
    assert "Read as:" in out
    assert "judges are in 'Evaluator'" in " ".join(out.split())
    warned = out[out.index("Warnings:") :]
    assert "Evaluator" not in warned
