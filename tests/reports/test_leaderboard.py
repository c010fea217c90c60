"""The leaderboard keeps names and numbers whole, however narrow the page."""

import os

import numpy as np
import pandas as pd
import pytest

from skanchor.reports.answers import best_lines, may_be_best
from skanchor.reports.leaderboard import leaderboard_text
from skanchor.reports.summary import summarize
from skanchor.reports.tables import render
from skanchor.results import RankingResult


@pytest.fixture
def board(anchor):
    return anchor.leaderboard()


LONG = "org/" + "long-name-" * 5


@pytest.mark.parametrize(
    ("name", "width", "n_left_out"),
    [
        ("amber-otter", 72, 0),
        ("amber-otter", 66, 1),
        ("amber-otter", 60, 2),
        ("amber-otter", 52, 3),
        ("amber-otter", 20, 3),
        (LONG, 120, 0),
        (LONG, 105, 2),
        (LONG, 60, 3),
    ],
)
def test_layout_keeps_names_whole(board, name, width, n_left_out):
    frame = board.rename({"amber-otter": name})
    layout = leaderboard_text(frame)
    text = render(layout, width=width)
    # On the narrowest pages lines run over the edge.
    needed = 51 + len(name) - len("amber-otter")
    assert (max(map(len, text.splitlines())) <= width) == (needed <= width)
    columns = ["judge rows", "human rows", "s.e."]
    told = " ".join(text.split()).partition("Columns left out: ")[2]
    assert told == ", ".join(columns[:n_left_out])
    rows = text.split("\n\n")[0].splitlines()[-len(frame) :]
    for row, (model, known) in zip(rows, frame.iterrows(), strict=True):
        values = [known["score"], known["standard_error"], known["low"], known["high"]]
        cells = [f"{value:.3f}" for value in values]
        cells += [str(known["n_human"]), str(known["n_judge"])]
        for lost in [5, 4, 1][:n_left_out]:
            del cells[lost]
        assert f" {model} " in row
        left = row.partition(f" {model} ")[2]
        assert left.translate(str.maketrans("[],", "   ")).split() == cells
    colours = render(layout, width=width, terminal=True)
    assert all(model in colours for model in frame.index)


@pytest.mark.parametrize("width", [80, 120, None])
def test_layout_keeps_odd_names_readable(width):
    names = ["[red]x[/red]", "esc\x1b[2J", "org/" + "long-name-" * 4, "模型"]
    board = pd.DataFrame(
        {
            "score": [1.0, 0.2, -0.00001, -2.0],
            "standard_error": [0.1, np.nan, 0.1, np.inf],
            "low": [0.8, np.nan, -0.2, -np.inf],
            "high": [1.2, np.nan, 0.2, np.inf],
            "rank": [1, 2, 3, 4],
            "rank_low": [1, 1, 1, 1],
            "rank_high": [1, 4, 4, 4],
            "is_new": [False, True, False, False],
            "determined": [True, True, True, False],
            "n_human": [10, 0, 10, 10],
            "n_judge": [10, 10, 10, 0],
        },
        index=names,
    )
    text = render(leaderboard_text(board), width=width)
    assert "[red]x[/red]" in text
    assert "\x1b" not in text
    assert "-0.000" not in text
    assert names[2] in text
    assert "\x1b[" in render(leaderboard_text(board), width=80, terminal=True) or (
        "NO_COLOR" in os.environ or os.environ.get("TERM") in (None, "dumb")
    )


def test_who_may_be_the_best_is_told(anchor):
    board, result = anchor.leaderboard(0.9), anchor.result_
    best = result.best_set(level=0.9)
    head, names = best_lines(may_be_best(result, 0.9), 0.9)
    assert "90 % set" in head
    told = names.split(", ")
    chances = result.prob_best()
    assert 0 < len(best) <= 5
    assert told == [f"{model} ({chances[model]:.2f})" for model in best]
    text = render(leaderboard_text(board, 0.9, summarize(anchor, 0.9)))
    assert names in text


def test_the_best_of_many_is_read_off_the_board():
    n = 120
    result = RankingResult(
        np.array([f"m{i}" for i in range(n)], dtype=object),
        np.arange(n) == 0,
        np.linspace(-3.0, 3.0, n)[None],
        np.eye(n)[None] * 0.01,
        np.zeros(n, bool),
        np.ones(n, int),
        np.ones(n, int),
    )
    board = result.leaderboard()
    found = may_be_best(result)
    assert found.index.tolist() == board.index[board["rank_low"] == 1].tolist()
    assert f"and {len(found) - 5} more" in best_lines(found)[1]


def test_scores_without_errors_have_no_probability(plug_in):
    found = may_be_best(plug_in.result_)
    assert found.isna().all()
    assert "(0" not in best_lines(found)[1]
