"""Links of the Markdown pages, which are written for the repository, in the site.

The pages link to each other, to the gallery and to files of the repository by relative
paths, as a reader of the repository needs them. In the site a link to a page in the
root of the repository leads to a copy of it, a link to a gallery script leads to the
page that the build makes of it, and a link to any other file leads to the repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["ROOT_PAGES", "contents", "in_site", "links", "outside_code", "rewritten"]

ROOT_PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
)
"""Pages in the root of the repository that the site has a copy of."""

COPIES = "docs/generated/root"
"""Folder of these copies."""

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_OUTSIDE = re.compile(r"[a-z]+:")
_BULLET = re.compile(r"^ *[-*] .*?\]\(([^)\s]+)\)")
_CONTENTS = re.compile(r"^<!-- contents:?(.*?) *-->$", re.M)


def outside_code(text: str) -> Iterator[tuple[str, bool]]:
    """Lines of a Markdown text, and whether each is outside fenced code."""
    fence = ""
    for line in text.splitlines(keepends=True):
        opened = re.match(r" *(`{3,}|~{3,})", line)
        if fence:
            yield line, False
            if opened and opened[1].startswith(fence):
                fence = ""
        else:
            fence = opened[1] if opened else ""
            yield line, not opened


def links(text: str) -> list[str]:
    """Targets of the links of a Markdown text, in their order."""
    return [
        target
        for line, plain in outside_code(text)
        if plain
        for _, target, _ in _LINK.findall(re.sub(r"`[^`]*`", "", line))
    ]


def in_site(target: str, page: str, root: Path, repository: str) -> str:
    """The target of a link as the site needs it.

    Parameters
    ----------
    target : str
        What the page links to.
    page : str
        Path of the page in the repository.
    root : Path
        Folder of the repository.
    repository : str
        Address of the files of the repository.

    Returns
    -------
    str
        A path relative to the page's source in the site, or an address.
    """
    if _OUTSIDE.match(target) or target.startswith("#"):
        return target
    path, anchor, place = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(page), path))
    if re.fullmatch(r"docs/gallery/plot_\w+\.py", file):
        found = file.replace("gallery", "auto_examples").replace(".py", ".rst")
    elif file == "docs/gallery":
        found = "docs/auto_examples/index.rst"
    elif file in ROOT_PAGES:
        found = f"{COPIES}/{file}"
    elif file.startswith("docs/") and (root / file).is_file():
        found = file
    else:
        return f"{repository}/{file}{anchor}{place}"
    source = f"{COPIES}/{page}" if page in ROOT_PAGES else page
    return os.path.relpath(found, os.path.dirname(source)) + anchor + place


def rewritten(text: str, change: Callable[[str], str]) -> str:
    """A Markdown text whose link targets are changed."""
    return "".join(
        _LINK.sub(lambda found: found[1] + change(found[2]) + found[3], line)
        if plain
        else line
        for line, plain in outside_code(text)
    )


def contents(text: str) -> list[str]:
    """Pages that a page of contents lists, else none.

    A page of contents has a line ``<!-- contents -->``. It lists the pages to which the
    first links of its bullet points lead. Before them come pages that only the site
    has, or patterns of pages, which the line names: ``<!-- contents: guide/* -->``.
    """
    marked = _CONTENTS.search(text)
    if not marked:
        return []
    bullets = [_BULLET.match(line) for line, plain in outside_code(text) if plain]
    targets = [found[1] for found in bullets if found]
    listed = [one.partition("#")[0] for one in targets if not _OUTSIDE.match(one)]
    # Without their suffixes, as a toctree names pages.
    return [*marked[1].split(), *(os.path.splitext(one)[0] for one in listed)]
