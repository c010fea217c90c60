"""Formulas are text in CSV, and what was written is read."""

import csv

import pandas as pd
import pytest

from skanchor.io import read_battles
from skanchor.io.spreadsheet import separated

NAMES = [
    "=1+1",
    "+x",
    "-x",
    "@x",
    "\tx",
    "\rx",
    "'=x",
    "''-x",
    "'x",
    "x",
    "x=",
    "-",
    "'",
]


@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_names_are_marked_and_come_back(tmp_path, suffix, separator):
    table = pd.DataFrame(
        {"model_a": NAMES, "model_b": NAMES[::-1], "winner": 0.5, "gap_a": -1.5}
    ).assign(gap_b=-2)
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
