"""The position effect of people against logistic regression on the same columns."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from skanchor import AnchorPipeline, BTLRegressor
from skanchor._numerics.order_counts import OrderCounts, OrderedBTL
from skanchor.baselines import HumanOnly
from skanchor.exceptions import BattlesError, ConvergenceWarning, SeparationWarning


def votes(seed=0, n=600, n_models=5, effect=0.5, ties=0.1):
    """Votes of people, of which a fifth tell no display order."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n_models)
    left = rng.integers(n_models, size=n)
    right = (left + rng.integers(1, n_models, size=n)) % n_models
    order = rng.choice([-1.0, 0.0, 1.0], size=n, p=[0.5, 0.2, 0.3])
    y = (rng.random(n) < expit(theta[left] - theta[right] + effect * order)) * 1.0
    y[rng.random(n) < ties] = 0.5
    names = np.array([f"m{i}" for i in range(n_models)], dtype=object)
    shown = np.select([order > 0, order < 0], ["model_a", "model_b"], None)
    X = pd.DataFrame(
        {"model_a": names[left], "model_b": names[right], "shown_first": shown}
    )
    return X, y, order, rng.exponential(size=n)


def design(X, order, models):
    """Score contrasts in a basis of zero sums, then the order column."""
    eye = np.eye(len(models))
    place = {model: i for i, model in enumerate(models)}
    a, b = (eye[X[c].map(place)] for c in ("model_a", "model_b"))
    basis = null_space(np.ones((1, len(models))))
    return np.column_stack([(a - b) @ basis, order]), basis


def sandwich(Z, y, weight, coef, kind, groups=None):
    p = expit(Z @ coef)
    inverse = np.linalg.inv(Z.T @ (Z * (weight * p * (1 - p))[:, None]))
    if kind == "fisher":
        return inverse
    rows = Z * (weight * (y - p))[:, None]
    if groups is not None:
        rows = np.array([rows[groups == g].sum(axis=0) for g in np.unique(groups)])
    return inverse @ rows.T @ rows @ inverse


# scikit-learn 1.8 warns of an infinite C, which leaves the penalty out in 1.9, too.
@pytest.mark.filterwarnings("ignore:Setting penalty=None will ignore the C")
@pytest.mark.parametrize("kind", ["sandwich", "fisher", "clustered"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_it_is_logistic_regression_with_an_order_column(kind, is_weighted):
    X, y, order, weight = votes()
    weight = weight if is_weighted else np.ones(len(y))
    groups = np.arange(len(y)) // 3 if kind == "clustered" else None
    btl = BTLRegressor(position_effect=True, covariance=kind).fit(
        X, y, weight if is_weighted else None, groups=groups
    )
    Z, basis = design(X, order, btl.models_)
    # A tie is half a win and half a loss.
    peer = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=500)
    peer.fit(
        np.vstack([Z, Z]),
        np.repeat([1, 0], len(y)),
        np.r_[weight * y, weight * (1 - y)],
    )
    coef = peer.coef_[0]
    assert_allclose(btl.scores_, basis @ coef[:-1], atol=2e-6)
    assert btl.position_effect_ == pytest.approx(coef[-1], abs=2e-6)
    exact = np.append(basis.T @ btl.scores_, btl.position_effect_)
    expected = sandwich(Z, y, weight, exact, kind, groups)
    assert_allclose(
        btl.covariance_, basis @ expected[:-1, :-1] @ basis.T, rtol=1e-6, atol=1e-12
    )
    assert btl.position_effect_error_ == pytest.approx(expected[-1, -1] ** 0.5)


def test_the_score_equations_hold():
    X, y, order, weight = votes(1)
    btl = BTLRegressor(position_effect=True).fit(X, y, weight)
    Z, _ = design(X, order, btl.models_)
    residual = weight * (y - btl.win_probability(X))
    assert_allclose(Z.T @ residual, 0.0, atol=1e-9)


def test_a_ridge_limits_scores_alone():
    X, y, order, _ = votes(2)
    btl = BTLRegressor(position_effect=True, alpha=0.05).fit(X, y)
    Z, basis = design(X, order, btl.models_)
    slope = Z.T @ (y - btl.win_probability(X)) / len(y)
    assert_allclose(slope[:-1], 0.05 * basis.T @ btl.scores_, atol=1e-10)
    assert slope[-1] == pytest.approx(0.0, abs=1e-10)


def test_display_and_sides_may_be_swapped():
    X, y, _, _ = votes(3)
    btl = BTLRegressor(position_effect=True).fit(X, y)
    turned = {"model_a": "model_b", "model_b": "model_a"}
    # The other side was shown first: the effect changes its sign.
    other = BTLRegressor(position_effect=True).fit(X.replace(turned), y)
    assert_allclose(other.scores_, btl.scores_, atol=1e-9)
    assert other.position_effect_ == pytest.approx(-btl.position_effect_)
    assert_allclose(other.covariance_, btl.covariance_, atol=1e-12)
    # The sides change places: nothing changes.
    same = BTLRegressor(position_effect=True).fit(
        X.rename(columns=turned).replace({"shown_first": turned}), 1.0 - y
    )
    assert_allclose(same.scores_, btl.scores_, atol=1e-9)
    assert same.position_effect_ == pytest.approx(btl.position_effect_)


def test_off_by_default_and_zero_without():
    X, y, _, _ = votes(4)
    btl = BTLRegressor().fit(X, y)
    assert btl.position_effect_ == btl.position_effect_error_ == 0.0
    X["shown_first"] = None
    assert_allclose(BTLRegressor().fit(X, y).scores_, btl.scores_)


def test_predictions_know_the_display():
    X, y, order, _ = votes(5)
    btl = BTLRegressor(position_effect=True).fit(X, y)
    plain = btl.transform(X).logits()
    p = btl.win_probability(X)
    assert_allclose(p, expit(plain + btl.position_effect_ * order))
    assert btl.score(X, y) > BTLRegressor().fit(X, y).score(X, y)


def test_a_fit_of_the_order_that_does_not_settle_is_told():
    X, y, _, _ = votes(effect=4.0, ties=0.0, n=3000)
    n_iter = BTLRegressor().fit(X, y).n_iter_
    with pytest.warns(ConvergenceWarning, match="did not converge in"):
        btl = BTLRegressor(position_effect=True, max_iter=n_iter).fit(X, y)
    assert not btl.converged_
    assert BTLRegressor(position_effect=True).fit(X, y).n_iter_ > 2 * n_iter


def test_one_step_may_be_all():
    X, y, _, _ = votes(4)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1"):
        btl = BTLRegressor(max_iter=1).fit(X, y)
    assert btl.n_iter_ == 1
    with pytest.raises(ValueError, match="'max_iter' parameter of BTLRegressor must"):
        BTLRegressor(max_iter=0).fit(X, y)


def test_models_without_a_limit_keep_an_infinite_error():
    X, y, _, _ = votes(6)
    extra = pd.DataFrame(
        {"model_a": ["champion"] * 4, "model_b": ["m0", "m1"] * 2,
         "shown_first": ["model_a", "model_b"] * 2}
    )  # fmt: skip
    with pytest.warns(SeparationWarning):
        btl = BTLRegressor(position_effect=True).fit(
            pd.concat([X, extra]), np.r_[y, np.ones(4)]
        )
    known = BTLRegressor(position_effect=True).fit(X, y)
    assert np.isinf(btl.standard_errors_["champion"])
    # Whom wins alone place says nothing of the others, nor of the display.
    assert_allclose(btl.scores_[known.models_], known.scores_, atol=1e-8)
    assert btl.position_effect_ == pytest.approx(known.position_effect_)
    assert btl.position_effect_error_ == pytest.approx(known.position_effect_error_)


def test_a_display_that_votes_do_not_tell_is_refused():
    X, y, _, _ = votes(7)
    with pytest.raises(BattlesError, match="do not show models in both orders"):
        BTLRegressor(position_effect=True).fit(X.assign(shown_first=None), y)
    two = pd.DataFrame({"model_a": ["x"] * 4, "model_b": ["y"] * 4})
    with pytest.raises(BattlesError, match="do not show models in both orders"):
        BTLRegressor(position_effect=True).fit(two, [1, 1, 1, 0])


def test_a_display_that_settles_every_vote_is_refused():
    two = pd.DataFrame({"model_a": ["x", "y"] * 4, "model_b": ["y", "x"] * 4})
    with pytest.raises(BattlesError, match="no finite value"):
        BTLRegressor(position_effect=True).fit(two, [1] * 8)


def test_outcomes_without_noise_get_the_errors_of_votes():
    two = pd.DataFrame({"model_a": ["x", "y"] * 2, "model_b": ["y", "x"] * 2})
    with pytest.warns(UserWarning, match="independent votes"):
        btl = BTLRegressor(position_effect=True).fit(two, [0.5] * 4)
    assert btl.position_effect_error_ == pytest.approx(1.0)
    assert btl.standard_errors_.to_numpy() == pytest.approx(0.5)


@pytest.mark.parametrize("method", [AnchorPipeline, HumanOnly])
def test_methods_that_take_people_without_it_say_so(method):
    X, y, _, _ = votes(8)
    with pytest.raises(ValueError, match="position_effect=False in btl"):
        method(btl=BTLRegressor(position_effect=True)).fit(X, y)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_slopes_of_the_loss_are_the_gradient(ridge):
    X, y, order, weight = votes()
    sides = tuple(pd.factorize(X[c], sort=True)[0] for c in ("model_a", "model_b"))
    counts = OrderCounts.from_rows(sides, order, y, weight, 5)
    problem = OrderedBTL.of(counts, ridge)
    at, step = np.random.default_rng(1).normal(size=6), 1e-6
    slopes = [
        (problem.at(at + d).loss() - problem.at(at - d).loss()) / (2.0 * step)
        for d in step * np.eye(len(at))
    ]
    assert_allclose(problem.at(at).gradient(), slopes, atol=1e-8)


def test_the_effect_is_that_of_people_alone():
    X, y, order, weight = votes()
    btl = BTLRegressor(position_effect=True).fit(X, y, weight)
    gap = (X["model_a"].map(btl.scores_) - X["model_b"].map(btl.scores_)).to_numpy()
    people = gap + btl.position_effect_ * order
    assert_allclose(btl.win_probability(X.assign(judge="human")), expit(people))
    assert_allclose(btl.win_probability(X.assign(judge="gpt")), expit(gap))
