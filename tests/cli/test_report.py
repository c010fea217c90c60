"""``skanchor report`` and ``rank --report`` write pages to hand on."""

import shutil
import subprocess

import pytest

FAST = ["--cv", "2"]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("report.html", "<!DOCTYPE html>"),
        ("report.md", "# Where people would rank the models\n"),
        ("report.tex", "\\documentclass{article}\n"),
    ],
)
def test_report_takes_the_form_of_its_suffix(run, tmp_path, name, start):
    path = tmp_path / name
    assert run("report", "--demo", *FAST, "-o", path) == (0, "", [])
    text = path.read_text("utf-8")
    assert text.lstrip().startswith(start)
    assert (
        "People would rank ivory-lynx 4th of 10; its rank lies between 3 and 5." in text
    )
    code, _, err = run("report", "--demo", *FAST, "-o", path)
    assert code == 2 and "exists; write over it with --force" in err[0]


def test_rank_writes_the_same_report_beside_its_result(run, tmp_path):
    paths = tmp_path / "a.md", tmp_path / "b.md"
    code, out, err = run("rank", "--demo", *FAST, "--report", paths[0])
    assert (code, err) == (0, []) and "ivory-lynx" in out
    run("report", "--demo", *FAST, "-o", paths[1])
    ranked, reported = (path.read_text("utf-8") for path in paths)
    # All but the command that made it.
    assert ranked.split("```")[0] == reported.split("```")[0]
    assert f"skanchor rank --demo --cv 2 --report {paths[0]}" in ranked


def test_without_a_file_the_page_goes_to_standard_output(run):
    for flags in [], ["-o", "-"]:
        code, out, err = run("report", "--demo", *FAST, *flags)
        assert (code, err) == (0, []) and out.lstrip().startswith("<!DOCTYPE html>")


def test_a_report_never_goes_over_what_is_read(run, battles, tmp_path):
    path = tmp_path / "battles.md"
    shutil.copy(battles, path)
    before = path.read_bytes()
    for flags in (["report", path, "-o", path], ["rank", path, "--report", path]):
        code, out, err = run(*flags, "--file-format", "csv", "--force")
        assert (code, out) == (2, "") and "is a file that is read" in err[0]
    assert path.read_bytes() == before


def test_warnings_of_reading_are_in_the_report(run, battles, tmp_path):
    path, report = tmp_path / "odd.csv", tmp_path / "report.md"
    text = battles.read_text("utf-8")
    path.write_text(
        text + text.splitlines()[1].replace("model_", "no_") + "\n", "utf-8"
    )
    code, _, err = run("report", path, *FAST, "--drop-invalid", "-o", report)
    if code == 0 and err:
        said = report.read_text("utf-8").replace("\\", "")
        assert err[0].removeprefix("skanchor: warning: ")[:40] in said


def test_elo_and_anchor_reach_the_report(run, tmp_path):
    path = tmp_path / "report.md"
    flags = ["--scale", "elo", "--anchor", "amber-otter=1200"]
    assert run("report", "--demo", *FAST, *flags, "-o", path)[0] == 0
    assert "| amber-otter | 1 | 1–2 | 1200 |" in path.read_text("utf-8")


def test_latex_compiles(run, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex")
    path = tmp_path / "report.tex"
    run("report", "--demo", *FAST, "-o", path)
    command = ["pdflatex", "-halt-on-error", "-interaction=batchmode", path.name]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == 0, path.with_suffix(".log").read_text("latin-1")[-2000:]


def test_report_holds_the_check(run, tmp_path):
    path = tmp_path / "report.md"
    assert run("report", "--demo", *FAST, "--check", "-o", path) == (0, "", [])
    text = path.read_text("utf-8")
    assert "No test speaks against the intervals. 8 of 8 models left out" in text
    assert "## Check on models whose votes are known" in text
    assert "has not been checked here" not in text
    code, _, err = run("report", "--demo", "--check", "--context", "judge")
    assert code == 2 and "--check cannot test the intervals of a mix" in err[0]


def test_a_budget_puts_rows_to_buy_into_the_report(run, tmp_path):
    path = tmp_path / "report.md"
    bought = ["--budget", 50, "--costs", "human=1", "judges=0.1"]
    assert run("report", "--demo", *FAST, *bought, "-o", path) == (0, "", [])
    text = path.read_text("utf-8")
    assert "A budget of 50 is best spent on" in text and "Gain (1e-6)" in text
    for flags, says in (
        (["--budget", 50], "--costs takes the price of a row"),
        (["--costs", "human=1"], "--budget takes the money available"),
        (["--budget", 50, "--costs", "owl=1"], "costs names 'owl', which is no source"),
    ):
        code, _, err = run("report", "--demo", *FAST, *flags, "-o", tmp_path / "x.md")
        assert code == 2 and says in err[-1]
