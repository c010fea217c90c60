"""The report in a browser: sorted, searched, by keyboard, narrow, dark and printed.

A browser is not brought along: Chromium or Chrome is taken from the machine, playwright
and axe from the extra ``browser``, and without either the tests are skipped.
"""

import os
import shutil

import pytest
from reports.made_results import NASTY, made_result

from skanchor.reports import write_report

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs the extra 'browser': playwright"
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = os.environ.get("SKANCHOR_BROWSER") or next(
    filter(None, map(shutil.which, NAMES)), None
)
pytestmark = pytest.mark.skipif(
    PROGRAM is None,
    reason="needs Chromium or Chrome on the path, or its path in SKANCHOR_BROWSER",
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        # Inside a container there is no sandbox to be had.
        program = driver.chromium.launch(
            executable_path=PROGRAM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield program
        program.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with harmless and other names, as a file."""
    names = [*(f"model-{k:02d}" for k in range(14)), *NASTY[:9]]
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(made_result(names=names, n_new=2), path)
    return path


@pytest.fixture
def visit(browser, report):
    """Open the report; nothing may be requested, nor said on the console."""
    caught, pages = [], []

    def call(width=1024, **options):
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        pages.append(page)
        page.on("console", lambda message: caught.append(message.text))
        page.on("pageerror", lambda error: caught.append(str(error)))
        page.on("dialog", lambda dialog: caught.append(dialog.message))
        page.on(
            "request",
            lambda request: (
                request.url == report.as_uri() or caught.append(request.url)
            ),
        )
        page.goto(report.as_uri())
        return page

    yield call
    for page in pages:
        page.close()
    assert caught == []


BOARD = "#board"


def column(page, position, selector=BOARD):
    # The bars are no column with a heading of its own.
    cells = page.locator(
        f"{selector} tbody tr > :nth-child({position + 1} of :not(.bar))"
    )
    return cells.evaluate_all("cells => cells.map(cell => cell.textContent)")


def test_columns_are_sorted_by_their_numbers(visit):
    page = visit()
    heads = page.locator(f"{BOARD} thead th")
    before = column(page, 3)
    # A first click asks for the largest numbers; the leaderboard begins with them.
    for order, rows in (("descending", before), ("ascending", before[::-1])):
        heads.nth(3).get_by_role("button").click()
        assert column(page, 3) == rows
        assert heads.nth(3).get_attribute("aria-sort") == order
    heads.nth(6).get_by_role("button").click()
    human = [float(value) for value in column(page, 6)]
    assert human == sorted(human, reverse=True)
    assert heads.nth(3).get_attribute("aria-sort") == "none"
    assert page.locator("#sorted").inner_text() == "Sorted by Human rows, descending"
    heads.nth(0).get_by_role("button").click()
    names = [name.strip() for name in column(page, 0)]
    assert [name for name in names if name.startswith("model")] == [
        f"model-{k:02d}" for k in range(14)
    ]


def test_search_hides_rows_and_says_how_many(visit):
    page = visit()
    page.get_by_label("Search").fill("MODEL-1")
    rows = page.locator(f"{BOARD} tbody tr")
    assert rows.locator("visible=true").count() == 4
    assert page.locator("#board-found").inner_text() == "4 of 23 shown"
    page.get_by_label("Search").fill("<script>")
    assert rows.locator("visible=true").count() == 1
    page.get_by_label("Search").fill("")
    assert rows.locator("visible=true").count() == 23
    assert page.locator("#board-found").inner_text() == ""


def test_keyboard_alone_is_enough(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#leaderboard"
    page.get_by_label("Search").focus()
    page.keyboard.press("Tab")
    # A table that is wider than the page can be scrolled by the keyboard.
    assert page.evaluate("document.activeElement.className") == "scroll"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Model"
    page.keyboard.press("Enter")
    head = page.locator(f"{BOARD} thead th").first
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != (
        "none"
    )


def test_a_phone_shows_ranks_intervals_and_whole_drawings(visit):
    page = visit(400)
    edge = page.locator("#leaderboard .scroll").bounding_box()
    bar = page.locator(f"{BOARD} tbody td.bar").first.bounding_box()
    assert bar["x"] + bar["width"] <= edge["x"] + edge["width"] + 1
    # A name such as model-03 takes one line.
    name = page.locator(f"{BOARD} tbody th bdi").get_by_text("model-03", exact=True)
    assert name.bounding_box()["height"] < 30
    for box in page.locator("figure img").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().right)"
    ):
        assert box <= 400


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_page_is_wider_than_its_window(visit, width):
    page = visit(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.locator("thead button").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 24


def test_dark_mode_is_dark_and_print_is_not(visit):
    page = visit(color_scheme="dark")
    brightness = "parseInt(getComputedStyle(document.body).{}.match(/\\d+/)[0])"
    assert page.evaluate(brightness.format("backgroundColor")) < 60
    assert page.evaluate(brightness.format("color")) > 200
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(brightness.format("backgroundColor")) == 255
    assert page.evaluate(brightness.format("color")) < 60
    assert not page.get_by_label("Search").is_visible()
    assert page.pdf()[:5] == b"%PDF-"


def test_without_scripts_it_reads_the_same(visit):
    page = visit(java_script_enabled=False)
    assert page.locator(f"{BOARD} tbody tr").count() == 23
    assert not page.locator("input").is_visible()


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")]
)
def test_axe_finds_nothing(visit, width, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs the extra 'browser': axe"
    )
    # The page's own policy would refuse the checker.
    page = visit(width, color_scheme=scheme, bypass_csp=True)
    result = axe.Axe().run(page).response
    violations = [
        (item["id"], [node["html"] for node in item["nodes"]][:3])
        for item in result["violations"]
    ]
    assert violations == []
