"""Fits for which no closed form says what further rows would do."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from planning_fits import plain_table

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor.baselines import JointBTL
from skanchor.bias import BoostedBias
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles


def small():
    data = simulate_battles(n_models=5, n_new=150, n_historical=900, random_state=0)
    return data.X, data.y


def with_contexts():
    X, y = plain_table()
    return X.assign(kind=np.where(np.arange(len(X)) % 2, "code", "chat")), y


def all_of(anchor):
    return [
        anchor.worth,
        anchor.outlook,
        lambda: anchor.design(10, {"judge-1": 0.1}),
    ]


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
@pytest.mark.parametrize(
    ("settings", "table", "why"),
    [
        (dict(debiaser="passthrough"), small, "a plug-in"),
        (dict(context="kind", item_effects=None), with_contexts, "with contexts"),
        (
            dict(
                calibrator=JudgeCalibrator(bias=BoostedBias(max_rounds=2)),
                item_effects=None,
            ),
            small,
            "the learner of judge-1 has no linear span",
        ),
    ],
)
def test_methods_without_a_closed_form(settings, table, why):
    X, y = table()
    anchor = AnchorPipeline(cv=2, random_state=0, **settings).fit(X, y)
    for ask in all_of(anchor):
        with pytest.raises(BattlesError, match=f"cannot be computed: .*{why}"):
            ask()


def test_people_with_a_bias_of_their_own():
    """They are a source with a span: the exchange is one of votes at equal style."""
    X, y = small()
    anchor = AnchorPipeline(
        human_bias="linear", item_effects=None, cv=2, random_state=0
    ).fit(X, y)
    assert (anchor.worth().table["replaces"] > 1).all()


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_a_model_that_is_not_determined():
    """It has no table; others have theirs."""
    X, y = plain_table(n_new_models=2, new_score=[0.0, 0.3])
    y = np.asarray(y, dtype=float).copy()
    lost = (X == "new-model-1").any(axis=1).to_numpy()
    if not lost.any():
        raise AssertionError(X["model_a"].unique())
    # It always wins.
    y[lost] = (X["model_a"] == "new-model-1").to_numpy()[lost]
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None).fit(X, y)
    assert anchor.result_.unbounded[anchor.models_ == "new-model-1"].all()
    for ask in (anchor.worth, anchor.outlook):
        with pytest.raises(BattlesError, match=r"\['new-model-1'\] are not determined"):
            ask(model="new-model-1")
        models = ask().table.index.get_level_values("model")
        assert set(models) == {"new-model-2"}
    design = anchor.design(10, {"judge-1": 0.1})
    assert set(design.table.index) == {"new-model-2"}
    with pytest.raises(BattlesError, match="not determined"):
        anchor.design(10, {"judge-1": 0.1}, targets=["new-model-1"])


def test_people_alone():
    """Votes on the new model, and nobody else."""
    data = simulate_battles(n_models=5, n_historical=900, random_state=0)
    X, y = data.X[data.X["judge"] == "human"], data.y[data.X["judge"] == "human"]
    X, y = pd.concat([X, data.extra_X]), np.concatenate([y, data.extra_y])
    anchor = AnchorPipeline(cv=2, new_models=["new-model"], random_state=0).fit(X, y)
    with pytest.raises(BattlesError, match="no verdicts whose worth"):
        anchor.worth()
    table = anchor.outlook([0.1]).table.iloc[0]
    assert np.isinf(table["verdicts"]) and table["both"] == table["votes"]
    with pytest.raises(BattlesError, match="'judge-1', which is no source of rows"):
        anchor.design(10, {"judge-1": 0.1})
    design = anchor.design(10, {"human": 1.0})
    assert design.table["rows"].sum() == 10


def test_results_say_where_to_ask():
    """Of a history and of a baseline, and after they were pickled."""
    X, y = plain_table()
    new = (X == "new-model").any(axis=1).to_numpy()
    y = np.asarray(y)
    history = AnchorHistory(AnchorPipeline(cv=3, random_state=0)).fit(X[~new], y[~new])
    placed = history.place(X[new], y[new])
    for result in (placed, JointBTL().fit(X, y).result_):
        again = pickle.loads(pickle.dumps(copy.copy(result)))
        for name in ("worth", "outlook", "design", "fragility"):
            assert not hasattr(result, name)
            with pytest.raises(AttributeError, match=rf"AnchorPipeline .* {name}\(\)"):
                getattr(again, name)
