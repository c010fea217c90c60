"""BTL scores and covariances against dense formulas, laws, and separation."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.optimize import root
from scipy.special import expit
from scipy.stats import norm

from skanchor import BTLRegressor, Comparisons
from skanchor._battles import decide_roles
from skanchor.exceptions import (
    BattlesError,
    ConvergenceWarning,
    DataWarning,
    SeparationWarning,
)


def make_table(seed, n=400, n_models=6, ties=0.2):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n_models)
    left = rng.integers(n_models, size=n)
    right = (left + rng.integers(1, n_models, size=n)) % n_models
    y = (rng.random(n) < expit(theta[left] - theta[right])).astype(float)
    y[rng.random(n) < ties] = 0.5
    names = np.array([f"m{i}" for i in range(n_models)], dtype=object)
    X = pd.DataFrame({"model_a": names[left], "model_b": names[right]})
    return X, y, rng.exponential(size=n)


def contrasts(X, models):
    models = list(models)
    eye = np.eye(len(models))
    a, b = (eye[[models.index(m) for m in X[c]]] for c in ("model_a", "model_b"))
    return a - b


def dense_fit(X, y, weight, models, alpha=0.0):
    """Score equations on one row per battle, solved by a general root finder."""
    D, share = contrasts(X, models), weight / weight.sum()
    B = null_space(np.ones((1, len(models))))
    Z = D @ B

    def equations(s):
        p = expit(Z @ s)
        slope = Z.T @ (share * (p - y)) + alpha * s
        return slope, Z.T @ (Z * (share * p * (1 - p))[:, None]) + alpha * np.eye(
            len(s)
        )

    result = root(equations, np.zeros(B.shape[1]), jac=True, method="hybr", tol=1e-13)
    return B @ result.x


def dense_covariance(X, y, weight, btl, kind, groups=None):
    D, s = contrasts(X, btl.models_), btl.scores_.to_numpy()
    p = expit(D @ s)
    bread = D.T @ (D * (weight * p * (1 - p))[:, None])
    bread += btl.alpha * weight.sum() * np.eye(len(s))
    B = null_space(np.ones((1, len(s))))
    inverse = B @ np.linalg.inv(B.T @ bread @ B) @ B.T
    if kind == "fisher":
        return inverse
    rows = D * (weight * (y - p))[:, None]
    if kind == "clustered":
        rows = np.array([rows[groups == g].sum(axis=0) for g in np.unique(groups)])
    return inverse @ rows.T @ rows @ inverse


# -------------------------------------------------------------------------- estimates
@pytest.mark.parametrize(("wins", "losses", "ties"), [(3, 1, 0), (7, 7, 2), (1, 9, 4)])
def test_two_models_closed_form(wins, losses, ties):
    X = pd.DataFrame({"model_a": ["x"] * (wins + losses + ties), "model_b": "y"})
    y = ["model_a"] * wins + ["model_b"] * losses + ["tie"] * ties
    btl = BTLRegressor().fit(X, y)
    half = np.log((wins + ties / 2) / (losses + ties / 2)) / 2
    assert_allclose(btl.scores_, [half, -half], atol=1e-9)
    p = expit(2 * half)
    fisher = BTLRegressor(covariance="fisher").fit(X, y)
    assert_allclose(
        fisher.standard_errors_, 0.5 / np.sqrt(len(y) * p * (1 - p)), rtol=1e-9
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_matches_dense_optimiser(seed, alpha):
    X, y, weight = make_table(seed)
    btl = BTLRegressor(alpha=alpha).fit(X, y, weight)
    assert btl.converged_
    assert_allclose(btl.scores_, dense_fit(X, y, weight, btl.models_, alpha), atol=1e-7)
    assert abs(btl.scores_.sum()) < 1e-10
    # The likelihood equations: expected wins are wins.
    if not alpha:
        D = contrasts(X, btl.models_)
        assert_allclose(D.T @ (weight * (y - expit(D @ btl.scores_))), 0, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["sandwich", "fisher", "clustered"])
def test_covariance_matches_dense_formula(alpha, kind):
    X, y, weight = make_table(0)
    groups = None
    if kind == "clustered":
        groups = np.random.default_rng(0).integers(40, size=len(y))
    btl = BTLRegressor(alpha=alpha, covariance=kind).fit(X, y, weight, groups)
    if groups is not None:
        # Where groups are given, the sandwich sums over them, too.
        plain = BTLRegressor(alpha=alpha).fit(X, y, weight, groups)
        assert_allclose(plain.covariance_, btl.covariance_, atol=1e-15)
    expected = dense_covariance(X, y, weight, btl, kind, groups)
    assert_allclose(btl.covariance_, expected, atol=1e-9)
    assert_allclose(btl.covariance_.sum(axis=0), 0, atol=1e-10)
    low_high = btl.scores_.to_numpy() + np.outer(
        [-1, 1], norm.ppf(0.95) * np.sqrt(np.diag(expected))
    )
    assert_allclose(btl.conf_int(0.9).T, low_high, atol=1e-8)


# ------------------------------------------------------------------------------- laws


def test_only_human_rows_between_historical_models_count():
    X, y, _ = make_table(5)
    judge = np.where(np.arange(len(y)) % 3 == 0, "gpt", "human")
    human = judge == "human"
    a = BTLRegressor().fit(X.assign(judge=judge), y)
    b = BTLRegressor().fit(X[human], y[human])
    assert_allclose(a.scores_, b.scores_, atol=1e-12)
    roles = decide_roles(Comparisons.from_battles(X), np.ones(len(y)), ["m2"])
    others = ~(X["model_a"].eq("m2") | X["model_b"].eq("m2")).to_numpy()
    warm = BTLRegressor().fit(roles, y)
    assert_allclose(warm.scores_, BTLRegressor().fit(X[others], y[others]).scores_)
    assert np.isnan(warm.transform(roles).scores[2])
    with pytest.raises(BattlesError, match="No human row"):
        BTLRegressor().fit(X.assign(judge="gpt"), y)


# ------------------------------------------------------------------------------ graph
def two_islands(separated=False):
    a = ["a", "b", "c", "x", "y"] * 4
    b = ["b", "c", "a", "y", "x"] * 4
    y = [1, 1, 1, 1, 1, 0, 0, 0, 0, 1] * 2
    if separated:
        y = [1, 1, 1, 1, 0] * 4
    return pd.DataFrame({"model_a": a, "model_b": b}), np.array(y, float)


def test_disconnected_warns_and_centres_each_group():
    X, y = two_islands()
    with pytest.warns(SeparationWarning, match="2 separate groups"):
        btl = BTLRegressor(disconnected="warn").fit(X, y)
    island = X["model_a"].isin(["a", "b", "c"]).to_numpy()
    for rows in (island, ~island):
        alone = BTLRegressor().fit(X[rows], y[rows])
        assert_allclose(btl.scores_[alone.models_], alone.scores_, atol=1e-8)
        assert_allclose(
            btl.standard_errors_[alone.models_], alone.standard_errors_, atol=1e-8
        )


def with_unbeaten(seed=8, wins=True):
    X, y, _ = make_table(seed)
    more = pd.DataFrame({"model_a": ["top"] * 10, "model_b": ["m0", "m1"] * 5})
    return pd.concat([X, more], ignore_index=True), np.append(y, [float(wins)] * 10)


@pytest.mark.parametrize("wins", [True, False])
@pytest.mark.parametrize("kind", ["sandwich", "fisher"])
def test_separation(wins, kind):
    X, y = with_unbeaten(wins=wins)
    message = r"\['top'\] never " + ("lost" if wins else "won")
    with pytest.warns(SeparationWarning, match=message):
        btl = BTLRegressor(covariance=kind).fit(X, y)
    assert np.abs(btl.scores_).max() <= 15 + 1e-9
    assert np.isinf(btl.standard_errors_["top"])
    others = [f"m{i}" for i in range(6)]
    assert np.isfinite(btl.standard_errors_[others]).all()
    interval = btl.conf_int().loc["top"]
    shut, open_ = ("low", "high") if wins else ("high", "low")
    sign = 1.0 if wins else -1.0
    assert 0 < sign * interval[shut] < sign * btl.scores_["top"]
    assert interval[open_] == sign * np.inf
    # The others keep their distances, and the errors of these.
    alone = BTLRegressor(covariance=kind).fit(X[:-10], y[:-10])
    moved = btl.scores_[others] - btl.scores_[others].mean()
    assert_allclose(moved, alone.scores_, atol=1e-3)
    assert_allclose(btl.standard_errors_[others], alone.standard_errors_, rtol=1e-3)


def test_ridge_heals_separation():
    X, y = with_unbeaten()
    btl = BTLRegressor(alpha=0.01).fit(X, y)
    assert np.isfinite(btl.standard_errors_).all()
    assert btl.scores_.idxmax() == "top" and btl.scores_.max() < 15


# ------------------------------------------------------------------------- prediction
def test_d2_score():
    X, y, weight = make_table(9)
    btl = BTLRegressor().fit(X, y, weight)
    p = btl.win_probability(X)
    loss = -np.average(y * np.log(p) + (1 - y) * np.log1p(-p), weights=weight)
    assert_allclose(btl.score(X, y, weight), 1 - loss / np.log(2))
    judged = pd.concat([X, X.assign(judge="gpt")]).fillna({"judge": "human"})
    assert_allclose(
        btl.score(judged, np.append(y, 1 - y), np.tile(weight, 2)),
        btl.score(X, y, weight),
    )
    null = BTLRegressor(alpha=1e12).fit(X, y)
    assert_allclose(null.score(X, y), 0, atol=1e-9)
    with pytest.raises(BattlesError, match="score found no row"):
        btl.score(X.assign(judge="gpt"), y)


@pytest.mark.parametrize(
    ("labels", "won"),
    [((1, 2), 2), (("A", "B"), "B"), ((False, True), True), ((-1, 1), 1)],
)
def test_bare_arrays_follow_label_order(labels, won):
    table, y, _ = make_table(11, ties=0)
    X = table.to_numpy()
    btl = BTLRegressor().fit(X, np.where(y == 1, *np.array(labels)[::-1]))
    named = BTLRegressor().fit(table, y)
    assert btl.classes_.tolist() == sorted(labels) and btl.classes_[1] == won
    assert_allclose(btl.win_probability(X), named.win_probability(table), atol=1e-9)
    assert_allclose(btl.predict_proba(X)[:, 1], btl.win_probability(X))
    assert set(btl.predict(X)) <= set(labels)


def test_few_steps_are_reported():
    X = pd.DataFrame({"model_a": ["x", "y", "z"], "model_b": ["y", "z", "x"]})
    X, y = pd.concat([X] * 3, ignore_index=True), [1, 1, 0, 1, 0, 1, 1, 1, 1]
    with pytest.warns(ConvergenceWarning, match="did not converge in 1"):
        btl = BTLRegressor(max_iter=1).fit(X, y)
    assert btl.n_iter_ == 1 and not btl.converged_
    with pytest.raises(ValueError, match="'max_iter' parameter of BTLRegressor must"):
        BTLRegressor(max_iter=0).fit(X, y)


# ------------------------------------------------------------- outcomes without noise
@pytest.mark.parametrize("what", ["ties", "probabilities"])
def test_outcomes_without_noise_have_the_errors_of_votes(what):
    """No error is ever 0 or NaN in silence."""
    rng = np.random.default_rng(0)
    a = rng.integers(4, size=400)
    b = (a + rng.integers(1, 4, size=400)) % 4
    theta = np.array([0.6, 0.1, -0.2, -0.5]) if what == "probabilities" else np.zeros(4)
    p = expit(theta[a] - theta[b])
    X = pd.DataFrame({"model_a": np.array(list("wxyz"))[a],
                      "model_b": np.array(list("wxyz"))[b]})  # fmt: skip
    with pytest.warns(DataWarning, match="show no noise"):
        btl = BTLRegressor().fit(X, p)
    fisher = BTLRegressor(covariance="fisher").fit(X, p)
    assert_allclose(btl.scores_, theta, atol=1e-9)
    assert_allclose(btl.covariance_, fisher.covariance_, rtol=1e-8)
    with pytest.warns(DataWarning, match="show no noise"):
        grouped = BTLRegressor().fit(X, p, groups=np.arange(400) // 2)
    assert_allclose(grouped.covariance_, fisher.covariance_, rtol=1e-8)
