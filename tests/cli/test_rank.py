"""``skanchor rank``: what it prints, and that bad input costs one line and code 2."""

import html
import io
import json
import os
import re
import sys

import numpy as np
import pandas as pd
import pytest

from skanchor import AnchorPipeline, split_battles
from skanchor.datasets import load_demo
from skanchor.exceptions import BattlesError
from skanchor.reports import to_dict
from skanchor.reports.facts import Facts
from skanchor.reports.readout import ranking

FAST = ["--set", "cv=2"]


def text_of(anchor):
    """What the program prints of a fitted pipeline."""
    return ranking(Facts(anchor)).to_text()


@pytest.fixture(scope="module")
def pipeline():
    X, y = load_demo(return_X_y=True)
    return AnchorPipeline(random_state=0).fit(X, y)


# ------------------------------------------------------------------------- success


def test_demo_json_holds_the_result(run, pipeline):
    code, out, err = run("rank", "--demo", "--json", "--level", "0.9")
    assert (code, err) == (0, [])
    result = json.loads(out)
    assert result == to_dict(pipeline, 0.9)


def test_output_goes_to_the_file(run, tmp_path, pipeline):
    leaderboard = pipeline.leaderboard()
    for name, flags in [("a", []), ("b", ["--json"]), ("c.JSON", []), ("v1.csv", []),
                        ("d.tsv", []), ("e.parquet", [])]:  # fmt: skip
        path = tmp_path / name
        assert run("rank", "--demo", *flags, "--output", path) == (0, "", [])
        if path.suffix == ".parquet":
            read = pd.read_parquet(path).set_index("model")
        elif path.suffix in (".csv", ".tsv"):
            read = pd.read_csv(path, sep=None, engine="python", index_col="model")
        else:
            text = path.read_text()
            is_text = not (flags or path.suffix)
            assert (
                text == text_of(pipeline)
                if is_text
                else to_dict(pipeline) == (json.loads(text))
            )
            continue
        pd.testing.assert_frame_equal(
            read, leaderboard, check_dtype=False, check_names=False
        )
    assert len(os.listdir(tmp_path)) == 6


# ------------------------------------------------------------- reports and pictures
def test_a_report_with_all_that_the_run_said(run, battles, tmp_path):
    odd, page = tmp_path / "odd.csv", tmp_path / "report.html"
    frame = pd.read_csv(battles)
    frame.loc[[3, 5], "winner"] = ["error", None]
    frame.to_csv(odd, index=False)
    flags = [*FAST, "--drop-invalid", "--scale", "elo", "--anchor", "amber-otter=1200"]
    code, out, err = run("rank", odd, *flags, "-o", page)
    assert (code, out, len(err)) == (0, "", 1)
    shown = re.sub(r"\s+", " ", html.unescape(page.read_text("utf-8")))
    assert shown.lstrip().startswith("<!DOCTYPE html>")
    assert "People would rank ivory-lynx 4th of 10" in shown
    assert err[0].removeprefix("skanchor: warning: ")[:40] in shown
    assert f"skanchor rank {odd} --set cv=2 --drop-invalid --scale elo" in shown
    assert "measured from amber-otter, which has 1200 by definition" in shown
    code, _, err = run("rank", odd, *flags, "-o", page)
    assert code == 2 and "exists; write over it with --force" in err[0]


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF-")]
)
def test_a_picture_of_the_leaderboard(run, tmp_path, suffix, start):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"board.{suffix}"
    flags = [*FAST, "--scale", "elo"]
    assert run("rank", "--demo", *flags, "-o", path) == (0, "", [])
    assert path.read_bytes().startswith(start)


def board(result):
    """Code, output without the line on raters, and errors of a command."""
    code, out, err = result
    lines = [line for line in out.splitlines() if not line.startswith("Raters: ")]
    return code, lines, err


def test_human_rows_under_other_labels(run, whole, battles, tmp_path):
    frame = pd.read_csv(battles)
    rows = np.flatnonzero(frame["judge"] == "human")
    frame.loc[rows, "judge"] = np.where(rows % 2, "7", "crowd")
    frame.to_csv(path := tmp_path / "b.csv", index=False)
    plain = board(whole)
    assert board(run("rank", path, *FAST, "--human", "7", "crowd")) == plain
    assert board(run("rank", path, *FAST, "--human", "7", "--human", "crowd")) == plain
    # Without the flag the other label is a judge: the column has people.
    assert run("rank", path, *FAST)[0] == 0
    frame.replace({"judge": {"crowd": "ann"}}).to_csv(path, index=False)
    code, _, err = run("rank", path, *FAST)
    assert (code, len(err)) == (2, 1)
    assert "is 'ann' in 'judge' a person or a judge?" in err[0]
    code, _, err = run("rank", path, *FAST, "--human", "nobody")
    assert code == 2 and "no label of a judge is 'nobody'; the labels are" in err[0]


def test_standard_input_and_labels(run, whole, battles, tmp_path, monkeypatch):
    sides = {"model_a": "up", "model_b": "down", "tie": "hm"}
    text = pd.read_csv(battles).replace({"winner": sides}).to_csv(index=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    flags = ["--labels", "up=model_a,down=model_b", "--labels", "hm=tie"]
    assert run("rank", "-", *FAST, *flags) == whole


def test_output_is_never_an_input(run, battles, tmp_path):
    path = tmp_path / "b.csv"
    path.write_bytes(battles.read_bytes())
    code, _, err = run("rank", path, "--output", path)
    assert (code, len(err)) == (2, 1)
    assert "is a file that is read" in err[0]
    assert path.read_bytes() == battles.read_bytes()


def test_output_that_exists_asks_for_force(run, tmp_path):
    path = tmp_path / "board.txt"
    path.write_text("precious")
    code, out, err = run("rank", "--demo", *FAST, "--output", path)
    assert (code, out) == (2, "")
    assert err == [f"skanchor: error: {path}: exists; write over it with --force"]
    assert path.read_text() == "precious"
    assert run("rank", "--demo", *FAST, "--output", path, "--force") == (0, "", [])
    assert "ivory-lynx" in path.read_text()
    assert run("rank", "--demo", *FAST, "--output", os.devnull) == (0, "", [])


def test_output_that_cannot_be_written_is_found_before_the_fit(
    run, tmp_path, monkeypatch
):
    monkeypatch.setattr(AnchorPipeline, "fit", None)
    (tmp_path / "file").touch()
    for path, cause in [
        (tmp_path, "Is a directory"),
        (tmp_path / "no" / "x.txt", "there is no directory"),
        (tmp_path / "file" / "x.txt", "there is no directory"),
        (tmp_path / ("x" * 300), "File name too long"),
    ]:
        code, out, err = run("rank", "--demo", "--output", path)
        assert (code, out, len(err)) == (2, "", 1) and cause in err[0]
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    code, _, err = run("rank", "--demo", "--output", tmp_path / "file", "--force")
    assert code == 2 and "Permission denied" in err[0]
    monkeypatch.setattr(sys, "stdout", None)
    code, _, err = run("rank", "--demo")
    assert code == 2 and "standard output is closed" in err[0]


def test_names_print_harmlessly(run, battles, tmp_path):
    red = "ivory\x1b[31m\u202e-lynx\r"
    frame = pd.read_csv(battles).replace({"ivory-lynx": red})
    frame.to_json(path := tmp_path / "b.jsonl", orient="records", lines=True)
    code, out, err = run("rank", path, *FAST)
    assert (code, err) == (0, [])
    assert r"ivory\x1b[31m\u202e-lynx\r" in out
    odd = tmp_path / "b\x1b[31m.csv"
    frame.assign(winner=red).to_csv(odd, index=False)
    printed = [
        *run("rank", path, *FAST, "--features", red)[2],
        *run("rank", path, *FAST, "--new", red, f"no{red}")[2],
        *run("rank", odd)[2],
        *run("rank", red)[2],
        *run("rank", "--demo", red)[2],
    ]
    assert len(printed) == 5
    assert all(line.isprintable() for line in (*out.splitlines(), *printed))
    with pytest.raises(BattlesError) as raised:
        AnchorPipeline(new_models=[red]).fit(*split_battles(frame.replace(red, "x")))
    assert str(raised.value).isprintable()


def test_formulas_are_written_as_text(run, battles, tmp_path):
    frame = pd.read_csv(battles).replace({"ivory-lynx": "=1+1", "blue-heron": "@b"})
    frame.to_csv(path := tmp_path / "b.csv", index=False)
    out = tmp_path / "out.csv"
    assert run("rank", path, *FAST, "--output", out) == (0, "", [])
    models = pd.read_csv(out)["model"].tolist()
    assert {"'=1+1", "'@b"} <= set(models) and "=1+1" not in models
    # Nobody runs formulas of JSON or Parquet.
    assert run("rank", path, *FAST, "--output", out.with_suffix(".json"))[0] == 0
    assert '"=1+1"' in out.with_suffix(".json").read_text()


def test_any_parameter_by_its_name(run):
    flags = ["--set", "item_effects=null", "item_prior=[0.5, 8]"]
    flags += ["--set", "calibrator__position_effect=false", "historical_fit=two-step"]
    code, out, _ = run("rank", "--demo", *FAST, *flags, "--json")
    settings = json.loads(out)["settings"]
    assert code == 0 and settings["item_prior"] == [0.5, 8]
    assert (settings["cv"], settings["item_effects"]) == (2, None)
    assert settings["historical_fit"] == "two-step"
    assert settings["calibrator"] == "JudgeCalibrator(position_effect=False)"


# ----------------------------------------------------------------------- bad input
HEAD = "model_a,model_b,judge,winner\n"
BAD_FILES = {
    "absent.csv": (None, "No such file"),
    "unknown.xlsx": (b"PK\x03\x04", "pass pandas.read_excel(...) to split_battles"),
    "header.csv": (HEAD, "but no comparisons"),
    "columns.csv": ("a,b\n1,2\n", "give --columns NAME=ROLE"),
    "outcome.csv": (HEAD + "x,y,human,maybe\n", "maybe"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file(run, tmp_path, name):
    content, cause = BAD_FILES[name]
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
    code, out, err = run("rank", tmp_path / name)
    assert (code, out) == (2, "")
    assert len(err) == 1
    assert err[0].startswith("skanchor: error: ")
    assert cause in err[0]
    assert "new_models" not in err[0]


def test_unwritable_output_leaves_nothing(run, tmp_path, monkeypatch):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    code, _, err = run("rank", "--demo", *FAST, "--output", tmp_path / "x.txt")
    assert (code, len(err)) == (2, 1)
    assert "x.txt: No space left" in err[0]
    assert os.listdir(tmp_path) == []


def test_text_columns(run, battles, tmp_path):
    frame = pd.read_csv(battles).drop(columns=["markdown_a", "markdown_b"])
    for side in "ab":
        words = (frame.pop(f"length_{side}") * 20 + 100).clip(lower=0).round()
        frame[f"text {side}"] = ["so **it** is! " * int(n) for n in words]
    frame.to_json(path := tmp_path / "b.jsonl", orient="records", lines=True)
    flags = ["--features", "words", "--text-columns"]
    code, out, err = run("rank", path, *FAST, *flags, "text a, text b")
    assert (code, err) == (0, []) and "\nFeatures: words.\n" in out
    for given_flags, cause in [
        ("text a", "takes pairs"),
        ("x,y", "no columns of texts x and y"),
    ]:
        code, _, err = run("rank", path, *flags, given_flags)
        assert code == 2 and cause in err[0]


# ------------------------------------------------------------------------- contexts
@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    X, y = load_demo(return_X_y=True)
    path = tmp_path_factory.mktemp("kinds") / "battles.csv"
    number = np.arange(len(X)) % 2 + 1
    X.assign(kind=number, winner=np.asarray(y)).to_csv(path, index=False)
    return str(path)


def test_a_mix_of_contexts(run, kinds):
    flags = ["--set", "context=kind", 'context_mix={"1": 0.25, "2": 0.75}']
    flags += ["item_effects=none"]
    code, out, _ = run("rank", kinds, *FAST, *flags, "--json")
    assert code == 0
    result = json.loads(out)
    assert result["inputs"]["mix"] == [[1, 0.25], [2, 0.75]]
    assert [one["context"] for one in result["contexts"]] == [1, 2]
    scores = [
        {row["model"]: row["score"] for row in leaderboard["models"]}
        for leaderboard in (result, *result["contexts"])
    ]
    for model, score in scores[0].items():
        assert score == pytest.approx(0.25 * scores[1][model] + 0.75 * scores[2][model])
    _, text, _ = run("rank", kinds, *FAST, *flags)
    assert "Contexts: kind; the scores mix 0.25 1, 0.75 2." in text


def test_rows_without_a_judge_are_people_s_only_when_told_so(run, tmp_path):
    path = tmp_path / "my verdicts.csv"
    rows = [f"m{a},m{b},{'model_a' if a < b else 'tie'}\n"
            for a in range(4) for b in range(4) if a != b]  # fmt: skip
    path.write_text("model_a,model_b,winner\n" + "".join(rows) * 3)
    code, out, (error,) = run("rank", path, "--no-new")
    assert (code, out) == (2, "")
    assert "no column says who decided in 'my verdicts': people or a judge?" in error
    assert f"skanchor inspect '{path}' -o 'my verdicts.toml'" in error
    code, out, _ = run("rank", path, "--no-new", "--human", "*")
    assert code == 0
    assert "m0" in out


# ---------------------------------------------------------------------- a dry run
def test_votes_of_a_model_may_be_hidden(run, battles, tmp_path):
    flags = [*FAST, "--set", "item_effects=none", "--json"]
    code, out, err = run("rank", battles, *flags, "--hide-votes-of", "amber-otter")
    assert code == 0
    result = json.loads(out)
    (model,) = [m for m in result["models"] if m["model"] == "amber-otter"]
    assert model["is_new"] and model["n_human"] == 0
    frame = pd.read_csv(battles)
    plays = (frame[["model_a", "model_b"]] == "amber-otter").any(axis=1)
    hidden = plays & (frame["judge"] == "human")
    assert f"A dry run: {hidden.sum()} human rows of amber-otter are left out" in err[0]
    assert "A dry run" in result["warnings"][0]["message"]
    # The same as a table without these rows.
    frame[~hidden].to_csv(path := tmp_path / "hidden.csv", index=False)
    assert json.loads(run("rank", path, *flags)[1])["models"] == result["models"]


def test_votes_that_are_not_there_cannot_be_hidden(run, battles):
    for model in ("owl", "ivory-lynx"):
        code, _, err = run("rank", battles, *FAST, "--hide-votes-of", model)
        assert code == 2 and f"--hide-votes-of {model}: it has no human" in err[0]
