"""Links, anchors and tables of the Markdown pages, without a network."""

import csv
import os
import re
import sys
from pathlib import Path

import pytest

import skanchor
from skanchor.io._layouts import LAYOUTS

PACKAGES = Path(skanchor.__file__).parents[1]
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
if not (DOCS / "_ext").exists():
    pytest.skip("needs the pages", allow_module_level=True)
sys.path.insert(0, str(DOCS / "_ext"))

from site_pages import TABLE, page_of_the_site  # noqa: E402

MADE = ("_build", "auto_examples", "generated")
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    if not any((DOCS / name) in path.parents for name in MADE)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def outside_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def anchors(text):
    """Anchors of the headings of a page, as GitHub makes them."""
    result = set()
    for heading in re.findall(r"^#{1,6} +(.*)$", outside_code(text), re.M):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        result.add(re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-"))
    return result


def broken(page, text):
    """Links of a page that lead to no file of the repository, or to no place in it."""
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", outside_code(text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, position = target.partition("#")
        name = os.path.normpath(os.path.join(os.path.dirname(page), path))
        # The package may be installed, and not in this tree.
        file = (PACKAGES if name.startswith("skanchor") else ROOT) / name
        if path and not file.exists():
            yield target
        elif position:
            there = file.read_text("utf-8") if path else text
            is_place = position in (there if path.endswith(".py") else anchors(there))
            if not is_place:
                yield target


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page):
    assert list(broken(page, (ROOT / page).read_text("utf-8"))) == []


def test_a_broken_link_is_found():
    text = "[a](nowhere.md) [b](method.md#no-such-part) [c](method.md) `[d](x.md)`\n"
    text += "```text\n[e](nowhere.md)\n```\n[f](#part)\n# Part\n"
    result = list(broken("docs/index.md", text))
    assert result == ["nowhere.md", "method.md#no-such-part"]


def test_every_page_is_in_the_contents():
    index = (DOCS / "index.md").read_text("utf-8")
    listed = {
        line
        for block in re.findall(r"```{toctree}\n(.*?)```", index, re.S)
        for line in block.split("\n")
    }
    pages = {Path(page).relative_to("docs") for page in PAGES if "docs/" in page}
    assert {page.with_suffix("").as_posix() for page in pages} - {"index"} < listed


@pytest.mark.parametrize(
    ("page", "link", "target"),
    [
        ("index.md", "method.md#x", "method.md#x"),
        ("howto/one.md", "../method.md", "../method.md"),
        ("index.md", "../README.md#x", "https://r/README.md#x"),
        ("howto/one.md", "../../benchmarks/a.py", "https://r/benchmarks/a.py"),
        ("index.md", "gallery", "auto_examples/index.rst"),
        ("index.md", "gallery/plot_x.py", "auto_examples/plot_x.rst"),
        ("howto/one.md", "../gallery/plot_x.py", "../auto_examples/plot_x.rst"),
        ("index.md", "https://a.b/c", "https://a.b/c"),
        ("index.md", "#part", "#part"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(page, link, target):
    assert page_of_the_site(f"[a]({link})", page, "https://r") == f"[a]({target})"


def test_links_to_tables_become_tables():
    seen = 0
    for page in (page for page in PAGES if page.startswith("docs/")):
        text = (ROOT / page).read_text("utf-8")
        made = page_of_the_site(text, page.removeprefix("docs/"), "https://r")
        assert "[Table" not in made
        seen += len(TABLE.findall(text))
    assert seen > 70
    faults = page_of_the_site("[Table: f](../tests/faults/faults.csv)", "x.md", "")
    assert faults.startswith("\n## Votes of people\n\n| input | answer | test |\n|---|")
    words = "[Table: w](../skanchor/io/_words.py#WORDS)"
    assert "| `failed` | an empty cell, `" in page_of_the_site(words, "x.md", "")


def test_results_are_tables_that_a_page_shows():
    pages = "".join((ROOT / page).read_text("utf-8") for page in PAGES)
    for path in (ROOT / "benchmarks" / "results").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            assert len({len(row) for row in csv.reader(file)}) == 1, path.name
        # Those of the studies are drawn.
        drawn = path.name.startswith("simulation_") or path.name == "scaling.csv"
        assert drawn or f"results/{path.name})" in pages, path.name


def test_the_page_of_formats_lists_every_layout():
    page = (DOCS / "formats.md").read_text("utf-8")
    assert all(f"\n| {layout} | " in page for layout in LAYOUTS)
