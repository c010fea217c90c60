"""The choice among learners, learners of a user's own, and what must be refused."""

import re
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
)
from sklearn.tree import DecisionTreeRegressor

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
    SourceKFold,
)
from skanchor.bias import AutoBias, BiasLearner, BoostedBias, LinearBias
from skanchor.bias.fitting import same_settings
from skanchor.comparisons import FeaturePairs
from skanchor.exceptions import LearnerError
from skanchor.simulation import simulate_battles

# Small tables cross thresholds that are not at issue here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore:.*historical models are too few:skanchor.exceptions.SkanchorWarning",
)

QUICK = BoostedBias(max_rounds=8)


def battles(seed=0, **settings):
    sizes = dict(n_historical=1200, n_new=100, n_models=5, n_judges=2)
    return simulate_battles(**{**sizes, **settings}, random_state=seed)


def scored(data):
    return BTLRegressor().fit(data.X, data.y).transform(data.X)


# --------------------------------------------------------------------------- the choice
def test_losses_are_those_of_a_plain_cross_validation():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 600, 2))
    delta, weight = rng.normal(size=600), rng.exponential(size=600)
    weight[550:] = 0.0
    pairs = FeaturePairs(left, right)
    y = (rng.random(600) < expit(delta + left[:, 0] ** 2 - right[:, 0] ** 2)) * 1.0
    names = ["linear", LinearBias(alpha=1.0)]
    auto = AutoBias(names, n_splits=4, random_state=3)
    auto.fit(pairs, y, weight, parametric=delta[:, None], bounds=(-9, 9))
    order = np.random.RandomState(3).permutation(550)
    fold = np.empty(550, int)
    fold[order] = np.arange(550) % 4
    for name, alpha in zip(auto.losses_, (0.0, 1.0), strict=True):
        total = 0.0
        for k in range(4):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            fit = LinearBias(alpha=alpha).fit(
                pairs[train], y[train], weight[train], parametric=delta[train, None]
            )
            eta = fit.contrast(pairs[test]) + delta[test] * fit.parametric_coef_[0]
            total += weight[test] @ (np.logaddexp(0, eta) - y[test] * eta)
        assert_allclose(auto.losses_[name], total / weight.sum(), rtol=1e-7)
    best = min(auto.losses_, key=auto.losses_.get)
    assert auto.gap_error_[best] == 0.0
    close = [
        name
        for name, loss in auto.losses_.items()
        if loss - auto.losses_[best] <= auto.gap_error_[name]
    ]
    assert auto.picked_ == close[0]


@pytest.mark.parametrize(
    ("bias", "pick"), [("linear", "linear"), ("curved", "boosted")]
)
def test_picks_what_the_data_ask_for(bias, pick):
    data = battles(1, bias=bias, rho=1.5, n_historical=4000)
    auto = AutoBias(["linear", "boosted"])
    judges = JudgeCalibrator(auto).fit(scored(data), data.y)
    assert (judges.choices_["picked"] == pick).all()
    kind = LinearBias if pick == "linear" else BoostedBias
    assert all(isinstance(one, kind) for one in judges.biases_.values())
    assert {"loss linear", "loss boosted", "gap linear"} <= set(judges.choices_)


def test_pipeline_chooses_once_and_reports():
    data = battles(2)
    auto = AutoBias(["linear", QUICK])
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator({"judge-1": auto, "judge-2": "linear"}),
        cv=3,
        random_state=0,
    ).fit(data.X, data.y)
    table = anchor.summary()
    picked = anchor.calibrator_.choices_["picked"]
    assert picked.index.tolist() == ["judge-1"]
    assert table.loc["judge-1", "bias"] == picked["judge-1"]
    assert table["loss linear"].notna().tolist() == [True, False]
    # The Riesz weights use the same class.
    learner = anchor.debiaser_.learner["judge-1"]
    assert isinstance(learner, type(anchor.calibrator_.biases_["judge-1"]))
    plain = AnchorPipeline(
        calibrator=JudgeCalibrator({"judge-1": learner, "judge-2": "linear"}),
        cv=anchor.fold_plan_,
    ).fit(data.X, data.y)
    assert_allclose(plain.scores_, anchor.scores_, atol=1e-9)
    assert_allclose(plain.standard_errors_, anchor.standard_errors_, atol=1e-9)


def test_choice_costs_no_more_than_its_candidates():
    data = battles(3, n_historical=600, n_judges=1)

    def seconds(bias):
        start = time.process_time()
        anchor = AnchorPipeline(calibrator=JudgeCalibrator(bias), cv=5, random_state=0)
        anchor.fit(data.X, data.y)
        return time.process_time() - start

    candidates = [
        BoostedBias(max_rounds=rounds, validation_fraction=0.0) for rounds in (6, 9)
    ]
    alone = sum(seconds(one) for one in candidates)
    assert seconds(AutoBias(candidates)) < 1.1 * alone


def test_refused_lists():
    x, y = np.ones((9, 1)), np.arange(9.0)
    for bad, fault in (([], "empty"), (["auto"], "candidate"), (["cubic"], "Unknown")):
        with pytest.raises(ValueError, match=fault):
            AutoBias(bad, loss="squared").fit(x, y)
    with pytest.raises(ValueError, match="n_splits"):
        AutoBias(["linear"], n_splits=1, loss="squared").fit(x, y)


# ---------------------------------------------------------------- learners from outside
def documented(heading):
    """The Python block under a heading of the page."""
    page = Path(__file__).parents[1] / "docs" / "bias_learners.md"
    section = page.read_text(encoding="utf-8").split(f"## {heading}\n")[1]
    return re.search(r"```python\n(.*?)```", section, re.S).group(1)


def test_documented_learner_of_thirty_lines():
    code = documented("A learner of your own")
    space = {}
    exec(code, space)
    learner = space["KernelBias"]()
    assert isinstance(learner, BiasLearner)
    body = code.split("class KernelBias")[1]
    assert len([line for line in body.splitlines() if line.strip()]) <= 30
    data = battles(4, bias="curved", rho=1.0)
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(learner), cv=3, random_state=0
    ).fit(data.X, data.y)
    plain = JudgeCalibrator().fit(scored(data), data.y)
    mine = anchor.calibrator_
    assert mine.score(scored(data), data.y) > plain.score(scored(data), data.y)
    assert abs(anchor.scores_.iloc[0] - 0.5) < 4 * anchor.standard_errors_.iloc[0]


@pytest.mark.slow
@pytest.mark.torch
def test_documented_grid_search_on_mt_bench(capsys, mt_bench_path):
    code = documented("A grid search over learners")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    assert 'read_battles("mt_bench.csv.gz")' in code
    small = code.replace('"mt_bench.csv.gz"', repr(str(mt_bench_path)))
    exec(small, {})
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("LinearBias", "network", "boosted"))


# ---------------------------------------------------------------------------- bad input
class Broken(BaseEstimator):
    """Returns something that cannot be used."""

    def __init__(self, kind="nan", loss="logistic"):
        self.kind = kind
        self.loss = loss

    def fit(self, X, y, sample_weight=None, *, parametric=None, bounds=None,
            start=None):  # fmt: skip
        width = 0 if parametric is None else parametric.shape[1]
        value = np.nan if self.kind == "coef" else 1.0
        self.parametric_coef_ = np.full(width, value)
        self.shape_ = y.shape[1:]
        return self

    def contrast(self, X):
        bad = self.kind == "nan" or (self.kind == "riesz" and self.loss == "squared")
        rows = 3 if self.kind == "short" else len(X)
        return np.full((rows, *self.shape_), np.nan if bad else 0.0)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("nan", "judge 'judge-1', Broken, returned .* not finite"),
        ("short", r"judge 'judge-1', Broken, returned shape \(3,\)"),
        ("coef", "judge 'judge-1', Broken, must store 1 finite"),
        ("riesz", "learner of the Riesz weights returned NaN"),
    ],
)
def test_learners_that_return_nonsense(kind, fault):
    data = battles(5)
    with pytest.raises(LearnerError, match=fault):
        AnchorPipeline(
            calibrator=JudgeCalibrator(Broken(kind)), cv=3, random_state=0
        ).fit(data.X, data.y)


def test_width_of_a_feature_map_may_change_between_fits_only():
    data = battles(6)
    # A language that one row has is a column of the fits that see it.
    rng = np.random.default_rng(0)
    X = data.X.assign(**{f"lang_{s}": rng.integers(0, 3, len(data.X)) for s in "ab"})
    past = ~((X["model_a"] == "new-model") | (X["model_b"] == "new-model"))
    X.loc[np.flatnonzero(past & (X["judge"] == "judge-1"))[0], "lang_a"] = 9
    widths = set()

    class Watched(OneHotEncoder):
        def fit_transform(self, X, y=None):
            found = super().fit_transform(X)
            widths.add(found.shape[1])
            return found

        def transform(self, X):
            found = super().transform(X)
            widths.add(found.shape[1])
            return found

    languages = Watched(handle_unknown="ignore", sparse_output=False)
    encoded = ColumnTransformer([("lang", languages, [3])], remainder="passthrough")
    calibrator = JudgeCalibrator(LinearBias(encoded, alpha=0.001))
    for items in (None, "random"):
        anchor = AnchorPipeline(
            calibrator=calibrator, cv=3, item_effects=items, random_state=0
        ).fit(X, data.y)
        assert np.isfinite(anchor.standard_errors_).all()
    assert widths == {3, 4}
    by_rows = FunctionTransformer(lambda x: np.ones((len(x), 1 + len(x) % 7)))
    with pytest.raises(
        LearnerError, match=r"judge 'judge-1' failed: .* width must not"
    ):
        JudgeCalibrator(LinearBias(by_rows)).fit(scored(data), data.y)
    empty = FunctionTransformer(lambda x: np.where(x > 0, x, np.nan))
    with pytest.raises(LearnerError, match="returned NaN or infinite"):
        JudgeCalibrator(LinearBias(empty)).fit(scored(data), data.y)


def test_settings_are_compared_part_by_part():
    def tree(depth):
        return BoostedBias(DecisionTreeRegressor(max_depth=depth), max_rounds=5)

    assert same_settings(tree(2), tree(2)) and not same_settings(tree(2), tree(3))
    assert same_settings(AutoBias([tree(2), "linear"]), AutoBias([tree(2), "linear"]))
    assert not same_settings(AutoBias([tree(2)]), AutoBias([tree(2), "linear"]))
    assert same_settings(tree(2), tree(2).set_params(max_rounds=6), ("max_rounds",))
    # The weights follow a calibrator whose learner holds an estimator.
    data = battles(6)
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(tree(2)), cv=2, item_effects=None, random_state=0
    ).fit(data.X, data.y)
    rounds = {j: b.n_rounds_ for j, b in anchor.calibrator_.biases_.items()}
    assert {j: a.max_rounds for j, a in anchor.debiaser_.learner.items()} == {
        j: 4 * n for j, n in rounds.items()
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_judge_of_two_rows_does_not_stop_the_weights():
    data = battles(6)
    X = data.X.copy()
    past = ~((X["model_a"] == "new-model") | (X["model_b"] == "new-model"))
    X.loc[np.flatnonzero(past & (X["judge"] == "judge-1"))[:2], "judge"] = "tiny"
    calibrator = JudgeCalibrator(BoostedBias(max_rounds=3))
    chain = make_pipeline(BTLRegressor(), calibrator, ArrivalScorer())
    plugged = chain.fit(X, data.y).transform(X)
    debiaser = RieszDebiaser(BoostedBias(max_rounds=3))
    for groups in (None, np.arange(len(X)) // len(X)):
        assert np.isfinite(
            debiaser.fit(plugged, data.y, groups=groups).information_
        ).all()


# --------------------------------------------------------- options of the Riesz weights
def test_ridge_and_bound_shorten_the_weights():
    data = battles(7, n_new=60)

    def fitted(**options):
        return AnchorPipeline(
            debiaser=RieszDebiaser(**options), cv=3, random_state=0
        ).fit(data.X, data.y)

    plain, ridged, bounded = fitted(), fitted(ridge=0.5), fitted(weight_bound=2.0)
    errors = [one.standard_errors_.iloc[0] for one in (plain, ridged, bounded)]
    assert errors[1] < errors[0] and errors[2] < errors[0]
    a = bounded.debiaser_.weights(bounded.transform(data.X))
    limit = bounded.debiaser_._limit
    assert (np.abs(a) <= limit + 1e-12).all() and (np.abs(a) == limit).any()
    untouched = fitted(weight_bound=1e9)
    assert_allclose(untouched.scores_, plain.scores_, atol=1e-12)
    for name, bad in (
        ("route", "winding"),
        ("inner_folds", 0),
        ("rounds", 0),
        ("ridge", -1.0),
        ("weight_bound", 0.0),
    ):
        with pytest.raises(ValueError, match=name):
            fitted(**{name: bad})


def test_held_out_score_tells_riesz_learners_apart():
    data = battles(8, bias="curved", rho=1.0, n_historical=4000, n_new=400)
    full = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    known = full.transform(data.X)
    train, test = next(SourceKFold(3, random_state=1).split(data.X))
    scores = {}
    for name, learner in (
        ("none", LinearBias(alpha=1e9)),
        ("linear", "linear"),
        ("boosted", "boosted"),
    ):
        debiaser = RieszDebiaser(learner).fit(known[train], data.y[train])
        scores[name] = debiaser.score(known[test], data.y[test])
    assert scores["boosted"] > scores["linear"] > scores["none"]


def test_search_over_learners_inside_the_pipeline():
    data = battles(9)
    search = GridSearchCV(
        AnchorPipeline(cv=2, random_state=0),
        {"calibrator__bias": ["linear", QUICK]},
        cv=SourceKFold(2, random_state=0),
    ).fit(data.X, data.y)
    losses = -search.cv_results_["mean_test_score"]
    assert np.isfinite(losses).all() and losses[0] != losses[1]
    best = ["linear", QUICK][int(np.argmin(losses))]
    assert search.best_params_["calibrator__bias"] == best
