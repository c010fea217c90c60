"""Information of all parameters: the identities, and a dense reference."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from planning_fits import NAMES, fitted, forecast
from scipy.special import expit

from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.parameters import PEOPLE


def dense_rows(anchor):
    """Columns of all rows on all parameters, w V, and the rows they are of."""
    sample = anchor._distinct_sample
    X = sample.X
    K, M, n = len(X.models), len(X.judges), len(X)
    S = X.rows.selectors
    L = None if X.item_covariance is None else covariance_factor(X.item_covariance)
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


@pytest.mark.parametrize("name", NAMES)
def test_the_information_is_a_sum_over_rows(name):
    *_, X, solved, targets = dense_rows(fitted(name))
    found = forecast(name).information
    scores = found.targets(np.eye(len(X.models)))
    variance = scores.T @ found.weights(scores)
    assert_allclose(variance, targets.T @ solved, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_gains_are_the_mean_of_v_a_squared(name):
    """Of the rows that are there, by the weights that the debiaser gives them."""
    anchor, found = fitted(name), forecast(name)
    sample, system = anchor._distinct_sample, anchor.debiaser_
    x, weight, X, solved, _ = dense_rows(anchor)
    targets = found.information.targets(np.eye(len(X.models)))
    w = found.information.weights(targets)
    a = system.weights(X)
    used = (weight > 0) & X.involves_new
    assert_allclose(x[used] @ solved, a[used], atol=1e-8)
    assert np.abs(a[used]).max() > 1e-4
    times = np.ones(len(X)) if sample.multiplicity is None else sample.multiplicity
    has_features = X.features_left.shape[1] > 0
    for m, kinds in found.kinds.items():
        gains = kinds.gains(found.information.local(w, m))
        for q in np.flatnonzero(kinds.n_rows):
            i, j = kinds.model[q], kinds.opponent[q]
            rows = (X.judge == m) & used
            rows &= ((X.left == i) & (X.right == j)) | ((X.left == j) & (X.right == i))
            assert times[rows].sum() == kinds.n_rows[q]
            total = weight[rows] @ a[rows] ** 2
            if has_features and m != PEOPLE:
                assert_allclose(gains[q], total / kinds.n_rows[q], rtol=1e-9)
            # What is there adds up in any case.
            own = found.information.sum({m: kinds[[q]].gram(kinds[[q]].seen)})
            assert_allclose(np.einsum("it,ij,jt->t", w, own, w), total, rtol=1e-8)


@pytest.mark.parametrize("name", [*NAMES, "splines and ridge"])
def test_gain_is_the_derivative_of_the_variance(name):
    found = forecast(name).information
    kinds = forecast(name).kinds
    new = forecast(name).models[forecast(name).is_new][0]
    targets = forecast(name).targets([(new, None)]).vectors
    w = found.weights(targets)
    for m, own in kinds.items():
        for q in (0, len(own) - 1):
            one = own[[q]]
            unit = found.sum({m: one.bought(1.0)})
            step = 1e-3
            low, high = (
                float(np.sum(found.split(targets, found.weights(targets, t * unit))))
                for t in (-step, step)
            )
            (gain,) = one.gains(found.local(w, m))[0]
            assert_allclose((low - high) / (2 * step), gain, rtol=1e-5)


@pytest.mark.parametrize("name", ["paper", "default", "two new models"])
def test_verdicts_without_end_leave_the_lower_bound(name):
    """Without item effects; of verdicts on the new model alone."""
    found, result = forecast(name), fitted(name).result_
    for model in found.models[found.is_new].tolist():
        target = found.targets([(model, None)])
        judges = [m for m in found.kinds if m != PEOPLE]
        kinds = {m: found.offered(m, model).bought(1.0) for m in judges}
        sampling, items = found.split(target, 0.0, found.information.sum(kinds))
        bound = result.lower_bound[result.models.tolist().index(model)]
        assert_allclose(sampling, bound, rtol=1e-8)
        assert items == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_the_limit_is_approached(name):
    found = forecast(name)
    model = found.models[found.is_new][0]
    target = found.targets([(model, None)])
    for sources in ([PEOPLE], [0], [m for m in found.kinds if m != PEOPLE]):
        unit = found.information.sum(
            {m: found.offered(m, model).bought(1.0) for m in sources}
        )
        end = np.sum(found.split(target, 0.0, unit))
        many, more = (np.sum(found.split(target, n * unit)) for n in (1e5, 1e6))
        assert end <= more * (1 + 1e-9) < many * (1 + 2e-9)
        # What is above the limit falls as one over the number.
        assert_allclose(more - end, (many - end) / 10.0, rtol=0.05, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_today_is_what_is_reported(name):
    found, result = forecast(name), fitted(name).result_
    model = result.models[result.is_new][0]
    target = found.targets([(model, None), (model, found.models[~found.is_new][2])])
    variance, items = target.parts(found.split(target))
    table = result.contrasts()
    assert_allclose(
        np.sqrt(variance),
        [
            result.standard_errors[model],
            table.loc[(model, found.models[~found.is_new][2]), "standard_error"],
        ],
    )
    assert_allclose(items[0], result.variance["items"][model], atol=1e-15)
    # Between the two formulas there is the noise of a sandwich, and no more.
    assert (abs(target.sampling_factor - 1.0) < 0.2).all()
