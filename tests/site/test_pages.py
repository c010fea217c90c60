"""Links, anchors and lists of contents of the Markdown pages, without a network."""

import os
import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
if not (DOCS / "_ext").exists():
    pytest.skip("needs the pages", allow_module_level=True)
sys.path.insert(0, str(DOCS / "_ext"))

from markdown_links import (  # noqa: E402
    ROOT_PAGES,
    contents,
    in_site,
    links,
    outside_code,
    rewritten,
)

MADE = ("docs/_build/*", "docs/auto_examples/*", "docs/generated/*")
FOUND = [*DOCS.rglob("*.md"), *(ROOT / name for name in ROOT_PAGES)]
PAGES = sorted(
    page
    for page in (path.relative_to(ROOT).as_posix() for path in FOUND if path.exists())
    if not any(fnmatch(page, made) for made in MADE)
)


def anchors(text):
    """Anchors of a page: those of its headings, as GitHub makes them, and its own."""
    found, times = set(re.findall(r'<a (?:id|name)="([^"]+)"', text)), {}
    for line, plain in outside_code(text):
        heading = re.match(r"#{1,6} +(.*?) *#*$", line.rstrip()) if plain else None
        if heading:
            shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
            number = times[slug] = times.get(slug, -1) + 1
            found.add(f"{slug}-{number}" if number else slug)
    return found


def broken(page, text):
    """Links of a page that lead to no file of the repository, or to no anchor."""
    for target in links(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, place = target.partition("#")
        file = ROOT / os.path.normpath(os.path.join(os.path.dirname(page), path))
        if path and not file.exists():
            yield target
        elif place and place not in anchors(file.read_text("utf-8") if path else text):
            yield target


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page):
    assert list(broken(page, (ROOT / page).read_text("utf-8"))) == []


def test_a_broken_link_is_found():
    text = "[a](nowhere.md) [b](method.md#no-such-part) [c](method.md) `[d](x.md)`\n"
    text += "```text\n[e](nowhere.md)\n```\n[f](#part)\n# Part\n"
    found = list(broken("docs/index.md", text))
    assert found == ["nowhere.md", "method.md#no-such-part"]


def test_every_page_is_in_a_list_of_contents():
    listed, waiting = set(), ["docs/index.md"]
    while waiting:
        page = waiting.pop()
        listed.add(page)
        for entry in contents((ROOT / page).read_text("utf-8")):
            pattern = os.path.normpath(f"{os.path.dirname(page)}/{entry}.md")
            waiting += [
                one for one in PAGES if fnmatch(one, pattern) and one not in listed
            ]
    assert set(PAGES) - listed == set()


@pytest.mark.parametrize(
    ("page", "target", "found"),
    [
        ("docs/index.md", "method.md#x", "method.md#x"),
        ("docs/guide/one.md", "../method.md", "../method.md"),
        ("docs/index.md", "../README.md#x", "generated/root/README.md#x"),
        ("README.md", "docs/method.md", "../../method.md"),
        ("README.md", "CHANGELOG.md", "CHANGELOG.md"),
        ("docs/index.md", "gallery", "auto_examples/index.rst"),
        (
            "README.md",
            "docs/gallery/plot_displays.py",
            "../../auto_examples/plot_displays.rst",
        ),
        ("README.md", "LICENSE", "https://r/LICENSE"),
        ("docs/index.md", "../tests/conftest.py#L3", "https://r/tests/conftest.py#L3"),
        ("docs/index.md", "https://a.b/c", "https://a.b/c"),
        ("docs/index.md", "#part", "#part"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(page, target, found):
    assert in_site(target, page, ROOT, "https://r") == found


def test_code_is_left_as_it_is():
    text = "[a](b)\n```text\n[a](b)\n```\n[a](b)\n"
    changed = rewritten(text, lambda target: "c")
    assert changed == "[a](c)\n```text\n[a](b)\n```\n[a](c)\n"
