"""What verdicts are worth in votes."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from planning_fits import NAMES, fitted, forecast, plain_table

from skanchor import AnchorPipeline
from skanchor._model.linalg import SymmetricSystem
from skanchor._numerics.parameters import PEOPLE
from skanchor.exceptions import BattlesError
from skanchor.planning import worth_of
from skanchor.planning._outlook import rows_until

OF_ONE = ("paper", "default", "items")


def variance(found, target, more):
    return float(target.parts(found.split(target, more))[0][0])


def arrivals(found, model, m):
    """Information of the verdicts of judge m on a model."""
    own = found.kinds[m]
    own = own[own.model == found.models.tolist().index(model)]
    return found.information.sum({m: own.gram(own.seen)}), own


@pytest.mark.parametrize(
    ("name", "replaces"),
    [("paper", [93, 318, 124, 539]), ("default", [95, 341, 124, 564])],
)
def test_the_reference_design(name, replaces):
    """As another implementation, with dense matrices, has found them."""
    table = fitted(name).worth().table
    assert table.index.get_level_values("judge").tolist() == [
        "judge-1",
        "judge-2",
        "judge-3",
        "all judges",
    ]
    assert table["replaces"].round().tolist() == replaces
    if name == "paper":
        assert table["verdicts"].tolist() == [151, 183, 166, 500]
        assert table["alone"].round().tolist() == [96, 324, 128, 539]
        assert table["next_verdict"].round(3).tolist() == [0.580, 1.643, 0.707, 1.011]
        assert table["never_more"].round().tolist() == [21090] * 4


@pytest.mark.parametrize("name", NAMES)
def test_votes_do_what_the_verdicts_did(name):
    """Put back in their place, they bring the variance back."""
    found = forecast(name)
    for (model, judge), row in fitted(name).worth().table.iterrows():
        if judge == "all judges":
            continue
        m, target = found.source(judge), found.targets([(model, None)])
        own, kinds = arrivals(found, model, m)
        votes = found.kinds[PEOPLE]
        votes = votes[votes.model == found.models.tolist().index(model)]
        shares = np.zeros(len(found.models))
        for other in [k for k in found.kinds if k != PEOPLE]:
            _, each = arrivals(found, model, other)
            np.add.at(shares, each.opponent, each.n_rows)
        shares = shares[votes.opponent] / shares.sum()
        vote = found.information.sum({PEOPLE: votes.bought(shares)})
        restored = variance(found, target, row["replaces"] * vote - own)
        # A judge whose loss changes nothing replaces no vote.
        if row["replaces"] > 0:
            assert_allclose(restored, variance(found, target, 0.0), rtol=1e-8)
        else:
            assert restored <= variance(found, target, 0.0) * (1 + 1e-6)
        # One more verdict is worth the ratio of two gains.
        w = found.information.weights(target.vectors)
        gain = kinds.gram(kinds.seen)
        local = found.information.local(w, m)[:, 0]
        of_verdict = local @ gain @ local / kinds.n_rows.sum()
        of_vote = shares @ votes.gains(found.information.local(w, PEOPLE))[:, 0]
        assert_allclose(row["next_verdict"], of_verdict / of_vote, rtol=1e-8)


@pytest.mark.parametrize("name", OF_ONE)
def test_order_of_the_columns(name):
    """More verdicts are worth more, and none is worth more than the cap."""
    table = fitted(name).worth().table
    assert (table["alone"] <= table["never_more"]).all()
    judges, everyone = table.iloc[:-1], table.iloc[-1]
    assert (judges["replaces"] <= everyone["replaces"] + 1e-6).all()
    assert_allclose(everyone["alone"], everyone["replaces"], rtol=1e-6)
    if name == "items":
        # Judges share what they think of the model: more verdicts do not help.
        assert everyone["never_more"] < 2.0 * everyone["replaces"]


def test_known_judges_are_worth_the_ratio_of_information():
    """c^2 V_m / V_H, where history says all of scores, sensitivities and biases."""
    found = forecast("paper")
    seen = [arrivals(found, "new-model", m)[0] for m in found.kinds if m != PEOPLE]
    history = found.information.matrix - np.sum(seen, axis=0)
    solution = found.information.solution
    matrix = found.information.matrix + 1e7 * history
    system = SymmetricSystem.of(matrix)
    known = replace(solution.information, matrix=matrix, system=system)
    known = replace(found.information, solution=replace(solution, information=known))
    table = worth_of(replace(found, information=known)).table
    ideal = []
    shares = sum(arrivals(found, "new-model", m)[1].n_rows for m in (0, 1, 2))
    votes = found.kinds[PEOPLE].unit[:, 0, 0] @ shares / shares.sum()
    for m in (0, 1, 2):
        kinds = arrivals(found, "new-model", m)[1]
        mean = kinds.seen[:, 0, 0].sum() / kinds.n_rows.sum()
        ideal.append(solution.fit.sensitivity(1 + m) ** 2 * mean / votes)
    assert_allclose(table["next_verdict"].iloc[:3], ideal, rtol=1e-3)
    assert_allclose(ideal, [0.68, 1.90, 0.82], atol=0.005)


def test_costs_and_models():
    anchor = fitted("default")
    table = anchor.worth(costs={"judge-1": 0.02, "judge-2": 0.1}).table
    cost = table["cost_per_vote"].droplevel("model")
    first = table.loc[("new-model", "judge-1")]
    assert_allclose(cost["judge-1"], 151 * 0.02 / first["replaces"])
    assert np.isnan(cost["judge-3"]) and np.isnan(cost["all judges"])
    two = fitted("two new models")
    models = two.worth().table.index.get_level_values("model").unique()
    assert models.tolist() == two.new_models_.tolist()
    one = two.worth(model=models[1]).table
    pd.testing.assert_frame_equal(one, two.worth().table.loc[[models[1]]])


def test_sentences():
    anchor = fitted("default")
    lines = anchor.worth().lines()
    assert len(lines) == 4
    assert lines[0].startswith(
        "The 151 verdicts of judge-1 on new-model do the work of 95 human votes beside "
        "the other judges (alone: 98 human votes). One more is worth 0.59 human votes"
    )
    assert lines[-1].startswith("All 500 verdicts on new-model do the work of 564")
    assert lines[0] in repr(anchor.worth())
    records = anchor.worth().to_dict()
    assert records[1]["judge"] == "judge-2" and records[1]["verdicts"] == 183


def test_a_judge_without_verdicts_on_the_model():
    X, y = plain_table()
    keep = ~((X == "new-model").any(axis=1) & X["judge"].eq("judge-2")).to_numpy()
    anchor = AnchorPipeline(cv=3, random_state=0).fit(X[keep], np.asarray(y)[keep])
    worth = anchor.worth()
    row = worth.table.loc[("new-model", "judge-2")]
    assert row["verdicts"] == 0
    assert np.isnan(row["replaces"]) and np.isnan(row["alone"])
    assert row["next_verdict"] > 0.1 and row["never_more"] > 10
    assert "judge-2 has no verdict on new-model yet." in worth.lines()[1]


def test_rows_put_together_are_worth_what_they_were():
    """A table of counts, of single rows, and one that was pickled."""
    X, y = plain_table()
    counts = X.assign(y=np.asarray(y)).groupby([*X.columns, "y"], observed=True).size()
    counts = counts.rename("n").reset_index()
    settings = dict(item_effects="none", cv=5, random_state=0)
    table = AnchorPipeline(weights="frequency", **settings).fit(
        counts[X.columns], counts["y"], sample_weight=counts["n"]
    )
    rows = AnchorPipeline(**settings).fit(X, y)
    assert_allclose(table.worth().table, rows.worth().table, rtol=1e-6)
    again = pickle.loads(pickle.dumps(rows))
    pd.testing.assert_frame_equal(again.worth().table, rows.worth().table)


def test_rows_until():
    assert rows_until(lambda n: 1.0 / (1.0 + n), 0.1, 0.0) == pytest.approx(9.0)
    assert rows_until(lambda n: 1.0 / (1.0 + n), 2.0) == 0.0
    assert rows_until(lambda n: 0.5 + 1.0 / (1.0 + n), 0.4) == np.inf
    assert rows_until(lambda n: 0.5 + 1.0 / (1.0 + n), 0.5, 0.5) == np.inf


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (dict(model="model-01"), "'model-01' is none of the new models"),
        (dict(costs={"judge-9": 1.0}), "'judge-9', which is no source"),
        (dict(costs={"judge-1": -1.0}), "must be a number above zero, got -1"),
        (dict(costs={"judge-1": 0.0}), "must be a number above zero"),
        (dict(costs={"judge-1": np.nan}), "must be a number above zero"),
        (dict(costs={"judge-1": "dear"}), "must be a number above zero, got 'dear'"),
        (dict(costs={}), "costs must map sources"),
        (dict(costs=0.1), "costs must map sources"),
    ],
)
def test_bad_input(asked, match):
    with pytest.raises(BattlesError, match=match):
        fitted("default").worth(**asked)


def test_nothing_new_is_worth_nothing():
    with pytest.raises(BattlesError, match="There is no new model"):
        fitted("history").worth()


def test_labels_and_the_order_of_rows_do_not_matter():
    """Whole numbers as labels, sides swapped, rows shuffled."""
    X, y = plain_table()
    y, rng = np.asarray(y, dtype=float), np.random.default_rng(0)
    # The folds are drawn by rows: without them in what is compared, nothing moves.
    settings = dict(item_effects="none", cv=2, random_state=0)
    plain = AnchorPipeline(**settings).fit(X, y)
    names = sorted(set(X["model_a"]) | set(X["model_b"]))
    code = dict(zip(names, rng.permutation(len(names)).tolist(), strict=True))
    judges = {"judge-1": 7, "judge-2": 3, "judge-3": 5, "human": "human"}
    swap, order = rng.random(len(X)) < 0.5, rng.permutation(len(X))
    other = pd.DataFrame(
        {
            "model_a": np.where(swap, X["model_b"].map(code), X["model_a"].map(code)),
            "model_b": np.where(swap, X["model_a"].map(code), X["model_b"].map(code)),
            "judge": X["judge"].map(judges),
            "shown_first": np.where(swap, "model_b", "model_a"),
        }
    ).iloc[order]
    again = AnchorPipeline(**settings).fit(other, np.where(swap, 1 - y, y)[order])
    found = again.worth().table.droplevel("model")
    due = plain.worth().table.droplevel("model")
    found = found.rename(index={code: name for name, code in judges.items()})
    assert_allclose(found.loc[due.index], due, rtol=1e-6)
    design = again.design(10, {"human": 1.0, 3: 0.1})
    assert set(design.table["source"]) <= {"human", 3}
    assert set(design.table["opponent"]) <= set(code.values())
