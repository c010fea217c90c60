"""Designs and experiments of ``benchmarks/`` draw and fit, here on few rows."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch):
    """Modules of both folders import one another as the commands do."""
    for folder in ("coverage", "studies"):
        monkeypatch.syspath_prepend(BENCHMARKS / folder)


def main_module(folder):
    path = BENCHMARKS / folder / "__main__.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_command", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_designs_of_every_kind_draw_and_fit(monkeypatch):
    """One design for each way to draw and to measure, with two folds."""
    import cases
    from draws import measure
    from registry import DESIGNS

    monkeypatch.setattr(cases, "ROW_SHARE", 0.4)
    chosen = {}
    for name, design in DESIGNS.items():
        # Networks need torch.
        if "network" not in name:
            draw = getattr(design.draw, "func", design.draw)
            chosen.setdefault((draw, design.measure, design.estimator), name)
    assert len(chosen) > 34
    for name in chosen.values():
        row = measure(name, {"cv": 2}, seed=3)
        assert "problem" not in row, (name, row)
        assert "error" in row or row["more"], name


def test_draws_are_stored_summarised_and_compared(monkeypatch, tmp_path):
    import cases
    from draws import compare, run, stored_rows, summary

    monkeypatch.setattr(cases, "ROW_SHARE", 0.2)
    path, name, changes = tmp_path / "draws.jsonl", "odd/2400 votes", {"cv": 2}
    rows = run(name, changes, range(2), 1, path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"design": "odd/2400')  # as a run that was killed leaves it
    again = run(name, changes, range(3), 1, path)
    assert again[:2] == rows and stored_rows(path) == again
    line, _ = summary(again)
    assert line["draws"] == "3" and line["usable"] == "1.000"
    wide = [{**row, "low": row["low"] - 0.1, "high": row["high"] + 0.1} for row in rows]
    result = compare(wide, again).iloc[0]
    assert result["pairs"] == 2 and result["loss"] <= 0 and result[""] == "FAILS"
    assert compare(again, again)["ratio of widths"].tolist() == [1.0]


def test_names_are_groups_designs_and_patterns():
    from registry import GROUPS, names_of

    assert len(names_of(["odd"])) == len(GROUPS["odd"])
    assert names_of(["odd/ties", "counts/ro*"]) == ["odd/ties", "counts/rows"]
    with pytest.raises(ValueError, match="no design or group 'even'"):
        names_of(["even"])


def test_a_study_goes_on_from_its_finished_draws(tmp_path):
    from experiments import EXPERIMENTS
    from summary import in_words

    run = main_module("studies").run
    tiny = replace(
        EXPERIMENTS["insertion"], cells={"tiny": {"gap": 0.4, "n_models": 3}}
    )
    first, second = (run(tiny, n, 1, str(tmp_path)) for n in (1, 2))
    pd.testing.assert_frame_equal(first, second[second["seed"] == 0])
    assert len(second) == 2 * len(tiny.methods) and (second["failed"] == "").all()
    assert "ANCHOR" in in_words(second, tiny.measures)


def test_commands_list_what_they_run(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["coverage", "--list"])
    main_module("coverage").main()
    assert (
        "odd/chain of votes: people compare neighbours only" in capsys.readouterr()[0]
    )
    monkeypatch.setattr(sys, "argv", ["studies", "--list"])
    main_module("studies").main()
    assert "shift: judge bias by feature shift" in capsys.readouterr()[0]
