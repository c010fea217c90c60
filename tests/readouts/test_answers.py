"""Which fits answer which questions about other rows and favours, and which refuse."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from readout_fits import plain_table

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor.baselines import JointBTL
from skanchor.bias import BoostedBias
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles

# What diagnostics find in small tables is no matter here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore::skanchor.exceptions.SkanchorWarning",
)

FIRST, SECOND = "new-model-1", "new-model-2"
PLANS = "worth", "outlook", "design", "design of a difference"
NONE = {"item_effects": None}
EVERY = "favour", "family", "sizes", "intervals", *PLANS, "fragility", "influence"


def table():
    """Two new models, verdicts between them, and some votes on them."""
    data = simulate_battles(
        1400, 0, n_models=7, n_judges=2, n_human=760, item_sd=0.3, random_state=1
    )
    X = data.X.replace({"model-06": FIRST, "model-07": SECOND})
    n_new = X[["model_a", "model_b"]].isin([FIRST, SECOND]).sum(axis=1)
    used = (X["judge"] != "human") | (n_new != 1)
    return X[used].reset_index(drop=True), np.asarray(data.y[used], dtype=float)


def answers(anchor, X, y, more):
    """By name, what is asked of a fit; each gives a table."""
    pair = dict(opponent=SECOND, model=FIRST, rows="arrival")
    prices = {"judges": 0.1, "human": 1.0}
    return {
        "favour": lambda: anchor.breakdown(),
        "family": lambda: anchor.breakdown("family", family=[FIRST, "model-01"]),
        "sizes": lambda: anchor.benchmarks(),
        "intervals": lambda: anchor.sensitivity([0.0, 0.2]).table,
        "worth": lambda: anchor.worth().table,
        "outlook": lambda: anchor.outlook([0.3]).table,
        "design": lambda: anchor.design(10, prices).table,
        "design of a difference": lambda: (
            anchor.design(10, prices, targets=[(FIRST, SECOND)]).table
        ),
        "fragility": lambda: anchor.fragility(X, y, **pair, **more).table,
        "influence": lambda: anchor.fragility(**pair).table,
    }


@pytest.mark.parametrize(
    ("settings", "more", "refused"),
    [
        ({}, {}, {}),
        (dict(n_repeats=2), {}, {}),
        ({}, dict(groups="pairs"), {}),
        (dict(weights="frequency"), dict(sample_weight="counts"), {}),
        (dict(human_bias="linear"), {}, {}),
        (
            dict(calibrator=JudgeCalibrator(BoostedBias(max_rounds=2)), **NONE),
            {},
            dict.fromkeys(PLANS, "has no linear span"),
        ),
        (
            dict(context="kind", **NONE),
            {},
            dict.fromkeys(
                (*PLANS, "fragility", "influence"), "with contexts a row counts"
            ),
        ),
        (dict(debiaser="passthrough", **NONE), {}, dict.fromkeys(EVERY, "plug-in")),
        (dict(new_models=[], **NONE), {}, dict.fromkeys(EVERY, "is no new model")),
    ],
    ids=[
        "warm", "repeats", "groups", "counts", "people's bias", "no span", "contexts",
        "plug-in", "nothing new",
    ],
)  # fmt: skip
def test_every_question_is_answered_or_refused_by_name(settings, more, refused):
    X, y = table()
    at = np.arange(len(X))
    columns = {"pairs": at // 2, "counts": 1 + at % 2}
    more = {name: columns[column] for name, column in more.items()}
    if "context" in settings:
        X = X.assign(kind=np.where(at % 2, "code", "chat"))
    if "new_models" in settings:
        old = ~X[["model_a", "model_b"]].isin([FIRST, SECOND]).any(axis=1)
        X, y = X[old], y[old]
    parameters = {"cv": 2, "item_effects": "random", "new_models": [FIRST, SECOND]}
    anchor = AnchorPipeline(random_state=0, **parameters | settings).fit(X, y, **more)
    for name, ask in answers(anchor, X, y, more).items():
        if name in refused:
            with pytest.raises(BattlesError, match=refused[name]):
                ask()
            continue
        result = ask()
        assert len(result) > 0, name
        models = result.index.get_level_values(0) if name != "design" else result.index
        assert set(models) <= {FIRST, SECOND, f"{FIRST} minus {SECOND}"}, name
        if name in ("favour", "family"):
            assert (result["gamma_interval"] <= result["gamma_sign"]).all(), name
            assert result.loc[(FIRST, SECOND), "gamma_sign"] > 0, name


def test_a_model_that_is_not_determined():
    """Its rows are NaN or infinite, or it has none; others have theirs."""
    X, y = plain_table(n_new_models=2, new_score=[0.0, 0.3])
    y = np.asarray(y, dtype=float).copy()
    lost = (X == FIRST).any(axis=1).to_numpy()
    # It always wins.
    y[lost] = (X["model_a"] == FIRST).to_numpy()[lost]
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None).fit(X, y)
    assert anchor.result_.unbounded[anchor.models_ == FIRST].all()
    for ask in (anchor.worth, anchor.outlook):
        with pytest.raises(BattlesError, match=rf"\['{FIRST}'\] are not determined"):
            ask(model=FIRST)
        assert set(ask().table.index.get_level_values("model")) == {SECOND}
    prices = {"judge-1": 0.1}
    assert set(anchor.design(10, prices).table.index) == {SECOND}
    table = anchor.breakdown()
    assert table.loc[FIRST, "gamma_sign"].isna().all()
    assert np.isfinite(table.loc[SECOND].drop(FIRST)["gamma_sign"]).all()
    limits = anchor.sensitivity(0.1).table.loc[FIRST]
    assert np.isinf(limits[["low", "high"]]).all(axis=None)
    alone = ~(X == SECOND).any(axis=1)
    for ask in (
        lambda: anchor.design(10, prices, targets=[FIRST]),
        lambda: anchor.fragility(X, y),
        AnchorPipeline(cv=3, **NONE).fit(X[alone], y[alone]).breakdown,
    ):
        with pytest.raises(BattlesError, match="not determined"):
            ask()


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
    with pytest.raises(BattlesError, match=r"no sources of rows \['judge-1'"):
        anchor.design(10, {"judge-1": 0.1})
    with pytest.raises(BattlesError, match="costs must map sources"):
        anchor.design(10, {"judges": 0.1})
    design = anchor.design(10, {"human": 1.0})
    assert design.table["rows"].sum() == 10
    # Nobody but people can have a favour, and they are no judges.
    broken = anchor.breakdown()
    assert np.isinf(broken["gamma_sign"]).all() and broken["weakest_judge"].isna().all()
    for sentence in anchor.sensitivity(0.1).sentences:
        assert sentence.endswith("with any favour of judges.")


def test_a_placed_result_answers_as_the_fit_of_all_rows():
    """By the same system; errors differ by the folds of the new rows. Also pickled."""
    X, y = plain_table()
    new, y = (X == "new-model").any(axis=1).to_numpy(), np.asarray(y)
    anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0)
    placed = AnchorHistory(anchor).fit(X[~new], y[~new]).place(X[new], y[new])
    placed, whole = pickle.loads(pickle.dumps(placed)), anchor.fit(X, y).result_
    one, other = placed.worth().table, whole.worth().table
    assert one["verdicts"].equals(other["verdicts"])
    assert_allclose(one["next_verdict"], other["next_verdict"], rtol=1e-6)
    prices = {"human": 1.0, "judges": 0.1}
    one, other = (result.design(10, prices).table for result in (placed, whole))
    assert_allclose(one["gain"].max(), other["gain"].max(), rtol=0.02)
    assert (placed.outlook([0.15]).table > 0).all(axis=None)
    for result in (placed, JointBTL().fit(X, y).result_):
        assert not hasattr(result, "fragility")
