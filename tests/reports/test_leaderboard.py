"""The leaderboard keeps names and numbers whole, however narrow the page."""

import os

import numpy as np
import pandas as pd
import pytest

from skanchor import AnchorPipeline
from skanchor.datasets import load_demo
from skanchor.reports import leaderboard_text, render


@pytest.fixture(scope="module")
def board():
    X, y = load_demo(return_X_y=True)
    return AnchorPipeline(random_state=0, cv=2).fit(X, y).leaderboard()


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
