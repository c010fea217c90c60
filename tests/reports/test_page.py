"""The page says what the result says, whatever names hold, and loads nothing."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from reports.made_results import NASTY, made_result

from skanchor import AnchorPipeline
from skanchor._diagnostics.report import KINDS
from skanchor.exceptions import DataWarning, WeakJudgeWarning
from skanchor.reports import to_dict, write_report
from skanchor.reports.facts import Facts
from skanchor.reports.page import render_page
from skanchor.reports.readout import ranking, record_of
from skanchor.reports.sentences import words
from skanchor.simulation import simulate_battles

VOID = {"meta", "input", "br", "img", "link", "hr"}
MODEL = "ivory-lynx"


class Page(HTMLParser):
    """Elements of a page, its text and tables; they must be nested as they should."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.tables = [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.elements.append((tag, attrs))
        if tag == "table":
            self.rows = self.tables[attrs["id"]] = []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.is_cell = attrs.get("class") != "bar"
            self.rows[-1] += [""] if self.is_cell else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)
        if {"td", "th"} & set(self.open) and self.is_cell:
            self.rows[-1][-1] += data

    @property
    def text(self):
        return " ".join("".join(self.texts).split())

    def count(self, name):
        return sum(tag == name for tag, _ in self.elements)

    def table(self, name):
        """Texts of a table, by its headings; new models without their badge."""
        head, *rows = self.tables[name]
        texts = [[text.removesuffix(" new") for text in row] for row in rows]
        return pd.DataFrame(texts, columns=head)


def numbers(texts):
    """Numbers as a page writes them."""
    plain = texts.str.replace("−", "-").str.replace("[<%,]", "", regex=True)
    return plain.astype(float).to_numpy()


def page_of(fitted, level=0.95, **more):
    return Page(render_page(Facts(fitted, level, **more)))


@pytest.fixture(scope="module")
def page(anchor):
    return page_of(anchor, command="skanchor rank --demo")


def test_tables_have_the_numbers_of_the_result(anchor, page):
    leaderboard, table = anchor.leaderboard(), page.table("board")
    assert table.iloc[:, 0].tolist() == leaderboard.index.tolist()
    np.testing.assert_allclose(numbers(table["Score"]), leaderboard["score"], atol=5e-3)
    wins = page.table("wins-1")
    contrasts = anchor.contrasts().loc[MODEL].loc[wins["Opponent"]]
    chances, p_values = contrasts["win_probability"], contrasts["p_adjusted"]
    np.testing.assert_allclose(numbers(wins["Chance to win"]), 100 * chances, atol=0.5)
    np.testing.assert_allclose(numbers(wins["Adjusted p"]), p_values, atol=1e-3)
    decided = wins["Decision"] != "not decided"
    assert (decided == (numbers(wins["Adjusted p"]) < 0.05)).all()
    assert page.table("judges-table")["Judge"].tolist() == anchor.judges_.tolist()
    best = anchor.best_set(simultaneous=True).tolist()
    assert [name for name in best if f"{name} (" in page.text] == best


def test_sentences_say_which_favour_changes_an_answer(anchor, page):
    table = anchor.breakdown().loc[MODEL]
    clear = table[(table["gamma_interval"] > 0) & (table["difference"] > 0)]
    row = clear.loc[clear["gamma_interval"].idxmin()]
    assert f"{MODEL} is above {row.name} unless judges favour it by more" in page.text
    assert f"{row['gamma_interval']:.2f} judge logits" in page.text
    # A result knows as much of favours, and nothing of settings.
    assert f"{MODEL} is above {row.name} unless" in page_of(anchor.result_).text


def test_each_context_by_itself():
    data = simulate_battles(n_models=5, random_state=0)
    kinds = np.array(["chat", "code", "art"])[np.arange(len(data.X)) % 3]
    away = (data.X[["model_a", "model_b"]] == "model-02").any(axis=1) & (kinds == "art")
    mix = {"chat": 0.75, "code": 0.25}
    made = AnchorPipeline(cv=2, random_state=0, context="kind", context_mix=mix)
    made.fit(data.X.assign(kind=kinds)[~away], data.y[~away])
    page = page_of(made)
    table = page.table("contexts-table").set_index("Model")
    assert table.columns.tolist() == ["art", "chat", "code"]
    leaderboard = made.result_.by_context["chat"].leaderboard().loc[table.index]
    scores = numbers(table["chat"].str.partition(" (")[0])
    np.testing.assert_allclose(scores, leaderboard["score"], atol=5e-3)
    assert table.index[table["art"] == "–"].tolist() == ["model-02"]
    assert "prompts that are 75 % chat and 25 % code (column kind)" in page.text
    assert "contexts-table" in page_of(made.result_.under(mix)).tables


def test_judges_of_little_worth_are_named(anchor):
    facts = Facts(anchor)
    facts.judges = pd.DataFrame(
        {
            "rows": [4000, 4000, 4000, 10],
            "first_side_rate": [0.86, 0.55, 0.2, 0.9],
            "agreement": [0.56, 0.7, 0.8, np.nan],
            "has_position_effect": [True, True, False, True],
            "position_effect": 0.1,
            "ties": 1,
            "sensitivity": 1.0,
        },
        pd.Index(["sided", "good", "second", "few"], name="judge"),
    )
    text = Page(render_page(facts)).text
    assert (
        "Judge sided prefers the side shown first in 86 % of its verdicts and agrees "
        "with the order of the models in 56 %, where chance gives 50 %. Leave the judge"
    ) in text
    assert "second in 80 % of its verdicts, which is not corrected for." in text
    assert "Judge good" not in text and "Judge few" not in text


def test_every_kind_of_finding_has_its_advice():
    says_itself = {"few-votes", "information", "self-judged"}
    assert set(words().advice) == set(KINDS) - says_itself


def test_warnings_are_listed_once_and_many_alike_in_short(anchor):
    read = DataWarning("2 rows hold no verdict.")
    alike = [
        WeakJudgeWarning(f"Judge 'j-{i}' is weak: {i}.", subject=[f"j-{i}"])
        for i in range(30)
    ]
    facts = Facts(anchor, earlier=[read, *alike, read])
    assert len(record_of(facts)["warnings"]) == 31
    text = " ".join(ranking(facts).to_text().split())
    assert text.count("2 rows hold no verdict.") == 1 and text.count("Judge 'j-") == 5
    assert "and 20 more" in text
    assert Page(render_page(facts)).text.count("Judge 'j-") == 5


def test_it_is_self_contained_small_and_accessible(anchor, page):
    assert "skanchor rank --demo" in page.text
    for tag, attrs in page.elements:
        assert attrs.get("src", "data:").startswith("data:")
        assert not {"srcset", "action"} & set(attrs), (tag, attrs)
        assert attrs.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)
    heads = [attrs for tag, attrs in page.elements if tag == "th"]
    assert {attrs["scope"] for attrs in heads} == {"col", "row"}
    columns = [attrs for attrs in heads if attrs["scope"] == "col"]
    assert all("aria-sort" in attrs for attrs in columns)
    assert page.count("caption") == page.count("table") == page.count("thead")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {a["href"][1:] for tag, a in page.elements if tag == "a"}
    assert links <= set(ids)
    drawn = [attrs["alt"] for tag, attrs in page.elements if tag == "img"]
    assert all(drawn) and len(drawn) == page.count("figure")
    assert len(render_page(Facts(anchor)).encode()) < 150_000
    assert len(render_page(Facts(made_result(30, 3))).encode()) < 150_000


def test_names_never_become_markup():
    nasty = [*NASTY, ' id="x" url(#y) 1.23456', "$\\frac{1}{2}$"]
    before = page_of(made_result(len(nasty), 3))
    after = page_of(made_result(names=nasty, n_new=3))
    # The same elements as with harmless names, and not one more.
    assert [tag for tag, _ in after.elements] == [tag for tag, _ in before.elements]
    shown = "".join(after.texts)
    for name in NASTY[:7]:
        assert name in shown
    # What turns the order of letters round is written out.
    assert "\\u202e" in shown and "\u202e" not in shown
    assert "line\\nbreak\\ttab" in shown
    assert "{{ 7 * 7 }}" in shown and "49" not in shown.split("gnp.exe")[0]


def test_a_report_is_written_or_the_file_stays(anchor, tmp_path):
    path = tmp_path / "report.html"
    write_report(anchor, path, 0.9, scale="elo")
    content = path.read_text("utf-8")
    assert "90 % intervals" in content and "Elo points" in content
    with pytest.raises(FileExistsError):
        write_report(anchor, path, overwrite=False)
    with pytest.raises(TypeError, match="A report needs a fitted method"):
        write_report(anchor.scores_, path)
    assert path.read_text("utf-8") == content
    assert len(list(tmp_path.iterdir())) == 1


# --------------------------------------------------------------------------- terminal
LONG = "org/" + "long-name-" * 5


@pytest.mark.parametrize(
    ("name", "width", "gone"),
    [("amber-otter", 72, 0), ("amber-otter", 66, 1), ("amber-otter", 60, 2),
     ("amber-otter", 50, 3), ("amber-otter", 20, 3), (LONG, 120, 0), (LONG, 60, 3)],
)  # fmt: skip
def test_a_narrow_terminal_keeps_names_and_numbers_whole(anchor, name, width, gone):
    facts = Facts(anchor.result_)
    facts.models = (
        anchor.leaderboard().rename({"amber-otter": name}).rename_axis("model")
    )
    text = ranking(facts).to_text(width=width)
    columns = ["Standard error", "Human rows", "Judge rows"]
    left_out = text.partition("Columns left out: ")[2].split("\n")[0]
    assert left_out == ", ".join(columns[3 - gone :])
    for model, row in facts.models.iterrows():
        line = next(line for line in text.splitlines() if f" {model} " in line)
        assert f"{row['score'] + 0.0:.2f}".replace("-", "−") in line
        assert f"{row['high'] + 0.0:.2f}".replace("-", "−") in line
    if gone < 3:
        assert max(map(len, text.splitlines())) <= max(width, 79)


def test_odd_names_are_harmless_in_a_terminal_and_in_tables():
    names = ["[red]x[/red]", "esc\x1b[2J", "a|b", "模型", "50 % & $x$"]
    result = made_result(names=names, n_new=1, unbounded=np.arange(5) == 1)
    facts = Facts(result)
    text = ranking(facts).to_text(width=80)
    assert "[red]x[/red]" in text and "\x1b" not in text and "?" in text
    assert "the data do not determine the score" in " ".join(text.split())
    from skanchor.reports.tables import board_table

    table = board_table(facts)
    assert r"a\|b" in table.to_markdown() and r"50 \% \& \$x\$" in table.to_latex()
    assert "\x1b" not in table.to_latex()
    # New models are bold.
    assert table.to_markdown().count("**") == 2 * sum(table.marked) == 2
    assert table.to_latex().count("\\textbf{") == 1


def test_json_has_keys_that_its_page_describes(anchor):
    from pathlib import Path

    pages = Path(__file__).parents[2] / "docs" / "json.md"
    if not pages.exists():
        pytest.skip("needs the pages")
    text, record = pages.read_text("utf-8"), to_dict(anchor)
    assert f"version {record['schema_version']}" in text
    assert [key for key in record if f"`{key}`" not in text] == []
