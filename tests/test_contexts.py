"""Rankings by context, and scores under a mix of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skanchor import AnchorPipeline
from skanchor.baselines import DirectScore, HumanOnly
from skanchor.contexts import ContextResults, rank_contexts
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles

NEW = "new-model"


@pytest.fixture(scope="module")
def table():
    data = simulate_battles(
        n_models=4, n_historical=3000, n_new=300, random_state=3, rho=0.0
    )
    X = data.X.drop(columns=[c for c in data.X if c[:1] == "x"])
    return X.assign(
        kind=np.array(["chat", "code", "math"])[np.arange(len(X)) % 3]
    ), data.y


def anchor(**options):
    return AnchorPipeline(
        **{"cv": 3, "item_effects": None, "random_state": 0} | options
    )


@pytest.fixture(scope="module")
def found(table):
    return rank_contexts(anchor(), *table, "kind")


def test_a_context_is_a_table_of_its_own(table, found):
    X, y = table
    assert list(found) == ["chat", "code", "math"] and len(found) == 3
    for kind, result in found.items():
        rows = (X["kind"] == kind).to_numpy()
        alone = anchor().fit(X[rows].drop(columns="kind"), y[rows])
        assert_allclose(result.estimates, alone.result_.estimates)
        assert_allclose(result.covariances, alone.result_.covariances)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_weights_and_groups_go_to_their_contexts(table):
    X, y = table
    weight, groups = np.tile([0.5, 1.5], len(y) // 2), np.arange(len(y)) // 6
    settings = {"sample_weight": weight, "groups": groups}
    found = rank_contexts(anchor(), X, y, "kind", **settings)
    rows = (X["kind"] == "code").to_numpy()
    alone = anchor().fit(
        X[rows].drop(columns="kind"), y[rows],
        sample_weight=weight[rows], groups=groups[rows],
    )  # fmt: skip
    assert_allclose(found["code"].estimates, alone.result_.estimates)
    assert_allclose(found["code"].covariances, alone.result_.covariances)
    bare = rank_contexts(anchor(), X, y, "kind")["code"]
    assert np.abs(bare.estimates - alone.result_.estimates).max() > 1e-3


def test_a_mix_is_the_mean_of_independent_contexts(found):
    mix = {"chat": 0.5, "math": 0.3, "code": 0.2}
    whole = found.under(mix)
    models = whole.models.tolist()
    want, square = 0.0, 0.0
    for kind, share in mix.items():
        part = found[kind]
        want += share * part.all_scores[models]
        square += share**2 * part.all_standard_errors[models] ** 2
    assert_allclose(whole.all_scores, want)
    assert_allclose(whole.all_standard_errors**2, square)
    assert whole.n_human.sum() == sum(part.n_human.sum() for part in found.values())
    assert whole.rank_sets().index.tolist() == [NEW]
    assert abs(whole.all_scores[models[:-1]].mean()) < 0.2


def test_a_mix_of_one_context_is_that_context(found):
    alone = found.under({"code": 1.0, "chat": 0.0})
    assert_allclose(alone.scores, found["code"].scores)
    assert_allclose(alone.standard_errors, found["code"].standard_errors)
    pd.testing.assert_frame_equal(alone.conf_int(), found["code"].conf_int())


def test_what_one_context_leaves_open_the_mix_does(found):
    """A score without a limit in one of them, and the fewest degrees of freedom."""
    chat, code = found["chat"], found["code"]
    open_ = chat.models == NEW
    parts = {
        "chat": replace(chat, unbounded=open_, item_df=7.0),
        "code": replace(code, item_df=3.0),
    }
    for names in (["chat", "code"], ["code", "chat"]):
        known = ContextResults({name: parts[name] for name in names})
        mixed = known.under({"chat": 0.5, "code": 0.5})
        assert mixed.models[mixed.unbounded].tolist() == [NEW]
        assert mixed.item_df == 3.0


def test_item_effects_and_shared_groups_are_bounded(table):
    X, y = table
    random = rank_contexts(anchor(item_effects="random"), X, y, "kind")
    mix = dict.fromkeys(random, 1 / 3)
    whole = random.under(mix)
    parts = list(random.values())
    items = np.mean([part.item_covariances for part in parts], axis=0)
    assert_allclose(whole.item_covariances, items)
    sampling = np.sum([p.covariances - p.item_covariances for p in parts], axis=0) / 9
    assert_allclose(whole.covariances, items + sampling)
    # Groups that lie in one context each, and groups with a row in every one.
    own = np.arange(len(X)) // 3 * 3 + np.arange(len(X)) % 3
    inside, across = (
        rank_contexts(anchor(), X, y, X["kind"], groups=groups)
        for groups in (own, np.arange(len(X)) // 3)
    )
    ratio = across.under(mix).standard_errors / inside.under(mix).standard_errors
    assert_allclose(ratio, 3**0.5, rtol=0.1)


def test_any_method_with_errors_serves(table):
    X, y = table
    # It scores new models by votes of their own.
    people = X.replace({"judge": {"judge-1": "human"}})
    found = rank_contexts(HumanOnly(new_models=[NEW]), people, y, "kind")
    assert np.isfinite(found.under(dict.fromkeys(found, 1 / 3)).standard_errors).all()
    with pytest.raises(TypeError, match="DirectScore gives no standard errors"):
        rank_contexts(DirectScore(), X, y, "kind")


# -------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("mix", "error", "match"),
    [
        ({"chat": 0.5, "code": 0.4}, ValueError, r"sum to one, here they sum to 0\.9"),
        ({"chat": 1.5, "code": -0.5}, ValueError, "not negative"),
        ({"chat": float("nan")}, ValueError, "finite"),
        ({}, ValueError, "sum to one"),
        ({"poetry": 1.0}, BattlesError, r"\['poetry'\], which the table has not"),
        ("chat", TypeError, "dict of context to share"),
    ],
)
def test_a_mix_that_is_none_is_refused(found, mix, error, match):
    with pytest.raises(error, match=match):
        found.under(mix)


def test_a_context_without_arrivals_has_no_new_score(table):
    X, y = table
    new = (X[["model_a", "model_b"]] == NEW).any(axis=1)
    rows = ~(new & (X["kind"] == "math")).to_numpy()
    found = rank_contexts(anchor(), X[rows], y[rows], "kind")
    assert not found["math"].is_new.any()
    assert found.under({"chat": 0.5, "code": 0.5}).scores.index.tolist() == [NEW]
    with pytest.raises(
        BattlesError, match=r"'math' has no row that places .*new-model"
    ):
        found.under({"chat": 0.5, "math": 0.5})


def test_a_model_without_votes_in_a_context_is_not_new_there(table):
    X, y = table
    lone = (X[["model_a", "model_b"]] == "model-01").any(axis=1)
    rows = ~(lone & (X["kind"] == "code") & (X["judge"] == "human")).to_numpy()
    with pytest.raises(BattlesError, match=r"Context 'code'.*model-01.*no human rows"):
        rank_contexts(anchor(), X[rows], y[rows], "kind")


def test_rows_without_a_context_are_refused(table):
    X, y = table
    with pytest.raises(BattlesError, match="no column 'topic'"):
        rank_contexts(anchor(), X, y, "topic")
    kind = X["kind"].mask(X.index == 7)
    with pytest.raises(
        BattlesError, match="1 rows have no context, the first is row 7"
    ):
        rank_contexts(anchor(), X, y, kind)
    with pytest.raises(BattlesError, match="one label for each of"):
        rank_contexts(anchor(), X, y, kind[:5])
