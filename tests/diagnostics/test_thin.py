"""Historical models with few votes are told, and the groups that carry an interval."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tables import quiet

from skanchor import AnchorPipeline
from skanchor.exceptions import DataWarning, DiagnosticWarning
from skanchor.simulation import simulate_battles

OPTIONS = {"cv": 3, "item_effects": "none", "random_state": 0}
# What judges say of a thin model, a joint fit hears.
OPTIONS["historical_fit"] = "two-step"


def thinned(model, votes, seed=3):
    """A table in which one model has so many human votes."""
    data = simulate_battles(tau=0.0, rho=0.0, random_state=seed)
    X, y = data.X, np.asarray(data.y)
    involved = ((X.model_a == model) | (X.model_b == model)) & (X.judge == "human")
    lost = np.random.default_rng(seed).permutation(np.flatnonzero(involved))[votes:]
    keep = np.setdiff1d(np.arange(len(X)), lost)
    return X.iloc[keep].reset_index(drop=True), y[keep]


def test_a_model_with_a_dozen_votes_is_told():
    with pytest.warns(
        DiagnosticWarning, match="'model-03' has 12 human votes"
    ) as result:
        anchor = AnchorPipeline(**OPTIONS).fit(*thinned("model-03", 12))
    assert str(result[0].message).count("human votes") == 1
    table = anchor.result_.diagnostics.historical
    assert table.loc["model-03", "votes"] == 12
    errors = anchor.btl_.standard_errors_
    assert_allclose(table["human_error"], errors[table.index])


def test_the_largest_influence_is_that_of_a_group():
    X, y = thinned("model-03", 10_000)
    # The verdicts on the new model hang together by forty.
    groups = np.arange(len(X))
    arrivals = np.flatnonzero(X.eq("new-model").any(axis=1))
    groups[arrivals] = arrivals[0] + np.arange(len(arrivals)) % 40
    anchor = quiet(AnchorPipeline(**OPTIONS).fit, X, y, groups=groups)
    new = anchor.comparisons_.is_new
    totals = pd.DataFrame(anchor.influence_[:, new]).groupby(groups).sum()
    share = (totals.abs().max().to_numpy() / anchor.standard_errors_.to_numpy()) ** 2
    diagnostics = anchor.result_.diagnostics
    assert_allclose(diagnostics.models["largest_influence"], share)
    assert diagnostics.grouped
    assert ("One group carries" in " ".join(diagnostics.messages())) == (share > 0.1)


def test_few_groups_of_a_source_are_told():
    data = simulate_battles(n_models=5, n_judges=2, n_new=120, random_state=0)
    X, n = data.X, len(data.y)
    human = (X.judge == "human").to_numpy()
    rng = np.random.default_rng(0)
    groups = np.where(human, rng.integers(12, size=n), 100 + rng.integers(400, size=n))
    with pytest.warns(DataWarning, match="groups, only 12 of 'human': with"):
        AnchorPipeline(**OPTIONS).fit(X, data.y, groups=groups)
    first = (X.judge == "judge-1").to_numpy()
    groups = np.where(first, rng.integers(20, size=n), 100 + rng.integers(400, size=n))
    with pytest.warns(DataWarning, match="groups, only 20 of 'judge-1': with"):
        AnchorPipeline(**OPTIONS).fit(X, data.y, groups=groups)
