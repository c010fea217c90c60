"""Treatments of the item effects: which are computed, which is reported."""

import pytest
from item_battles import small
from numpy.testing import assert_allclose

from skanchor import AnchorPipeline
from skanchor.exceptions import (
    SkanchorWarning,
)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
@pytest.mark.parametrize(("item_sd", "chosen"), [(0.0, "none"), (0.5, "random")])
def test_the_check_decides_and_both_are_there(item_sd, chosen):
    data = small(seed=1, n_models=10, n_historical=5000, item_sd=item_sd)
    anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    assert anchor.item_effects_ == chosen
    assert set(anchor.results_) == {"none", "random"}
    assert anchor.result_ is anchor.results_[chosen]
    for name, how in (("none", None), ("random", "random")):
        alone = AnchorPipeline(cv=3, random_state=0, item_effects=how)
        alone.fit(data.X, data.y)
        assert_allclose(alone.conf_int(), anchor.results_[name].conf_int())


def test_none_has_a_name():
    data = small()
    named = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    named.fit(data.X, data.y)
    bare = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    bare.fit(data.X, data.y)
    assert named.item_effects_ == bare.item_effects_ == "none"
    assert list(named.results_) == ["none"] and named.item_covariance_ is None
    assert_allclose(named.influence_, bare.influence_, rtol=0)
    with pytest.raises(ValueError, match="'none', 'random', 'conservative' or an"):
        AnchorPipeline(item_effects="no").fit(data.X, data.y)


def test_few_models_get_the_paper_s_interval_and_a_warning():
    data = small(n_models=4)
    X = data.X[["model_a", "model_b", "judge"]]
    with pytest.warns(SkanchorWarning, match="4 historical models are too few"):
        anchor = AnchorPipeline(cv=3, random_state=0).fit(X, data.y)
    assert anchor.item_effects_ == "none" and list(anchor.results_) == ["none"]
