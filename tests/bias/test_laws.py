"""Laws that every learner obeys: sides, weights, units, exact parametric columns."""

from importlib.util import find_spec

import numpy as np
import pytest
from learners import check_last_stage, make_pairs, true_logits
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skanchor._battles import FeaturePairs
from skanchor.bias import BoostedBias, LinearBias, NetworkBias

SCALED = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))
LINEAR = {
    "linear": LinearBias(alpha=0.01),
    "scaled": LinearBias(StandardScaler(), alpha=0.01),
    "splines": LinearBias(SplineTransformer(n_knots=4), alpha=0.01),
    "squares": LinearBias(SCALED, alpha=0.01),
}
FLEXIBLE = {
    "boosted": BoostedBias(max_rounds=10),
    "tree": BoostedBias(DecisionTreeRegressor(max_depth=3), max_rounds=10),
}
if find_spec("torch") and find_spec("skorch"):
    FLEXIBLE["network"] = NetworkBias(max_epochs=2, module__width=8, alpha=0.1)


def of(learners):
    """The learners by name; those of torch carry its mark."""
    return [
        pytest.param(one, id=name, marks=[pytest.mark.torch] * (name == "network"))
        for name, one in learners.items()
    ]


every_learner = pytest.mark.parametrize("learner", of(LINEAR | FLEXIBLE))
flexible_learners = pytest.mark.parametrize("learner", of(FLEXIBLE))


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@every_learner
def test_swapping_the_sides_negates(learner, loss):
    pairs, _, y, weight = make_pairs(4)
    fit = clone(learner).set_params(loss=loss).fit(pairs, y, weight)
    mirrored = FeaturePairs(pairs.right, pairs.left)
    contrast = fit.contrast(pairs)
    assert np.std(contrast) > 0.01
    assert_allclose(fit.contrast(mirrored), -contrast, atol=1e-12)
    assert_allclose(fit.psi(pairs.left) - fit.psi(pairs.right), contrast, atol=1e-10)
    if isinstance(learner, LinearBias):
        # Others draw, so that rows that are turned round give another fit.
        fit.fit(mirrored, 1 - y if loss == "logistic" else -y, weight)
        assert_allclose(fit.contrast(pairs), contrast, atol=1e-7)


@every_learner
def test_rows_of_weight_zero_count_for_nothing(learner):
    pairs, delta, y, weight = make_pairs(5)
    weight[300:] = 0.0
    full = clone(learner).fit(pairs, y, weight, parametric=delta)
    cut = clone(learner).fit(pairs[:300], y[:300], weight[:300], parametric=delta[:300])
    assert_allclose(full.contrast(pairs), cut.contrast(pairs), atol=1e-8)
    assert_allclose(full.parametric_coef_, cut.parametric_coef_, atol=1e-8)


@every_learner
def test_parametric_columns_are_fitted_exactly(learner):
    pairs, delta, y, weight = make_pairs(3)
    fit = clone(learner).fit(pairs, y, weight, parametric=delta)
    residual = y - expit(fit.contrast(pairs) + delta @ fit.parametric_coef_)
    assert abs(weight @ (residual * delta[:, 0])) / weight.sum() < 1e-6
    assert fit.converged_ and not fit.at_bound_.any()
    fit = clone(learner).fit(pairs, y, weight, parametric=delta, bounds=(-0.2, 0.3))
    assert fit.parametric_coef_[0] == 0.3 and fit.at_bound_[0]


@every_learner
def test_a_constant_column_changes_nothing(learner):
    pairs, delta, y, weight = make_pairs(6)
    ones = np.ones((len(pairs), 1))
    padded = FeaturePairs(np.hstack([pairs.left, ones]), np.hstack([pairs.right, ones]))
    once = clone(learner).fit(pairs, y, weight, parametric=delta)
    again = clone(learner).fit(padded, y, weight, parametric=delta)
    # The width of a network's default body, and its draws, grow with the features.
    if isinstance(learner, NetworkBias):
        assert again.coef_[3] == 0.0
    elif getattr(learner, "feature_map", None) is not SCALED:
        assert_allclose(again.contrast(padded), once.contrast(pairs), atol=1e-8)


@flexible_learners
def test_more_features_than_rows(learner):
    pairs, delta, y, _ = make_pairs(9, n=40, d=60)
    fit = clone(learner).fit(pairs, y, parametric=delta)
    assert fit.converged_ and np.isfinite(fit.contrast(pairs)).all()


@flexible_learners
def test_the_last_stage_is_linear_in_its_coefficients(learner):
    pairs, delta, y, weight = make_pairs(3)
    fit = clone(learner).fit(pairs, y, weight, parametric=delta)
    check_last_stage(fit, pairs, weight)


@flexible_learners
def test_learns_what_a_line_cannot(learner):
    pairs, delta, y, weight = make_pairs(1, n=1500)
    fresh, fresh_delta, fresh_y, _ = make_pairs(101, n=1500)

    def loss(eta):
        return np.mean(np.logaddexp(0, eta) - fresh_y * eta)

    def fitted_loss(one):
        one.fit(pairs, y, weight, parametric=delta)
        return loss(one.contrast(fresh) + fresh_delta @ one.parametric_coef_)

    flexible = clone(learner)
    if isinstance(learner, NetworkBias):
        flexible.set_params(max_epochs=15, lr=0.01, module__width=60)
    else:
        flexible.set_params(max_rounds=100)
    best, line = loss(true_logits(fresh, fresh_delta)), fitted_loss(LinearBias())
    assert fitted_loss(flexible) - best < 0.55 * (line - best)
    assert 0.9 < flexible.parametric_coef_[0] < 1.6
