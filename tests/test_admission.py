"""The road to a ranking: each refusal, each warning, and what decides nothing."""

import pytest
from tables import small, warnings_of

from skanchor import AnchorPipeline, BTLRegressor, split_battles
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles


# -------------------------------------------------------------------------- thin judges
def thin(n_judges, rows):
    """A table of some judges with so many rows on historical models."""
    n_new = 5 * n_judges
    data = simulate_battles(
        n_models=6, n_judges=1, n_historical=800 + n_judges * rows, n_human=800,
        n_new=n_new, rho=0.0, item_sd=0.2, random_state=0,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]].copy()
    of_new = (X[["model_a", "model_b"]] == "new-model").any(axis=1)
    for rows_of in (of_new, ~of_new & (X["judge"] != "human")):
        at = X.index[rows_of]
        X.loc[at, "judge"] = [f"seed {i % n_judges}" for i in range(len(at))]
    return X, data.y


@pytest.mark.parametrize(
    ("n_judges", "rows", "is_told"), [(20, 40, True), (20, 60, False), (4, 40, False)]
)
def test_judges_too_thin_for_sensitivities_of_their_own_are_told(
    n_judges, rows, is_told
):
    X, y = thin(n_judges, rows)
    anchor = AnchorPipeline(cv=2, item_effects=None, random_state=0)
    messages = [str(one) for one in warnings_of(lambda: anchor.fit(X, y))]
    messages = [text for text in messages if "in the median" in text]
    assert bool(messages) == is_told
    if is_told:
        assert "20 judges have 40 verdicts each on historical models" in messages[0]
        assert messages[0].endswith("alike as one (pool).")
        # What it advises helps.
        one, _ = split_battles(X.assign(winner=y), pool="judges")
        pooled = AnchorPipeline(cv=2, item_effects=None, random_state=0)
        result = warnings_of(lambda: pooled.fit(one, y))
        assert not any("in the median" in str(item) for item in result)
        assert 2 * pooled.standard_errors_.iloc[0] < anchor.standard_errors_.iloc[0]
        assert abs(pooled.scores_.iloc[0] - 0.5) < 4 * pooled.standard_errors_.iloc[0]


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
@pytest.mark.parametrize(
    ("change", "btl", "match"),
    [
        ({}, BTLRegressor(score_bound=0.1), r"lie on the bound of 0\.1 logits"),
        ({"model_b": "model-01", "model_a": "model-01"}, None, "has positive weight"),
    ],
    ids=["scores on the bound", "rows against themselves"],
)
def test_tables_that_leave_nothing_to_rank_are_refused(change, btl, match):
    data = small()
    anchor = AnchorPipeline(btl, historical_fit="two-step", cv=3)
    with pytest.raises(BattlesError, match=match):
        anchor.fit(data.X.assign(**change), data.y)
