"""Many judges: by blocks, as by dense matrices; and one correlation of all pairs."""

import functools

import numpy as np
import pytest
from item_battles import set_covariance
from numpy.testing import assert_allclose

from skanchor import (
    AnchorHistory,
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    _treatments,
)
from skanchor._admission import admit_to_ranking
from skanchor._chain import fit_stages
from skanchor._items._blocks import BlockRows
from skanchor._items._expansion import DenseRows
from skanchor._items._likelihood import ItemLikelihood
from skanchor._numerics import arrow_information, item_covariance, linalg
from skanchor._numerics.item_covariance import inflation
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.shrinkage import Shrinkage
from skanchor._stages import Stages
from skanchor.exceptions import DataWarning
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles

pytestmark = [
    pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::skanchor.exceptions.WeakJudgeWarning"),
]
N_JUDGES = 12


@functools.cache
def crowd(n_judges=N_JUDGES, n_models=6, rows=120, item_sd=0.4):
    return simulate_battles(
        n_historical=rows * n_judges,
        n_new=20 * n_judges,
        n_models=n_models,
        n_judges=n_judges,
        item_sd=item_sd,
        random_state=3,
    )


def common(n_judges=N_JUDGES):
    """A covariance with one correlation of all pairs."""
    scale = np.linspace(0.2, 0.5, n_judges)
    found = 0.3 * np.outer(scale, scale)
    np.fill_diagonal(found, scale**2)
    return found


def fit(data, **params):
    return AnchorPipeline(**{"cv": 3, "random_state": 0} | params).fit(data.X, data.y)


@pytest.fixture
def dense(monkeypatch):
    """Makes all fits dense, once it is called."""

    def choose():
        for module in (linalg, arrow_information, item_covariance):
            monkeypatch.setattr(module, "MANY_JUDGES", 10**9)

    return choose


@pytest.mark.parametrize("item_effects", [None, "random"])
def test_a_fit_by_blocks_is_the_dense_fit(item_effects, dense, monkeypatch):
    set_covariance(monkeypatch, common())
    data = crowd()
    found = fit(data, item_effects=item_effects)
    dense()
    known = fit(data, item_effects=item_effects)
    # Fits of training sets stop before rounding does: at 1e-8 of a standard error.
    close = functools.partial(assert_allclose, rtol=1e-9, atol=1e-9)
    for name in ("scores", "variance"):
        close(getattr(found.result_, name), getattr(known.result_, name))
    close(found.conf_int(), known.conf_int())
    information = (np.linalg.inv(one.debiaser_.information_) for one in (found, known))
    at = found.debiaser_.system_.layout.at["scores"]
    close(*(one[at, at] for one in information))
    own = functools.partial(getattr, known.result_.diagnostics)
    for name in ("judges", "models", "deviations"):
        close(getattr(found.result_.diagnostics, name), own(name))
    if item_effects is not None:
        errors = (one.debiaser_.system_.item_errors() for one in (found, known))
        close(*errors)


@pytest.fixture(scope="module")
def rows_of_crowd():
    """Likelihood of the rows with item effects, at the plug-in of all rows."""
    data = crowd()
    sample = admit_to_ranking(Sample.admit(data.X, data.y), None)
    stages = Stages(BTLRegressor(), JudgeCalibrator(), ArrivalScorer(), None)
    chain = fit_stages(stages, sample)
    return ItemLikelihood(sample.with_battles(chain.X), chain.calibrator)


def test_moments_by_blocks_are_those_of_the_dense_expansion(rows_of_crowd):
    model, known = rows_of_crowd, common()
    blocks, dense = BlockRows(model).quadratic(known), DenseRows(model).quadratic(known)
    assert blocks.is_mode and dense.is_mode
    assert_allclose(blocks.slopes, dense.slopes, atol=1e-9)
    # Under this covariance, and under another one than that of the expansion.
    for covariance in (known, 2.0 * known - 0.5 * np.diag(known.diagonal())):
        precision = np.kron(np.linalg.inv(covariance), np.eye(6))
        inverse = np.linalg.inv(dense.information + precision)
        means = (inverse @ dense.target).reshape(N_JUDGES, -1)
        by_item = inverse.reshape(N_JUDGES, 6, N_JUDGES, 6)
        expected = means @ means.T + np.einsum("mini->mn", by_item)
        sums, shown = blocks.moments(covariance)
        assert_allclose(sums, expected, atol=1e-9)
        left = np.trace(np.einsum("mini->mn", by_item)) / np.trace(covariance) / 6
        assert_allclose(shown, 1.0 - left, atol=1e-9)
        share = dense.free_share(covariance)
        assert_allclose(blocks.free_share(covariance), share, atol=1e-9)


def test_inflation_of_one_correlation_needs_no_matrix_by_draw(dense):
    seen = np.arange(N_JUDGES) % 4 > 0
    slopes = np.linspace(0.5, 2.0, N_JUDGES)
    asked = common(), Shrinkage(0.0, 0.3), slopes, seen, 14.0
    found = inflation(*asked)
    dense()
    assert_allclose(found, inflation(*asked), rtol=1e-12)
    assert found[0] > 1.0


@pytest.mark.filterwarnings("ignore:The 40 judges have 42 verdicts each")
def test_many_judges_get_one_correlation_and_are_told(monkeypatch):
    """And no matrix that is factorised grows with judges times models."""
    data = crowd(n_judges=40, rows=60)
    sizes = []
    plain = SymmetricSolver.factorise.__func__

    def counted(cls, matrix):
        sizes.append(len(matrix))
        return plain(cls, matrix)

    monkeypatch.setattr(_treatments, "MOST_PAIRED", 239)
    monkeypatch.setattr(SymmetricSolver, "factorise", classmethod(counted))
    with pytest.warns(DataWarning, match="40 judges and 6 historical models have too"):
        anchor = fit(data)
    assert anchor.item_effects_ == "random"
    assert max(sizes) < 2 * 40 < 40 * 6
    covariance = anchor.item_covariance_
    scale = np.sqrt(covariance.diagonal())
    pairs = (covariance / np.outer(scale, scale))[~np.eye(40, dtype=bool)]
    assert_allclose(pairs, pairs[0], atol=1e-12)
    assert 0.0 < pairs[0] < 0.95 and np.ptp(scale) > 0.0
    # What is drawn has deviations of .4.
    assert 0.2 < scale.mean() < 0.8
    # A history places new models by the same blocks.
    history = AnchorHistory(AnchorPipeline(cv=3, random_state=0))
    new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1).to_numpy()
    with pytest.warns(DataWarning, match="too many item effects"):
        history.fit(data.X[~new], data.y[~new])
    assert history is not None
