"""A new model that its rows do not determine leaves the scores of the others alone."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from tables import meets, plan_of

from skanchor import AnchorPipeline, BTLRegressor
from skanchor.exceptions import InstabilityWarning
from skanchor.reports.facts import Facts
from skanchor.reports.page import render_page
from skanchor.simulation import simulate_battles

NEW = "new-model"


@pytest.fixture(scope="module")
def table():
    """A new model whose few rows are one-sided in a fold, a second one, and folds."""
    data = simulate_battles(
        n_historical=800, n_new=12, n_models=5, n_judges=2, random_state=12
    )
    more = simulate_battles(
        n_historical=800, n_new=100, n_models=5, n_judges=2, random_state=12
    )
    X, y = data.X, np.asarray(data.y, dtype=float)
    is_new_row = meets(more.X, NEW) & (more.X["judge"] != "human").to_numpy()
    other = more.X[is_new_row].replace({NEW: "other"})
    X = pd.concat([X, other], ignore_index=True)
    y = np.append(y, np.asarray(more.y, dtype=float)[is_new_row])
    fold = np.random.default_rng(0).integers(0, 5, len(X))
    # The two rows that the new model lost are in one fold.
    of_source = np.flatnonzero(meets(X, NEW))
    won = np.where(X["model_a"][of_source] == NEW, y[of_source], 1.0 - y[of_source])
    fold[of_source[won < 0.5]] = 0
    fold[of_source[won > 0.5]] = np.arange((won > 0.5).sum()) % 4 + 1
    return X, y, fold


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("item_effects", "lone"), [(None, False), (None, True), ("random", True)]
)
def test_others_are_as_in_a_table_without_it(table, item_effects, lone):
    X, y, fold = table
    used = ~meets(X, "other") if lone else np.ones(len(X), dtype=bool)
    X, y, fold = X[used], y[used], fold[used]
    remaining = ~meets(X, NEW)
    anchor = AnchorPipeline(cv=plan_of(fold), item_effects=item_effects)
    result = anchor.fit(X, y).result_
    without = AnchorPipeline(
        cv=plan_of(fold[remaining]),
        item_effects=item_effects,
        new_models=[] if lone else ["other"],
    )
    expected = without.fit(X[remaining], y[remaining]).result_
    others = result.models != NEW
    assert result.unbounded.tolist() == (~others).tolist()
    assert_allclose(result.estimates[0][others], expected.estimates[0], atol=1e-9)
    covariance = result.covariances[0][np.ix_(others, others)]
    assert_allclose(covariance, expected.covariances[0], atol=1e-9)
    leaderboard = anchor.leaderboard()
    assert not leaderboard["determined"][NEW]
    assert np.isfinite(leaderboard["score"][NEW])
    assert_frame_equal(
        leaderboard.drop(index=NEW).drop(
            columns=["rank", "rank_low", "rank_high", "n_judge"]
        ),
        without.leaderboard().drop(
            columns=["rank", "rank_low", "rank_high", "n_judge"]
        ),
        check_exact=False,
        atol=1e-9,
    )
    assert anchor.influence_.shape == (len(X), len(result.models))
    assert NEW in render_page(Facts(anchor))


# ------------------------------------------------------------- models beside the scale
@pytest.mark.filterwarnings("ignore")
def test_a_model_beside_the_scale_is_measured_from_the_others():
    data = simulate_battles(1500, 200, n_models=5, n_judges=2, tau=0.0, rho=0.0,
                            random_state=1)  # fmt: skip
    X, y = data.X[["model_a", "model_b", "judge"]], np.asarray(data.y, dtype=float)
    votes = (X["judge"] == "human").to_numpy()
    # One model won everything. Another one won all votes of the others, not verdicts.
    second = meets(X, "model-02") & votes
    y = np.where(second, X["model_a"] == "model-02", y)
    y = np.where(meets(X, "model-01"), X["model_a"] == "model-01", y)
    anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    result, scores = anchor.result_, BTLRegressor().fit(X[votes], y[votes]).scores_
    assert result.models[result.unbounded].tolist() == ["model-01"]
    others = [f"model-{i:02d}" for i in range(2, 6)]
    expected = scores["model-01"] - scores[others].mean()
    assert abs(result.all_scores["model-01"] - expected) < 1e-9
    assert abs(result.all_scores[others].mean()) < 1e-9
    assert abs(scores[others].mean()) > 1.0


@pytest.mark.filterwarnings("ignore")
def test_item_effects_may_hide_the_scale():
    """Where judges' likes outweigh quality, their verdicts do not tell its unit."""
    data = simulate_battles(
        3000, 300, n_models=5, n_judges=2, n_human=1500, sensitivities=[1.0, 1.0],
        scores=np.linspace(0.1, -0.1, 5), item_sd=1.0, tau=0.0, rho=0.0,
        random_state=4,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]]
    anchor = AnchorPipeline(
        cv=3, item_effects="random", historical_fit="two-step", random_state=0
    )
    with pytest.warns(InstabilityWarning, match="hides how sensitive they are"):
        anchor.fit(X, data.y)
    assert np.isinf(anchor.standard_errors_[NEW])
    # Without item effects, the same rows determine it.
    plain = anchor.set_params(item_effects="none").fit(X, data.y)
    assert plain.standard_errors_[NEW] < 1.0
