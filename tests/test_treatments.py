"""Whether item effects enter a fit, and why."""

import warnings

import numpy as np
import pandas as pd
import pytest
from item_battles import small
from numpy.testing import assert_allclose

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    _treatments,
)
from skanchor._admission import admit_to_ranking
from skanchor._chain import fit_stages
from skanchor._diagnostics import ItemCheck
from skanchor._diagnostics._item_score_test import ScoreTest
from skanchor._stages import Stages
from skanchor._treatments import choose_item_effects, leaves_items_out, read_prior
from skanchor.exceptions import BattlesError, SlowWarning
from skanchor.reports.summary import summarize
from skanchor.reports.summary_text import summary_lines
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles
from skanchor.warning_log import WarningLog


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
@pytest.mark.parametrize(("item_sd", "chosen"), [(0.0, "none"), (0.5, "random")])
def test_the_check_decides(item_sd, chosen):
    data = small(seed=1, n_models=10, n_judges=3, n_historical=5000, item_sd=item_sd)
    anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    assert anchor.item_effects_ == chosen
    alone = AnchorPipeline(cv=3, random_state=0, item_effects=chosen)
    alone.fit(data.X, data.y)
    assert_allclose(alone.conf_int(), anchor.conf_int(), rtol=0)


def test_none_has_a_name():
    data = small()
    named = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    named.fit(data.X, data.y)
    bare = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    bare.fit(data.X, data.y)
    assert named.item_effects_ == bare.item_effects_ == "none"
    assert named.item_covariance_ is None
    assert_allclose(named.influence_, bare.influence_, rtol=0)


@pytest.mark.parametrize("item_effects", ["no", 0.1, np.eye(2)])
def test_what_is_no_treatment(item_effects):
    data = small()
    with pytest.raises(ValueError, match="'item_effects' parameter of AnchorPipeline"):
        AnchorPipeline(item_effects=item_effects).fit(data.X, data.y)


@pytest.mark.parametrize("n_models", [2, 4])
def test_few_models_get_an_interval_that_rests_on_the_prior(n_models):
    data = small(n_models=n_models)
    X = data.X[["model_a", "model_b", "judge"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor = AnchorPipeline(cv=3, random_state=0).fit(X, data.y)
        vague = AnchorPipeline(cv=3, random_state=0, item_prior=(0.6, 1.0))
        vague.fit(X, data.y)
    assert anchor.item_effects_ == "random"
    assert any("rests on a prior" in line for line in summary_lines(summarize(anchor)))
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
    data = small(n_models=2, item_sd=0.4)
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
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            anchor = AnchorPipeline(cv=3, random_state=0).fit(X, y)
        said = " ".join(str(one.message) for one in told)
        found = anchor.standard_errors_["new-model"]
        assert np.isinf(found) == is_alike
        assert ("2 historical models are so close" in said) == is_alike


# --------------------------------------------------------------------- the choice alone
CALM, ALARMED, UNTESTED = (ItemCheck(pd.DataFrame(), p) for p in (0.5, 0.001, np.nan))


def plugged(n_models=6, **kwargs):
    """A sample that carries the plug-in, and its calibrator."""
    data = small(n_models=n_models, **kwargs)
    sample = admit_to_ranking(Sample.admit(data.X, data.y), None)
    stages = Stages(BTLRegressor(), JudgeCalibrator(), ArrivalScorer(), None)
    chain = fit_stages(stages, sample)
    return sample.with_battles(chain.X), chain.calibrator


@pytest.mark.parametrize(
    ("item_effects", "check", "expected"),
    [
        (None, ALARMED, "none"),
        ("none", ALARMED, "none"),
        ("random", CALM, "random"),
        # With so few judges no test is asked.
        ("auto", CALM, "random"),
        ("auto", ALARMED, "random"),
    ],
)
def test_what_is_asked_for_is_fitted(item_effects, check, expected):
    sample, calibrator = plugged()
    assert leaves_items_out(item_effects) == (expected == "none")
    chosen = choose_item_effects(item_effects, sample.X, check)
    assert chosen.item_effects == expected
    items = chosen.covariance(sample, calibrator)
    assert (items is None) == (expected == "none")
    if items is not None:
        assert items.covariance.shape == (2, 2) and items.inflation > 1.0
        assert items.df < np.inf


@pytest.mark.parametrize(("check", "reported"), [(CALM, "none"), (ALARMED, "random")])
def test_with_three_judges_the_check_decides(check, reported):
    sample, _ = plugged(n_judges=3)
    assert choose_item_effects("auto", sample.X, check).item_effects == reported


def test_auto_leaves_out_only_what_the_verdicts_rule_out():
    """A test that could not see deviations of the expected size is no reason."""
    sample, _ = plugged(n_judges=3)
    test = ScoreTest(value=14.0, df=12.0, scale=20.0)
    thin = ItemCheck(pd.DataFrame(), test.p_value, test)
    assert not thin.detected and not thin.rules_out(0.3) and thin.rules_out(0.6)
    chosen = choose_item_effects("auto", sample.X, thin)
    assert chosen.item_effects == "random"
    assert chosen.reason == "the verdicts do not rule out a size of 0.3 logits"
    # Who expects larger ones knows that these would be seen.
    chosen = choose_item_effects("auto", sample.X, thin, prior=read_prior((0.6, 2)))
    assert chosen.item_effects == "none"
    sharp = ItemCheck(pd.DataFrame(), 0.3, ScoreTest(14.0, 12.0, 100.0))
    assert choose_item_effects("auto", sample.X, sharp).item_effects == "none"


def test_many_judges_of_few_verdicts_do_not_pass_for_judges_without_deviations():
    """Ten judges of a hundred historical rows each, as a table with all defaults."""
    data = simulate_battles(
        n_models=12, n_judges=10, n_historical=2200, n_human=1200, n_new=500, rho=0.0,
        item_sd=0.3, item_corr=0.3, random_state=5_000_003,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor = AnchorPipeline(cv=2, random_state=0).fit(X, data.y)
    assert anchor.result_.diagnostics.item_p > 0.2
    assert anchor.item_effects_ == "random"


def test_auto_asks_the_check_where_deviations_are_many(monkeypatch):
    """However few the judges; and does not begin what takes very long."""
    sample, _ = plugged()
    n = 2 * int((~sample.X.is_new).sum())
    monkeypatch.setattr(_treatments, "MOST_DEVIATIONS", n - 1)
    assert choose_item_effects("auto", sample.X, CALM).item_effects == "none"
    test = ScoreTest(14.0, 12.0, 20.0)
    unsure = ItemCheck(pd.DataFrame(), test.p_value, test)
    for check, seen in (
        (ALARMED, r"sees that \(p = "),
        (UNTESTED, "is possible"),
        (unsure, "do not rule out a size of 0.3 logits"),
    ):
        with pytest.raises(BattlesError, match=f"{seen}.* these are {n} deviations"):
            choose_item_effects("auto", sample.X, check)
    # Who asks for them gets them.
    assert choose_item_effects("random", sample.X, ALARMED).item_effects == "random"
    monkeypatch.setattr(_treatments, "MOST_DEVIATIONS", n)
    assert choose_item_effects("auto", sample.X, CALM).item_effects == "random"


def test_what_takes_minutes_is_said_before_it_begins(monkeypatch):
    sample, _ = plugged()
    n_judges, n_models = len(sample.X.judges), len(sample.X.models)
    monkeypatch.setattr(_treatments, "SECONDS", 150.0 / (n_judges * n_models) ** 3)
    # Not only once a fit has succeeded, as other warnings.
    with WarningLog() as log, pytest.warns(SlowWarning, match="takes about 2 minutes"):
        choose_item_effects("random", sample.X, CALM)
    assert not log.found
    assert choose_item_effects(None, sample.X, CALM).item_effects == "none"


def test_many_judges_that_take_minutes_are_announced_as_well(monkeypatch):
    """Judge by judge, the time grows with the square of their number."""
    sample, _ = plugged(n_judges=12)
    n_effects = len(sample.X.judges) * len(sample.X.models)
    monkeypatch.setattr(_treatments, "MOST_PAIRED", 10)
    monkeypatch.setattr(_treatments, "SECONDS_BY_JUDGE", 150.0 / n_effects**2)
    match = f"12 judges .* {n_effects} item effects, .* about 2 minutes.* the square"
    with WarningLog(), pytest.warns(SlowWarning, match=match):
        assert choose_item_effects("auto", sample.X, ALARMED).item_effects == "random"


def test_auto_does_not_begin_where_many_judges_have_few_verdicts_each(monkeypatch):
    sample, _ = plugged()
    n = 2 * int((~sample.X.is_new).sum())
    few, enough = 2 * _treatments.FEW_VERDICTS - 1, 2 * _treatments.FEW_VERDICTS
    with monkeypatch.context() as patch:
        patch.setattr(_treatments, "FEW_DEVIATIONS", n - 1)
        for check, seen in ((ALARMED, r"sees that \(p = "), (UNTESTED, "is possible")):
            said = f"{seen}.* these are {n} deviations, and there are only {few} ver"
            with pytest.raises(BattlesError, match=said):
                choose_item_effects("auto", sample.X, check, few)
        assert choose_item_effects("auto", sample.X, CALM, few).item_effects == "none"
        for asked, n_verdicts in (("random", few), ("auto", enough), ("auto", np.inf)):
            chosen = choose_item_effects(asked, sample.X, ALARMED, n_verdicts)
            assert chosen.item_effects == "random"
    with monkeypatch.context() as patch:
        patch.setattr(_treatments, "FEW_DEVIATIONS", n)
        chosen = choose_item_effects("auto", sample.X, ALARMED, few)
        assert chosen.item_effects == "random"


def test_hundreds_of_judges_of_three_rows_end_in_one_line():
    """Where nobody else has seen the new model and no feature asks for more rows."""
    data = simulate_battles(900, 270, n_models=5, random_state=0)
    X = data.X[["model_a", "model_b", "judge"]].copy()
    verdict = (X["judge"] != "human").to_numpy()
    of_new = (X[["model_a", "model_b"]] == "new-model").any(axis=1).to_numpy()
    old, new = np.flatnonzero(verdict & ~of_new), np.flatnonzero(verdict & of_new)
    n = len(old) // 3
    X.loc[X.index[old], "judge"] = [f"j{i // 3}" for i in range(len(old))]
    X.loc[X.index[new], "judge"] = [f"j{i % n}" for i in range(len(new))]
    rows = (X["judge"] != f"j{n}").to_numpy()  # fewer than three are left over
    said = rf"For {n} judges .* there are only {3 * n:,} verdicts"
    with pytest.raises(BattlesError, match=said):
        AnchorPipeline(cv=2).fit(X[rows], data.y[rows])


def test_without_judges_there_is_nothing_to_treat():
    data = small()
    sample = admit_to_ranking(
        Sample.admit(data.X[data.X.judge == "human"], data.y[data.X.judge == "human"]),
        ["model-01"],
    )
    for asked in ("auto", "random"):
        chosen = choose_item_effects(asked, sample.X, ALARMED)
        assert chosen.item_effects == "none"


def test_few_models_leave_the_covariance_to_the_prior():
    sample, calibrator = plugged(n_models=4)
    chosen = choose_item_effects("auto", sample.X, CALM)
    assert chosen.item_effects == "random"
    assert "they always are with 4 historical models" in chosen.reason
    assert "a prior of 0.3 logits with 2 degrees of freedom" in chosen.reason
    found = chosen.covariance(sample, calibrator)
    # Two degrees of freedom of the prior, beside at most those of the models less two.
    assert 3.0 < found.free <= 4.0
    chosen = choose_item_effects("random", sample.X, CALM, prior=read_prior((0.7, 9)))
    assert "a prior of 0.7 logits with 9 degrees of freedom" in chosen.reason
    assert 10.0 < chosen.covariance(sample, calibrator).free <= 11.0


@pytest.mark.parametrize("wrong", [0.3, (0.3,), (0.0, 2), (0.3, -1), ("a", 2), None])
def test_what_is_no_prior(wrong):
    with pytest.raises(ValueError, match=r"item_prior must be .* such as \(0.3, 2\)"):
        read_prior(wrong)
