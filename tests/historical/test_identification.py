"""What votes and verdicts together place, and what they are told to leave open."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from tables import plan_of

from skanchor import AnchorPipeline, ArrivalScorer, BTLRegressor, JudgeCalibrator
from skanchor._battles import decide_roles
from skanchor._crossfit.stages import Stages, fit_stages
from skanchor._sample.sample import Sample
from skanchor.exceptions import BattlesError, DisconnectedError
from skanchor.warning_log import WarningLog

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

STAGES = Stages(BTLRegressor(), JudgeCalibrator(), ArrivalScorer(), None, "joint")
THETA = np.array([1.2, 0.5, 0.0, -0.6, -1.1, 0.3])
MODELS = [*"abcde", "new"]


def battles(votes, verdicts, *, n=60, seed=0, one_sided=(), noise=1.0):
    """Votes and verdicts on these pairs of letters, each pair n times."""
    rng = np.random.default_rng(seed)
    rows = [(*pair, "human") for pair in votes]
    rows += [(*pair, judge) for judge, pairs in verdicts.items() for pair in pairs]
    rows += [(m, "new", judge) for judge in verdicts for m in "ae"]
    table = pd.DataFrame(
        [row for row in rows for _ in range(n)], columns=["model_a", "model_b", "judge"]
    )
    score = dict(zip(MODELS, THETA, strict=True))
    delta = table["model_a"].map(score) - table["model_b"].map(score)
    slope = np.where(table["judge"] == "human", 1.0, 1.5)
    y = (rng.random(len(table)) < expit(noise * slope * delta)).astype(float)
    for model in one_sided:
        votes = table["judge"] == "human"
        y = np.where(votes & (table["model_a"] == model), 0.0, y)
        y = np.where(votes & (table["model_b"] == model), 1.0, y)
    return table, y


def chain_of(table, y, log=None):
    sample = Sample.from_battles(table, y)
    sample = sample.with_battles(decide_roles(sample.X, sample.weight, None))
    with log or WarningLog():
        # The start of the fit may make little sense.
        return fit_stages(STAGES, sample)


PAIRS = ["ab", "bc", "cd", "de", "ea", "ac", "bd"]


def test_without_human_scores_item_effects_are_random():
    table, y = battles(["ab", "cd", "de"], {"j": PAIRS, "k": PAIRS}, n=100)
    joint = AnchorPipeline(historical_fit="joint", cv=3, random_state=0).fit(table, y)
    assert joint.item_effects_ == "random"
    assert np.isnan(joint.result_.diagnostics.item_p)


def test_a_judge_that_meets_no_group_twice_joins_none():
    # a-c and b-d each cross the groups, and nothing calibrates the judge.
    table, y = battles(["ab", "cd", "de"], {"j": ["ac"], "k": ["de", "cd", "ce"]})
    with pytest.raises(DisconnectedError, match="2 separate groups") as caught:
        chain_of(table, y)
    assert "{c, d, e}; {a, b}" in str(caught.value)
    assert "Judges ['j'] cannot join them" in str(caught.value)
    assert "Add human votes between the groups" in str(caught.value)


def test_a_calibrated_judge_calibrates_another():
    # k sees c, d, e; j joins {a, b} to d by two models that k has put on the scale.
    votes = ["ab", "cd", "cd"]
    verdicts = {"k": ["cd", "de", "ce", "ea"], "j": ["ab", "bc", "ac"]}
    chain = chain_of(*battles([*votes, "de"], verdicts, n=300))
    assert np.isfinite(chain.scores).all()


def test_votes_against_the_order_of_the_judges_have_no_positive_scale():
    table, y = battles(["ab", "cd", "de"], {"j": PAIRS, "k": PAIRS})
    y = np.where(table["judge"] == "human", 1.0 - y, y)
    with pytest.raises(BattlesError, match="scale of the scores is not positive"):
        chain_of(table, y)


def test_features_that_tell_models_apart_leave_scores_open():
    table, y = battles(["ab", "cd", "de"], {"j": PAIRS, "k": PAIRS})
    for name in "abcd":
        for side in "ab":
            is_it = (table[f"model_{side}"] == name).astype(float)
            table[f"is_{name}_{side}"] = np.where(table["judge"] == "human", 0.0, is_it)
    with pytest.raises(BattlesError, match="features tell models"):
        chain_of(table, y)


def test_a_training_set_that_loses_the_only_joint_is_named():
    table, y = battles(["ab", "cd", "de"], {"j": PAIRS, "k": ["cd", "de", "ce"]})
    both = table[["model_a", "model_b"]].isin(["a", "b"]).sum(axis=1) == 1
    joins = (table["judge"] == "j") & both & table["model_b"].ne("new")
    # All sources are in all training sets.
    fold = np.where(joins, 0, 1 + np.arange(len(table)) % 2)
    plan = plan_of(fold)
    with pytest.raises(DisconnectedError, match=r"Fold 0: .* 2 separate"):
        AnchorPipeline(historical_fit="joint", cv=plan, item_effects=None).fit(table, y)
