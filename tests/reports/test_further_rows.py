"""What would narrow an interval, and what to buy next: numbers and sentences."""

import math
from dataclasses import replace

import numpy as np
import pytest

from skanchor import AnchorPipeline, RieszDebiaser
from skanchor.bias import BoostedBias
from skanchor.reports.buying import buying_blocks
from skanchor.reports.document import Table
from skanchor.reports.uncertainty import (
    limits_in_words,
    limits_of_errors,
    percent_of_variance,
    uncertainty_section,
)
from skanchor.results import Scale
from skanchor.simulation import simulate_battles

# What diagnostics find in small tables is no matter here.
pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

PLAIN = ["model_a", "model_b", "judge"]
MODEL = "jade-finch"


def fitted(n_new, item_effects, **more):
    data = simulate_battles(3000, n_new, rho=0.0, random_state=0, **more)
    made = AnchorPipeline(cv=2, item_effects=item_effects, random_state=0)
    return made.fit(data.X[PLAIN], data.y)


@pytest.fixture(scope="module")
def without_items():
    return fitted(300, "none")


@pytest.fixture(scope="module")
def with_items():
    return fitted(300, "random", item_sd=0.4, item_corr=0.5)


@pytest.fixture(scope="module")
def boosted():
    """A fit for which no closed form says what further rows would do."""
    data = simulate_battles(n_models=5, n_new=150, n_historical=900, random_state=0)
    debiaser = RieszDebiaser(BoostedBias(max_rounds=2))
    made = AnchorPipeline(cv=2, random_state=0, debiaser=debiaser, item_effects=None)
    return made.fit(data.X, data.y)


def test_shares_add_up_and_limits_are_those_of_the_outlook(without_items):
    (found,) = limits_of_errors(without_items).itertuples()
    assert found.human + found.judge + found.cross + found.items == pytest.approx(1.0)
    low, high = without_items.conf_int().loc["new-model"]
    assert found.half_width == 0.5 * (high - low)
    outlook = without_items.outlook()
    limits = outlook.limits.loc["new-model"]
    ratio = limits["verdicts"] / limits["now"]
    assert found.verdicts / found.half_width == pytest.approx(ratio)
    assert found.votes == outlook.table["votes"].iloc[1]
    # Without item effects verdicts of any judges have the one limit.
    bound = np.sqrt(without_items.variance_["lower_bound"].iloc[0])
    floor = found.half_width * bound / without_items.standard_errors_["new-model"]
    assert found.judges == found.verdicts == pytest.approx(floor, rel=0.05)


def test_what_no_closed_form_says_is_left_out(boosted):
    (found,) = limits_of_errors(boosted).itertuples()
    assert found.verdicts == found.judges < found.half_width
    assert math.isnan(found.votes)
    assert "halve" not in limits_in_words(limits_of_errors(boosted).iloc[0])
    assert buying_blocks(boosted, ["new-model"]) == []


@pytest.mark.parametrize("item_effects", ["none", "random"])
def test_the_limit_of_verdicts_is_reached_by_very_many(item_effects, request):
    """The error after fifty times the verdicts lies at the limit of before."""
    name = "with_items" if item_effects == "random" else "without_items"
    more = {"item_sd": 0.4, "item_corr": 0.5} if item_effects == "random" else {}
    (found,) = limits_of_errors(request.getfixturevalue(name)).itertuples()
    (later,) = limits_of_errors(fitted(15_000, item_effects, **more)).itertuples()
    assert later.half_width < found.half_width
    assert found.verdicts == pytest.approx(later.half_width, rel=0.3)
    assert found.judges <= found.verdicts


def test_the_limit_beside_item_effects_may_be_unknown(with_items):
    unknown = replace(with_items.result_.fitted, debiaser=None)
    table = limits_of_errors(replace(with_items.result_, fitted=unknown))
    assert table["verdicts"].isna().all()
    words = limits_in_words(table.iloc[0])
    assert "verdicts of these judges" not in words and "New judges narrow" in words


def test_the_section_is_in_the_unit_of_the_board():
    anchor = fitted(300, "random", item_sd=0.4, n_new_models=4)
    elo = Scale.of("elo", None)
    *texts, table, _ = uncertainty_section(anchor, elo).blocks
    assert len(texts) == 3 and len(table.rows) == 4
    first = limits_of_errors(anchor).iloc[0]
    assert table.rows[0][1].key == pytest.approx(first["half_width"] * elo.per_logit)
    assert "item effects" in texts[0].text and "would halve it" in texts[0].text


def test_undetermined_models_have_no_limits(without_items):
    result = without_items.result_
    lost = replace(result, unbounded=result.models == "new-model")
    assert limits_of_errors(lost).empty
    assert uncertainty_section(lost, Scale()) is None


@pytest.mark.parametrize(
    ("share", "text"), [(-0.002, "0 %"), (-0.01, "−1 %"), (0.004, "0 %"), (0.5, "50 %")]
)
def test_a_share_that_rounds_to_zero_has_no_sign(share, text):
    assert percent_of_variance(share) == text


# ------------------------------------------------------------------------ what to buy
def test_worth_is_that_of_the_models_described(anchor):
    (table,) = (one for one in buying_blocks(anchor, [MODEL]) if isinstance(one, Table))
    worth = anchor.worth().table.loc[MODEL]
    assert [row[1].text for row in table.rows] == worth.index.tolist()
    assert [row[5].key for row in table.rows] == worth["next_verdict"].tolist()


def test_sentences_say_whom_to_ask_about_whom(anchor):
    (line, _), *_ = buying_blocks(anchor, [MODEL])[1].items
    worth = anchor.worth().table["next_verdict"].loc[MODEL].drop("all judges")
    best = worth.idxmax()
    assert f"The next verdict of {best} is worth {worth.max():.2g} votes" in line
    for source in ("human", best):
        bought = anchor.design(100, {source: 1.0}, [MODEL], floor=0.0).table
        assert bought.nlargest(1, "rows")["opponent"].iloc[0] in line
    assert buying_blocks(anchor.result_, [MODEL])[1].items[0][0] == line
