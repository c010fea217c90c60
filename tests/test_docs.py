"""The Python examples of pages in ``docs`` run in their order."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    "page",
    [
        "check.md",
        "contexts.md",
        "cost.md",
        "design.md",
        "fragility.md",
        "history.md",
        "plots.md",
        "sensitivity.md",
        "simulation.md",
        "style.md",
    ],
)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert blocks
    known = {}
    for block in blocks:
        exec(compile(block, page, "exec"), known)


def test_every_experiment_is_on_the_page():
    """With its reading, as the command line shows it."""
    from skanchor.studies import EXPERIMENTS

    text = " ".join((DOCS / "simulation.md").read_text("utf-8").split())
    for each in EXPERIMENTS.values():
        assert f"- `{each.name}`, {each.title}. {each.reading}" in text
