"""Formulas are text in CSV, and what was written is read."""

import csv
from io import BytesIO

import pandas as pd
import pytest

from skanchor.io import read_battles
from skanchor.io.spreadsheet import separated, workbook

NAMES = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "\nx", "'=x", "''-x", "'x", "x", "x=",
         "-", "'"]  # fmt: skip


@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_names_are_marked_and_come_back(tmp_path, suffix, separator):
    table = pd.DataFrame(
        {"model_a": NAMES, "model_b": NAMES[::-1], "judge": "human", "winner": "tie"}
    ).assign(gap_a=-1.5, gap_b=-2)
    path = tmp_path / f"b.{suffix}"
    path.write_text(separated(table, separator), newline="")
    with path.open(newline="") as file:
        cells = list(csv.DictReader(file, delimiter=separator))
    assert not [row for row in cells if row["model_a"][0] in "=+-@\t\r"]
    # Numbers stay numbers.
    assert {row["gap_a"] for row in cells} == {"-1.5"}
    pd.testing.assert_frame_equal(
        read_battles(path), table, check_dtype=False, check_names=False
    )


def test_characters_that_a_terminal_runs_are_escaped():
    names = ["\x1b[31mred", "a\u202eb", "\u2066x\u2069", "\x9b1m", "line\nbreak",
             "tab\there"]  # fmt: skip
    text = separated(pd.DataFrame({"model": names}), ",")
    for raw in ("\x1b", "\u202e", "\u2066", "\u2069", "\x9b"):
        assert raw not in text
    assert r"\x1b[31mred" in text and r"a\u202eb" in text
    assert "line\nbreak" in text and "tab\there" in text


def test_a_workbook_shows_what_is_not_seen():
    openpyxl = pytest.importorskip("openpyxl")
    book = workbook(pd.DataFrame({"name": ["\u202egnp.exe", "esc\x1b[2J"]}))
    (sheet,) = openpyxl.load_workbook(BytesIO(book))
    cells = [row[0].value for row in sheet.iter_rows(min_row=2)]
    assert cells == ["\\u202egnp.exe", "esc\\x1b[2J"]
