"""What the diagnostics say of clean tables, and of tables with a known fault."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from tables import liked

from skanchor import AnchorPipeline
from skanchor._sample.sample import Sample
from skanchor.exceptions import DiagnosticWarning
from skanchor.simulation import simulate_battles
from skanchor.warning_log import in_short


def test_what_they_say_of_clean_data():
    data = liked(item_sd=0.0)
    anchor = AnchorPipeline(cv=4, random_state=0).fit(data.X, data.y)
    seen = anchor.result_.diagnostics
    assert seen.messages() == [] and "no threshold is crossed" in repr(seen)
    judges = seen.judges
    assert judges.index.tolist() == anchor.judges_.tolist()
    assert (judges.sensitivity_z > 3).all()
    assert judges.residual_share.between(0.05, 1.0).all()
    assert judges.effective_share.between(0.1, 1.0).all()
    assert (judges.largest_ratio >= 1.0).all()
    assert set(judges) < set(anchor.summary())
    models = seen.models.loc["new-model"]
    assert 0 < models.residual_share <= 1 and models.largest_influence < 0.1
    correction = anchor.scores_ - np.median(anchor.result_.plug_in[:, -1])
    assert models.correction_z == pytest.approx(
        (correction / anchor.standard_errors_).iloc[0]
    )


def test_a_judge_who_overrates_a_model_is_named():
    data = liked(seed=2, n_models=8, n_historical=6000, item_sd=0.0)
    X = data.X[["model_a", "model_b", "judge"]]
    y = np.asarray(data.y).copy()
    favourite = data.truth.historical_models[3]
    fan = (X.judge == "judge-1").to_numpy()
    favour = np.random.default_rng(0).random(len(y)) < 0.4
    y[fan & favour & (X.model_a == favourite).to_numpy()] = 1
    y[fan & favour & (X.model_b == favourite).to_numpy()] = 0
    anchor = AnchorPipeline(cv=3, random_state=0).fit(X, y)
    assert anchor.item_effects_ == "random"
    found = anchor.result_.diagnostics.deviations
    z = found.deviation / found.standard_error
    assert z.idxmax() == ("judge-1", favourite) and z.max() > 3
    assert anchor.result_.diagnostics.judges.item_p.idxmin() == "judge-1"


@pytest.mark.parametrize("n_judges", [10, 11])
def test_many_judges_with_one_fault_are_told_in_short(n_judges):
    data = liked(item_sd=0.0)
    clean = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y).result_.diagnostics
    index = pd.Index([f"j{m}" for m in range(n_judges)], name="judge")
    judges = pd.DataFrame({"sensitivity_z": 1.0}, index=index)
    judges = judges.reindex(columns=clean.judges.columns)
    models = clean.models.assign(outside_scores=2.0)
    seen = replace(clean, judges=judges, models=models)
    every, short = seen.findings(), list(in_short(seen.findings()))
    assert len(every) == n_judges + 1
    if n_judges == 10:
        assert [*map(str, short)] == [*map(str, every)]
    else:
        assert short[5].code == "weak-judge" and short[5].subject == (*index[5:],)
        assert "and 1 more: much as in the five" in str(short[5])
    with pytest.warns(DiagnosticWarning) as issued:
        seen.warn()
    assert [str(each.message) for each in issued] == [" ".join(map(str, short))]
    assert issued[0].message.code == "diagnostics"
    assert issued[0].message.subject == (*index, *models.index)


def test_nothing_is_said_of_what_judges_make_of_undetermined_models():
    # All votes are on two models, so that judges are calibrated on one pair.
    data = simulate_battles(
        n_historical=3100, n_human=300, rho=0.0, new_score=1.0, random_state=0
    )
    X, rng = data.X[["model_a", "model_b", "judge"]].copy(), np.random.default_rng(0)
    votes = (X["judge"] == "human").to_numpy()
    pair = data.truth.scores.sort_values().index[[1, -2]].to_numpy()
    better = rng.integers(2, size=votes.sum())
    X.loc[votes, "model_a"], X.loc[votes, "model_b"] = pair[better], pair[1 - better]
    chance = expit(np.diff(data.truth.scores[pair])[0] * (2 * better - 1))
    y = data.y.copy()
    y[votes] = rng.random(votes.sum()) < chance
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Its result would leave the new model out.
        anchor = AnchorPipeline(item_effects=None, random_state=0)
        inference = anchor.prepare(Sample.admit(X, y))
        full = inference.fit()
        seen = inference._cross_fit(full, full.sample)[0].diagnostics
    assert (seen.models["largest_influence"] == 0).all()
    assert (seen.arrivals.changes["p_adjusted"] < 1e-6).any()
    assert (seen.arrivals.models["p_value"] < 1e-6).any()
    kinds = {finding.code for finding in seen.findings()}
    assert not kinds & {"change", "disagreement", "curved-scale"}
