"""Refits in which favours of the judges are known."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from test_sensitivity import NEW, PAPER, fit, small

from skanchor._favour_refits import LARGEST, KnownFavours, exact_breakdown
from skanchor._items import ItemCovariance
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def items():
    """Item effects, and features of which judges make something."""
    data = small()
    return fit(data.X, data.y, item_effects="random")


@pytest.fixture(scope="module")
def paper():
    data = small(item_sd=0.0)
    return fit(data.X, data.y, **PAPER)


@pytest.fixture(scope="module")
def many_rows():
    """So many that plug-ins of folds are near those of all rows."""
    data = simulate_battles(random_state=0)
    return fit(data.X, data.y, **PAPER | {"cv": 5})


def refits(anchor):
    covariance = anchor.item_covariance_
    items = None if covariance is None else ItemCovariance(covariance)
    return KnownFavours(anchor._inference, items)


def plug_in(anchor, favours):
    """Plug-in score of the new model on all rows, with favours that are known."""
    from dataclasses import replace

    from skanchor._chain import complete, fit_stages

    known = refits(anchor)
    stages = known.inference.stages
    if favours is not None:
        stages = replace(stages, shift=known.shift([NEW], favours))
    sample = known.inference.admitted
    chain = complete(stages, fit_stages(stages, sample), sample, known.items)
    return chain.scores[chain.X.models.tolist().index(NEW)], chain


@pytest.mark.parametrize("name", ["items", "paper"])
def test_a_favour_in_proportion_to_sensitivities_is_a_change_of_the_score(
    name, request
):
    """Of human logits: the plug-in moves by exactly as much, item effects or not."""
    anchor = request.getfixturevalue(name)
    slopes = anchor.calibrator_.sensitivities_
    before, chain = plug_in(anchor, None)
    after, shifted = plug_in(anchor, {j: 0.2 * c for j, c in slopes.items()})
    assert_allclose(after - before, -0.2, atol=1e-7)
    # Nothing that the history decides has changed, and the item effects neither.
    assert_allclose(shifted.X.sensitivities, chain.X.sensitivities, atol=1e-12)
    if name == "items":
        assert np.abs(chain.X.deviations).max() > 0.05
        assert_allclose(shifted.X.deviations, chain.X.deviations, atol=1e-6)
        assert anchor.features_.tolist() == ["x1", "x2", "x3"]


def test_no_favour_changes_nothing(items):
    known = refits(items).liking([NEW], dict.fromkeys(items.judges_.tolist(), 0.0))
    assert_allclose(known.estimates, items.result_.estimates, atol=1e-9)
    # Human, judge and cross parts; that of the item effects is not inflated here.
    sampling = known.part_covariances[:, :3]
    assert_allclose(sampling, items.result_.part_covariances[:, :3], atol=1e-9)


@pytest.mark.parametrize("name", ["items", "paper"])
def test_refits_agree_with_the_first_order(name, request):
    anchor = request.getfixturevalue(name)
    exposure = anchor.benchmarks()["exposure"].droplevel("model")
    for judge in anchor.judges_.tolist():
        found = refits(anchor).liking([NEW], {judge: 0.1}).scores[NEW]
        due = -0.1 * exposure[judge]
        # Three folds of few rows have judges of their own.
        assert_allclose(found - anchor.scores_[NEW], due, rtol=0.2, atol=2e-3)


def test_exact_breakdowns_are_those_of_a_refit(items):
    table = items.breakdown(exact=True)
    first = items.breakdown()
    assert (table[first.columns].fillna(-1) == first.fillna(-1)).all(axis=None)
    checked = 0
    for (model, opponent), row in table.iterrows():
        if not row["gamma_sign"] < 2.5 or checked == 3:
            continue
        favour = items.result_.exposures.unrecorded(
            items.result_.is_new, "favour", None, None
        )
        index = items.models_.tolist()
        pair = np.array([index.index(model)]), np.array([index.index(opponent)])
        signs = np.sign(favour.of_pairs(*pair)[:, 0]) * np.sign(row["difference"])
        favours = dict(zip(items.judges_, row["exact_sign"] * signs, strict=True))
        again = refits(items).liking([model], favours)
        scores = again.all_scores
        assert_allclose(scores[model] - scores[opponent], 0, atol=2e-3)
        assert (row["exact_interval"] == 0) == (row["gamma_interval"] == 0)
        checked += 1
    assert checked == 3
    far = table["gamma_sign"] > 3
    assert table.loc[far, "exact_sign"].isna().all()


def test_one_judge_alone_and_what_is_refused(items):
    judge = items.judges_[0]
    table = items.breakdown(judges=[judge], exact=True)
    near = table[table["gamma_sign"] < 1.5]
    if len(near):
        assert_allclose(near["exact_sign"], near["gamma_sign"], rtol=0.35)
    with pytest.raises(BattlesError, match="differ by row and by pair"):
        items.breakdown("rowwise", exact=True)
    old = items.models_[:2].tolist()
    with pytest.raises(BattlesError, match="are historical"):
        items.breakdown("family", family=[NEW, *old], exact=True)


def test_refits_serve_all_opponents_with_the_same_signs(paper):
    asked = []
    known = refits(paper)

    def counted(model, favours):
        asked.append(tuple(np.sign(list(favours.values())).tolist()))
        return known.liking([model], favours)

    favour = paper.result_.exposures.unrecorded(
        paper.result_.is_new, "favour", None, None
    )
    index = {model: i for i, model in enumerate(paper.models_.tolist())}
    exact_breakdown(paper.breakdown(), favour, index, counted, LARGEST["favour"])
    # Better opponents and worse ones: favours of one sign, and of the other.
    assert len(asked) == 8 and len(set(asked)) == 2


@pytest.mark.parametrize("change", [0.5, -0.5])
def test_a_drift_of_all_judges_divides_the_score_differences(many_rows, change):
    """The plug-in is that of judges whose sensitivities are changed as said."""
    known = refits(many_rows)
    found = known.drifting(dict.fromkeys(many_rows.judges_.tolist(), change))
    chain = many_rows._inference.plugged
    X, judges = chain.X, many_rows.judges_
    factor = 1 + change if change > 0 else 1 / (1 - change)
    # A slow reference: verdicts on the new model, one score to find.
    rows = np.flatnonzero(X.involves_new & ~X.is_human)
    new = X.models.tolist().index(NEW)
    side = np.where(X.left[rows] == new, 1.0, -1.0)
    other = np.where(X.left[rows] == new, X.right[rows], X.left[rows])
    slope = X.sensitivities[X.judge[rows]]
    sample = many_rows._inference.admitted
    weight, y = sample.weight[rows], sample.y[rows]
    score = 0.0
    for _ in range(100):
        eta = factor * slope * side * (score - chain.scores[other]) + X.biases[rows]
        p = 1 / (1 + np.exp(-eta))
        pull = (weight * slope * side * (y - p)).sum()
        curve = (weight * factor * slope**2 * p * (1 - p)).sum()
        score += pull / curve
    assert len(judges) == 3
    assert_allclose(known.drifting(dict.fromkeys(judges, 0.0)).plug_in[0],
                    many_rows.result_.plug_in[0], atol=1e-6)  # fmt: skip
    with_all = found.plug_in[0][new] - many_rows.result_.plug_in[0][new]
    # Plug-ins of a result are means over the folds.
    assert_allclose(with_all, score - chain.scores[new], rtol=0.05)
    assert np.sign(with_all) == -np.sign(change * chain.scores[new])


def test_drifts_by_refits_agree_with_the_first_order(many_rows):
    exposure = many_rows.result_.exposures.drift[:, many_rows.result_.is_new].sum()
    for change in (0.1, -0.1):
        found = refits(many_rows).drifting(
            dict.fromkeys(many_rows.judges_.tolist(), change)
        )
        share = change / (1 + change) if change > 0 else change
        moved = found.scores[NEW] - many_rows.scores_[NEW]
        assert_allclose(moved, -share * exposure, rtol=0.2)
    table = many_rows.breakdown("drift", exact=True)
    near = table["gamma_sign"] < 0.5
    assert near.any()
    assert_allclose(table["exact_sign"][near], table["gamma_sign"][near], rtol=0.2)
    assert table["exact_sign"][~(table["gamma_sign"] <= 1.0)].isna().all()


def test_a_family_of_the_new_model_alone_is_its_favour(paper):
    alone = paper.breakdown("family", family=[NEW], exact=True)
    pd.testing.assert_frame_equal(alone, paper.breakdown(exact=True))


def test_a_feature_left_out_is_a_fit_without_it(items):
    found = items.omitted_features(["x2"]).loc[NEW]
    assert found.index.tolist() == ["x2", "all features"]
    data = small()
    for name, gone in (("x2", ["x2"]), ("all features", ["x1", "x2", "x3"])):
        columns = [f"{one}_{side}" for one in gone for side in "ab"]
        again = fit(
            data.X.drop(columns=columns), data.y, item_effects="random",
            cv=items.fold_plan_,
        )  # fmt: skip
        assert_allclose(found["score"][name], again.scores_[NEW], atol=1e-9)
    exposure = items.benchmarks()["exposure"].abs().sum()
    assert_allclose(found["shift"], found["score"] - items.scores_[NEW])
    assert_allclose(found["gamma"], found["shift"].abs() / exposure)
    assert (found["gamma"] > 1e-3).all()


def test_features_that_cannot_be_left_out_are_named(items):
    with pytest.raises(BattlesError, match=r"\['x9'\] are none of this fit; it has"):
        items.omitted_features(["x9", "x1"])
    data = small()
    plain = data.X[["model_a", "model_b", "judge"]]
    with pytest.raises(BattlesError, match="no features that could be left out"):
        fit(plain, data.y).omitted_features()
    with pytest.raises(BattlesError, match="This is a plug-in"):
        fit(data.X, data.y, debiaser="passthrough").omitted_features()
