"""Random estimators: every constructor parameter, mostly valid, now and then not."""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.preprocessing import PolynomialFeatures

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
    SourceKFold,
)
from skanchor.baselines import BASELINES
from skanchor.bias import AutoBias, BoostedBias, LinearBias
from skanchor.bootstrap import Bootstrapped

# A further method would give the recorded seeds other methods: it stays out.
METHODS = (
    "HumanOnly", "JointBTL", "PooledLLM", "ScalarJudge", "MeanShift", "PerJudgeBTL",
    "DirectScore", "IPWOnly", "HistoricalPPI", "HistoricalPPR", "LogisticJudge",
    "JointMLE", "JudgeArenaElo", "JudgeAwareBTL",
)  # fmt: skip
# By class and parameter: what is valid, then what is not (or hardly).
ODD = [None, "", "x", -1, 0, 1.5, np.nan, np.inf, True, (), [], {}, object, 10**400]
VALUES = {
    BTLRegressor: {
        "alpha": [0.0, 0.01, 1e-8, 1.0, 1e6],
        "score_bound": [15.0, 3.0, 0.5, 1e-6, 200.0],
        "covariance": ["sandwich", "fisher", "clustered"],
        "disconnected": ["raise", "warn"],
        "unseen": ["warn", "raise"],
        "tol": [1e-10, 1e-4, 0.0],
        "max_iter": [100, 1, 3],
        "weights": ["importance", "frequency"],
    },
    LinearBias: {
        "feature_map": [None, PolynomialFeatures(2, include_bias=False)],
        "alpha": [0.0, 0.01, 1.0, 1e8],
    },
    BoostedBias: {
        "weak_learner": [None, Ridge()],
        "learning_rate": [0.2, 1.0],
        "max_rounds": [5, 0, 1],
        "validation_fraction": [0.2, 0.0, 0.9],
        "random_state": [0, None],
    },
    AutoBias: {
        "candidates": [None, ["linear"], ["linear", "boosted"]],
        "n_splits": [2, 3],
    },
    JudgeCalibrator: {
        # "auto" trains networks, which takes its time.
        "bias": ["linear", None, "boosted", LinearBias, BoostedBias, AutoBias],
        "position_effect": ["auto", True, False],
        "sensitivity_bounds": [(-20.0, 20.0), (0.1, 5.0), (0, 1), (-0.01, 0.01)],
        "unseen": ["warn", "raise"],
    },
    ArrivalScorer: {
        "equation": ["likelihood", "unweighted"],
        "score_bounds": [(-15.0, 15.0), (-1.0, 1.0), (0, 3)],
        "unseen": ["warn", "raise"],
    },
    RieszDebiaser: {
        "learner": ["linear", "calibrator", None, "boosted", LinearBias, BoostedBias],
        "inner_folds": [2, 1, 3],
        "unseen": ["warn", "raise"],
    },
    AnchorPipeline: {
        "btl": [None, BTLRegressor],
        "calibrator": [None, JudgeCalibrator],
        "arrival": [None, ArrivalScorer],
        "debiaser": [None, RieszDebiaser, RieszDebiaser, "passthrough"],
        "cv": [2, 3, 4, KFold(3), SourceKFold(3), SourceKFold(2, random_state=1)],
        "n_repeats": [1, 2],
        "new_models": [None, None, None, [], ["new-model"], ["new-model", "x"]],
        "item_effects": ["auto", "none", "random", "random", None, "auto"],
        "historical_fit": ["joint", "two-step"],
        "random_state": [0, 7],
        "unseen": ["warn", "raise"],
        "weights": ["importance", "frequency"],
    },
}
FEW = {"btl", "calibrator", "new_models", "unseen"}


def build(cls, rng, odd, seldom=0.4):
    """Build a random estimator of the class; ``odd`` is the share of odd values."""
    parameters = {}
    for name, values in VALUES[cls].items():
        if rng.random() < odd:
            parameters[name] = ODD[int(rng.integers(len(ODD)))]
        elif rng.random() < seldom:
            value = values[int(rng.integers(len(values)))]
            if isinstance(value, type):
                value = build(value, rng, odd)
            parameters[name] = value
    try:
        return cls(**parameters)
    except TypeError as error:
        raise AssertionError(f"{cls.__name__} judges in its constructor") from error


def draw(rng, odd=0.0, case=None):
    """Draw a method with options; most of them can be had for a given table."""
    method = _draw(rng, odd)
    if case is not None and rng.random() < 0.9:
        _suit(method, case)
    return method


def _suit(method, case):
    """Change what contradicts the table, as far as it is one that can be read."""
    reference = method.get_params(deep=True)
    new = {}
    if reference.get("new_models"):
        new["new_models"] = None
    if reference.get("kind") == "?":
        new["kind"] = "percentile"
    for name, value in reference.items():
        if name.endswith("covariance") and value == "clustered" and case.groups is None:
            new[name] = "sandwich"
        if name.endswith("weights") and value == "frequency" and not _is_whole(case):
            new[name] = "importance"
    method.set_params(**new)


def _is_whole(case):
    if case.weight is None:
        return True
    try:
        weight = np.asarray(case.weight, dtype=float)
    except ValueError:
        return False
    return bool((weight == np.round(weight)).all())


def _draw(rng, odd):
    """Draw a method, whatever the table."""
    kind = rng.random()
    if kind < 0.65:
        method = build(AnchorPipeline, rng, odd)
        if "cv" not in method.get_params(deep=False) or method.cv == 10:
            method.set_params(cv=3)
        return method
    if kind < 0.75:
        return build(BTLRegressor, rng, odd)
    method = BASELINES[METHODS[int(rng.integers(len(METHODS)))]]()
    for part, cls in (("btl", BTLRegressor), ("calibrator", JudgeCalibrator)):
        if part in method.get_params(deep=False) and rng.random() < 0.3:
            method.set_params(**{part: build(cls, rng, odd)})
    for name, values in {
        "plug_in_average": [True, False], "clip": [20.0, 1.0, 0.5],
        "new_models": [None, ["new-model"]],
    }.items():  # fmt: skip
        if name in method.get_params(deep=False) and rng.random() < 0.3:
            method.set_params(**{name: values[int(rng.integers(len(values)))]})
    if kind > 0.95 and not odd:
        kinds = ["basic", "percentile", "?"]
        return Bootstrapped(method, 6, kind=str(rng.choice(kinds)), random_state=0)
    return method
