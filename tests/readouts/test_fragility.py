"""How few rows change a statement: against refits by hand, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from item_battles import set_covariance
from numpy.testing import assert_allclose
from readout_fits import fitted, plain_table
from sklearn.base import clone

from skanchor import AnchorPipeline
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles

NEW = "new-model"

# Rows that were chosen by their outcomes look odd to the diagnostics of a refit.
pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")


@pytest.fixture(scope="module")
def table():
    data = simulate_battles(random_state=0)
    return data.X, data.y


@pytest.fixture(scope="module")
def paper():
    return fitted("paper")


@pytest.fixture(scope="module")
def small():
    """Few rows and folds, for refits of each row."""
    data = simulate_battles(n_models=5, n_new=150, n_historical=900, random_state=0)
    anchor = AnchorPipeline(cv=3, item_effects=None, random_state=0)
    return anchor.fit(data.X, data.y), data.X, data.y


def refit(anchor, X, y, gone, **changes):
    """The fit that a user would make without some rows."""
    weight = np.ones(len(X))
    weight[gone] = 0.0
    again = clone(anchor).set_params(cv=anchor.fold_plan_, **changes)
    return again.fit(X, y, sample_weight=weight)


def difference(anchor, opponent):
    return anchor.contrasts().loc[(NEW, opponent), "difference"]


# --------------------------------------------------------------------- first things


@pytest.fixture(scope="module")
def of_interval(small):
    anchor, X, y = small
    return anchor.fragility(X, y, goal="interval")


def test_first_order_alone_needs_no_rows(small, of_interval):
    """The same numbers at once, said to be unconfirmed."""
    result = small[0].fragility(goal="interval")
    assert_allclose(result.table["first_order"], of_interval.table["first_order"])
    assert set(result.table["status"]) == {"first order"}
    assert result.table["k"].isna().all() and not result.table["confirmed"].any()
    assert all(line.startswith("By influence alone") for line in result.sentences)
    assert all(line.endswith("no refit confirms it.") for line in result.sentences)


# ---------------------------------------------------------------------- by brute force


def test_what_is_confirmed_is_a_fit_of_the_user(small):
    """The same difference, by public means, of the rows that are named."""
    anchor, X, y = small
    result = anchor.fragility(X, y, goal="sign", rows="arrival")
    confirmed = result.table[result.table["confirmed"]]
    assert len(confirmed) >= 2
    for (model, opponent), row in confirmed.iterrows():
        gone = result.rows(model, opponent)
        assert row["k"] == gone["count"].sum() == len(gone)
        assert (gone[["model_a", "model_b"]] == NEW).any(axis=1).all()
        again = refit(anchor, X, y, gone.index)
        assert_allclose(difference(again, opponent), row["after"], atol=1e-10)
        assert row["after"] * row["difference"] < 0
        assert row["share"] == row["k"] / row["allowed"]


def test_item_effects_are_those_of_the_fit(monkeypatch):
    """Refits have the covariance of the fit."""
    X, y = plain_table()
    anchor = fitted("items")
    opponent = "model-03"
    result = anchor.fragility(X, y, opponent)
    row = result.table.iloc[0]
    gone = result.rows(NEW)
    with monkeypatch.context() as patch:
        set_covariance(patch, anchor.item_covariance_)
        again = refit(anchor, X, y, gone.index)
    assert_allclose(difference(again, opponent), row["after"], atol=1e-9)
    assert len(gone) == row["k"]


# ------------------------------------------------------------------------------- goals
def test_an_interval_gains_or_loses_significance(small, of_interval):
    anchor, X, y = small
    now, result = anchor.contrasts(), of_interval
    for (model, opponent), row in result.table.iterrows():
        limits = now.loc[(model, opponent), ["low", "high"]]
        significant = limits["low"] > 0 or limits["high"] < 0
        assert row["gains"] == (not significant)
        if not row["confirmed"]:
            continue
        again = refit(anchor, X, y, result.rows(model, opponent).index).contrasts()
        after = again.loc[(model, opponent)]
        assert (after["low"] > 0 or after["high"] < 0) == row["gains"]
    assert result.table["gains"].nunique() == 2
    assert result.table["confirmed"].sum() >= 2


# --------------------------------------------------------------- units of other kinds
def test_groups_go_as_a_whole():
    """Also where raters are crossed with them."""
    data = simulate_battles(n_models=5, n_new=150, n_historical=900, random_state=0)
    at = np.arange(len(data.X))
    groups, rater = at // 3, [f"rater {i}" for i in at % 60]
    X, y = (
        data.X.assign(rater=np.where(data.X["judge"] == "human", rater, None)),
        data.y,
    )
    anchor = AnchorPipeline(cv=3, item_effects=None, random_state=0)
    anchor.fit(X, y, groups=groups)
    result = anchor.fragility(X, y, groups=groups, by="group", goal="interval")
    row = result.table[result.table["confirmed"]].iloc[0]
    gone = result.rows(*row.name)
    assert len(np.unique(groups[gone.index])) == row["k"]
    assert len(gone) == 3 * row["k"]
    assert row["allowed"] == len(np.unique(groups))
    assert "groups of rows" in " ".join(result.sentences)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.CountWarning")
def test_a_row_that_counts_several_can_go_in_part():
    """A table of counts, and the table with each of them listed."""
    X, y = plain_table()
    counted = X.assign(y=y).groupby([*X.columns, "y"]).size().reset_index()
    C, outcome, n = counted[X.columns], counted["y"], counted[0]
    settings = dict(item_effects=None, cv=3, random_state=0)
    few = AnchorPipeline(weights="frequency", **settings).fit(C, outcome, n)
    at = np.repeat(np.arange(len(C)), n)
    L, listed_outcome = C.iloc[at].reset_index(drop=True), outcome.iloc[at].to_numpy()
    many = AnchorPipeline(**settings).fit(L, listed_outcome)
    requested = dict(opponent="model-05", rows="arrival")
    result = few.fragility(C, outcome, sample_weight=n, **requested)
    listed = many.fragility(L, listed_outcome, **requested)
    columns = ["difference", "first_order", "re_solved", "k", "after"]
    assert_allclose(result.table[columns], listed.table[columns], atol=1e-9)
    gone = result.rows(NEW)
    assert gone["count"].sum() == result.table["k"].iloc[0]
    assert (gone["count"] <= n.to_numpy()[gone.index]).all()
    assert (gone["count"] < n.to_numpy()[gone.index]).any()
    columns = ["model_a", "model_b", "judge", "outcome"]
    cells, others = (
        one.rows(NEW).groupby(columns)["count"].sum() for one in (result, listed)
    )
    pd.testing.assert_series_equal(cells, others)


# ----------------------------------------------------------------- what is no change
@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_breaking_is_not_flipping(paper, table, monkeypatch):
    """Without its votes against others a model falls without limit, with no error."""
    X, y = table
    opponent = "model-04"
    side = np.where(y > 0.5, X["model_a"], X["model_b"])
    won = np.flatnonzero(X["judge"].eq("human") & (side == opponent))
    lost = refit(paper, X, y, won).result_
    assert np.isinf(lost.all_standard_errors[opponent])
    # The difference, -.07, would be far above zero in a refit without these votes.
    monkeypatch.setattr("skanchor.readouts._fragility.refit", lambda *_, **__: lost)
    row = paper.fragility(X, y, opponent, rows="human").table.iloc[0]
    assert row["status"] == "fit fails first" and not row["confirmed"]
    assert row["re_solved"] < row["k"] == np.inf


# ------------------------------------------------------------------------- bad input
def test_what_is_refused(paper, table):
    X, y = table
    for changes, why in (
        (dict(opponent="nobody"), "no models .'nobody'."),
        (dict(model="nobody"), "no new models .'nobody'."),
        (dict(opponent=NEW), "is the only new model itself"),
        (dict(by="group"), "have none"),
        (dict(goal="score"), r"goal must be one of \['sign', 'interval'\]"),
        (dict(rows="all"), "rows must be one of"),
        (dict(by="judge"), "by must be one of"),
        (dict(level=1.0), "level"),
    ):
        with pytest.raises(ValueError, match=why):
            paper.fragility(X, y, **changes)
    with pytest.raises(BattlesError, match="are not those that this pipeline was"):
        paper.fragility(X.iloc[:-1], y[:-1])
    turned = np.array(y)
    turned[0] = 1 - turned[0]
    with pytest.raises(BattlesError, match="are not those that this pipeline was"):
        paper.fragility(X, turned)
