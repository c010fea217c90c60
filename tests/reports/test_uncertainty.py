"""What would narrow an interval: limits against those of the whole system."""

import numpy as np
import pytest

from skanchor import AnchorPipeline, RieszDebiaser
from skanchor.bias import BoostedBias
from skanchor.reports.uncertainty import (
    percent_of_variance,
    reach_in_words,
    reach_of,
    uncertainty_section,
)
from skanchor.results import Scale
from skanchor.simulation import simulate_battles

# What diagnostics find in small tables is no matter here.
pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

PLAIN = ["model_a", "model_b", "judge"]


def fitted(n_new, item_effects, seed=0, **more):
    data = simulate_battles(3000, n_new, rho=0.0, random_state=seed, **more)
    made = AnchorPipeline(cv=2, item_effects=item_effects, random_state=0)
    return made.fit(data.X[PLAIN], data.y)


def test_shares_add_up_and_limits_are_those_of_the_outlook():
    anchor = fitted(300, "none")
    (found,) = reach_of(anchor)
    assert sum(found.shares.values()) == pytest.approx(1.0)
    low, high = anchor.conf_int().loc["new-model"]
    assert found.half_width == 0.5 * (high - low)
    outlook = anchor.outlook()
    limits = outlook.limits.loc["new-model"]
    assert found.verdicts / found.half_width == limits["verdicts"] / limits["now"]
    assert found.votes == outlook.table["votes"].iloc[1]
    # Without item effects verdicts of any judges have the one limit.
    bound = np.sqrt(anchor.variance_["lower_bound"].iloc[0])
    ratio = bound / anchor.standard_errors_["new-model"]
    assert found.floor / found.half_width == ratio < 1
    assert found.judges == found.verdicts == pytest.approx(found.floor, rel=0.05)


def test_without_an_outlook_votes_halve_the_error_by_their_information():
    data = simulate_battles(3000, 300, rho=0.0, random_state=0)
    made = AnchorPipeline(
        cv=2, item_effects=None, random_state=0,
        debiaser=RieszDebiaser(BoostedBias(max_rounds=2)),
    )  # fmt: skip
    anchor = made.fit(data.X, data.y)
    (found,) = reach_of(anchor)
    assert found.verdicts == found.judges == found.floor < found.half_width
    old = anchor.result_.all_scores[~anchor.result_.is_new]
    p = 1 / (1 + np.exp(old - anchor.scores_["new-model"]))
    precision = 1 / anchor.standard_errors_["new-model"] ** 2
    later = precision + found.votes * (p * (1 - p)).mean()
    assert later == pytest.approx(4 * precision)


@pytest.mark.parametrize("item_effects", ["none", "random"])
def test_the_limit_of_verdicts_is_reached_by_very_many(item_effects):
    """The error after fifty times the verdicts lies at the limit of before."""
    more = {"item_sd": 0.4, "item_corr": 0.5} if item_effects == "random" else {}
    (found,) = reach_of(fitted(300, item_effects, **more))
    (later,) = reach_of(fitted(15_000, item_effects, **more))
    assert later.half_width < found.half_width
    assert found.verdicts == pytest.approx(later.half_width, rel=0.3)
    assert found.floor <= found.judges <= found.verdicts


def test_the_worth_of_the_verdicts_is_said():
    anchor = fitted(300, "random", item_sd=0.4, n_new_models=2)
    first, second = reach_of(anchor)
    table = anchor.worth().table["replaces"].xs("all judges", level="judge")
    assert [each.worth.replaces for each in (first, second)] == [
        table[each.model] for each in (first, second)
    ]
    one = anchor.worth().table["next_verdict"].loc[first.model].drop("all judges")
    assert first.worth.judge == one.idxmax() and first.worth.next_verdict == one.max()
    said = reach_in_words(first)
    assert "Its 300 verdicts do the work of about" in said
    assert f"One more, by {one.idxmax()}, is worth {one.max():.2g} votes" in said
    section = uncertainty_section(anchor, Scale())
    assert "skanchor plan" in section.blocks[-1].text
    lone = AnchorPipeline(cv=2, item_effects=None, random_state=0)
    lone.set_params(debiaser=RieszDebiaser(BoostedBias(max_rounds=2)))
    data = simulate_battles(3000, 300, rho=0.0, random_state=0)
    (found,) = reach_of(lone.fit(data.X, data.y))
    assert found.worth is None and "do the work" not in reach_in_words(found)


def test_of_a_result_alone_the_limits_beside_item_effects_are_unknown():
    anchor = fitted(300, "random", item_sd=0.4)
    (found,) = reach_of(anchor.result_)
    assert found.verdicts is found.judges is None
    said = reach_in_words(found)
    assert "verdicts of these judges" not in said and "New judges narrow it to" in said


def test_the_section_is_in_the_unit_of_the_board():
    anchor = fitted(300, "random", item_sd=0.4, n_new_models=4)
    section = uncertainty_section(anchor, Scale.of("elo", None))
    *texts, table, _ = section.blocks
    assert len(texts) == 3 and len(table.rows) == 4
    first = reach_of(anchor)[0]
    per = Scale.of("elo", None).per_logit
    assert table.rows[0][1].key == pytest.approx(first.half_width * per)
    assert "item effects" in texts[0].text and "would halve it" in texts[0].text


@pytest.mark.parametrize(
    ("share", "text"), [(-0.002, "0 %"), (-0.01, "−1 %"), (0.004, "0 %"), (0.5, "50 %")]
)
def test_a_share_that_rounds_to_zero_has_no_sign(share, text):
    assert percent_of_variance(share) == text
