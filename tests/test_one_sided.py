"""Models that lost, or won, all their rows have one limit, and exact tests."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import binom

from skanchor import AnchorPipeline, BTLRegressor
from skanchor.baselines import HumanOnly
from skanchor.reports import to_dict
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")

SCORES = np.array([0.6, 0.2, -0.1, -0.7])
NAMES = np.array(["a", "b", "c", "d", "lost"])


def votes(n_lost=60, n=400, seed=0, score=-np.inf):
    """Votes among four models, and on a fifth, which by default loses them all."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, n)
    right = (left + rng.integers(1, 4, n)) % 4
    left, right = (
        np.append(left, np.full(n_lost, 4)),
        np.append(right, np.arange(n_lost) % 4),
    )
    reference = np.append(SCORES, score)
    y = rng.random(len(left)) < 1 / (1 + np.exp(reference[right] - reference[left]))
    X = pd.DataFrame({"model_a": NAMES[left], "model_b": NAMES[right]})
    return X.assign(judge="human"), y.astype(float)


def lose(X, y, model, rows=None, wins=False):
    """Outcomes in which a model lost, or won, some of its rows, by default all."""
    y, rows = y.copy(), np.ones(len(y), dtype=bool) if rows is None else rows
    y[rows & (X["model_a"] == model).to_numpy()] = float(wins)
    y[rows & (X["model_b"] == model).to_numpy()] = 1.0 - float(wins)
    return y


# ------------------------------------------------------------------------- votes alone
@pytest.mark.parametrize("other", [None, "a"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_limit_is_that_of_the_profile_likelihood(level, other):
    """With many votes on the others: the joint likelihood is minimised in full."""
    X, y = votes(n=20000)
    result = AnchorPipeline(new_models=[]).fit(X, y).result_
    a, b = (pd.Categorical(X[s], NAMES).codes for s in ("model_a", "model_b"))
    # Wins of the row model over the column model.
    wins = np.zeros((5, 5))
    np.add.at(wins, (np.where(y == 1, a, b), np.where(y == 1, b, a)), 1.0)

    def loss(free, value):
        origin = free.mean() if other is None else free[0]
        scores = np.append(free, origin + value)
        return (wins * np.logaddexp(0.0, scores - scores[:, None])).sum()

    low, high = result.intervals(level, other).loc["lost", ["low", "high"]]
    assert low == -np.inf
    actual, best = (
        minimize(loss, SCORES, (value,), method="BFGS").fun for value in (high, -40.0)
    )
    # The others' votes have a normal likelihood up to third order.
    assert_allclose(actual - best, -np.log((1 - level) / 2), rtol=1e-3)


def test_the_limit_beside_known_scores_is_exact():
    """The probability of losing all is (1 - level) / 2 there: Clopper and Pearson's."""
    X, y = votes(n=400)
    weight = np.where((X == "lost").any(axis=1), 1.0, 1e3)
    btl = BTLRegressor(weights="frequency").fit(X, y, weight)
    high = btl.conf_int(0.9).loc["lost", "high"]
    reference = btl.scores_[list("abcd")].to_numpy()
    lost = 1 / (1 + np.exp(high - np.tile(reference, 15)))
    assert_allclose(np.prod(lost), 0.05, rtol=1e-2)


def test_a_pipeline_says_what_the_regression_and_the_baseline_say():
    X, y = votes()
    X = X.assign(prompt_id=np.arange(len(X)) // 3)
    for groups in (None, "prompt_id"):
        btl = BTLRegressor().fit(X, y, groups=groups)
        anchor = AnchorPipeline(new_models=[]).fit(X, y, groups=groups)
        human = HumanOnly(new_models=["lost"]).fit(X, y, groups=groups)
        limits = btl.conf_int(0.9).loc[NAMES]
        leaderboard = anchor.leaderboard(0.9).loc[NAMES, ["low", "high"]]
        assert_allclose(leaderboard, limits, atol=1e-6)
        assert_allclose(human.conf_int(0.9), limits[-1:], atol=1e-6)


def test_groups_that_widen_errors_move_the_limit():
    """Each vote is cast four times over: the limit is that of a fourth of the votes."""
    X, y = votes()
    four = np.repeat(np.arange(len(y)), 4)
    limits = [
        BTLRegressor().fit(X.iloc[rows], y[rows], groups=rows).conf_int().loc["lost"]
        for rows in (np.arange(len(y)), four)
    ]
    assert_allclose(limits[0], limits[1], rtol=1e-6)


@pytest.mark.parametrize("among", ["board", "best"])
def test_others_rank_as_without_a_model_that_lost_all(among):
    X, y = votes(n_lost=180, n=300)
    alone = (X != "lost").all(axis=1).to_numpy()
    whole = AnchorPipeline(new_models=[]).fit(X, y)
    others = AnchorPipeline(new_models=[]).fit(X[alone], y[alone])
    if among == "best":
        assert whole.best_set().tolist() == others.best_set().tolist()
        return
    result = whole.rank_sets(among="board").drop(index="lost")
    pd.testing.assert_frame_equal(result, others.rank_sets(among="board"))
    for method in ("holm", "romano-wolf"):
        last = whole.rank_sets(among="board", method=method).loc["lost"]
        assert last.tolist() == [5, 5, 5]
    leaderboard = whole.leaderboard()
    assert leaderboard.index[-1] == "lost" and leaderboard["determined"].all()
    assert leaderboard["rank"]["lost"] == leaderboard["rank"].max()
    assert leaderboard["rank"]["lost"] > leaderboard["rank"].drop("lost").max()


def test_groups_of_models_that_lose_to_the_others_keep_their_order():
    """Two that beat each other and lose to the rest have limits, too."""
    X, y = votes(n_lost=120)
    X.loc[(X == "lost").any(axis=1) & (np.arange(len(X)) % 2 == 0), "model_a"] = "two"
    more = pd.DataFrame({"model_a": "two", "model_b": "lost", "judge": "human"},
                        index=range(60))  # fmt: skip
    X = pd.concat([X, more], ignore_index=True)
    y = np.append(y, np.arange(60) % 10 > 0)
    anchor = AnchorPipeline(new_models=[]).fit(X, y)
    limits = anchor.result_.intervals().loc[["lost", "two"]]
    assert (limits["low"] == -np.inf).all() and (limits["high"] < -1).all()
    sets = anchor.rank_sets(among="board")
    assert sets.loc["two"].tolist() == [5, 5, 5]
    assert sets.loc["lost"].tolist() == [6, 6, 6]


def test_coverage_of_the_limit():
    """Winless once in eight tables, where a chi-square limit would miss each time."""
    n, n_tables = 20, 160
    score = -2.31
    miss = winless = 0
    for seed in range(n_tables):
        X, y = votes(n_lost=n, n=600, seed=seed, score=score)
        btl = BTLRegressor().fit(X, y)
        low, high = btl.conf_int().loc["lost"]
        is_open = bool(np.isinf(low))
        winless += is_open
        # Otherwise scores are centred over all five models.
        true = score - (0.0 if is_open else score / 5)
        miss += not low <= true <= high
    # At most .05, false alarms once in ten thousand runs.
    assert miss <= binom.ppf(1 - 1e-4, n_tables, 0.05)
    assert winless > 10


# ------------------------------------------------------------------------- with judges
@pytest.fixture(scope="module")
def table():
    data = simulate_battles(1500, 300, n_models=5, n_new_models=2, random_state=2)
    return data.X, np.array(data.y, dtype=float)


def fit(X, y, **settings):
    settings = {"cv": 3, "random_state": 0, "item_effects": "none"} | settings
    return AnchorPipeline(**settings).fit(X, y)


@pytest.mark.parametrize("item_effects", ["none", "random"])
@pytest.mark.parametrize("columns", [None, ["model_a", "model_b", "judge"]])
def test_an_old_model_that_lost_all_votes_and_verdicts_is_last(
    table, columns, item_effects
):
    X, y = table
    X = X if columns is None else X[columns]
    anchor = fit(X, lose(X, y, "model-05"), item_effects=item_effects)
    leaderboard = anchor.leaderboard()
    last = leaderboard.loc["model-05"]
    assert last[["rank", "rank_low", "rank_high"]].tolist() == [7, 7, 7]
    assert last["low"] == -np.inf and -6 < last["high"] < -2 and last["determined"]
    others = leaderboard["rank_high"].drop("model-05")
    assert (others <= 6).all()
    pairs = anchor.contrasts().xs("model-05", level="opponent")
    assert (pairs["low"] > 1).all() and (pairs["high"] == np.inf).all()
    assert (pairs["p_adjusted"] < 1e-6).all() and (pairs["win_low"] > 0.8).all()


@pytest.mark.parametrize("wins", [True, False])
def test_a_new_model_that_won_or_lost_all_verdicts_is_placed(table, wins):
    X, y = table
    anchor = fit(X, lose(X, y, "new-model-1", wins=wins))
    low, high = anchor.conf_int().loc["new-model-1"]
    position = 1 if wins else 6
    assert anchor.rank_sets().loc["new-model-1"].tolist() == [position] * 3
    assert (low > 2 and high == np.inf) if wins else (low == -np.inf and high < -2)
    document = to_dict(anchor)
    text = " ".join(document["answer"])
    assert ("at least 9" in text) if wins else ("at most " in text)
    assert document["undetermined"] == []
    # What it is measured from: the limit of a difference.
    elo = anchor.leaderboard(scale="elo", anchor={"model-01": 1000.0})
    assert np.isfinite(elo.loc["new-model-1", "low" if wins else "high"])


def test_verdicts_of_a_judge_who_knows_little_prove_nothing(table):
    """The sensitivity may be zero, within its error."""
    X, y = table
    X = X[["model_a", "model_b", "judge"]]
    rng = np.random.default_rng(0)
    judged = (X["judge"] != "human").to_numpy()
    y = np.where(judged, rng.random(len(y)) < 0.5, y)
    rows = judged & (X[["model_a", "model_b"]] == "new-model-1").any(axis=1).to_numpy()
    anchor = fit(X, lose(X, y, "new-model-1", rows))
    ranks = anchor.rank_sets().loc["new-model-1"]
    assert ranks["low"] == 1 and ranks["high"] == 6
