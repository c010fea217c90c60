"""Every fault that skanchor answers, and the answer it gives.

``table(...)`` entries are battles tables: each goes through ``AnchorPipeline`` and,
where flags set its parameters, as a file through the command line, which ends with code
2 and one line where the library raises. ``call(...)`` entries are calls that have no
file, and ``see(...)`` names a test elsewhere.
"""

import io
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest
from faults.battles import fit, heard
from faults.collected import FAULTS
from sklearn.exceptions import ConvergenceWarning

from skanchor._cli import main
from skanchor.exceptions import (
    DiagnosticWarning,
    SkanchorWarning,
)


def listed(kind):
    chosen = [entry for entry in FAULTS if kind(entry)]
    return pytest.mark.parametrize("entry", chosen, ids=lambda entry: entry.title)


@listed(lambda entry: not entry.where)
def test_answer(entry):
    run = entry.run or (lambda: fit(entry.frame(), **entry.params))
    if entry.raises:
        error, message = entry.raises
        for each in run if isinstance(run, list) else [run]:
            with pytest.raises(error, match=message):
                heard(each)
        return
    wanted = any(category is DiagnosticWarning for category, _ in entry.warns)
    result, told = heard(run, wanted)
    for category, pattern in entry.warns:
        assert any(
            issubclass(c, category) and re.search(pattern, m) for c, m in told
        ), f"{category.__name__} {pattern!r} not in {told}"
    if not entry.warns:
        assert told == []
    # Nothing but what this package has to say.
    assert all(issubclass(c, (SkanchorWarning, ConvergenceWarning)) for c, _ in told)
    if entry.check:
        entry.check(result)


@listed(lambda entry: entry.flags)
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
