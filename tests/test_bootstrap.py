"""The bootstrap engine against a plain loop of refits, and its intervals."""

import warnings

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
from skanchor.baselines import (
    BASELINES,
    DirectScore,
    HistoricalPPI,
    HistoricalPPR,
    HumanOnly,
    IPWOnly,
    JointBTL,
    JointMLE,
    MeanShift,
    PerJudgeBTL,
    ScalarJudge,
)
from skanchor.bias import LinearBias
from skanchor.bootstrap import Bootstrapped, Resampler, bootstrap
from skanchor.comparisons import decide_roles
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import DataWarning
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles

METHODS = {
    name: method()
    for name, method in BASELINES.items()
    if name not in ("HumanOnly", "Oracle")
} | {"twin": PerJudgeBTL(plug_in_average=True)}


@pytest.fixture(scope="module")
def data():
    data = simulate_battles(2500, 300, n_models=6, random_state=4)
    data.y = data.y.astype(float)
    data.y[::17] = 0.5
    return data


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

    def spy(self, number, n_inner=0):
        weights, inner = draw(self, number, n_inner)
        seen.append(weights.copy())
        return weights, inner

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


# -------------------------------------------------------------------------- the engine
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
    ],
    ids=["position", "ridge", "btl-ridge", "scalar-position", "clip", "user", "joint"],
)
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


# --------------------------------------------------------------------------- resamples
def in_roles(data, weight=None, groups=None):
    sample = Sample.admit(data.X, data.y, weight, groups)
    return sample.with_battles(decide_roles(sample.X, sample.weight, None))


def test_rows_are_drawn_within_their_source_with_replacement(data):
    sample = in_roles(data)
    sampler = Resampler(sample, seed=3)
    counts = np.vstack([sampler.draw(b)[0].copy() for b in range(6)])
    source = sample.X.rows.sources
    for code in np.unique(source):
        mine = counts[:, source == code]
        assert (mine.sum(axis=1) == mine.shape[1]).all()
    # Multinomial: mean 1, variance 1 - 1/n, from some hundred thousand counts.
    assert counts.mean() == 1.0
    assert counts.var() == pytest.approx(1.0, abs=0.02)
    assert np.isin(counts, np.arange(20)).all()


def test_weights_multiply_and_rows_without_weight_are_not_drawn(data):
    n = len(data.y)
    weight = np.tile([0.0, 2.0, 0.5], n)[:n]
    counts, _ = Resampler(in_roles(data, weight), seed=3).draw(0)
    assert (counts[:, weight == 0] == 0).all()
    assert set(np.unique(counts[:, weight == 2.0] % 2)) == {0.0}
    assert set(np.unique(counts[:, weight == 0.5] % 0.5)) == {0.0}


def test_groups_are_drawn_whole_from_those_that_span_the_same_sources(data):
    n = len(data.y)
    groups = np.random.default_rng(0).permutation(n) // 3
    sample = in_roles(data, groups=groups)
    counts, _ = Resampler(sample, seed=3).draw(0)
    by_group = pd.DataFrame(counts.T).groupby(groups)
    assert (by_group.nunique() == 1).all(axis=None)
    spans = (
        pd.Series(sample.X.rows.sources)
        .groupby(groups)
        .agg(lambda s: str(sorted(set(s))))
    )
    # Those that too few groups span are drawn together.
    sizes = spans.value_counts()
    spans[spans.map(sizes) < 20] = "rare"
    sizes = spans.value_counts()
    assert len(sizes) > 2 and sizes["rare"] >= 20
    drawn = by_group.first().groupby(spans).sum()
    assert (drawn.eq(sizes, axis=0)).all(axis=None)


def test_groups_without_dependence_leave_the_errors():
    """Groups of ten among eight judges are nearly all alone in what they span."""
    many = simulate_battles(2000, 300, n_judges=8, random_state=2)
    groups = np.random.default_rng(0).permutation(len(many.y)) // 10
    options = dict(n_resamples=200, random_state=0)
    rows, whole = (
        bootstrap({"m": DirectScore()}, many.X, many.y, groups=g, **options)["m"]
        for g in (None, groups)
    )
    # The ratio of two errors from 200 resamples has an error of 7 %.
    ratio = whole.standard_errors / rows.standard_errors
    assert ((ratio > 0.75) & (ratio < 1.33)).all()


def test_groups_widen_the_errors_of_repeated_rows(data):
    # Each row four times: rows are drawn as if they were independent, groups are not.
    X = pd.concat([data.X] * 4, ignore_index=True)
    y = np.tile(data.y, 4)
    prompt = np.tile(np.arange(len(data.y)), 4)
    options = dict(n_resamples=200, random_state=0)
    once = bootstrap({"m": JointBTL()}, data.X, data.y, **options)["m"]
    rows = bootstrap({"m": JointBTL()}, X, y, **options)["m"]
    whole = bootstrap({"m": JointBTL()}, X.assign(prompt=prompt), y, groups="prompt",
                      **options)["m"]  # fmt: skip
    # The error of an error from 200 resamples is 5 %.
    ratio = rows.standard_errors / once.standard_errors
    assert ((ratio > 0.4) & (ratio < 0.6)).all()
    ratio = whole.standard_errors / once.standard_errors
    assert ((ratio > 0.8) & (ratio < 1.25)).all()


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


# -------------------------------------------------------------------------- checkpoint
def test_a_run_goes_on_where_it_was_cut_off(data, tmp_path, monkeypatch):
    path = tmp_path / "refits.joblib"
    options = dict(n_resamples=200, random_state=5)
    whole = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    blocks, run = [], engine._run_block

    def break_at_third(problem, number, size):
        if len(blocks) == 2:
            raise KeyboardInterrupt
        blocks.append(number)
        return run(problem, number, size)

    monkeypatch.setattr(engine, "_run_block", break_at_third)
    options["checkpoint"] = path
    with pytest.raises(KeyboardInterrupt):
        bootstrap({"m": DirectScore()}, data.X, data.y, **options)
    assert list(tmp_path.iterdir()) == [path]
    assert sorted(joblib.load(path)["blocks"]) == [0, 1]
    later = []
    monkeypatch.setattr(engine, "_run_block", lambda *job: (later.append(job[1]),
                                                            run(*job))[1])  # fmt: skip
    again = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    assert later[0] == 2
    assert_allclose(again.replicates, whole.replicates, atol=1e-12)
    later.clear()
    bootstrap({"m": DirectScore()}, data.X, data.y, **options)
    assert later == []
    # More resamples: only the block that was cut short, and new ones.
    options["n_resamples"] = 230
    more = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    assert later == [3]
    assert_allclose(more.replicates[:200], whole.replicates, atol=1e-12)


def test_a_checkpoint_of_something_else_is_refused(data, tmp_path):
    path = tmp_path / "refits.joblib"
    options = dict(n_resamples=2, checkpoint=path)
    first = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    # Without a seed the file's own is used.
    again = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    assert_allclose(first.replicates, again.replicates)
    with pytest.raises(ValueError, match="belongs to a run with other data"):
        bootstrap({"m": JointBTL()}, data.X, data.y, **options)
    with pytest.raises(ValueError, match="belongs to a run with other data"):
        bootstrap({"m": DirectScore()}, data.X, 1 - data.y, **options)
    with pytest.raises(ValueError, match="belongs to a run with other data"):
        bootstrap({"m": DirectScore()}, data.X, data.y, random_state=0, **options)
    path.write_text("not a checkpoint")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        bootstrap({"m": DirectScore()}, data.X, data.y, **options)


# --------------------------------------------------------------------------- intervals
def test_limits_are_the_quantiles_they_say(data):
    refits = bootstrap({"m": DirectScore()}, data.X, data.y, n_resamples=100,
                       n_inner=10, random_state=0)["m"]  # fmt: skip
    new = refits.models.tolist().index("new-model")
    t, values = refits.estimates[new], refits.replicates[:, new]
    low, high = np.quantile(values, [0.05, 0.95])
    assert_allclose(refits.conf_int(0.9, "percentile").loc["new-model"], [low, high])
    assert_allclose(refits.conf_int(0.9).loc["new-model"], [2 * t - high, 2 * t - low])
    inner = np.sqrt(refits.inner_covariances[:, new, new])
    q = np.quantile((values - t) / inner, [0.05, 0.95])
    error = values.std(ddof=1)
    assert_allclose(
        refits.conf_int(0.9, "studentized").loc["new-model"],
        [t - q[1] * error, t - q[0] * error],
    )
    gap = np.eye(7)[:, [new]] - np.eye(7)[:, [0]]
    spread = [c[new, new] + c[0, 0] - 2 * c[0, new] for c in refits.inner_covariances]
    values_gap = (refits.replicates @ gap).ravel()
    t_gap = (refits.estimates @ gap).item()
    q = np.quantile((values_gap - t_gap) / np.sqrt(spread), [0.05, 0.95])
    low, high = refits.limits(gap, 0.9, "studentized")
    error_gap = values_gap.std(ddof=1)
    assert_allclose([low[0], high[0]], [t_gap - q[1] * error_gap,
                                        t_gap - q[0] * error_gap])  # fmt: skip
    # A resample of a resample spreads about as much as a resample.
    assert inner.mean() == pytest.approx(error, rel=0.25)
    with pytest.raises(ValueError, match="kind must be one of"):
        refits.conf_int(kind="bca")
    plain = bootstrap({"m": JointBTL()}, data.X, data.y, n_resamples=5)["m"]
    with pytest.raises(ValueError, match="give n_inner"):
        plain.conf_int(kind="studentized")
    with pytest.raises(ValueError, match="level"):
        plain.conf_int(1.5)


def test_errors_agree_with_the_sandwich_and_methods_share_resamples(data):
    methods = {
        "b": JointBTL(),
        "m": JointMLE(),
        "d": DirectScore(),
        "p": HistoricalPPI(),
    }
    refits = bootstrap(methods, data.X, data.y, n_resamples=400, random_state=0)
    for name in "bm":
        sandwich = refits[name].estimator.result_.all_standard_errors
        ratio = (refits[name].standard_errors / sandwich)["new-model"]
        # The error of an error from 400 resamples is 3.5 %.
        assert 0.85 < ratio < 1.15, name
    new = [r.replicates[:, r.is_new].ravel() for r in (refits["d"], refits["p"])]
    assert np.corrcoef(*new)[0, 1] > 0.8


def test_rank_only_methods_get_rank_intervals(data):
    refits = bootstrap({"r": HistoricalPPR()}, data.X, data.y, n_resamples=50,
                       random_state=0)["r"]  # fmt: skip
    row = refits.rank_intervals(0.9).loc["new-model"]
    assert row["rank"] == refits.estimator.ranks_["new-model"]
    assert 1 <= row["low"] <= row["high"] <= 7
    with pytest.raises(TypeError, match="HistoricalPPR only ranks"):
        Bootstrapped(HistoricalPPR()).fit(data.X, data.y)


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


@pytest.mark.parametrize(
    "bad", [{"n_resamples": 1}, {"n_resamples": 2.5}, {"n_inner": 1}, {"n_inner": -3}]
)
def test_bad_numbers(bad, data):
    with pytest.raises(ValueError, match=r"n_resamples|n_inner"):
        bootstrap({"m": JointBTL()}, data.X, data.y, **bad)


# --------------------------------------------------------------------------- estimator
def test_bootstrapped_offers_what_anchor_offers(data):
    X = data.X.assign(prompt=np.arange(len(data.y)) // 2)
    method = Bootstrapped(HistoricalPPI(), 60, random_state=0)
    assert (
        clone(method).get_params()["estimator__clip" if False else "n_resamples"] == 60
    )
    fit = method.fit(X, data.y, groups="prompt")
    inner = HistoricalPPI().fit(X, data.y)
    assert_allclose(fit.scores_, inner.scores_)
    assert_allclose(fit.win_probability(X), inner.win_probability(X))
    assert fit.score(X, data.y) == inner.score(X, data.y)
    assert fit.standard_errors_["new-model"] == pytest.approx(
        fit.refits_.standard_errors["new-model"]
    )
    assert_allclose(fit.conf_int(0.9), fit.refits_.conf_int(0.9))
    board = fit.leaderboard(0.9)
    assert_allclose(
        board.loc["new-model", ["low", "high"]].astype(float),
        fit.conf_int(0.9).loc["new-model"],
    )
    contrasts = fit.contrasts(0.9)
    row = contrasts.loc[("new-model", "model-03")]
    refits = fit.refits_.replicates
    place = fit.models_.tolist().index
    gap = refits[:, place("new-model")] - refits[:, place("model-03")]
    low, high = 2 * row["difference"] - np.quantile(gap, [0.95, 0.05])
    assert_allclose([row["low"], row["high"]], [low, high])
    assert fit.rank_sets().columns.tolist() == ["rank", "low", "high"]
    assert method.set_params(estimator__calibrator__bias__alpha=0.1)
    with pytest.raises(ValueError, match="kind must be one of"):
        Bootstrapped(kind="normal").fit(X, data.y)


def test_bootstrapped_studentized_and_leave_one_model_out(data):
    fit = Bootstrapped(kind="studentized", n_resamples=40, n_inner=8, random_state=0)
    fit.fit(data.X, data.y)
    assert fit.contrasts().notna().all(axis=None)
    table = leave_one_model_out(
        Bootstrapped(DirectScore(), 40, random_state=0),
        data.X,
        data.y,
        models=["model-01"],
    )
    assert {"low", "high", "covered", "rank_low"} <= set(table.columns)


# -------------------------------------------------------------------------- statistics
@pytest.mark.slow
def test_coverage_on_the_default_simulation():
    methods = {"d": DirectScore(), "p": HistoricalPPI(), "j": JointBTL()}
    n, held = 200, dict.fromkeys(methods, 0)
    for seed in range(n):
        data = simulate_battles(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refits = bootstrap(methods, data.X, data.y, random_state=seed)
        for name, result in refits.items():
            low, high = result.conf_int().iloc[0]
            held[name] += low <= 0.5 <= high
    # False alarm once in 10 000 runs at the nominal level.
    lower, upper = binom.interval(1 - 1e-4, n, 0.95)
    assert lower <= held["d"] <= upper
    assert lower <= held["p"] <= upper
    assert held["j"] < 0.8 * n
