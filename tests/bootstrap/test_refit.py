"""Refits against a plain loop, one resample after the other."""

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures

import skanchor.bootstrap._refit as engine
from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor._cells import Cells
from skanchor.baselines import (
    BASELINES,
    DirectScore,
    HistoricalPPI,
    HumanOnly,
    IPWOnly,
    JointBTL,
    JointMLE,
    MeanShift,
    PerJudgeBTL,
    ScalarJudge,
)
from skanchor.bias import LinearBias
from skanchor.bootstrap import Resampler, bootstrap
from skanchor.exceptions import DataWarning
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles

METHODS = {
    name: method()
    for name, method in BASELINES.items()
    if name not in ("HumanOnly", "Oracle")
} | {"twin": PerJudgeBTL(plug_in_average=True)}


def plain_loop(method, data, weights, groups=None):
    """Refit on every resample, one after the other."""
    rows = []
    for weight in weights:
        fit = clone(method).fit(data.X, data.y, sample_weight=weight, groups=groups)
        result = fit.result_
        values = result.values if hasattr(result, "values") else result.all_scores
        rows.append(values.to_numpy())
    return np.array(rows)


def drawn(monkeypatch):
    """Let the resamples that the engine draws be seen, by row of the table."""
    seen = []
    draw = Resampler.draw

    def spy(self, number):
        weights = draw(self, number)
        seen.append(weights.copy())
        return weights

    monkeypatch.setattr(Resampler, "draw", spy)
    order = []
    arrange = engine._side_by_side

    def remember(sample):
        order.append(arrange(sample))
        return order[-1]

    monkeypatch.setattr(engine, "_side_by_side", remember)

    def weights(n_rows):
        table = np.zeros((sum(map(len, seen)), n_rows))
        table[:, order[0]] = np.vstack(seen)
        return table

    return weights


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.CountWarning")
def test_engine_is_the_plain_loop_at_full_convergence(data, monkeypatch):
    weights = drawn(monkeypatch)
    n = 8
    refits = bootstrap(
        METHODS, data.X, data.y, n_resamples=n, tol=1e-14, random_state=0
    )
    table = weights(len(data.y))[:n]
    assert table.sum() == n * len(data.y)
    for name, method in METHODS.items():
        slow = plain_loop(method, data, table)
        assert_allclose(refits[name].replicates, slow, atol=5e-7, err_msg=name)
        assert refits[name].replicates.std(axis=0).max() > 0.001
        assert refits[name].failed == 0


@pytest.mark.parametrize(
    "method",
    [
        MeanShift(calibrator=JudgeCalibrator(position_effect=True)),
        DirectScore(calibrator=JudgeCalibrator(LinearBias(alpha=0.05))),
        DirectScore(btl=BTLRegressor(alpha=0.01)),
        ScalarJudge(calibrator=JudgeCalibrator(position_effect=True)),
        IPWOnly(clip=2.0),
        IPWOnly(classifier=LogisticRegression(C=0.1, tol=1e-8)),
        JointMLE(
            calibrator=JudgeCalibrator(LinearBias(alpha=0.05), position_effect=True)
        ),
        # A penalty for each of the three features.
        DirectScore(calibrator=JudgeCalibrator(LinearBias(alpha=(0.05, 0.0, 0.2)))),
        JointMLE(calibrator=JudgeCalibrator(LinearBias(alpha=(0.05, 0.0, 0.2)))),
    ],
    ids=[
        "position",
        "ridge",
        "btl-ridge",
        "scalar-position",
        "clip",
        "user",
        "joint",
        "ridges",
        "joint-ridges",
    ],
)
@pytest.mark.filterwarnings("ignore::skanchor.exceptions.CountWarning")
def test_settings_reach_the_batched_solvers(method, data, monkeypatch):
    weights = drawn(monkeypatch)
    monkeypatch.setattr(engine, "_fit_one", None)  # nothing falls back to the loop
    refits = bootstrap({"m": method}, data.X, data.y, n_resamples=3, tol=1e-14,
                       random_state=1)  # fmt: skip
    slow = plain_loop(method, data, weights(len(data.y))[:3])
    assert_allclose(refits["m"].replicates, slow, atol=2e-6)


def test_default_tolerance_is_far_below_the_spread(data):
    rough = bootstrap(METHODS, data.X, data.y, n_resamples=40, random_state=0)
    fine = bootstrap(METHODS, data.X, data.y, n_resamples=40, tol=1e-14, random_state=0)
    for name in METHODS:
        gap = np.abs(rough[name].replicates - fine[name].replicates).max()
        assert gap < 0.002 * fine[name].standard_errors["new-model"], name


def test_any_estimator_is_refitted_one_by_one(data, monkeypatch):
    weights = drawn(monkeypatch)
    curved = LinearBias(PolynomialFeatures(2, include_bias=False))
    methods = {
        "anchor": AnchorPipeline(cv=2, random_state=0),
        "curved": DirectScore(calibrator=JudgeCalibrator(curved)),
    }
    refits = bootstrap(methods, data.X, data.y, n_resamples=2, random_state=0)
    table = weights(len(data.y))[:2]
    slow = plain_loop(methods["curved"], data, table)
    assert_allclose(refits["curved"].replicates, slow, atol=1e-8)
    assert refits["anchor"].replicates.std(axis=0).min() > 0


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.CountWarning")
def test_new_models_that_meet_and_warm_arrivals(monkeypatch):
    data = simulate_battles(2500, 200, n_models=6, n_new_models=2, random_state=5)
    X = pd.concat([data.X, data.extra_X.iloc[:60]], ignore_index=True)
    y = np.append(data.y, data.extra_y[:60])
    rows = (X.model_a == "new-model-1") & (np.arange(len(X)) % 5 == 0)
    X.loc[rows, "model_b"] = "new-model-2"
    data.X, data.y = X, y
    weights = drawn(monkeypatch)
    new = ["new-model-1", "new-model-2"]
    methods = {
        name: clone(METHODS[name]).set_params(new_models=new)
        for name in (
            "DirectScore",
            "HistoricalPPI",
            "MeanShift",
            "JointMLE",
            "JointBTL",
        )
    }
    refits = bootstrap(methods, X, y, n_resamples=3, tol=1e-14, random_state=0)
    table = weights(len(y))[:3]
    for name, method in methods.items():
        slow = plain_loop(method, data, table)
        assert_allclose(refits[name].replicates, slow, atol=5e-7, err_msg=name)


def test_human_only(data, monkeypatch):
    X = pd.concat([data.X, data.extra_X], ignore_index=True)
    y = np.append(data.y, data.extra_y)
    method = HumanOnly(new_models=["new-model"])
    refits = bootstrap({"h": method}, X, y, n_resamples=200, random_state=0)["h"]
    error = refits.estimator.standard_errors_["new-model"]
    assert refits.standard_errors["new-model"] == pytest.approx(error, rel=0.2)


def test_seeds_do_not_depend_on_n_jobs_methods_or_number(data):
    both = {"a": DirectScore(), "b": HistoricalPPI()}
    options = dict(random_state=5, n_resamples=100)
    one = bootstrap(both, data.X, data.y, **options)
    two = bootstrap(both, data.X, data.y, n_jobs=2, **options)
    with joblib.parallel_config("threading"):
        threads = bootstrap(both, data.X, data.y, n_jobs=2, **options)
    assert_allclose(one["b"].replicates, threads["b"].replicates, rtol=0, atol=0)
    alone = bootstrap({"b": HistoricalPPI()}, data.X, data.y, **options)
    fewer = bootstrap(both, data.X, data.y, random_state=5, n_resamples=30)
    other = bootstrap(both, data.X, data.y, random_state=6, n_resamples=30)
    assert_allclose(one["b"].replicates, two["b"].replicates, rtol=0, atol=0)
    assert_allclose(one["b"].replicates, alone["b"].replicates, atol=1e-12)
    assert_allclose(one["a"].replicates[:30], fewer["a"].replicates, atol=1e-12)
    assert np.abs(other["a"].replicates - fewer["a"].replicates).max() > 0.01


def test_a_list_of_methods_is_named_by_class(data):
    options = dict(n_resamples=2, random_state=0)
    listed = bootstrap([DirectScore(), JointBTL()], data.X, data.y, **options)
    assert list(listed) == ["DirectScore", "JointBTL"]
    named = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    assert_allclose(listed["DirectScore"].replicates, named.replicates, atol=1e-12)
    with pytest.raises(ValueError, match=r"Methods of one class .* give a dict"):
        bootstrap([JointBTL(), JointBTL()], data.X, data.y, **options)
    with pytest.raises(TypeError, match=r"must be a dict .* got JointBTL"):
        bootstrap(JointBTL(), data.X, data.y, **options)


def test_the_table_is_looked_at_once_for_all_methods(data):
    alone = data.X.copy()
    alone.loc[0, "model_b"] = alone.loc[0, "model_a"]
    with pytest.warns(DataWarning, match="1 rows compare a model with itself") as told:
        bootstrap([DirectScore(), JointBTL()], alone, data.y, n_resamples=2)
    assert len(told) == 1


def test_progress_goes_to_the_error_stream(data, capsys):
    bootstrap({"m": JointBTL()}, data.X, data.y, n_resamples=2, verbose=1)
    assert capsys.readouterr().out == ""
    assert bootstrap({}, data.X, data.y) == {}


def test_resamples_that_cannot_be_fitted_are_left_out_and_told():
    data = simulate_battles(600, 60, n_models=5, random_state=0)
    # One model has three human rows: now and then a resample has none of them.
    rare = ((data.X.model_a == "model-01") | (data.X.model_b == "model-01")) & (
        data.X.judge == "human"
    )
    keep = ~rare.to_numpy()
    keep[np.flatnonzero(rare)[:3]] = True
    X, y = data.X[keep], data.y[keep]
    y = np.where(rare[keep], 0.5, y)
    with pytest.warns(DataWarning, match=r"could not be fitted on \d+ of 150"):
        refits = bootstrap({"m": DirectScore()}, X, y, n_resamples=150,
                           random_state=0)["m"]  # fmt: skip
    # All three are missed with probability about exp(-3): 7.5 of 150.
    assert binom.ppf(1e-5, 150, 0.03) <= refits.failed <= binom.ppf(1 - 1e-5, 150, 0.08)
    assert np.isfinite(refits.conf_int()).all(axis=None)


@pytest.mark.parametrize("bad", [1, -3, 2.5, True])
def test_bad_numbers(bad, data):
    with pytest.raises(ValueError, match="n_resamples must be"):
        bootstrap({"m": JointBTL()}, data.X, data.y, n_resamples=bad)


def test_refits_of_equal_rows_are_those_of_the_rows(equal_rows, monkeypatch):
    X, y = equal_rows.X, equal_rows.y
    methods = {
        name: method
        for name, method in METHODS.items()
        if hasattr(method, "_estimate") and name != "IPWOnly"
    }
    assert len(methods) > 5
    weights = drawn(monkeypatch)
    found = bootstrap(methods, X, y, n_resamples=4, random_state=0, tol=1e-9)
    cells = Cells.of(Sample.admit(X, y))
    number = cells.sample.multiplicity
    assert len(number) < len(y) / 2
    drawn_rows = (weights(len(number)) / number)[:4, cells.cell]
    for name, refits in found.items():
        expected = plain_loop(methods[name], equal_rows, drawn_rows)
        assert_allclose(refits.replicates, expected, atol=1e-6, err_msg=name)
