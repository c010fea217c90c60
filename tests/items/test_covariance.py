"""The covariance of the item effects, known or estimated."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from item_battles import known_items, random_effects, set_covariance
from learners import Wrapped
from numpy.testing import assert_allclose
from scipy.stats import norm
from tables import liked, quiet

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    Comparisons,
    JudgeCalibrator,
    RieszDebiaser,
)
from skanchor._crossfit.fits import with_item_effects
from skanchor._crossfit.stages import Stages, fit_stages
from skanchor._model.item_effects import ITEM_PRIOR
from skanchor._sample.admission import admit_to_ranking
from skanchor._sample.sample import Sample
from skanchor.bias import LinearBias
from skanchor.bias.protocol import LastStage
from skanchor.exceptions import ConvergenceWarning
from skanchor.results.intervals import satterthwaite, t_quantile
from skanchor.simulation import simulate_battles
from skanchor.warning_log import WarningLog


def test_copies_in_a_group_show_no_more_deviations():
    data = liked(seed=4)
    X = data.X[["model_a", "model_b", "judge"]]
    # Jointly fitted, copies of verdicts have more say in the scores beside votes.
    once = random_effects(X, data.y, historical_fit="two-step")
    rows = np.repeat(np.arange(len(X)), np.where(X.judge == "human", 1, 3))
    copies = X.iloc[rows].reset_index(drop=True)
    again = random_effects(copies, data.y[rows], groups=rows, historical_fit="two-step")
    assert_allclose(again.item_covariance_, once.item_covariance_, rtol=1e-5)
    p = [a.result_.diagnostics.item_p for a in (once, again)]
    assert_allclose(*p, rtol=1e-6)


def stages_of(X, y, bias):
    """The fit without item effects, as stages and as one vector."""
    sample = admit_to_ranking(
        Sample.from_battles(Comparisons.from_battles(X), y, None), None
    )
    stages = Stages(BTLRegressor(), JudgeCalibrator(bias), ArrivalScorer(), None)
    reference = fit_stages(stages, sample)
    return reference, reference.fit


def judges_of_few_rows(seed=0):
    """Twenty judges of about ten historical rows each; scores separate some of them."""
    data = liked(seed, n_judges=20, n_historical=400, n_new=60, item_sd=0.5)
    first = np.random.default_rng(seed).choice(["model_a", "model_b"], len(data.X))
    X = data.X[["model_a", "model_b", "judge"]].assign(shown_first=first)
    return X.reset_index(drop=True), data.y


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
@pytest.mark.parametrize("joint", [False, True])
def test_item_effects_of_judges_of_few_rows_settle(joint):
    """Beside them a judge that scores separate would run away, and all with it."""
    reference, _ = stages_of(*judges_of_few_rows(1), None)
    items = known_items(ITEM_PRIOR.sd**2 * np.eye(len(reference.X.judges)))
    with WarningLog() as log:
        result = with_item_effects(replace(reference, is_joint=joint), items).fit
    assert not [w for w in log.warnings if isinstance(w, ConvergenceWarning)]
    assert np.isfinite(result.fit.x).all()
    assert np.abs(result.fit.x[result.layout.sensitivities]).max() <= 20.0


def test_an_estimated_covariance_widens_the_interval(monkeypatch):
    """Beside the same covariance if it is known: by a factor, and by the t law."""
    data = liked(n_models=8, n_historical=2000, item_sd=0.4)
    learned = AnchorPipeline(cv=3, item_effects="random", random_state=0)
    learned.fit(data.X, data.y)
    set_covariance(monkeypatch, learned.item_covariance_)
    estimated = AnchorPipeline(cv=3, item_effects="random", random_state=0)
    estimated.fit(data.X, data.y)
    assert_allclose(learned.scores_, estimated.scores_)
    parts = learned.variance_["items"] / estimated.variance_["items"]
    assert 1.05 < parts.iloc[0] < 3.0
    half = {}
    for name, anchor in (("learned", learned), ("given", estimated)):
        # Of symmetric intervals, as where the scale of the scores is known.
        low, high = replace(anchor.result_, scale_z=np.inf).conf_int().iloc[0]
        half[name] = (high - low) / 2.0 / anchor.standard_errors_.iloc[0]
    assert half["given"] == pytest.approx(norm.ppf(0.975))
    # At most six degrees of freedom of eight models, and two of the prior.
    most = satterthwaite(
        learned.standard_errors_.to_numpy() ** 2,
        learned.variance_["items"].to_numpy(),
        8.0,
    )
    assert half["learned"] > t_quantile(0.95, most)[0] - 1e-9 > norm.ppf(0.975) + 0.02


@pytest.mark.filterwarnings("ignore:.*has a flexible learner")
def test_a_last_stage_is_as_good_as_a_span():
    class Staged(Wrapped):
        def last_stage(self, pairs, weight):
            inner = self.inner_
            return LastStage(inner.span(pairs), inner.ridge(pairs, weight), inner.coef_)

        def rejoined(self, coef):
            other = copy(self)
            other.inner_ = copy(self.inner_)
            other.inner_.coef_ = coef
            return other

    data = liked(seed=1)
    span, staged = (
        AnchorPipeline(
            calibrator=JudgeCalibrator(bias), debiaser=RieszDebiaser(),
            cv=2, item_effects="random", historical_fit="two-step", random_state=0,
        ).fit(data.X, data.y)
        for bias in (LinearBias(), Staged())
    )  # fmt: skip
    assert_allclose(staged.item_covariance_, span.item_covariance_, rtol=1e-9)
    assert_allclose(staged.conf_int(), span.conf_int(), atol=2e-3)
    p = [a.result_.diagnostics.item_p for a in (span, staged)]
    assert_allclose(*p, rtol=1e-9)


def test_the_own_deviation_of_a_new_model_gives_the_error_of_the_scale(monkeypatch):
    """With many rows, as in calibration by a line: v (1 + 1/K + s^2 / |theta|^2)."""
    data = simulate_battles(
        40_000, 8_000, n_models=4, n_judges=1, rho=0.0, new_score=2.0, random_state=0
    )
    X = data.X[["model_a", "model_b", "judge"]]
    set_covariance(monkeypatch, 0.09)
    anchor = AnchorPipeline(cv=2, item_effects="random", random_state=0)
    quiet(anchor.fit, X, data.y)
    solution, result = anchor.debiaser_.solution_, anchor.result_
    variance, errors = solution.own_item_variance, solution.item_errors
    assert_allclose(variance, np.einsum("mii->i", errors**2), rtol=1e-10)
    new = np.flatnonzero(result.is_new)[0]
    theta = result.all_scores.to_numpy()
    square = np.sum(theta[~result.is_new] ** 2)
    expected = variance[new] * (1.0 + 1.0 / 4.0 + theta[new] ** 2 / square)
    assert_allclose(solution.weights.item_covariance[new, new], expected, rtol=0.1)
