"""Refits in which favours of the judges are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_sensitivity import NEW, PAPER, fit, small

from skanchor._favour_refits import KnownFavours, exact_breakdown
from skanchor._items import ItemCovariance


@pytest.fixture(scope="module")
def items():
    """Item effects, and features of which judges make something."""
    data = small()
    return fit(data.X, data.y, item_effects="random")


@pytest.fixture(scope="module")
def paper():
    data = small(item_sd=0.0)
    return fit(data.X, data.y, **PAPER)


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
        stages = replace(stages, shift=known.shift(NEW, favours))
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
    known = refits(items).result(NEW, dict.fromkeys(items.judges_.tolist(), 0.0))
    assert_allclose(known.estimates, items.result_.estimates, atol=1e-9)
    # Human, judge and cross parts; that of the item effects is not inflated here.
    sampling = known.part_covariances[:, :3]
    assert_allclose(sampling, items.result_.part_covariances[:, :3], atol=1e-9)


@pytest.mark.parametrize("name", ["items", "paper"])
def test_refits_agree_with_the_first_order(name, request):
    anchor = request.getfixturevalue(name)
    exposure = anchor.benchmarks()["exposure"].droplevel("model")
    for judge in anchor.judges_.tolist():
        found = refits(anchor).result(NEW, {judge: 0.1}).scores[NEW]
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
        again = refits(items).result(model, favours)
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
    for shape in ("drift", "family", "rowwise"):
        with pytest.raises(ValueError, match="makes refits of shape='favour'"):
            items.breakdown(shape, exact=True)


def test_refits_serve_all_opponents_with_the_same_signs(paper):
    asked = []
    known = refits(paper)

    def counted(model, favours):
        asked.append(tuple(np.sign(list(favours.values())).tolist()))
        return known.result(model, favours)

    favour = paper.result_.exposures.unrecorded(
        paper.result_.is_new, "favour", None, None
    )
    index = {model: i for i, model in enumerate(paper.models_.tolist())}
    exact_breakdown(paper.breakdown(), favour, index, counted)
    # Better opponents and worse ones: favours of one sign, and of the other.
    assert len(asked) == 8 and len(set(asked)) == 2
