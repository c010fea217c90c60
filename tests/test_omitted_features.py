"""The effect of leaving out a feature, as the size of a favour."""

import pytest
from numpy.testing import assert_allclose
from test_sensitivity import NEW, fit, small

from skanchor.exceptions import BattlesError


@pytest.fixture(scope="module")
def items():
    """Item effects, and features of which judges make something."""
    data = small()
    return fit(data.X, data.y, item_effects="random")


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
