"""Every fault that skanchor answers, and the answer it gives.

``table(...)`` entries are battles tables: each goes through ``AnchorPipeline`` and,
where flags set its parameters, as a file through the command line, which ends with code
2 and one line where the library raises. ``call(...)`` entries are calls without a file.
"""

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from faults import arrivals, features, judges, names, settings, tools, votes
from faults.battles import fit, warnings_of
from faults.entries import ROWS
from sklearn.exceptions import ConvergenceWarning

from skanchor._cli import main
from skanchor.exceptions import DiagnosticWarning, SkanchorWarning

TESTS = Path(__file__).parents[1]
MODULES = (arrivals, features, judges, names, settings, tools, votes)
FAULTS = [entry for module in MODULES for entry in module.FAULTS]


def entries(faults):
    return pytest.mark.parametrize("entry", faults, ids=lambda entry: entry.title)


def test_the_table_has_each_fault_once():
    answers = {row["input"]: row["answer"] for row in ROWS}
    assert len(answers) == len(ROWS)
    here = [row["input"] for row in ROWS if not row["test"]]
    assert sorted(here) == sorted(entry.title for entry in FAULTS)
    for entry in FAULTS:
        kind = "Error" if entry.raises else "Warning" if entry.warns else "Works"
        assert answers[entry.title].startswith(kind), entry.title


def test_tests_named_in_the_table_exist():
    for row in filter(lambda row: row["test"], ROWS):
        module, _, name = row["test"].partition("::")
        text = (TESTS / f"{module.replace('.', '/')}.py").read_text("utf-8")
        assert re.search(rf"^def {name}\(", text, re.M), row["test"]


@entries(FAULTS)
def test_answer(entry):
    run = entry.run or (lambda: fit(entry.frame(), **entry.params))
    if entry.raises:
        error, message = entry.raises
        for one in run if isinstance(run, list) else [run]:
            with pytest.raises(error, match=message):
                warnings_of(one)
        return
    wanted = any(category is DiagnosticWarning for category, _ in entry.warns)
    result, issued = warnings_of(run, wanted)
    for category, pattern in entry.warns:
        assert any(
            issubclass(c, category) and re.search(pattern, m) for c, m in issued
        ), f"{category.__name__} {pattern!r} not in {issued}"
    if not entry.warns:
        assert issued == []
    # Nothing but what this package has to say.
    assert all(issubclass(c, (SkanchorWarning, ConvergenceWarning)) for c, _ in issued)
    if entry.check:
        entry.check(result)


@entries([entry for entry in FAULTS if entry.flags])
def test_command_line(entry, tmp_path):
    path = tmp_path / "battles.csv"
    frame = entry.frame()
    # In a file 0 and 1 would be asked about.
    labels = frame["winner"].replace({1.0: "model_a", 0.0: "model_b", 0.5: "tie"})
    frame.assign(winner=labels).to_csv(path, index=False)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["rank", str(path), "--set", "cv=4", *entry.flags])
    lines = err.getvalue().splitlines()
    if entry.raises:
        assert (code, out.getvalue(), len(lines)) == (2, "", 1), lines
        assert lines[0].startswith("skanchor: error: ")
    else:
        assert (code, bool(out.getvalue())) == (0, True), lines
        assert all(line.startswith("skanchor: warning: ") for line in lines)
        assert lines or not entry.warns
