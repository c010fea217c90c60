"""Results as small tables in notebooks: whole, short, and harmless."""

from html.parser import HTMLParser

import numpy as np
import pytest
from tables import ranking

from skanchor.results import PointResult

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


def result_of(n):
    names = [ODD, *(f"m{i}" for i in range(1, n))]
    is_new = np.isin(np.arange(n), [1, n - 1])
    scores, counts = np.linspace(1.0, -1.0, n), np.full(n, 4)
    ranked = ranking(scores, np.eye(n) * 1e-4, names=names, is_new=is_new)
    return ranked, PointResult(ranked.models, is_new, scores, counts, counts)


@pytest.mark.parametrize("kind", [0, 1])
def test_a_long_leaderboard_is_cut_but_for_new_models(kind):
    text = result_of(40)[kind]._repr_html_()
    table = Table(text)
    best = [ODD, *(f"m{i}" for i in range(1, 10))]
    assert [row[0] for row in table.rows[1:]] == [*best, "m39"]
    assert table.rows[0][1:3] == ["score", "rank" if kind else "standard_error"]
    assert table.rows[1][1] == "1.000" and "script" not in table.tags
    assert "40 models, 2 of them new" in text and "And 29 more" in text
    assert "more" not in result_of(4)[kind]._repr_html_()
