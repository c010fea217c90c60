"""Information of all parameters: the identities, and a dense reference."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from readout_fits import NAMES, fitted, plan
from scipy.linalg import block_diag, helmert
from scipy.special import expit

from skanchor import AnchorPipeline
from skanchor._battles import FeaturePairs
from skanchor.readouts import Plan
from skanchor.simulation import simulate_battles


def dense_rows(anchor):
    """Columns of all rows on all parameters, w V, and the rows they are of."""
    sample = anchor._distinct_sample
    X = sample.X
    K, M, n = len(X.models), len(X.judges), len(X)
    # New scores are free, and the others sum to zero.
    S = block_diag(np.eye(X.is_new.sum()), helmert((~X.is_new).sum()).T)
    S = S[np.argsort(np.argsort(~X.is_new, kind="stable"), kind="stable")]
    L = None
    if X.item_covariance is not None:
        values, vectors = np.linalg.eigh(X.item_covariance)
        L = vectors * np.sqrt(np.maximum(values, 0.0))
    V = expit(X.logits()) * expit(-X.logits())
    E = np.zeros((n, K))
    E[np.arange(n), X.left] += 1
    E[np.arange(n), X.right] -= 1
    contrast = X.features_left - X.features_right
    blocks = {"scores": [], "c": [], "p": [], "b": [], "v": []}
    slope = np.where(X.judge < 0, 1.0, np.append(X.sensitivities, 1.0)[X.judge])
    blocks["scores"] = slope[:, None] * (E @ S)
    is_of = np.equal.outer(X.judge, np.arange(M)).astype(float)
    blocks["c"] = is_of * (E @ X.scores)[:, None]
    blocks["p"] = is_of * X.order[:, None]
    if X.position_effects is None:
        blocks["p"] = np.empty((n, 0))
    blocks["b"] = np.hstack([is_of[:, [m]] * contrast for m in range(M)])
    blocks["v"] = np.empty((n, 0))
    if L is not None:
        # u = L v: v of judge a enters the rows of judge m with L[m, a].
        blocks["v"] = np.hstack([(is_of @ L)[:, [a]] * E for a in range(M)])
    widths = [block.shape[1] for block in blocks.values()]
    x, weight = np.hstack(list(blocks.values())), sample.weight * V
    information = x.T @ (weight[:, None] * x)
    stops = np.cumsum(widths)
    tail = np.arange(stops[3], stops[4])
    information[tail, tail] += 1.0
    # A ridge of the bias functions is on the diagonal of their block.
    prior, layout = anchor.debiaser_.solution_.prior, anchor.debiaser_.solution_.layout
    spans = [np.diag(prior)[layout.span(1 + m)] for m in range(M)]
    b = np.arange(stops[2], stops[3])
    information[b, b] += np.concatenate(spans)
    targets = np.zeros((len(information), K))
    targets[: widths[0]] = S.T
    return x, weight, X, np.linalg.solve(information, targets), targets


def every_score(result):
    """All scores as targets, whatever the result says of them."""
    return result.targets([(model, None) for model in result.models])


@pytest.mark.parametrize("name", NAMES)
def test_gains_are_the_mean_of_v_a_squared(name):
    """Of the rows that are there, by the weights that the debiaser gives them."""
    anchor, result = fitted(name), plan(name)
    x, weight, X, solved, _ = dense_rows(anchor)
    w, a = result.weights(every_score(result)), anchor.debiaser_.weights(X)
    used = (weight > 0) & X.involves_new
    assert_allclose(x[used] @ solved, a[used], atol=1e-8)
    assert np.abs(a[used]).max() > 1e-4
    sample = anchor._distinct_sample
    times = sample.multiplicity
    gains, kinds = result.kinds.gains(w), result.kinds
    for m in result.judges:
        for model in np.array(result.models)[X.is_new]:
            verdicts, number = result.verdicts(model, m)
            i = result.models.index(model)
            rows = (X.judge == m - 1) & used & ((X.left == i) | (X.right == i))
            assert times[rows].sum() == number.sum()
            total = weight[rows] @ a[rows] ** 2
            assert_allclose(np.einsum("it,ij,jt->t", w, verdicts, w), total, rtol=1e-8)
            if not X.features_left.shape[1]:
                continue
            # With features a further row is the mean of those of its kind.
            mine = (kinds.source == m) & (kinds.model == i)
            expected = gains[mine] @ number[kinds.opponent[mine]]
            assert_allclose(expected, total.sum(), rtol=1e-9)


@pytest.mark.parametrize("name", [*NAMES, "splines and ridge"])
def test_gain_is_the_derivative_of_the_variance(name):
    result = plan(name)
    new = np.array(result.models)[result.fit.layout.is_new][0]
    target = result.targets([(new, None)])
    gains = result.kinds.gains(result.weights(target))
    for q in np.linspace(0, len(gains) - 1, 8).astype(int):
        unit = result.kinds.information(np.arange(len(gains)) == q)
        low, high = (
            target.parts(result.weights(target, step * unit)).sum()
            for step in (-1e-3, 1e-3)
        )
        assert_allclose((low - high) / 2e-3, gains[q], rtol=1e-5)


@pytest.mark.parametrize("name", ["paper", "default", "two new models"])
def test_verdicts_without_end_leave_the_lower_bound(name):
    """Without item effects; of verdicts on the new model alone."""
    actual, result = plan(name), fitted(name).result_
    for model in result.models[result.is_new].tolist():
        target = actual.targets([(model, None)])
        endless = actual.evenly(model, actual.judges)
        sampling, items = target.parts(actual.limit(target, endless))
        bound = result.lower_bound[result.models.tolist().index(model)]
        assert_allclose(sampling, bound, rtol=1e-8)
        assert items == 0.0


# ----------------------------------------------------- pairs that nobody has compared
@pytest.fixture(scope="module")
def with_gaps():
    """Judge-2 has never compared the new model with model-03, nor judge-1 at all."""
    data = simulate_battles(n_models=5, n_new=300, n_historical=1500, random_state=0)
    X = data.X
    new = (X == "new-model").any(axis=1)
    gone = new & X["judge"].eq("judge-2") & (X == "model-03").any(axis=1)
    gone |= new & X["judge"].eq("judge-1")
    y = data.y[~gone.to_numpy()]
    return AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X[~gone], y)


def test_responses_are_drawn_from_those_of_both_models(with_gaps, monkeypatch):
    few, X = with_gaps.result_.plan, with_gaps._distinct_sample.X
    # All of them, so that the mean is exact.
    monkeypatch.setattr("skanchor.readouts._kinds.DRAWS", 10_000)
    result = Plan.of(with_gaps.result_)
    new, other = (result.models.index(one) for one in ("new-model", "model-03"))
    source = result.sources.index("judge-2")
    kinds = result.kinds
    one = (kinds.source == source) & (kinds.model == new) & (kinds.opponent == other)
    assert result.verdicts("new-model", source)[1][other] == 0
    # All responses of either model that the judge has seen, each with each.
    judge = X.judges.tolist().index("judge-2")
    mine = X.judge == judge

    def responses(item):
        sides = X.features_left[mine & (X.left == item)]
        return np.vstack([sides, X.features_right[mine & (X.right == item)]])

    first, second = responses(new), responses(other)
    left = np.repeat(first, len(second), axis=0)
    right = np.tile(second, (len(first), 1))
    bias = with_gaps.calibrator_.biases_["judge-2"]
    shift = np.ravel(bias.contrast(FeaturePairs(left, right, X.feature_names)))
    eta = X.sensitivities[judge] * (X.scores[new] - X.scores[other]) + shift
    total = 0.0
    for order in (1.0, -1.0):
        p = expit(eta + order * X.position_effects[judge])
        z = np.column_stack([np.ones(len(eta)), np.full(len(eta), order), left - right])
        total = total + (z * (p * (1 - p))[:, None]).T @ z / len(eta) / 2
    # By the parameters of the judge's order and span, which no other row touches.
    layout, at = result.fit.layout, result.solution.at
    parameters = np.r_[layout.position_effects.start + source, layout.span(source)]
    places = np.searchsorted(at, parameters)
    (unit, part) = (one_plan.kinds.information(one) for one_plan in (result, few))
    exact = total[1:, 1:]
    assert_allclose(unit[np.ix_(places, places)], exact, atol=1e-10)
    # A few dozen responses of each stand for all.
    near = part[np.ix_(places, places)]
    assert_allclose(near, exact, atol=0.15 * np.abs(total).max())
