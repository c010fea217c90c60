"""Whether item effects enter a fit, and why."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tables import liked, quiet, warnings_of

from skanchor import AnchorPipeline, ArrivalScorer, BTLRegressor, JudgeCalibrator
from skanchor._crossfit import item_effects as treatments
from skanchor._crossfit.item_effects import choose_item_effects, read_prior
from skanchor._crossfit.item_test import ItemTest, ScoreTest
from skanchor._crossfit.stages import Stages, fit_stages
from skanchor._model import item_effects
from skanchor._sample.admission import admit_to_ranking
from skanchor._sample.sample import Sample
from skanchor.exceptions import BattlesError, SlowWarning
from skanchor.reports.facts import Facts
from skanchor.reports.readout import ranking
from skanchor.simulation import simulate_battles
from skanchor.warning_log import WarningLog


@pytest.mark.parametrize("item_effects", ["no", 0.1, np.eye(2)])
def test_what_is_no_treatment(item_effects):
    data = liked()
    with pytest.raises(ValueError, match="'item_effects' parameter of AnchorPipeline"):
        AnchorPipeline(item_effects=item_effects).fit(data.X, data.y)


@pytest.mark.parametrize("n_models", [2, 4])
def test_few_models_get_an_interval_that_rests_on_the_prior(n_models):
    data = liked(n_models=n_models)
    X = data.X[["model_a", "model_b", "judge"]]
    anchor = AnchorPipeline(cv=3, random_state=0)
    vague = AnchorPipeline(cv=3, random_state=0, item_prior=(0.6, 1.0))
    for one in (anchor, vague):
        quiet(one.fit, X, data.y)
    assert anchor.item_effects_ == "random"
    assert "rests on a prior" in " ".join(ranking(Facts(anchor)).to_text().split())
    assert anchor.variance_["items"].iloc[0] > 0.0
    # Fewer degrees of freedom make it longer, and so does a larger deviation.
    half = [one.conf_int().diff(axis=1)["high"].iloc[0] for one in (anchor, vague)]
    assert half[0] < half[1]
    if n_models == 2:
        # Of two models the rows show no deviation.
        sds = np.sqrt(np.diag(anchor.item_covariance_))
        assert_allclose(sds, 0.3, rtol=0.01)
        assert anchor.result_.item_df == pytest.approx(2.0)


def test_models_too_alike_to_show_sensitivities_leave_the_new_score_open():
    data = liked(n_models=2, item_sd=0.4)
    X, y = data.X[["model_a", "model_b", "judge"]], np.array(data.y)
    old = [m for m in np.unique(X[["model_a", "model_b"]]) if m != "new-model"]
    between = X[["model_a", "model_b"]].isin(old).all(axis=1)
    for wins, is_alike in ((0.57, True), (0.8, False)):
        # The first historical model wins this share of its battles with the other, by
        # people and by each judge.
        for _, rows in X[between].groupby("judge"):
            is_won = np.arange(len(rows)) < wins * len(rows)
            is_first = rows["model_a"] == old[0]
            y[rows.index] = np.where(is_first, is_won, ~is_won)
        anchor = AnchorPipeline(cv=3, random_state=0)
        message = " ".join(str(one) for one in warnings_of(lambda: anchor.fit(X, y)))  # noqa: B023
        result = anchor.standard_errors_["new-model"]
        assert np.isinf(result) == is_alike
        assert ("2 historical models are so close" in message) == is_alike


# --------------------------------------------------------------------- the choice alone
CALM, ALARMED = (ItemTest(*[ScoreTest(value, 12.0, 1e3)] * 2) for value in (12.0, 40.0))


def plugged(n_models=6, **kwargs):
    """A sample that carries the plug-in, and its fit as one vector."""
    data = liked(n_models=n_models, **kwargs)
    sample = admit_to_ranking(Sample.from_battles(data.X, data.y), None)
    stages = Stages(BTLRegressor(), JudgeCalibrator(), ArrivalScorer(), None)
    chain = fit_stages(stages, sample)
    return sample.with_battles(chain.X), chain.fit


def test_many_judges_of_few_verdicts_do_not_pass_for_judges_without_deviations():
    """Ten judges of a hundred historical rows each, as a table with all defaults."""
    data = simulate_battles(
        n_models=12, n_judges=10, n_historical=2200, n_human=1200, n_new=500, rho=0.0,
        item_sd=0.3, item_corr=0.3, random_state=5_000_003,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]]
    anchor = quiet(AnchorPipeline(cv=2, random_state=0).fit, X, data.y)
    assert anchor.result_.diagnostics.item_p > 0.2
    assert anchor.item_effects_ == "random"


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_what_all_judges_like_is_left_out_only_if_votes_rule_it_out():
    """Judges that agree on what they like look like errors of people's scores."""
    chosen = {}
    for n_human in (300, 6000):
        data = simulate_battles(
            n_historical=n_human + 6000, n_human=n_human, n_new=300, n_models=8,
            n_judges=4, rho=0.0, random_state=1,
        )  # fmt: skip
        X = data.X[["model_a", "model_b", "judge"]]
        anchor = AnchorPipeline(cv=2, random_state=0).fit(X, data.y)
        assert anchor.result_.diagnostics.item_p > 0.2
        chosen[n_human] = anchor.item_effects_
    assert chosen == {300: "random", 6000: "none"}


def test_too_many_item_effects_are_refused_with_what_helps(monkeypatch):
    sample, _ = plugged(n_judges=3)
    n_effects = len(sample.X.judges) * len(sample.X.models)
    monkeypatch.setattr(item_effects, "MOST_EFFECTS", n_effects - 1)
    for requested in ("auto", "random"):
        with pytest.raises(BattlesError, match=f"at most {n_effects - 1} are fitted"):
            choose_item_effects(requested, sample.X, ALARMED)
    # Those that the verdicts rule out need no fit.
    for requested, test in (("auto", CALM), ("none", ALARMED)):
        assert choose_item_effects(requested, sample.X, test).item_effects == "none"
    monkeypatch.setattr(item_effects, "MOST_EFFECTS", n_effects)
    assert choose_item_effects("auto", sample.X, ALARMED).item_effects == "random"


def test_what_takes_minutes_is_said_before_it_begins(monkeypatch):
    sample, _ = plugged()
    n_judges, n_models = len(sample.X.judges), len(sample.X.models)
    monkeypatch.setattr(treatments, "SECONDS", 150.0 / (n_judges * n_models) ** 3)
    # Not only once a fit has succeeded, as other warnings.
    with WarningLog() as log, pytest.warns(SlowWarning, match="takes about 2 minutes"):
        choose_item_effects("random", sample.X, CALM)
    assert not log.warnings
    assert choose_item_effects(None, sample.X, CALM).item_effects == "none"


@pytest.mark.parametrize("wrong", [0.3, (0.3,), (0.0, 2), (0.3, -1), ("a", 2), None])
def test_what_is_no_prior(wrong):
    with pytest.raises(ValueError, match=r"item_prior must be .* such as \(0.3, 2\)"):
        read_prior(wrong)
