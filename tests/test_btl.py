"""BTL scores and covariances against dense formulas, laws, and separation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.optimize import root
from scipy.special import expit
from scipy.stats import norm

from skanchor import BTLRegressor, Comparisons
from skanchor._battles import decide_roles
from skanchor._sample.sample import Sample
from skanchor.exceptions import (
    BattlesError,
    BoundWarning,
    ConvergenceWarning,
    DataWarning,
    DisconnectedError,
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

    found = root(equations, np.zeros(B.shape[1]), jac=True, method="hybr", tol=1e-13)
    return B @ found.x


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


def test_clusters_of_one_row_are_the_sandwich():
    X, y, weight = make_table(0)
    sandwich = BTLRegressor().fit(X, y, weight)
    names = [f"g{i}" for i in range(len(y))]
    for T, groups in ((X, names), (X.assign(prompt=names), "prompt")):
        btl = BTLRegressor(covariance="clustered").fit(T, y, weight, groups)
        assert_allclose(btl.covariance_, sandwich.covariance_, atol=1e-12)
    with pytest.raises(ValueError, match="needs groups"):
        BTLRegressor(covariance="clustered").fit(X, y)
    with pytest.raises(BattlesError, match="column 'nope'"):
        btl.fit(X, y, groups="nope")


# ------------------------------------------------------------------------------- laws
@settings(max_examples=10)
@given(st.integers(0, 10**6), st.permutations(range(5)))
def test_renaming_models_permutes_scores(seed, order):
    X, y, weight = make_table(seed, n=300, n_models=5)
    rename = {f"m{i}": f"{'zyxwv'[order[i]]}{i}" for i in range(5)}
    a = BTLRegressor().fit(X, y, weight)
    b = BTLRegressor().fit(X.replace(rename), y, weight)
    names = [rename[m] for m in a.models_]
    assert_allclose(b.scores_[names], a.scores_, atol=1e-8)
    place = [b.models_.tolist().index(m) for m in names]
    assert_allclose(b.covariance_[np.ix_(place, place)], a.covariance_, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_integer_weights_are_repetition(alpha):
    X, y, _ = make_table(1)
    times = np.random.default_rng(1).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), times)
    a = BTLRegressor(alpha=alpha, covariance="clustered").fit(
        X, y, times, np.arange(len(y))
    )
    b = BTLRegressor(alpha=alpha, covariance="clustered").fit(
        X.iloc[rows], y[rows], groups=rows
    )
    assert_allclose(a.scores_, b.scores_, atol=1e-9)
    # Copies in one group are one row.
    assert_allclose(a.covariance_, b.covariance_, atol=1e-9)


def test_ridge_shrinks():
    X, y, _ = make_table(4)
    norms = [
        np.linalg.norm(BTLRegressor(alpha=a).fit(X, y).scores_)
        for a in (0, 0.1, 1, 1e6)
    ]
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < 1e-5


def test_only_human_rows_between_historical_models_count():
    X, y, _ = make_table(5)
    judge = np.where(np.arange(len(y)) % 3 == 0, "gpt", "human")
    human = judge == "human"
    a = BTLRegressor().fit(X.assign(judge=judge), y)
    b = BTLRegressor().fit(X[human], y[human])
    assert_allclose(a.scores_, b.scores_, atol=1e-12)
    roles = decide_roles(Comparisons.from_battles(X), np.ones(len(y)), ["m2"])
    rest = ~(X["model_a"].eq("m2") | X["model_b"].eq("m2")).to_numpy()
    warm = BTLRegressor().fit(roles, y)
    assert_allclose(warm.scores_, BTLRegressor().fit(X[rest], y[rest]).scores_)
    assert np.isnan(warm.transform(roles).scores[2])
    with pytest.raises(BattlesError, match="No human row"):
        BTLRegressor().fit(X.assign(judge="gpt"), y)


def test_refitting_from_a_start():
    X, y, weight = make_table(6)
    cold = BTLRegressor().fit(X, y, weight)
    warm = BTLRegressor()
    warm.fit_sample(Sample.admit(X, y, weight), start=cold)
    assert warm.n_iter_ <= 2
    assert_allclose(warm.scores_, cold.scores_, atol=1e-9)


# -------------------------------------------------------------------------------- elo
def test_elo():
    X, y, _ = make_table(7)
    btl = BTLRegressor().fit(X, y)
    unit = 400 / np.log(10)
    elo = btl.elo()
    assert_allclose(elo["rating"], 1000 + unit * btl.scores_)
    assert_allclose(elo[["low", "high"]], 1000 + unit * btl.conf_int())
    elo = btl.elo(0.9, anchor="m1", rating=1200)
    assert_allclose(elo.loc["m1"], 1200)
    gap = np.array([1, -1, 0, 0, 0, 0])
    error = np.sqrt(gap @ btl.covariance_ @ gap)
    point = 1200 + unit * (btl.scores_["m0"] - btl.scores_["m1"])
    assert_allclose(elo.loc["m0", "rating"], point)
    assert_allclose(elo.loc["m0", "high"], point + unit * norm.ppf(0.95) * error)
    with pytest.raises(BattlesError, match="Unknown anchor 'm9'"):
        btl.elo(anchor="m9")


@pytest.mark.parametrize("level", [0, 1, -1, "95", True, np.nan])
def test_bad_level(level):
    X, y, _ = make_table(7)
    btl = BTLRegressor().fit(X, y)
    for view in (btl.conf_int, btl.elo):
        with pytest.raises(ValueError, match="level must"):
            view(level)


# ------------------------------------------------------------------------------ graph
def two_islands(separated=False):
    a = ["a", "b", "c", "x", "y"] * 4
    b = ["b", "c", "a", "y", "x"] * 4
    y = [1, 1, 1, 1, 1, 0, 0, 0, 0, 1] * 2
    if separated:
        y = [1, 1, 1, 1, 0] * 4
    return pd.DataFrame({"model_a": a, "model_b": b}), np.array(y, float)


def test_disconnected_raises_and_names_groups():
    X, y = two_islands()
    with pytest.raises(DisconnectedError, match=r"2 separate groups.*\{a, b, c\}.*\{x"):
        BTLRegressor().fit(X, y)


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


def test_disconnected_and_separated_tells_both():
    X, y = two_islands(separated=True)
    with (
        pytest.warns(SeparationWarning, match="separate groups"),
        pytest.warns(SeparationWarning, match=r"\['y'\] never won"),
    ):
        btl = BTLRegressor(disconnected="warn").fit(X, y)
    assert np.isinf(btl.standard_errors_[["x", "y"]]).all()
    assert np.isfinite(btl.standard_errors_[["a", "b", "c"]]).all()


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
    rest = [f"m{i}" for i in range(6)]
    assert np.isfinite(btl.standard_errors_[rest]).all()
    interval = btl.conf_int().loc["top"]
    shut, open_ = ("low", "high") if wins else ("high", "low")
    sign = 1.0 if wins else -1.0
    assert 0 < sign * interval[shut] < sign * btl.scores_["top"]
    assert interval[open_] == sign * np.inf
    # The others keep their distances, and the errors of these.
    alone = BTLRegressor(covariance=kind).fit(X[:-10], y[:-10])
    moved = btl.scores_[rest] - btl.scores_[rest].mean()
    assert_allclose(moved, alone.scores_, atol=1e-3)
    assert_allclose(btl.standard_errors_[rest], alone.standard_errors_, rtol=1e-3)
    # The Elo view stays free of NaN.
    assert not btl.elo().isna().any(axis=None)
    assert not btl.elo(anchor="m2").isna().any(axis=None)
    assert not btl.elo(anchor="top").isna().any(axis=None)


def test_ridge_heals_separation():
    X, y = with_unbeaten()
    btl = BTLRegressor(alpha=0.01).fit(X, y)
    assert np.isfinite(btl.standard_errors_).all()
    assert btl.scores_.idxmax() == "top" and btl.scores_.max() < 15


def test_two_models_one_winner():
    X = pd.DataFrame({"model_a": ["x"] * 3, "model_b": ["y"] * 3})
    with pytest.warns(
        SeparationWarning, match=r"\['y'\] never won.*\['x'\] never lost"
    ):
        btl = BTLRegressor().fit(X, [1, 1, 1])
    high = btl.scores_["x"]
    assert 8 < high <= 15
    assert np.isinf(btl.standard_errors_).all()
    # No score is known that a limit could be measured from.
    assert_allclose(btl.conf_int(), [[-np.inf, np.inf]] * 2)
    with pytest.warns(SeparationWarning):
        assert_allclose(BTLRegressor(score_bound=3).fit(X, [1, 1, 1]).scores_, [3, -3])


def test_chain_has_no_finite_errors():
    X = pd.DataFrame({"model_a": ["a", "b"] * 5, "model_b": ["b", "c"] * 5})
    with pytest.warns(SeparationWarning, match=r"\['c'\] never won"):
        btl = BTLRegressor().fit(X, np.ones(10))
    assert btl.scores_.index[btl.scores_.argsort()].tolist() == ["c", "b", "a"]
    assert np.isinf(btl.standard_errors_).all()


def test_two_classes_of_models():
    rows = [("a", "b", 1), ("b", "a", 1), ("c", "d", 1), ("d", "c", 1), ("a", "c", 1)]
    X = pd.DataFrame(rows * 3, columns=["model_a", "model_b", "y"])
    with pytest.warns(
        SeparationWarning, match=r"no chain of wins leads from \['.', '.'\] to"
    ):
        btl = BTLRegressor().fit(X[["model_a", "model_b"]], X["y"])
    assert np.isinf(btl.standard_errors_).any()
    assert btl.scores_[["a", "b"]].min() > btl.scores_[["c", "d"]].max()


def test_score_on_the_bound_of_a_strong_graph():
    X = pd.DataFrame({"model_a": ["x"] * 1000, "model_b": ["y"] * 1000})
    with pytest.warns(BoundWarning, match="bound of 2"):
        btl = BTLRegressor(score_bound=2).fit(X, [1] * 999 + [0])
    assert_allclose(btl.scores_, [2, -2], atol=1e-9)


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


def test_labels_and_numbers_give_one_model():
    X, y, _ = make_table(10)
    words = np.where(y == 1, "model_a", np.where(y == 0, "model_b", "tie"))
    a, b = BTLRegressor().fit(X, y), BTLRegressor().fit(X, words)
    p = a.win_probability(X)
    assert_allclose(p, expit(contrasts(X, a.models_) @ a.scores_))
    assert_allclose(b.win_probability(X), p, atol=1e-12)
    assert a.classes_.tolist() == [0, 1]
    assert b.classes_.tolist() == ["model_a", "model_b"]
    assert_allclose(a.predict_proba(X), np.column_stack([1 - p, p]))
    assert_allclose(b.predict_proba(X), np.column_stack([p, 1 - p]))
    assert_allclose(expit(a.decision_function(X)), p)
    with pytest.raises(BattlesError, match=r"no decision function .* with ties"):
        b.decision_function(X)
    assert (a.predict(X) == (p > 0.5)).all()
    assert (b.predict(X) == np.where(p >= 0.5, "model_a", "model_b")).all()
    assert_allclose(a.score(X, y), b.score(X, words))
    assert_allclose(a.score(X, words), b.score(X, y))


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


def test_unseen_models():
    X, y, _ = make_table(12)
    btl = BTLRegressor().fit(X, y)
    table = pd.DataFrame(
        {"model_a": ["m0", "new", "new"], "model_b": ["m1", "m1", "old"]}
    )
    with pytest.warns(DataWarning, match=r"2 rows .*\['new', 'old'\]"):
        p = btl.win_probability(table)
    assert_allclose(p, [btl.win_probability(table[:1])[0], 0.5, 0.5])
    btl.set_params(unseen="raise")
    with pytest.raises(BattlesError, match="'new'"):
        btl.predict(table)
    # Rows whose two models are both outside the vocabulary are not one model twice.
    encoded = Comparisons.from_battles(table).relabel(btl.models_, np.array([]))
    with pytest.raises(BattlesError, match="2 rows involve models without a score"):
        btl.predict_proba(encoded)


def test_self_comparisons():
    X, y, _ = make_table(13)
    more = pd.DataFrame({"model_a": ["m0", "solo"], "model_b": ["m0", "solo"]})
    Z = pd.concat([X, more], ignore_index=True)
    a = BTLRegressor().fit(X, y)
    with pytest.warns(DataWarning, match=r"2 rows .* itself.*\['solo'\] appear in no"):
        b = BTLRegressor().fit(Z, np.append(y, [1, 0]))
    assert b.models_.tolist() == a.models_.tolist()
    assert_allclose(a.scores_, b.scores_, atol=1e-12)
    assert_allclose(a.covariance_, b.covariance_, atol=1e-12)
    with pytest.warns(DataWarning, match="2 rows compare a model with itself"):
        assert_allclose(b.win_probability(more), 0.5)
    with pytest.raises(BattlesError, match="No human row"):
        BTLRegressor().fit(more, [1, 0])


@pytest.mark.parametrize(
    ("weight", "message"),
    [(-1.0, "[Nn]egative"), (0.0, "non-zero"), (np.nan, "NaN"), (np.inf, "infinity")],
)
def test_bad_weights(weight, message):
    X, y, _ = make_table(14)
    with pytest.raises(ValueError, match=message):
        BTLRegressor().fit(X, y, np.full(len(y), weight))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"covariance": "hac"}, "'covariance' parameter of"),
        ({"disconnected": "x"}, "must be"),
    ],
)
def test_bad_parameters(params, message):
    X, y, _ = make_table(14)
    with pytest.raises(ValueError, match=message):
        BTLRegressor(**params).fit(X, y)


def test_bare_arrays_become_numbers():
    X = np.array([[1, 2, 5.0], [2, 1, 6.0], [1, 2, 7.0]])
    btl = BTLRegressor().fit(X, [1, 1, 0])
    moved = btl.transform(X)
    assert_allclose(moved[:, 0], btl.decision_function(X))
    assert_allclose(moved[:, 1], X[:, 2])
    assert_allclose(btl.fit_transform(pd.DataFrame(X), [1, 1, 0]), moved)


def test_one_class_of_positive_weight_is_refused():
    X = np.array([[1, 2], [2, 1], [1, 2]])
    with pytest.raises(ValueError, match="only one class"):
        BTLRegressor().fit(X, [1, 1, 0], [1, 1, 0])


@pytest.mark.parametrize("models", [(1, 2), (1, 1)])
def test_self_comparisons_alone_score_no_model(models):
    X = np.array([models, models]).T
    with pytest.raises(ValueError, match="No human row"):
        BTLRegressor().fit(X, [0, 1])
    with (
        pytest.warns(DataWarning, match="2 rows compare a model with itself"),
        pytest.warns(SeparationWarning, match="no model has a score"),
    ):
        btl = BTLRegressor(disconnected="warn").fit(X, [0, 1])
    assert len(btl.scores_) == 0 and btl.score(X, [0, 1]) == 0.0
    assert btl.covariance_.shape == (0, 0) and btl.conf_int().shape == (0, 2)
    assert btl.unbounded_.shape == (0,) and btl.standard_errors_.shape == (0,)


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


@pytest.mark.parametrize("noise", [1e-8, 1e-5, 1e-2])
def test_the_error_of_probabilities_is_that_of_their_noise(noise):
    """The sandwich of y close to p is not lost in rounding."""
    rng = np.random.default_rng(1)
    a = rng.integers(4, size=2000)
    b = (a + rng.integers(1, 4, size=2000)) % 4
    theta = np.array([0.6, 0.1, -0.2, -0.5])
    eta = theta[a] - theta[b] + noise * rng.normal(size=2000)
    X = pd.DataFrame({"model_a": np.array(list("wxyz"))[a],
                      "model_b": np.array(list("wxyz"))[b]})  # fmt: skip
    btl = BTLRegressor().fit(X, expit(eta))
    # By least squares of the logits, whose weights hardly differ.
    design = np.eye(4)[a] - np.eye(4)[b]
    error = noise * np.sqrt(np.diag(np.linalg.pinv(design.T @ design)))
    assert_allclose(btl.standard_errors_, error, rtol=0.1)
    assert (np.abs(btl.scores_ - theta) < 5 * error).all()


@pytest.mark.parametrize("y", [0.7, 0.5])
def test_equal_outcomes_of_all_rows_have_errors(y):
    X = pd.DataFrame({"model_a": list("xxyyz") * 4, "model_b": list("yzzxx") * 4})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        btl = BTLRegressor().fit(X, np.full(len(X), y))
    assert (btl.standard_errors_ > 1e-3).all()
    assert np.isfinite(btl.covariance_).all()


SELF, VERDICT, NEW_VOTE = ("a", "a", "human"), ("a", "b", "j"), ("a", "b", "human")
SECOND = ("b", "b", "human")


@pytest.mark.parametrize(
    ("rows", "weight", "new", "fits"),
    [
        ([SELF, SELF], None, [], True),
        ([SELF, VERDICT], None, [], True),
        ([SECOND, VERDICT], None, [], True),
        # Verdicts are no votes, nor is what has no weight or meets a new model.
        ([VERDICT, VERDICT], None, [], False),
        ([SELF, VERDICT], [0.0, 1.0], [], False),
        ([NEW_VOTE, NEW_VOTE], None, ["b"], False),
    ],
)
def test_votes_that_compare_a_model_with_itself_are_votes(rows, weight, new, fits):
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "judge"])
    X = Comparisons.from_battles(table, new_models=new)
    btl = BTLRegressor(disconnected="warn")
    if fits:
        with pytest.warns(SeparationWarning, match="no model has a score"):
            btl.fit(X, np.array([1.0, 0.0]), weight)
        assert len(btl.scores_) == 0 and btl.converged_
        # Whatever is asked, a fair coin is tossed; but it is asked of these rows.
        assert btl.score(X, np.array([1.0, 0.0])) == 0.0
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            btl.score(X, np.ones(3))
    else:
        with pytest.raises(BattlesError, match="No human row compares two"):
            btl.fit(X, np.array([1.0, 0.0]), weight)
    with pytest.raises(BattlesError, match="No human row compares two"):
        BTLRegressor().fit(X, np.array([1.0, 0.0]), weight)
