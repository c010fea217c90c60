"""Checks of the built site, without a network: links, anchors, names and sizes."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

from name_pages import modules, page_of, public_names

__all__ = ["faults"]

SITE_BYTES = 30e6
FIRST_PAGE_BYTES = 500e3


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag links to, loads or names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("img", "script", "link"):
            address = given.get("src") or given.get("href")
            if tag != "link" or given.get("rel") in ("stylesheet", "icon", "preload"):
                self.loads += [address] if address else []


def faults(site: Path) -> Iterator[str]:
    """What is wrong with a built site, in sentences.

    Parameters
    ----------
    site : Path
        Its folder.
    """
    pages = {
        path.resolve(): Page(path.read_text("utf-8"))
        for path in site.rglob("*.html")
        # Templates of the theme.
        if "_static" not in path.parts
    }
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for target in {*page.links, *page.loads}:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                yield f"{name} links to {target}, which does not exist"
            elif file in pages and unquote(parts.fragment) not in pages[file].anchors:
                yield f"{name} links to {target}, which has no such anchor"
    for module in modules():
        for path in public_names(module):
            parent, _, name = path.rpartition(".")
            file = (site / f"{page_of(path)}.html").resolve()
            if file not in pages:
                yield f"{path} has no page"
            elif callable(getattr(import_module(parent), name)):
                text = file.read_text("utf-8")
                if f'id="{path}"' not in text or "sig-paren" not in text:
                    yield f"the page of {path} has no signature"
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    if size > SITE_BYTES:
        yield f"the site has {size / 1e6:.1f} MB"
    if first_page(site) > FIRST_PAGE_BYTES:
        yield f"the first page loads {first_page(site) / 1e3:.0f} kB"


def first_page(site: Path) -> int:
    """Bytes that the first page loads, compressed as servers send them."""
    loads = Page((site / "index.html").read_text("utf-8")).loads
    paths = {unquote(urlsplit(one).path) for one in loads if not urlsplit(one).netloc}
    files = [site / one for one in {"index.html", *paths}]
    return sum(len(gzip.compress(file.read_bytes())) for file in files)


def main(folder: str) -> int:
    """Print what is wrong, and say whether something is."""
    site = Path(folder)
    found = sorted(faults(site))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    number = len(list(site.rglob("*.html")))
    summary = f"{number} pages, {size / 1e6:.1f} MB, {len(found)} faults"
    print(*found, summary, f"first page: {first_page(site) / 1e3:.0f} kB", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
