"""Checks of a built site in Chromium: accessibility by axe, and pages on a phone.

Playwright and axe come with the extra ``browser``; Chromium or Chrome is taken from the
machine. Without one of them nothing is checked, and a line says so.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGES = (
    "index.html",
    "guide/intervals.html",
    "method.html",
    "generated/api/skanchor.AnchorPipeline.html",
    "auto_examples/index.html",
    "auto_examples/plot_displays.html",
)
"""The start page, pages of the guide, one of the reference, two of the gallery."""
WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
CUT_OFF = """() =>
  [...document.querySelectorAll("article :is(p, li, dt, dd, h1, h2, code)")]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1)
  .filter(one => {
    for (let box = one; box; box = box.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)
          && !box.matches("html, body, .bd-main, .bd-content, .bd-article-container"))
        return false;
    return true;
  })
  .map(one => one.textContent.trim().slice(0, 40))"""
"""Texts that end beyond the window, and that no box of their own scrolls."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def faults(site: Path, program: str, pictures: Path | None = None) -> Iterator[str]:
    """What a reader with a phone or a screen reader would meet, in sentences.

    Parameters
    ----------
    site : Path
        Folder of the built site.
    program : str
        Path of the browser.
    pictures : Path, optional
        Folder for a picture of each page.
    """
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Inside a container there is no sandbox to be had.
        browser = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        for path in PAGES:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    page = browser.new_page(
                        viewport={"width": width, "height": 900}, color_scheme=scheme
                    )
                    # A busy machine may need long for the longest page.
                    page.set_default_timeout(300_000)
                    page.goto((site / path).resolve().as_uri())
                    where = f"{path} ({width} px, {scheme})"
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    if wide > width:
                        yield f"{where} is {wide} px wide"
                    if cut := page.evaluate(CUT_OFF):
                        yield f"{where} cuts off {len(cut)} texts: {cut[:3]}"
                    for found in Axe().run(page).response["violations"]:
                        yield f"{where} fails {found['id']}: {_places(found)}"
                    if pictures is not None:
                        name = path.replace("/", "_").removesuffix(".html")
                        page.screenshot(
                            path=pictures / f"{name}-{width}-{scheme}.png",
                            full_page=True,
                        )
                    page.close()
        browser.close()


def _places(found: dict[str, Any]) -> str:
    """Tags of the first elements that a rule of axe finds, as text."""
    return "; ".join(node["html"][:120] for node in found["nodes"][:3])


def main(folder: str, pictures: str | None = None) -> int:
    """Print what is wrong, and say whether something is."""
    program = os.environ.get("SKANCHOR_BROWSER") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    if program is None:
        print("no Chromium or Chrome: pages are not looked at in a browser")
        return 0
    found = list(faults(Path(folder), program, Path(pictures) if pictures else None))
    number = len(PAGES) * len(WIDTHS) * len(SCHEMES)
    print(*found, f"{number} views in a browser, {len(found)} faults", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
