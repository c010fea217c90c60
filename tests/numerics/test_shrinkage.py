"""Moments that are shrunk towards judges that are alike."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics.item_evidence import ItemEvidence
from skanchor._numerics.shrinkage import (
    Shrinkage,
    _share_prior,
    choose_shrinkage,
    shrink,
)


def test_shrinkage_keeps_what_judges_have_in_common():
    alike = 0.2 * (0.7 * np.eye(3) + 0.3)
    for kept in (Shrinkage(0.0, 0.0), Shrinkage(0.3, 0.8), Shrinkage(1.0, 1.0)):
        assert_allclose(shrink(alike, kept), alike)
    assert shrink(np.array([[0.4]]), Shrinkage()) == 0.4
    odd = np.diag([1.0, 0.0, 0.0])
    got = np.diag(shrink(odd, Shrinkage(0.5, 0.5)))
    assert got[0] < 1.0 and (got[1:] > 0).all()
    assert_allclose(shrink(odd + 0.1, Shrinkage(1.0, 1.0)), odd + 0.1)


def test_where_rows_say_nothing_the_prior_decides():
    def chosen(n_items, n_judges):
        nothing = ItemEvidence(
            np.zeros((n_items, n_judges, n_judges)), np.zeros((n_items, n_judges))
        )
        covariance = 0.1 * (np.eye(n_judges) + 0.5)
        return choose_shrinkage(nothing, covariance, np.ones(n_judges))

    # Half of the own correlation would be believed at the items that a covariance
    # takes and the two that fix the scale: six and, of five judges, eight.
    found = {n: chosen(n, 3).own_correlation for n in (3, 5, 7, 9, 20)}
    assert found == {3: 0.0, 5: 0.25, 7: 0.75, 9: 0.95, 20: 0.95}
    assert [chosen(n, 5).own_correlation for n in (7, 9)] == [0.25, 0.5]
    # Two judges have one correlation, which may be negative; few items do not show it.
    assert {n: chosen(n, 2).own_correlation for n in (3, 20)} == {3: 0.0, 20: 0.95}
    # Half of the own variance at ten items, whatever the number of judges.
    for n_judges in (2, 5):
        assert chosen(10, n_judges).own_variance == 0.5
        assert (
            chosen(4, n_judges).own_variance < 0.5 < chosen(40, n_judges).own_variance
        )


@pytest.mark.parametrize("n_items", [3, 8, 30])
def test_shares_have_the_probability_of_what_is_nearest(n_items):
    shares = tuple(np.linspace(0.0, 1.0, 401).tolist())
    weights = np.exp(_share_prior(shares, n_items, 5.0, 6.0))
    assert_allclose(weights.sum(), 1.0)
    assert_allclose(weights @ shares, (n_items - 2) / (n_items + 3), atol=1e-4)


def test_what_the_judges_predict_is_a_ratio_of_two_densities():
    rng = np.random.default_rng(0)
    precision = rng.normal(size=(5, 3, 3))
    precision = precision @ precision.transpose(0, 2, 1)
    evidence = ItemEvidence(precision, rng.normal(size=(5, 3)))
    roots, direction = np.tril(rng.normal(size=(4, 5, 3, 3))), np.array([1.0, 0.4, 2.0])

    def log_density(Q, q, root):
        spread = np.eye(3) + root.T @ Q @ root
        explained = root.T @ q @ np.linalg.solve(spread, root.T @ q)
        return 0.5 * (explained - np.linalg.slogdet(spread)[1])

    found = evidence.predictive(roots, direction)
    for i, (Q, q) in enumerate(zip(precision, evidence.linear, strict=True)):
        pull = Q @ direction
        amount = direction @ pull
        alone = Q - np.outer(pull, pull) / amount, q - pull * (q @ direction) / amount
        for root, value in zip(roots[:, i], found[:, i], strict=True):
            expected = log_density(Q, q, root) - log_density(*alone, root)
            assert_allclose(value, expected, atol=1e-10)
