"""The bootstrap as an estimator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor.baselines import HistoricalPPI, MeanShift
from skanchor.bootstrap import Bootstrapped
from skanchor.exceptions import SeparationWarning
from skanchor.simulation import simulate_battles


def test_bootstrapped_offers_what_anchor_offers(data):
    X = data.X.assign(prompt=np.arange(len(data.y)) // 2)
    method = Bootstrapped(HistoricalPPI(), 20, random_state=0)
    fit = method.fit(X, data.y, groups="prompt")
    inner = HistoricalPPI().fit(X, data.y)
    assert_allclose(fit.scores_, inner.scores_)
    assert_allclose(fit.win_probability(X), inner.win_probability(X))
    assert fit.score(X, data.y) == inner.score(X, data.y)
    assert fit.standard_errors_["new-model"] == pytest.approx(
        fit.refits_.standard_errors["new-model"]
    )
    assert_allclose(fit.conf_int(0.9), fit.refits_.conf_int(0.9))
    leaderboard = fit.leaderboard(0.9)
    assert_allclose(
        leaderboard.loc["new-model", ["low", "high"]].astype(float),
        fit.conf_int(0.9).loc["new-model"],
    )
    contrasts = fit.contrasts(0.9)
    row = contrasts.loc[("new-model", "model-03")]
    refits = fit.refits_.replicates
    position = fit.models_.tolist().index
    gap = refits[:, position("new-model")] - refits[:, position("model-03")]
    low, high = 2 * row["difference"] - np.quantile(gap, [0.95, 0.05])
    assert_allclose([row["low"], row["high"]], [low, high])
    assert fit.rank_sets().columns.tolist() == ["rank", "low", "high"]
    assert method.set_params(estimator__calibrator__bias__alpha=0.1)
    with pytest.raises(ValueError, match="'kind' parameter of Bootstrapped"):
        Bootstrapped(kind="normal").fit(X, data.y)


def test_a_score_on_its_bound_has_no_error_of_zero():
    """A model that wins all rows wins them in every resample."""
    data = simulate_battles(400, 80, n_models=4, random_state=1)
    best = {side: (data.X[f"model_{side}"] == "model-01").to_numpy() for side in "ab"}
    y = np.where(best["a"], 1.0, np.where(best["b"], 0.0, np.asarray(data.y, float)))
    method = Bootstrapped(MeanShift(), 8, random_state=0)
    with pytest.warns(SeparationWarning, match=r"\['model-01'\] never lost"):
        method.fit(data.X, y)
    leaderboard = method.leaderboard()
    assert leaderboard.index[np.isinf(leaderboard["standard_error"])].tolist() == [
        "model-01"
    ]
    assert leaderboard.loc["model-01", ["low", "high"]].tolist() == [-np.inf, np.inf]
    contrast = method.contrasts().loc[("new-model", "model-01")]
    assert contrast[["low", "high"]].tolist() == [-np.inf, np.inf]
