"""The check for item effects: against dense algebra, its size and its power."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from tables import liked

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor._crossfit.item_effects import run_item_test
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._sample.sample import Sample
from skanchor.simulation import simulate_battles


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.CountWarning")
def test_ties_and_weights_enter_the_check_of_a_judge(rng):
    """Half-wins vary less than votes, rows with a weight more."""
    data = liked(seed=3, n_judges=1)
    X = data.X[["model_a", "model_b", "judge"]]
    y = np.where(rng.random(len(X)) < 0.4, 0.5, data.y)
    weight = rng.integers(1, 4, len(X)).astype(float)
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=False),
        cv=2, debiaser="passthrough", item_effects=None,
        historical_fit="two-step",
    )  # fmt: skip
    anchor.fit(X, y, sample_weight=weight)
    rows = anchor.calibrator_.transform(anchor.btl_.transform(X))
    fit = PipelineFit.of(Sample.from_battles(rows, y, weight), anchor.calibrator_)
    result = run_item_test(fit, anchor.btl_)

    names = anchor.btl_.models_
    old = (X.judge != "human") & X.model_a.isin(names) & X.model_b.isin(names)
    old = old.to_numpy()
    sides = [X[f"model_{side}"].to_numpy()[old, None] == names for side in "ab"]
    design = sides[0].astype(float) - sides[1]
    c, w = anchor.calibrator_.sensitivities_.iloc[0], weight[old]
    delta = design @ anchor.btl_.scores_.to_numpy()
    p = expit(c * delta)
    residual, v = y[old] - p, p * (1 - p)
    sums, information = design.T @ (w * residual), design.T * (w * v) @ design
    line = design.T @ (w * v * delta)
    information -= np.outer(line, line) / np.sum(w * v * delta**2)
    size = np.sum((w * residual) ** 2) / np.sum(w * v)
    assert 1.1 < size < 0.9 * np.sum(w**2) / np.sum(w)
    spread = information @ anchor.btl_.covariance_ @ information
    chi = sums @ np.linalg.pinv(size * information + c**2 * spread) @ sums
    assert_allclose(result.by_judge[1].chi2, chi, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_judge_on_its_bound_shows_no_item_effects(seed):
    """Verdicts that always follow the scores leave residuals that say nothing."""
    data = simulate_battles(
        n_historical=200, n_new=60, n_models=3, n_judges=4, n_features=1,
        random_state=seed,
    )  # fmt: skip
    X, y = data.X[["model_a", "model_b", "judge"]], np.asarray(data.y, dtype=float)
    human = BTLRegressor().fit(X[X["judge"] == "human"], y[X["judge"] == "human"])
    score = human.scores_.reindex(sorted({*X["model_a"], *X["model_b"]})).fillna(0.0)
    follows = score[X["model_a"]].to_numpy() > score[X["model_b"]].to_numpy()
    y = np.where(X["judge"] == "judge-2", follows, y)
    anchor = AnchorPipeline(random_state=0, cv=3, historical_fit="joint").fit(X, y)
    table = anchor.summary()
    assert table["sensitivity"]["judge-2"] > 15.0
    # Rounding was divided by rounding: the p-value was zero.
    assert not table["item_p"]["judge-2"] < 0.01
    assert anchor._inference.check.p_value > 0.2
