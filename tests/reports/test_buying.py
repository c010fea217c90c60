"""What to buy next, in the section of a report on what would change it."""

import numpy as np
import pytest

from skanchor import AnchorPipeline, RieszDebiaser
from skanchor.bias import BoostedBias
from skanchor.datasets import load_demo
from skanchor.reports import report_document, to_markdown
from skanchor.reports.buying import buying_blocks
from skanchor.reports.document import Table
from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def anchor():
    X, y = load_demo(return_X_y=True)
    return AnchorPipeline(cv=2, random_state=0).fit(X, y)


def table_called(blocks, name):
    (table,) = (one for one in blocks if isinstance(one, Table) and one.name == name)
    return table


def test_without_prices_budgets_are_those_of_designs(anchor):
    model = "ivory-lynx"
    blocks = buying_blocks(anchor, [model], 0.95, None)
    table = table_called(blocks, "budgets")
    row = table.rows[0]
    assert [cell.text for cell in row[:2]] == ["100 votes", "a tenth of a vote"]
    due = anchor.design(100, {"human": 1.0, "judges": 0.1})
    bought = due.table.groupby("source")["rows"].sum()
    verdicts = bought.drop("human", errors="ignore")
    assert row[2].key == bought.get("human", 0.0)
    assert row[3].key == verdicts.sum() and row[4].text == verdicts.idxmax()
    widths = due.half_widths.loc[model]
    assert row[5].text == f"{widths['now']:.2f} to {widths['design']:.2f}"
    # More money narrows more, and cheaper verdicts do.
    ends = np.array([one[5].key for one in table.rows])
    assert (ends[[1, 3]] < ends[[0, 2]]).all() and (ends[2:] < ends[:2]).all()


def test_sentences_say_whom_to_ask_about_whom(anchor):
    model = "jade-finch"
    (line, _), *_ = buying_blocks(anchor, [model], 0.95, None)[1].items
    worth = anchor.worth().table["next_verdict"].loc[model].drop("all judges")
    best = worth.idxmax()
    assert f"The next verdict of {best} is worth {worth.max():.2g} votes" in line
    for source in ("human", best):
        bought = anchor.design(100, {source: 1.0}, [model], floor=0.0).table
        assert bought.nlargest(1, "rows")["opponent"].iloc[0] in line
    limits = anchor.outlook().limits.loc[model]
    assert f"from ±{limits['now']:.2f} below ±{limits['verdicts']:.2f}" in line


def test_a_budget_lists_the_rows(anchor):
    design = anchor.design(500, {"human": 1.0, "judges": 0.05})
    document = report_document(anchor, design=design)
    (section,) = (one for one in document.sections if one.name == "change")
    assert table_called(section.blocks, "design").rows
    text = to_markdown(document)
    for line in design.lines()[:3]:
        assert line in text
    assert "This advice is wrong in three cases" in text


def test_where_nothing_is_planned_nothing_is_said(anchor):
    assert buying_blocks(anchor.result_, ["ivory-lynx"], 0.95, None) == []
    data = simulate_battles(n_models=5, n_new=150, n_historical=900, random_state=0)
    short = AnchorPipeline(
        cv=2, random_state=0, debiaser=RieszDebiaser(BoostedBias(max_rounds=2)),
        item_effects=None,
    ).fit(data.X, data.y)  # fmt: skip
    assert buying_blocks(short, ["new-model"], 0.95, None) == []
