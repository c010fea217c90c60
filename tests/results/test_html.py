"""Results as small tables in notebooks: whole, short, and harmless."""

from html.parser import HTMLParser

import numpy as np
import pytest

from skanchor.results import PointResult, RankingResult

ODD = '<script>alert("x")</script>'


class Table(HTMLParser):
    """Reads the cells, row by row; what is opened must be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.tags = [], [], set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def result_of(n, unbounded=()):
    names = np.array([ODD, *(f"m{i}" for i in range(1, n))], dtype=object)
    scores = np.linspace(1.0, -1.0, n)
    is_new = np.isin(np.arange(n), [1, n - 1])
    counts = np.full(n, 4)
    ranked = RankingResult(
        names, is_new, scores[None], np.eye(n)[None] * 1e-4,
        np.isin(np.arange(n), unbounded), counts, counts,
    )  # fmt: skip
    return ranked, PointResult(names, is_new, scores, counts, counts)


def test_a_small_leaderboard():
    ranked, _ = result_of(4, unbounded=[2])
    text = ranked._repr_html_()
    table = Table(text)
    assert table.rows[0] == ["rank (set)", "model", "score", "95 % interval"]
    assert table.rows[1] == ["1 (1–2)", ODD, "1.000", "[0.980, 1.020]"]
    assert table.rows[-1] == ["? (1–4)", "m2", "-0.333", "not determined"]
    assert "script" not in table.tags and "strong" in table.tags
    assert "4 models, 2 of them new" in text


@pytest.mark.parametrize("kind", [0, 1])
def test_a_long_one_is_cut_but_for_new_models(kind):
    result = result_of(40)[kind]
    table = Table(result._repr_html_())
    best = [ODD, *(f"m{i}" for i in range(1, 10))]
    assert [row[1] for row in table.rows[1:]] == [*best, "m39"]
    assert "And 29 more" in result._repr_html_()
    assert len(table.rows[1]) == (3 if kind else 4)
