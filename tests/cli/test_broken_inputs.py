"""Broken inputs: in Python and on the command line a message says what to do.

Each table is broken in one way. `FAULTS` of `tests/faults` lists all faults; here it is
the advice that is looked at.
"""

import re

import numpy as np
import pytest
from faults.battles import ARRIVAL, FIRST, FRAME, HUMAN, LAST, NEW, fit, meets

from skanchor import JudgeCalibrator
from skanchor.exceptions import BattlesError
from skanchor.io import read_battles


def put(column, row, value, frame=FRAME):
    """The table with one other cell."""
    frame = frame.copy()
    frame.loc[row, column] = value
    return frame


def labelled(**sides):
    """The table with other labels of its outcomes."""
    first = np.asarray(FRAME["winner"]) > 0.5
    return FRAME.assign(winner=np.where(first, sides["a"], sides["b"]))


def one_order():
    """Of any two models the same one is always shown first."""
    first = FRAME["model_a"] < FRAME["model_b"]
    return FRAME.assign(shown_first=np.where(first, "model_a", "model_b"))


def apart():
    """No vote joins two groups of models."""
    group = {name: name in (FIRST, LAST) for name in {*FRAME["model_a"]}}
    across = FRAME["model_a"].map(group) != FRAME["model_b"].map(group)
    return FRAME[~(across & HUMAN)]


OTHERS = sorted({*FRAME["model_a"]} - {FIRST})
FROM_STRANGER = np.where(ARRIVAL, "stranger", FRAME["judge"])
# What is broken: the table, what a Python user passes and the flags that say the same,
# and what the messages advise.
BROKEN = {
    "no column of models": (
        lambda: FRAME.drop(columns="model_b"), {}, "",
        "Rename columns with columns=", "Rename columns with columns=",
    ),
    "no outcomes": (
        lambda: FRAME.drop(columns="winner"), {}, "",
        "Rename columns with columns=", "Rename columns with columns=",
    ),
    "no rows": (
        lambda: FRAME[:0], {}, "",
        "the battles table is empty", "give a file with a row for each comparison",
    ),
    "unknown outcomes": (
        lambda: labelled(a="yes", b="no"), {}, "",
        "labels=", r"Unknown outcome labels \['no', 'yes'\]",
    ),
    "a missing outcome": (
        lambda: put("winner", 7, None, labelled(a="model_a", b="model_b")), {}, "",
        "drop_invalid=True", "is empty in 1 of",
    ),
    "a missing model": (
        lambda: put("model_a", 7, None), {}, "",
        "Fill NaN and nulls, or drop", "Fill NaN and nulls, or drop",
    ),
    "a missing judge": (
        lambda: put("judge", 7, None), {}, "",
        "Fill NaN and nulls, or drop", "Fill NaN and nulls, or drop",
    ),
    "half a feature": (
        lambda: FRAME.drop(columns="x1_b"), {}, "",
        "Add the partner, or rename or drop", "Add the partner, or rename or drop",
    ),
    "a feature of NaN": (
        lambda: put("x1_a", int(np.flatnonzero(~HUMAN)[0]), np.nan), {}, "",
        "Fill the values or drop the rows", "Fill the values or drop the rows",
    ),
    "an infinite feature": (
        lambda: put("x1_a", 3, np.inf), {}, "",
        "Put a number, or drop the rows", "Put a number, or drop the rows",
    ),
    "no human rows": (
        lambda: FRAME.assign(judge=FRAME["judge"].replace("human", "gpt-9")), {}, "",
        "name it in human", "name it in human",
    ),
    "no new model": (
        lambda: FRAME[~ARRIVAL], {}, "",
        "new_models=\\[\\]", "--no-new",
    ),
    "a new model of another name": (
        lambda: FRAME, {"new_models": ["absent"]}, "--new absent",
        "known models are", "new_models names .* known models are",
    ),
    "a model without votes that is not named": (
        lambda: FRAME.replace({LAST: "other"}).assign(
            judge=FRAME["judge"].mask(meets(LAST), "judge-1")
        ), {"new_models": [NEW]}, f"--new {NEW}",
        "Add them to it, or drop their rows", "Add them to it, or drop their rows",
    ),
    "one old model": (
        lambda: FRAME, {"new_models": OTHERS}, f"--new {' '.join(OTHERS)}",
        "Add rows of others", "Add rows of others",
    ),
    "judges of new models alone": (
        lambda: FRAME.assign(judge=FROM_STRANGER), {}, "",
        "Add some by a judge that has", "Add some by a judge that has",
    ),
    "more folds than rows": (
        lambda: FRAME, {"cv": 5000}, "--cv 5000",
        "Use fewer folds", "cv=5000 .* Use fewer folds",
    ),
    "more folds than groups": (
        lambda: FRAME.assign(topic=np.arange(len(FRAME)) % 3),
        {"groups": "topic"}, "--groups topic",
        "Use fewer folds, or finer groups", "Use fewer folds, or finer groups",
    ),
    "groups that are not there": (
        lambda: FRAME, {"groups": "topic"}, "--groups topic",
        "give an array with one group per row", "Name a column of the table",
    ),
    "votes in two parts": (
        apart, {"historical_fit": "two-step"}, "--historical-fit two-step",
        "Add comparisons between the groups", "Add comparisons between the groups",
    ),
    "votes without a contradiction": (
        lambda: ranked(), {}, "",
        r"Add votes, or set BTLRegressor\(alpha=", "Add votes",
    ),
    "a position effect that nothing shows": (
        one_order, {"calibrator": JudgeCalibrator(position_effect=True)},
        "--position-effect",
        "Set position_effect=False .* or add rows", "--no-position-effect",
    ),
}  # fmt: skip


def ranked():
    """People always prefer the model that is first by its name."""
    first = np.where(FRAME["model_a"] < FRAME["model_b"], 1.0, 0.0)
    return FRAME.assign(winner=np.where(HUMAN, first, FRAME["winner"]))


@pytest.mark.parametrize("what", BROKEN)
def test_the_message_says_what_to_do(run, tmp_path, what):
    make, params, flags, python, command_line = BROKEN[what]
    frame = make()
    with pytest.raises(BattlesError, match=python):
        fit(frame, **{"cv": 4, **params})
    path = tmp_path / "battles.csv"
    frame.to_csv(path, index=False)
    folds = [] if "--cv" in flags else ["--cv", "4"]
    code, out, err = run("rank", path, *folds, *flags.split())
    err = [line for line in err if not line.startswith("skanchor: read as: ")]
    assert (code, out, len(err)) == (2, "", 1)
    assert err[0].startswith("skanchor: error: ") and re.search(command_line, err[0])


FILES = {
    "absent.csv": (None, "absent.csv", "absent.csv: No such file"),
    "board.xlsx": (b"x", "each of its sheets as CSV", "known are .csv"),
    "board.csv": (b"PK\x03\x04x", "each of its sheets as CSV", "a workbook, which"),
    "page.md": (b"| a |", "its table as CSV", "known are .csv"),
    "page.csv": (b"\n<HTML><body>", "its table as CSV", "a web page, which"),
    "other.csv": (b"a,b\n1,2\n", "columns=", "--from"),
    "latin.csv": (
        b"model_a,model_b,judge,winner\n\xe9,b,human,tie\n",
        "encoding='cp1252'", "not readable as CSV",
    ),
    "columns.json": (
        b'{"a": {"0": "x"}, "b": []}', "orient='records'", "Each line must be one bat",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_message_about_a_file_says_what_to_do(run, tmp_path, name):
    content, python, command_line = FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((BattlesError, OSError), match=python):
        read_battles(tmp_path / name)
    code, out, err = run("rank", tmp_path / name)
    assert (code, out, len(err)) == (2, "", 1) and command_line in err[0]


def test_there_are_twenty():
    assert len(BROKEN) >= 20
