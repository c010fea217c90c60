"""The report says what the result says, in every form, whatever names hold."""

import re
from html.parser import HTMLParser
from math import log

import numpy as np
import pandas as pd
import pytest
from reports.made_results import NASTY, made_result

from skanchor import AnchorPipeline
from skanchor._diagnostics import KINDS
from skanchor.reports import page, write_report
from skanchor.reports.advice import TO_DO, points
from skanchor.reports.document import Table, Text
from skanchor.reports.page import to_html
from skanchor.reports.sections import report_document
from skanchor.simulation import simulate_battles

LN10 = log(10.0)
VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Elements of a page, its text, and whether they are nested as they should be."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)

    def count(self, name):
        return sum(tag == name for tag, _ in self.elements)


@pytest.fixture(scope="module")
def written(anchor, tmp_path_factory):
    """A whole report, with drawings, as a file."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(anchor, path, 0.9, scale="elo")
    return path


@pytest.fixture(scope="module")
def many():
    """A page of many models, with drawings."""
    return to_html(report_document(made_result(30, 3), figures=True))


@pytest.fixture(scope="module")
def document(anchor):
    return report_document(anchor, command="skanchor rank --demo")


def test_each_context_by_itself():
    data = simulate_battles(n_models=5, random_state=0)
    kinds = np.array(["chat", "code", "art"])[np.arange(len(data.X)) % 3]
    away = (data.X[["model_a", "model_b"]] == "model-02").any(axis=1) & (kinds == "art")
    battles = data.X.assign(kind=kinds)[~away]
    mix = {"chat": 0.75, "code": 0.25}
    made = AnchorPipeline(cv=2, random_state=0, context="kind", context_mix=mix)
    made.fit(battles, data.y[~away])
    table = table_called(report_document(made, scale="elo"), "contexts-table")
    assert [heading.text for heading in table.headings] == [
        "Model",
        "art",
        "chat",
        "code",
    ]
    board = made.result_.by_context["chat"].leaderboard(scale="elo")
    for name, art, chat, _ in table.rows:
        row = board.loc[name.text]
        low, high = f"{row['low']:.0f}", f"{row['high']:.0f}"
        assert chat.text == f"{row['score']:.0f} ({low} to {high})"
        assert (art.text == "–") == (name.text == "model-02")
    said = to_html(report_document(made))
    assert "is for the mix of 75 % chat and 25 % code" in said
    assert "prompts that are 75 % chat and 25 % code (column kind)" in said
    alone = report_document(made.result_.under(mix))
    assert "contexts" not in [section.name for section in alone.sections]


def test_differences_and_errors_are_on_the_scale(anchor):
    table = table_called(report_document(anchor, scale="elo"), "wins-1")
    difference = anchor.contrasts().loc[("ivory-lynx", table.rows[0][0].text)]
    assert table.rows[0][4].key == pytest.approx(difference["difference"] * 400 / LN10)
    low, high = anchor.conf_int().loc["ivory-lynx"] * 400 / LN10
    said = to_html(report_document(anchor, scale="elo", anchor={"hazel-newt": 800}))
    half = (high - low) / 2
    assert f"The 95 % interval of ivory-lynx is ±{half:.0f}; its variance is" in said
    assert (
        "Intervals are of scores measured from the mean of the historical models"
        in said
    )


def table_called(document, name):
    blocks = [block for section in document.sections for block in section.blocks]
    (table,) = (b for b in blocks if isinstance(b, Table) and b.name == name)
    return table


def test_document_has_the_numbers_of_the_result(anchor, document):
    board = anchor.leaderboard()
    table = table_called(document, "leaderboard-table")
    assert [row[0].text for row in table.rows] == board.index.tolist()
    assert [row[3].key for row in table.rows] == board["score"].tolist()
    assert list(table.marked) == board["is_new"].tolist()
    wins = table_called(document, "wins-1")
    own = anchor.contrasts().loc["ivory-lynx"]
    for row in wins.rows:
        assert row[1].key == own.loc[row[0].text, "win_probability"]
        decided = own.loc[row[0].text, "p_adjusted"] < 0.05
        assert (row[6].text == "not decided") == (not decided)
    judges = table_called(document, "judges-table")
    assert [row[0].text for row in judges.rows] == anchor.judges_.tolist()


def test_who_may_be_best_is_below_the_board(anchor, document):
    best = anchor.best_set()
    (line,) = (
        block.text
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Text) and block.text.startswith("May be the best")
    )
    assert [name for name in anchor.scores_.index if name in line] == [
        name for name in anchor.scores_.index if name in best
    ]
    assert all(name in line for name in best)


def test_judges_of_little_worth_are_named_first():
    judges = pd.DataFrame(
        {
            "rows": [4000, 4000, 4000, 10],
            "first_side_rate": [0.86, 0.55, 0.2, 0.9],
            "agreement": [0.56, 0.7, 0.8, np.nan],
            "has_position_effect": [True, True, False, True],
        },
        ["sided", "good", "second", "few"],
    )
    said = dict(points(made_result(6, 1), judges=judges))
    named = [text for text in said if text.startswith("Judge ")]
    assert named == [
        "Judge sided prefers the side shown first in 86 % of its verdicts and agrees "
        "with the order of the models in 56 %, where chance gives 50 %.",
        "Judge second prefers the side shown second in 80 % of its verdicts, which is "
        "not corrected for.",
    ]
    assert said[named[0]].startswith("Leave the judge out")


def test_bars_have_an_axis_that_all_share(document):
    text = to_html(document)
    elements = Page(text).elements
    axes = [a for tag, a in elements if a.get("class") == "axis"]
    assert len(axes) == 3
    table = table_called(document, "leaderboard-table")
    ticks = dict((label, at) for at, label in page._axis(table))
    assert list(ticks) == ["−1", "0", "1"]
    bars = [page._bar(table, row) for row in range(len(table.rows))]
    scores = [row[3].key for row in table.rows]
    # Positions are linear in the value, those of ticks and of bars alike.
    slope = (ticks["1"] - ticks["−1"]) / 2
    for bar, score in zip(bars, scores, strict=True):
        assert bar["value"] == pytest.approx(ticks["0"] + slope * score, abs=0.2)
    wins = table_called(document, "wins-1")
    assert {label for _, label in page._axis(wins)} <= {"25", "50", "75"}


def test_every_kind_of_finding_has_its_advice():
    assert set(TO_DO) == set(KINDS)


def test_page_is_self_contained_and_accessible(document):
    text = to_html(document)
    page = Page(text)
    assert "skanchor rank --demo" in "".join(page.texts)
    for tag, attrs in page.elements:
        assert not {"src", "srcset", "action"} & set(attrs), (tag, attrs)
        assert attrs.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)
    assert "url(http" not in text and "@import" not in text
    tables = page.count("table")
    assert page.count("caption") == tables == page.count("thead")
    heads = [attrs for tag, attrs in page.elements if tag == "th"]
    assert {attrs["scope"] for attrs in heads} == {"col", "row"}
    columns = [attrs for attrs in heads if attrs["scope"] == "col"]
    assert all("aria-sort" in attrs for attrs in columns)
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {a["href"][1:] for tag, a in page.elements if tag == "a"}
    assert links <= set(ids)


def test_page_of_many_models_is_small(many):
    pytest.importorskip("matplotlib")
    assert many.count("<figure") == 4
    # The drawings of judges, which a result does not know, take 100 kB more.
    assert len(many.encode()) < 220_000


def test_drawings_have_names_and_ids_of_their_own(written):
    pytest.importorskip("matplotlib")
    text = written.read_text("utf-8")
    page = Page(text)
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    drawn = [attrs for tag, attrs in page.elements if attrs.get("role") == "img"]
    assert len(drawn) == page.count("figure") == 6
    assert all(attrs["aria-label"] for attrs in drawn)
    for reference in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text):
        assert "".join(reference) in ids


def test_names_never_become_markup_in_drawings(many):
    pytest.importorskip("matplotlib")
    nasty = [*NASTY, ' id="x" url(#y) 1.23456', "$\\frac{1}{2}$"]
    names = [*(f"model-{k:02d}" for k in range(30 - len(nasty))), *nasty]
    text = to_html(report_document(made_result(names=names, n_new=3), figures=True))
    before, after = Page(many), Page(text)
    kinds = {"script", "img", "iframe", "a", "style", "figure", "svg", "table", "h1"}
    for kind in kinds:
        assert after.count(kind) == before.count(kind), kind
    assert "".join(after.texts).count(' id="x" url(#y) 1.23456') >= 3


def test_names_never_become_markup():
    plain = to_html(report_document(made_result(len(NASTY), 3)))
    nasty = to_html(report_document(made_result(names=NASTY, n_new=3)))
    before, after = Page(plain), Page(nasty)
    # The same elements as with harmless names, and not one more.
    assert [tag for tag, _ in after.elements] == [tag for tag, _ in before.elements]
    shown = "".join(after.texts)
    for name in NASTY[:7]:
        assert name in shown
    # What turns the order of letters round is written out.
    assert "\\u202e" in shown and "\u202e" not in nasty
    assert "line\\nbreak\\ttab" in shown
    assert "{{ 7 * 7 }}" in shown and "49" not in shown.split("gnp.exe")[0]


def test_jinja_is_asked_for_where_it_is_missing(document, monkeypatch):
    page._template.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'skanchor\[report\]'"):
        to_html(document)
    page._template.cache_clear()


def test_a_report_is_written_or_the_file_stays(anchor, written):
    content = written.read_text("utf-8")
    assert "90 % intervals" in content and "Elo points" in content
    with pytest.raises(FileExistsError):
        write_report(anchor, written, overwrite=False)
    with pytest.raises(TypeError, match="A report needs a fitted method"):
        write_report(anchor.scores_, written)
    assert written.read_text("utf-8") == content
    assert len(list(written.parent.iterdir())) == 1
