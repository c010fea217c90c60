"""The section "What would change this", its sentences and its place in the JSON."""

import math
from html import unescape

import numpy as np
import pandas as pd
import pytest

from skanchor import AnchorPipeline
from skanchor.baselines import JointBTL
from skanchor.datasets import load_demo
from skanchor.readouts._sensitivity import in_words
from skanchor.reports import to_dict
from skanchor.reports.document import Table
from skanchor.reports.favours import (
    change_lines,
    change_section,
    change_table,
)
from skanchor.reports.page import to_html
from skanchor.reports.sections import report_document
from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def anchor():
    X, y = load_demo(return_X_y=True)
    return AnchorPipeline(cv=2, random_state=0, item_effects="random").fit(X, y)


def test_the_section_says_what_breaks_first(anchor):
    text = unescape(to_html(report_document(anchor)))
    assert "What would change this" in text
    lines = change_lines(anchor)
    table = anchor.breakdown()
    # Best model first, and for each what it is clearly above, then below.
    best = anchor.scores_.idxmax()
    assert lines[0].startswith(f"{best} is above")
    for line in lines:
        assert line in text
    own = table.loc[best]
    clear = own[(own["gamma_interval"] > 0) & (own["difference"] > 0)]
    row = clear.loc[clear["gamma_interval"].idxmin()]
    assert f"{row['gamma_interval']:.2f} judge logits" in lines[0]
    assert f"{row['ratio_item_sd']:.1f} times the usual item effect" in lines[0]
    assert f"largest effect is {row['weakest_judge']}" in lines[0]
    # The result alone tells the same.
    assert change_lines(anchor.result_) == lines
    sections = report_document(anchor.result_).sections
    assert "change" in [section.name for section in sections]


def test_many_new_models_have_a_table_with_a_row_each():
    data = simulate_battles(
        n_historical=1500, n_models=6, n_new=300, n_new_models=4,
        new_score=[1.0, 0.5, 0.0, -0.5], random_state=0,
    )  # fmt: skip
    anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    table = change_table(anchor)
    assert [row[0].text for row in table.rows] == anchor.scores_.sort_values(
        ascending=False
    ).index.tolist()
    broken = anchor.breakdown()
    for row in table.rows:
        model, side, opponent, gamma = (cell.key for cell in row[:4])
        own = broken.loc[model]
        clear = own.loc[own["gamma_interval"] > 0, "gamma_interval"]
        assert gamma == clear.min() and opponent == clear.idxmin()
        assert (side == "above") == (own.loc[opponent, "difference"] > 0)
    section = change_section(anchor, 0.95)
    names = [block.name for block in section.blocks if isinstance(block, Table)]
    assert names[:4] == ["change-all", "change-1", "change-2", "change-3"]
    assert names[4:] == ["worth"]
    # Sentences on the three best; the last may be an opponent there.
    said = [line for line, _ in section.blocks[0].items]
    last = table.rows[3][0].text
    assert said == change_lines(anchor)[: len(said)]
    assert not any(line.startswith(f"{last} is") for line in said)


def test_other_methods_and_plug_ins_have_no_such_section(plug_in):
    X, y = load_demo(return_X_y=True)
    document = report_document(JointBTL().fit(X, y))
    assert "change" not in [section.name for section in document.sections]
    document = report_document(plug_in)
    assert "change" not in [section.name for section in document.sections]


def test_sentences():
    row = pd.Series(
        {"difference": -0.4, "gamma_interval": 0.31, "gamma_sign": 0.5,
         "weakest_judge": "j", "ratio_item_sd": 2.0, "ratio_favour": np.nan,
         "ratio_position": np.nan},
    )  # fmt: skip
    sizes = pd.Series({"item_sd": 0.0, "favour": 0.0, "position_effect": 0.0})

    def words(sizes=sizes, **changes):
        return in_words("owl", "elk", pd.Series({**row, **changes}), sizes)

    assert words() == (
        "owl is below elk unless judges disfavour it by more than 0.31 judge logits "
        "for reasons not recorded. The judge with the largest effect is j."
    )
    marked = words(pd.Series({**sizes, "item_sd": 0.15}))
    assert "That is 2.0 times the usual item effect of these judges (0.15)." in marked
    now = words(gamma_interval=0.0, weakest_judge=None)
    assert now.startswith("owl is below elk by the estimate alone. A favour")
    assert "0.50 judge logits" in now and now.endswith("reverses this order.")
    never = words(gamma_interval=math.inf)
    assert never == "owl is below elk, with any favour of judges."
    tiny = words(gamma_interval=0.001)
    assert "more than 0.005 judge" not in tiny and "less than 0.01" in tiny


def test_json_has_breakdowns_and_benchmarks(anchor, plug_in):
    new = to_dict(anchor)["new_models"]
    table = anchor.breakdown()
    for own in new:
        found = {row["opponent"]: row for row in own["breakdown"]}
        for opponent, row in table.loc[own["model"]].iterrows():
            assert found[opponent]["gamma_sign"] == row["gamma_sign"]
        assert {row["judge"] for row in own["benchmarks"]} == set(anchor.judges_)
    [own, *_] = to_dict(plug_in)["new_models"]
    assert own["breakdown"] is None and own["benchmarks"] is None
