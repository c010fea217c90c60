"""Ties: half a win or left out, and told apart by source and kind."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tables import quiet

from skanchor import AnchorPipeline, BTLRegressor
from skanchor.exceptions import BattlesError, DataWarning, DiagnosticWarning
from skanchor.simulation import simulate_battles


def davidson(eta, nu):
    """P(win), P(tie)."""
    total = 2.0 * np.cosh(0.5 * eta) + nu
    return np.exp(0.5 * eta) / total, nu / total


def with_ties(seed=0, nu=(0.8, 0.0, 2.0), slopes=(0.0, 0.0, 0.0), n=2200, score=0.5):
    """A table, its probabilities of win and tie, and drawn labels."""
    data = simulate_battles(
        n_models=6, n_judges=2, n_new=400, n_historical=n, new_score=score,
        tau=0.0, rho=0.0, random_state=seed,
    )  # fmt: skip
    X, truth = data.X[["model_a", "model_b", "judge"]], data.truth
    scores = pd.concat([truth.scores, truth.new_scores])
    a, b = (X[side].map(scores).to_numpy() for side in ("model_a", "model_b"))
    source = X["judge"].map({"human": 0, "judge-1": 1, "judge-2": 2}).to_numpy()
    eta = np.where(source == 0, a - b, np.asarray(truth.logits))
    weight = np.take(nu, source) * np.exp(np.take(slopes, source) * (a + b) / 2)
    win, tie = davidson(eta, weight)
    draw = np.random.default_rng(seed).random(len(X))
    y = np.select([draw < win, draw < win + tie], ["model_a", "tie"], "model_b")
    return X, pd.Series(y), win, tie


# ------------------------------------------------------------------------- leaving out
@pytest.mark.parametrize("item_effects", ["none", "random"])
def test_left_out_is_the_table_without_them(item_effects):
    X, y, *_ = with_ties()
    anchor = AnchorPipeline(
        ties="drop", item_effects=item_effects, cv=3, random_state=0
    )
    quiet(anchor.fit, X, y)
    keep = (y != "tie").to_numpy()
    position = np.cumsum(keep) - 1
    plan = [[position[rows[keep[rows]]] for rows in s] for s in anchor.fold_plan_[0]]
    others = AnchorPipeline(cv=plan, item_effects=item_effects)
    quiet(others.fit, X[keep].reset_index(drop=True), y[keep].reset_index(drop=True))
    for name in ("estimates", "covariances", "parts", "plug_in"):
        result, expected = (getattr(fit.result_, name) for fit in (anchor, others))
        assert_allclose(result, expected, rtol=1e-9, atol=1e-11)
    assert_allclose(anchor.influence_[keep], others.influence_, atol=1e-11)
    assert not anchor.influence_[~keep].any()


@pytest.mark.parametrize("most", [1, 5])
def test_ties_among_counted_rows_are_left_out(most):
    """Whether equal rows are put together, or rows are few for their number."""
    X, y, *_ = with_ties()
    table = X.assign(y=y.to_numpy()).drop_duplicates().reset_index(drop=True)
    y = table.pop("y")
    n = np.random.default_rng(0).integers(1, most + 1, len(y))
    n[0] = 2
    settings = {"ties": "drop", "item_effects": None, "historical_fit": "joint"}
    anchor = AnchorPipeline(weights="frequency", cv=2, random_state=0, **settings)
    quiet(anchor.fit, table, y, sample_weight=n)
    assert (anchor._inference.cells.cell is None) == (most == 1)
    listed = np.repeat(np.arange(len(y)), n)
    same = AnchorPipeline(cv=anchor.fold_plan_, **settings)
    quiet(same.fit, table.iloc[listed].reset_index(drop=True), y[listed])
    assert_allclose(anchor.scores_, same.scores_, rtol=1e-10)
    assert_allclose(anchor.standard_errors_, same.standard_errors_, rtol=1e-10)
    for fitted in (anchor, same):
        assert_array_equal(fitted._sample.weight == 0, (y == "tie")[listed])


# ------------------------------------------------------------------------------- told
def test_counts_are_told_by_source_and_kind():
    X, y, *_ = with_ties()
    bad = (y == "tie") & (np.arange(len(y)) % 2 == 0)
    y = y.mask(bad, "tie (bothbad)")
    for ties, words in (("half", "half a win"), ("drop", "left out")):
        anchor = AnchorPipeline(item_effects=None, cv=3, random_state=0, ties=ties)
        quiet(anchor.fit, X, y)
        text = str(anchor.result_.inputs)
        n_ties = int((y.str.startswith("tie")).sum())
        assert f"Ties: {n_ties} rows ({bad.sum()} of them both bad)" in text
        assert words in text
        table = anchor.result_.diagnostics.ties
        for source, row in table.iterrows():
            mine = (X.judge == source).to_numpy()
            assert row["rows"] == mine.sum()
            assert row["ties"] == y[mine].str.startswith("tie").sum()
            assert row["both_bad"] == bad[mine].sum()
        summary = anchor.summary()
        assert (summary["both_bad"] == table["both_bad"].drop("human")).all()
        assert (summary["ties"] == table["ties"].drop("human")).all()


def test_marks_of_a_reader_count_where_outcomes_are_numbers():
    X, y, *_ = with_ties()
    numbers = y.map({"model_a": 1.0, "model_b": 0.0, "tie": 0.5})
    marked = X.assign(both_bad=(y == "tie") & (X.judge == "human"))
    anchor = AnchorPipeline(item_effects=None, cv=3, random_state=0)
    quiet(anchor.fit, marked, numbers)
    inputs = anchor.result_.inputs
    assert inputs.n_both_bad == marked["both_bad"].sum() > 0
    assert "both_bad" not in inputs.ignored
    # Rows that no tool has marked are not marked.
    bad = marked["both_bad"].astype("boolean")
    objects = bad.astype(object).where(bad, None)
    for marks in (bad.where(bad), objects):
        quiet(anchor.fit, marked.assign(both_bad=marks), numbers)
        assert anchor.result_.inputs.n_both_bad == inputs.n_both_bad
    quiet(anchor.fit, marked.assign(both_bad=objects.where(bad, "no")), numbers)
    assert not anchor.result_.inputs.n_both_bad


def test_either_the_label_or_the_mark_says_that_both_were_bad():
    X, y, *_ = with_ties()
    tied, number = (y == "tie").to_numpy(), np.arange(len(y))
    y = y.mask(tied & (number % 2 == 0), "tie (bothbad)")
    marked = X.assign(both_bad=tied & (number % 3 == 0))
    anchor = AnchorPipeline(item_effects=None, cv=3, random_state=0)
    quiet(anchor.fit, marked, y)
    either = tied & ((number % 2 == 0) | (number % 3 == 0))
    assert anchor.result_.inputs.n_both_bad == either.sum() > (y == "tie").sum()
    bad = anchor.result_.diagnostics.ties["both_bad"]
    assert bad.sum() == either.sum()


# ------------------------------------------------------------------------- the level
def test_level_is_the_coefficient_of_the_ties():
    X, y, *_ = with_ties(nu=(2.0, 2.0, 2.0), slopes=(-0.6, 0.6, 0.0), n=20000)
    anchor = AnchorPipeline(item_effects=None, cv=2, random_state=0)
    with pytest.warns(DiagnosticWarning, match="log-odds of a tie .*ties set to drop"):
        anchor.fit(X, y)
    table = anchor.result_.diagnostics.ties
    # In logits of the half-win scale, which are about twice as long.
    expected = np.array([-0.6, 0.6, 0.0]) * 2.0
    assert (np.abs(table["level"] - expected) < 4 * table["level_error"] + 0.15).all()
    drop = AnchorPipeline(item_effects=None, cv=2, random_state=0, ties="drop")
    drop.fit(X, y)
    assert drop.result_.diagnostics.ties["level"].isna().all()


# -------------------------------------------------------------------------- bad input
def test_votes_that_all_tie_cannot_be_left_out():
    X, y, *_ = with_ties()
    human = X.judge == "human"
    with pytest.raises(BattlesError, match=r"vote is a tie.*set ties to half"):
        AnchorPipeline(ties="drop").fit(X, y.mask(human, "tie"))
    with pytest.raises(BattlesError, match="Every human vote is a tie"):
        BTLRegressor(ties="drop").fit(X[human], y[human].mask(human, "tie"))
    with pytest.raises(ValueError, match="ties"):
        AnchorPipeline(ties="davidson").fit(X, y)


def test_judges_and_models_with_nothing_else_are_named():
    X, y, *_ = with_ties()
    anchor = AnchorPipeline(ties="drop", item_effects=None, cv=3, random_state=0)
    lazy = y.mask(X.judge == "judge-2", "tie")
    with pytest.warns(DataWarning) as caught:
        anchor.fit(X, lazy)
    message = " ".join(str(item.message) for item in caught)
    assert "All verdicts of judges ['judge-2'] are ties" in message
    met = (X.model_a == "model-01") | (X.model_b == "model-01")
    with pytest.warns(DataWarning, match=r"votes on models \['model-01'\] are ties"):
        anchor.fit(X, y.mask((X.judge == "human") & met, "tie"))
    assert "model-01" in anchor.new_models_
