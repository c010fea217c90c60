"""Unrecorded favours: exposures, biased intervals and ranks, breakdowns."""

import numpy as np
import pandas as pd
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from scipy.stats import norm, t

from skanchor import AnchorPipeline, JudgeCalibrator, RieszDebiaser
from skanchor.exceptions import BattlesError, SkanchorWarning
from skanchor.results.intervals import bias_aware_quantile, largest_bias, t_quantile
from skanchor.simulation import simulate_battles

NEW = "new-model"
PAPER = {
    "historical_fit": "two-step",
    "item_effects": "none",
    "calibrator": JudgeCalibrator(position_effect=False),
}
SETTINGS = {
    "default": {},
    "items": {"item_effects": "random"},
    "paper": PAPER,
    "paper with items": PAPER | {"item_effects": "random"},
}


def small(seed=0, n_new_models=1, **settings):
    arguments = {"n_models": 6, "n_judges": 3, "n_new": 200, "item_sd": 0.3} | settings
    return simulate_battles(
        n_historical=1500, n_new_models=n_new_models, **arguments, random_state=seed
    )


def fit(X, y, **settings):
    return AnchorPipeline(**{"cv": 3, "random_state": 0} | settings).fit(X, y)


@pytest.fixture(scope="module")
def fits():
    data = small()
    return {
        name: fit(data.X, data.y, **settings) for name, settings in SETTINGS.items()
    }


@pytest.fixture(scope="module")
def two():
    """A fit with two new models, one of which has a vote."""
    data = small(n_new_models=2)
    X = data.X.copy()
    new_rows = X.index[X["model_a"].str.startswith("new")]
    X.loc[new_rows[:30], "judge"] = "human"
    names = ["new-model-1", "new-model-2"]
    return fit(X, data.y, item_effects="random", new_models=names)


def by_rows(anchor):
    """Exposures row by row, people last."""
    sample = anchor._distinct_sample
    X, weights = sample.X, anchor.debiaser_.weights(sample.X)
    eta, n = X.logits(), len(X.models)
    p = 1 / (1 + np.exp(-np.nan_to_num(eta)))
    used = sample.counts & np.isfinite(eta)
    moved = np.where(used, sample.weight * p * (1 - p), 0.0)[:, None] * weights
    favour = np.zeros((len(X.judges) + 1, n, n))
    for side, sign in ((X.left, 1.0), (X.right, -1.0)):
        np.add.at(favour, (X.judge, side), sign * moved)
    return favour


# --------------------------------------------------------------------- identities
@pytest.mark.parametrize("name", SETTINGS)
def test_shares_of_judges_and_people_in_a_score_add_up_to_one(fits, name):
    result = fits[name].result_
    marks = result.benchmarks()
    assert_allclose((marks["sensitivity"] * marks["exposure"]).sum(), 1, atol=1e-12)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
@pytest.mark.parametrize("kind", ["counts", "importance", "groups", "people"])
def test_weights_counts_and_groups_are_in_the_sums(kind, rng):
    data = small(item_sd=0.0)
    X, weight, groups, settings = data.X, None, None, {}
    if kind == "counts":
        X = X[["model_a", "model_b", "judge"]]
        weight, settings = rng.integers(1, 4, len(X)), {"weights": "frequency"}
    elif kind == "importance":
        weight = rng.exponential(size=len(X))
    elif kind == "groups":
        groups = rng.integers(0, 400, len(X))
    else:
        settings = {"human_bias": "linear", "disagreement": "ignore", "n_repeats": 2}
    anchor = AnchorPipeline(cv=3, random_state=0, **settings)
    anchor.fit(X, data.y, sample_weight=weight, groups=groups)
    marks = anchor.benchmarks()
    assert_allclose((marks["sensitivity"] * marks["exposure"]).sum(), 1, atol=1e-12)
    assert_allclose(anchor.result_.exposures.favour, by_rows(anchor), atol=1e-13)
    table = anchor.sensitivity(0.0).table.droplevel("gamma")
    assert (table["low"] == anchor.contrasts()["low"]).all()


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_weights_without_a_span_have_the_same_exposures():
    """A learner that hides its span finds the same weights."""
    data = small(item_sd=0.0)
    flexible = fit(data.X, data.y, debiaser=RieszDebiaser(Wrapped(), inner_folds=1))
    free = fit(data.X, data.y)
    assert_frame_equal(flexible.breakdown(), free.breakdown(), rtol=1e-6)


# ---------------------------------------------------------------- the three ways


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_exposures_are_mixed_as_scores_are():
    data = small(item_sd=0.0)
    X = data.X.assign(kind=np.array(["chat", "code"])[np.arange(len(data.X)) % 2])
    anchor = fit(X, data.y, context="kind", context_mix={"chat": 0.7, "code": 0.3})
    mixed, cells = anchor.result_.exposures, anchor.result_.cells.exposures
    labels = anchor.result_.cells.models
    for j, model in enumerate(anchor.result_.models.tolist()):
        for i, liked in enumerate(anchor.result_.models.tolist()):
            expected = sum(
                {"chat": 0.7, "code": 0.3}[target.context] * cells.favour[:, k, h]
                for h, target in enumerate(labels)
                for k, item in enumerate(labels)
                if target.model == model and item.model == liked
            )
            assert_allclose(mixed.favour[:, i, j], expected, atol=1e-12)
    marks = anchor.benchmarks()
    assert_allclose((marks["sensitivity"] * marks["exposure"]).sum(), 1, atol=1e-10)


# ------------------------------------------------------------ intervals and ranks
def test_biased_quantiles_cover_exactly_and_have_an_inverse(rng):
    bias = np.concatenate([[0.0, 1e-9], rng.uniform(0, 6, 30), [1e5]])
    for level in (0.8, 0.95):
        for df in (np.inf, 1.0, 7.5):
            law = norm if df == np.inf else t(df)
            wide = np.full(len(bias), df)
            k = bias_aware_quantile(bias, level, wide)
            assert_allclose(law.cdf(k - bias) - law.cdf(-k - bias), level, atol=1e-9)
            assert k[0] == t_quantile(level, wide)[0]
            # Far off only one side can miss.
            assert_allclose(k[-1] - bias[-1], law.ppf(level), atol=0.01)
            back = largest_bias(k, level, wide)
            assert_allclose(back[2:], bias[2:], atol=1e-7)
            assert largest_bias(0.9 * k[:1], level, wide[:1]) == 0.0


@pytest.mark.parametrize("kind", ["favour", "family"])
def test_without_a_favour_all_is_as_it_was(two, kind):
    family = ["model-01", two.new_models_[0]] if kind == "family" else None
    for method in ("romano-wolf", "holm"):
        table = two.sensitivity([0.0], kind, family=family, method=method).table
        table = table.droplevel("gamma")
        reference = two.contrasts()
        assert table.index.equals(reference.index)
        assert (table[["low", "high"]] == reference[["low", "high"]]).all(axis=None)
        ranks = two.rank_sets(method=method)
        for model, rows_of_model in table.groupby(level="model"):
            assert set(rows_of_model["rank_low"]) == {ranks.loc[model, "low"]}
            assert set(rows_of_model["rank_high"]) == {ranks.loc[model, "high"]}


@pytest.mark.parametrize("name", ["default", "items", "paper"])
def test_breakdown_is_where_the_reported_limit_reaches_zero(fits, name):
    anchor = fits[name]
    table = anchor.breakdown()
    for (model, opponent), row in table.iterrows():
        gamma = row["gamma_interval"]
        if not 0 < gamma < np.inf:
            now = anchor.contrasts().loc[(model, opponent)]
            assert gamma == np.inf or (now["low"] <= 0 <= now["high"])
            continue
        sizes = [0.999 * gamma, 1.001 * gamma]
        with np.errstate(all="ignore"):
            if max(sizes) > 1.5:
                continue
            result = anchor.sensitivity(sizes).table.loc[(model, opponent)]
        clear = (result["low"] > 0) | (result["high"] < 0)
        assert clear.tolist() == [True, False]
        sign = row["gamma_sign"]
        assert sign > gamma
    assert (table["gamma_interval"] > 0).sum() >= 2


def test_judges_that_may_favour(fits):
    anchor = fits["default"]
    every = anchor.breakdown()
    alone = {judge: anchor.breakdown(judges=[judge]) for judge in anchor.judges_}
    least = pd.concat([one["gamma_sign"] for one in alone.values()], axis=1).min(axis=1)
    assert_allclose(every["weakest_gamma"], least)
    for pair, row in every.iterrows():
        result = alone[row["weakest_judge"]].loc[pair, "gamma_sign"]
        assert_allclose(result, row["weakest_gamma"])
    # Favours add up: one over the breakdown is the sum of those of the judges.
    inverse = sum(1 / one["gamma_sign"] for one in alone.values())
    assert_allclose(1 / every["gamma_sign"], inverse)
    # A set of one judge need not be a list.
    assert_frame_equal(anchor.breakdown(judges="judge-1"), alone["judge-1"])


def test_a_family_of_the_new_model_alone_is_a_favour(fits):
    anchor = fits["items"]
    one = anchor.breakdown("family", family=[NEW])
    assert_frame_equal(one, anchor.breakdown())
    # With historical members the favour is partly seen on the history.
    both = anchor.breakdown("family", family=[NEW, "model-01"])
    assert (both["gamma_sign"] > one["gamma_sign"]).mean() > 0.7
    exposures = anchor.result_.exposures.favour[:-1]
    models = anchor.result_.models.tolist()
    at, liked = models.index("model-03"), [models.index(NEW), models.index("model-01")]
    moved = exposures[:, liked, -1] - exposures[:, liked, at]
    expected = np.abs(moved.sum(axis=1)).sum()
    row = both.loc[(NEW, "model-03")]
    assert_allclose(row["gamma_sign"], abs(row["difference"]) / expected)


@pytest.mark.filterwarnings("ignore:Verdicts of judges .* on new models are graded")
def test_a_favour_in_the_verdicts_moves_the_score_by_the_exposure():
    """Outcomes are the probabilities, without and with a favour: no noise hides it."""
    data = small(item_sd=0.0)
    sample = fit(data.X, data.y, **PAPER)._sample
    X, size = sample.X, 0.1
    new = np.flatnonzero(X.is_new)[0]
    sign = (X.left == new).astype(float) - (X.right == new)
    scores, plug_ins = [], []
    for favour in (0.0, size):
        p = 1 / (1 + np.exp(-(X.logits() + favour * sign)))
        anchor = fit(data.X, np.where(sign != 0, p, data.y), cv=10, **PAPER)
        scores.append(anchor.scores_[NEW])
        plug_ins.append(anchor.arrival_.scores_[NEW])
    expected = size * anchor.benchmarks()["exposure"].sum()
    assert_allclose(plug_ins[1] - plug_ins[0], expected, rtol=0.01)
    # Folds see other rows, hence slightly other judges.
    assert_allclose(scores[1] - scores[0], expected, rtol=0.05)


# ------------------------------------------------------------------- S0, benchmarks


def test_benchmarks_by_hand(fits):
    anchor = fits["items"]
    marks = anchor.benchmarks().loc[NEW]
    sample = anchor._distinct_sample
    X = sample.X
    p = 1 / (1 + np.exp(-X.logits()))
    new = np.flatnonzero(X.is_new)[0]
    sign = (X.left == new).astype(float) - (X.right == new)
    gap = X.features_left - X.features_right
    for m, judge in enumerate(X.judges.tolist()):
        mine = (X.judge == m) & (sign != 0)
        weight = (sample.weight * p * (1 - p))[mine]
        mean = weight @ (sign[:, None] * gap)[mine] / weight.sum()
        favours = mean * anchor.calibrator_.coefficients_.loc[judge].to_numpy()
        result = marks.loc[judge]
        assert_allclose(result[["favour_x1", "favour_x2", "favour_x3"]], favours)
        assert_allclose(result["favour"], favours.sum())
        assert_allclose(result["item_sd"] ** 2, anchor.item_covariance_[m, m])
        effects = anchor.diagnostics_deviations = anchor.result_.diagnostics.deviations
        old = effects.loc[judge].drop(NEW)["deviation"].abs().max()
        assert_allclose(result["largest_deviation"], old)
    ratio = anchor.breakdown().loc[(NEW, "model-01")]
    assert_allclose(
        ratio["ratio_item_sd"], ratio["gamma_interval"] / marks["item_sd"].max()
    )
    assert_allclose(
        ratio["ratio_favour"], ratio["gamma_interval"] / marks["favour"].abs().max()
    )


# -------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"gamma": -0.1}, ValueError, "not negative, got -0.1"),
        ({"gamma": [0.1, np.nan]}, ValueError, "finite"),
        ({"gamma": []}, ValueError, "gamma must be a number"),
        ({"kind": "frown"}, ValueError, "kind must be one of"),
        ({"kind": "family"}, ValueError, "goes with the kind 'family'"),
        ({"family": [NEW]}, ValueError, "goes with the kind 'family'"),
        ({"judges": ["nobody"]}, BattlesError, "no judges .'nobody'.*'judge-1'"),
        ({"judges": []}, BattlesError, "no judges"),
        ({"kind": "family", "family": ["owl"]}, BattlesError, "no models .'owl'."),
        ({"level": 1.2}, ValueError, "level"),
        ({"method": "bonferroni"}, ValueError, "method must be"),
    ],
)
def test_bad_input_is_refused(fits, arguments, error, says):
    with pytest.raises(error, match=says):
        fits["default"].sensitivity(**arguments)
    others = {k: v for k, v in arguments.items() if k not in ("gamma", "method")}
    if others:
        with pytest.raises(error, match=says):
            fits["default"].breakdown(**others)


def test_large_favours_are_warned_of(fits):
    with pytest.warns(SkanchorWarning, match="beyond 1.5 judge logits"):
        fits["default"].sensitivity(2.0)
