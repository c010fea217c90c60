"""Scores whose likelihood has its maximum far out, or at infinity."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skanchor import BTLRegressor
from skanchor.exceptions import BoundWarning, SeparationWarning


def table(rows):
    return pd.DataFrame(rows, columns=["model_a", "model_b", "y"])


def fit(rows, **params):
    X = table(rows)
    return BTLRegressor(**params).fit(X[["model_a", "model_b"]], X["y"])


def chain(n_models, won=9):
    """Each model against the next one alone, of which it loses one game."""
    return [(a, a + 1, y) for a in range(n_models - 1) for y in [1.0] * won + [0.0]]


def bounded_fit(rows, bound):
    """All scores at once within a box, by a general solver, from rows."""
    X = table(rows)
    models = np.unique(X[["model_a", "model_b"]])
    eye = np.eye(len(models))
    design = np.zeros((len(X), len(models)))
    for column, sign in (("model_a", 1), ("model_b", -1)):
        design += sign * eye[np.searchsorted(models, X[column])]
    y = X["y"].to_numpy()

    def loss(s):
        eta = design @ s
        p = 1.0 / (1.0 + np.exp(-eta))
        return (np.logaddexp(0, eta) - y * eta).sum(), design.T @ (p - y)

    result = minimize(
        loss, np.zeros(len(models)), jac=True, bounds=[(-bound, bound)] * len(models),
        method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-11, "maxiter": 10_000},
    )  # fmt: skip
    return pd.Series(result.x, index=models)


# --------------------------------------------------------------------- finite, but far
@pytest.mark.parametrize("n_models", [3, 30, 300])
def test_a_long_chain_keeps_its_steps(n_models):
    """Each step has its own votes: no bound on the ends may squeeze it."""
    btl = fit(chain(n_models))
    position = (n_models - 1) / 2 - np.arange(n_models)
    assert_allclose(btl.scores_, np.log(9) * position, rtol=1e-10, atol=1e-10)
    assert not btl.unbounded_.any() and btl.converged_
    # Steps are independent, each with the variance of ten votes at odds of nine.
    step = 1 / 0.9
    before = np.arange(n_models)
    share = np.arange(1, n_models) / n_models
    lift = np.where(before[:, None] < np.arange(1, n_models), 1 - share, -share)
    assert_allclose(btl.covariance_, step * lift @ lift.T, rtol=1e-9, atol=1e-10)


def test_scores_beyond_the_bound_move_no_other():
    rng = np.random.default_rng(0)
    theta = np.array([0.5, 0.0, -0.4, 3.0])
    left = rng.integers(4, size=600)
    right = (left + rng.integers(1, 4, size=600)) % 4
    y = rng.random(600) < 1 / (1 + np.exp(theta[right] - theta[left]))
    rows = list(zip(left, right, y.astype(float), strict=True))
    free = fit(rows)
    assert free.scores_[3] > 1.5 > free.scores_[:3].abs().max()
    with pytest.warns(BoundWarning, match=r"\[3\] lie beyond the bound of 1.5"):
        bounded = fit(rows, score_bound=1.5)
    assert bounded.scores_[3] == 1.5
    assert bounded.unbounded_.tolist() == [False, False, False, True]
    assert_allclose(bounded.scores_[:3], free.scores_[:3], atol=1e-12)
    assert_allclose(bounded.covariance_[:3, :3], free.covariance_[:3, :3], atol=1e-12)
    assert bounded.conf_int().loc[3].tolist() == [1.5, np.inf]


# ------------------------------------------------------------------------ at infinity
def ring(names, seed):
    """Models that have all beaten and been beaten."""
    rng = np.random.default_rng(seed)
    rows = [(a, b, 1.0) for a, b in zip(names, [*names[1:], names[0]], strict=True)]
    pairs = rng.integers(len(names), size=(30, 2))
    return rows + [
        (names[a], names[b], float(rng.integers(3)) / 2) for a, b in pairs if a != b
    ]


def test_components_keep_their_distances_and_errors():
    """As in a bounded fit of everything, where the bound is far."""
    upper, lower = ring(list("abcd"), 1), ring(list("pqr"), 2)
    across = [("a", "q", 1.0), ("c", "r", 1.0), ("z", "a", 0.0), ("b", "t", 0.0)]
    rows = upper + lower + across
    with pytest.warns(SeparationWarning, match="never won"):
        btl = fit(rows)
    slow = bounded_fit(rows, 40.0)
    for part, alone in (("abcd", upper), ("pqr", lower)):
        names, single = list(part), fit(alone)
        for scores in (btl.scores_[names], slow[names]):
            assert_allclose(scores - scores.mean(), single.scores_, atol=1e-6)
    # The largest one is the scale, with the errors that it has alone.
    single = fit(upper)
    assert_allclose(btl.scores_[list("abcd")], single.scores_, atol=1e-12)
    reference = btl.standard_errors_[list("abcd")]
    assert_allclose(reference, single.standard_errors_, rtol=1e-12)
    assert np.isinf(btl.standard_errors_.drop(list("abcd"))).all()
    # What is unknown of one score says nothing of another.
    lost = np.isinf(np.diag(btl.covariance_))
    assert not btl.covariance_[np.ix_(lost, ~lost)].any()
    assert not btl.covariance_[np.ix_(~lost, lost)].any()
    assert np.isinf(btl.covariance_[lost]).sum() == lost.sum()
    assert btl.scores_["t"] == 15.0 and btl.scores_["z"] == -15.0
    assert (btl.scores_[list("pqr")] < btl.scores_[list("abcd")].min()).all()
    interval = btl.conf_int()
    assert (interval.loc[["t"], "high"] == np.inf).all()
    assert (interval.loc[list("zpqr"), "low"] == -np.inf).all()
    assert np.isfinite(interval.loc[list("zpqr"), "high"]).all()


@pytest.mark.parametrize(
    ("more", "bounded"),
    [
        # More votes inside; as many, but more wins over the others.
        ([("c", "d", 0.0)], "cd"),
        ([("d", "lost", 1.0)], "cd"),
        ([("top", "d", 1.0)], "ab"),
    ],
)
def test_of_equal_groups_votes_decide_which_has_the_scale(more, bounded):
    rows = [("a", "b", 1.0), ("b", "a", 1.0), ("c", "d", 1.0), ("d", "c", 1.0)]
    rows += [(t, x, y) for x in "abcd" for t, y in (("top", 1.0), ("lost", 0.0))]
    rows += more
    for order in (rows, rows[::-1], rows[2:] + rows[:2]):
        with pytest.warns(SeparationWarning):
            btl = fit(order)
        assert set(btl.scores_.index[~btl.unbounded_]) == set(bounded)
        assert np.isfinite(btl.standard_errors_[list(bounded)]).all()


def test_a_model_that_no_chain_of_wins_ties_to_the_scale():
    rows = [*ring(list("abc"), 3), ("top", "a", 1.0), ("top", "lost", 1.0)]
    with pytest.warns(SeparationWarning, match=r"\['lost'\] never won and \['top'\]"):
        btl = fit(rows)
    inside = btl.scores_[list("abc")]
    assert inside.min() <= btl.scores_["lost"] <= inside.max()
    assert btl.conf_int().loc["lost"].tolist() == [-np.inf, np.inf]
    assert btl.scores_["top"] == 15.0


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(0.5, 15.0))
def test_scores_are_in_the_order_of_the_wins(seed, n_models, bound):
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.integers(n_models, size=(2 * n_models, 2)), axis=1)
    rows = [(a, b, 1.0) for a, b in pairs[:, :].tolist() if a < b]
    rows += [(0, 1, 1.0)]
    with pytest.warns(SeparationWarning):
        btl = fit(rows, score_bound=bound, disconnected="warn")
    assert np.isinf(btl.standard_errors_).all()
    assert np.abs(btl.scores_).max() <= bound
    for a, b, _ in rows:
        assert btl.scores_[a] > btl.scores_[b]
    interval = btl.conf_int()
    assert (interval["low"] <= btl.scores_).all()
    assert (interval["high"] >= btl.scores_).all()
    assert (np.isinf(interval).any(axis=1)).all()
    never_lost = btl.connectivity_.never_lost
    assert (btl.scores_[list(never_lost)] == bound).all()


def test_an_undefeated_model_among_many_costs_little_more():
    rng = np.random.default_rng(0)
    n_models = 200
    theta = rng.normal(size=n_models)
    left = rng.integers(n_models, size=8000)
    right = (left + rng.integers(1, n_models, size=8000)) % n_models
    y = (rng.random(8000) < 1 / (1 + np.exp(theta[right] - theta[left]))).astype(float)
    X = pd.DataFrame({"model_a": left, "model_b": right})
    others = (left != 0) & (right != 0)
    alone = BTLRegressor().fit(X[others], y[others])
    y[left == 0], y[right == 0] = 1.0, 0.0
    with pytest.warns(SeparationWarning, match=r"\[0\] never lost"):
        btl = BTLRegressor().fit(X, y)
    assert btl.n_iter_ == alone.n_iter_ <= 10
    assert_allclose(btl.scores_[1:], alone.scores_, atol=1e-12)
    assert_allclose(btl.covariance_[1:, 1:], alone.covariance_, atol=1e-12)
