"""``docs/faults.md`` lists the faults that are tested, and answers them alike."""

import re
from pathlib import Path

from faults.collected import FAULTS

TESTS = Path(__file__).parents[1]


def test_tests_named_elsewhere_exist():
    for entry in FAULTS:
        if entry.where:
            module, _, name = entry.where.partition("::")
            text = (TESTS / f"{module.replace('.', '/')}.py").read_text("utf-8")
            assert re.search(rf"^def {name}\(", text, re.M), entry.where


def test_docs_list_the_same_faults():
    page = TESTS.parent / "docs" / "faults.md"
    tables = page.read_text("utf-8").partition("## scikit-learn's own checks")[0]
    rows = re.findall(r"^\| (.+?) +\| (.+?) +\|$", tables, re.M)
    rows = [row for row in rows if row[0] != "input" and set(row[0]) != {"-"}]
    assert [title for title, _ in rows] == [entry.title for entry in FAULTS]
    for entry, (title, answer) in zip(FAULTS, rows, strict=True):
        if not entry.where:
            kind = "Error" if entry.raises else "Warning" if entry.warns else "Works"
            assert answer.startswith(kind), title
