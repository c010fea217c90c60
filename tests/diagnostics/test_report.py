"""What the diagnostics say of clean tables, and of tables with a known fault."""

from dataclasses import replace

import numpy as np
import pytest
from tables import liked

from skanchor import AnchorPipeline
from skanchor.evaluation import check_intervals, leave_one_model_out


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
    result = anchor.result_.diagnostics.deviations
    z = result.deviation / result.standard_error
    assert z.idxmax() == ("judge-1", favourite) and z.max() > 3
    assert anchor.result_.diagnostics.judges.item_p.idxmin() == "judge-1"


def test_coverage_on_request():
    data = liked(item_sd=0.0)
    anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    assert anchor.result_.diagnostics.check is None
    result = check_intervals(anchor, data.X, data.y)
    seen, coverage = replace(anchor.result_.diagnostics, check=result), result.coverage
    table = leave_one_model_out(anchor, data.X, data.y)
    assert coverage == table.compatible.mean()
    assert result.covered == table.covered.mean() <= coverage
    assert 0.5 <= coverage <= 1.0
    message = f"left out: {coverage:.0%} (human scores taken as exact: "
    assert message + f"{result.covered:.0%})" in repr(seen)
