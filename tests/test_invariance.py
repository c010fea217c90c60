"""Laws that the whole pipeline keeps on any table, with the folds carried along."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.SkanchorWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)
# No shrinking: a table cannot be made smaller in a way that explains anything.
few = settings(
    max_examples=4,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)


@st.composite
def tables(draw):
    """Small tables: one or two new models, with and without features and ties."""
    seed = draw(st.integers(0, 10_000))
    n_new_models = draw(st.integers(1, 2))
    data = simulate_battles(
        n_historical=draw(st.sampled_from([250, 400])),
        n_new=60,
        n_models=draw(st.integers(3, 5)),
        n_judges=draw(st.integers(1, 2)),
        n_new_models=n_new_models,
        new_score=[0.3, -0.4][:n_new_models],
        random_state=seed,
    )
    rng = np.random.default_rng(seed)
    X, y = data.X, np.asarray(data.y, dtype=float)
    if draw(st.booleans()):
        y[rng.random(len(y)) < 0.15] = 0.5
    if not draw(st.booleans()):
        X = X[["model_a", "model_b", "judge"]]
    return X, y, rng


def make(position=False, **params):
    # The ridge keeps small tables from being separated.
    calibrator = JudgeCalibrator(LinearBias(alpha=0.05), position_effect=position)
    # Estimated covariances of item effects stop short of their limit.
    settings = {"cv": 3, "item_effects": None, **params}
    return AnchorPipeline(calibrator=calibrator, **settings)


def fitted(estimator, X, y, weight=None):
    """Fit, or hand back the error: laws hold for refusals, too."""
    try:
        return estimator.fit(X, y, weight)
    except ValueError as error:
        return type(error)


def assert_same(one, other, models=None, position=1.0, rtol=1e-6):
    """Compare two fits, names of the second mapped by ``models``."""
    if isinstance(one, type) or isinstance(other, type):
        assert one is other
        return
    a, b = one.leaderboard(), other.leaderboard()
    names = dict(zip(b.index, b.index, strict=True)) if models is None else models
    b = b.rename(index=names).loc[a.index]
    assert a["is_new"].equals(b["is_new"])
    for column in ("score", "standard_error", "low", "high"):
        assert_allclose(b[column], a[column], rtol=rtol, atol=rtol / 10)
    for column in ("rank_low", "rank_high", "n_human", "n_judge"):
        assert a[column].tolist() == b[column].tolist()
    if models is None:
        judges = one.calibrator_, other.calibrator_
        assert_allclose(
            judges[1].sensitivities_, judges[0].sensitivities_, rtol=1e-6, atol=1e-7
        )
        assert_allclose(
            judges[1].position_effects_,
            position * judges[0].position_effects_,
            rtol=1e-6,
            atol=1e-7,
        )


def turned(X, y):
    """Swap the sides of every row, and its outcome."""
    other = {"a": "b", "b": "a"}
    names = {
        name: name[:-1] + other[name[-1]] for name in X if name[-2:] in ("_a", "_b")
    }
    return X.rename(columns=names), 1.0 - y


@few
@given(tables(), st.booleans())
def test_turning_rows_negates_the_position_effect_alone(table, position):
    X, y, _ = table
    one = fitted(make(position, random_state=0), X, y)
    if isinstance(one, type):
        return
    again = fitted(make(position, cv=one.fold_plan_), *turned(X, y))
    assert_same(one, again, position=-1.0)


@few
@given(tables(), st.booleans())
def test_names_and_row_order(table, position):
    X, y, rng = table
    one = fitted(make(position, random_state=0), X, y)
    if isinstance(one, type):
        return
    n = len(y)
    order = rng.permutation(n)
    place = np.empty(n, dtype=int)
    place[order] = np.arange(n)
    plan = [(place[train], place[test]) for train, test in one.fold_plan_[0]]
    old = sorted({*X["model_a"], *X["model_b"]})
    new = [f"m{i}" for i in rng.permutation(len(old))]
    names = dict(zip(old, new, strict=True))
    judges = {j: f"z{-i}" for i, j in enumerate(X["judge"].unique()) if j != "human"}
    Z = X.replace({"model_a": names, "model_b": names, "judge": judges})
    again = fitted(
        make(position, cv=plan), Z.iloc[order].reset_index(drop=True), y[order]
    )
    assert_same(one, again, models={new: old for old, new in names.items()})
    back = {new: old for old, new in judges.items()}
    slopes = again.calibrator_.sensitivities_.rename(index=back)
    assert_allclose(
        slopes[one.judges_], one.calibrator_.sensitivities_, rtol=1e-6, atol=1e-7
    )
    assert_allclose(
        again.influence_[place][:, [again.models_.tolist().index(names[m])
                                    for m in one.models_]],
        one.influence_, rtol=1e-5, atol=1e-8,
    )  # fmt: skip


@pytest.mark.parametrize("unit", [1e-9, 1e9, 1e95])
def test_units_of_features_are_nothing(unit):
    """With all defaults: scores and judges fitted jointly, item effects by the test."""
    data = simulate_battles(800, 150, n_models=5, n_judges=2, random_state=0)
    scaled = {name: data.X[name] * unit for name in ("x1_a", "x1_b")}
    boards = [
        AnchorPipeline(cv=3, random_state=0).fit(X, data.y).leaderboard()
        for X in (data.X, data.X.assign(**scaled))
    ]
    for column in ("score", "standard_error", "low", "high"):
        assert_allclose(boards[1][column], boards[0][column], rtol=1e-8)


names_of_models = st.lists(
    st.text("abcxyz0189", min_size=1, max_size=4), min_size=8, max_size=8, unique=True
)


@pytest.mark.parametrize("kind", ["rows", "cells", "prompts", "contexts", "repeats"])
@settings(few, max_examples=2)
@given(names_of_models, st.permutations(["j", "k"]), st.integers(0, 10_000))
def test_names_decide_nothing(kind, names, judges, seed):
    """With all defaults: folds are drawn by the order of the rows, not by labels."""
    data = simulate_battles(
        300, 60, n_models=5, n_judges=2, n_new_models=3,
        new_score=[0.3, -0.4, 0.0], random_state=seed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    X = data.X if kind == "rows" else data.X[["model_a", "model_b", "judge"]]
    X = X.reset_index(drop=True)
    options = {"random_state": 0, "cv": 4}
    prompts = rng.integers(0, 200, len(X))
    if kind == "prompts":
        X["prompt_id"] = prompts
    if kind == "contexts":
        X["topic"] = rng.choice(["chat", "code"], len(X))
        options["context"] = "topic"
    if kind == "repeats":
        options["n_repeats"] = 2
    old = sorted({*X["model_a"], *X["model_b"]})
    new = dict(zip(old, names, strict=True))
    heard = dict(zip(["judge-1", "judge-2"], judges, strict=True))
    Z = X.replace({"model_a": new, "model_b": new, "judge": heard})
    if kind == "contexts":
        Z["topic"] = Z["topic"].map({"chat": "z", "code": "a"})
    if kind == "prompts":
        Z["prompt_id"] = rng.permutation(200)[prompts]
    one, again = (fitted(AnchorPipeline(**options), T, data.y) for T in (X, Z))
    back = {other: name for name, other in new.items()}
    # Covariances of item effects stop short of their limit.
    assert_same(one, again, models=back, rtol=1e-4)
    if not isinstance(one, type):
        for plan, other in zip(one.fold_plan_, again.fold_plan_, strict=True):
            assert all(
                np.array_equal(a[1], b[1]) for a, b in zip(plan, other, strict=True)
            )


@settings(few, max_examples=3)
@given(names_of_models, st.integers(0, 10_000))
def test_names_decide_nothing_where_a_history_places(names, seed):
    data = simulate_battles(
        400, 60, n_models=5, n_judges=2, n_new_models=3,
        new_score=[0.3, -0.4, 0.0], random_state=seed,
    )  # fmt: skip
    X, y = data.X, np.asarray(data.y)
    new = (X["model_a"] + X["model_b"]).str.contains("new").to_numpy()
    old = sorted({*X["model_a"], *X["model_b"]})
    boards = []
    for known in (dict(zip(old, old, strict=True)), dict(zip(old, names, strict=True))):
        Z = X.replace({"model_a": known, "model_b": known})
        kept = AnchorHistory(AnchorPipeline(cv=4, random_state=0)).fit(Z[~new], y[~new])
        board = kept.place(Z[new], y[new]).leaderboard()
        boards.append(board.loc[[known[name] for name in old]])
    for column in ("score", "standard_error", "low", "high"):
        assert_allclose(boards[1][column], boards[0][column], rtol=1e-4, atol=1e-5)


@few
@given(tables(), st.floats(0.05, 0.3))
def test_rows_of_weight_zero_are_not_there(table, share):
    X, y, rng = table
    n = len(y)
    weight = rng.exponential(size=n)
    one = fitted(make(random_state=0), X, y, weight)
    if isinstance(one, type):
        return
    # Rows of all sorts that would change everything.
    extra = int(share * n)
    odd = X.iloc[rng.integers(0, n, extra)].assign(
        model_a=rng.choice(["model-01", "nobody", "new-model"], extra)
    )
    odd["judge"] = rng.choice(["human", "stranger", "judge-1"], extra)
    for name in [c for c in X if c[:1] == "x"]:
        odd[name] = np.nan
    order = rng.permutation(n + extra)
    place = np.argsort(order)
    Z = pd.concat([X, odd], ignore_index=True).iloc[order].reset_index(drop=True)
    z = np.r_[y, rng.integers(0, 2, extra)][order]
    w = np.r_[weight, np.zeros(extra)][order]
    fold = np.r_[np.zeros(n, int), rng.integers(0, 3, extra)][order]
    for k, (_, test) in enumerate(one.fold_plan_[0]):
        fold[place[test]] = k
    plan = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    again = fitted(make(cv=plan), Z, z, w)
    assert_same(one, again)
    assert (again.influence_[w == 0] == 0).all()
    # Folds of their own do not hold them either.
    own = fitted(make(random_state=0), Z, z, w)
    if not isinstance(own, type):
        assert all(
            (w[np.r_[train, test]] > 0).all() for train, test in own.fold_plan_[0]
        )


def test_errors_halve_when_rows_quadruple():
    errors = []
    for factor in (1, 4):
        data = simulate_battles(
            n_historical=3000 * factor,
            n_new=300 * factor,
            scores=np.linspace(1, -1, 6),
            n_models=6,
            sensitivities=[0.8, 1.2],
            n_judges=2,
            rho=0.0,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            anchor = AnchorPipeline(item_effects=None, random_state=0)
            anchor.fit(data.X, data.y)
        errors.append(anchor.standard_errors_.iloc[0])
    # The realised features and pairs differ; the law is up to a few percent.
    assert_allclose(errors[0] / errors[1], 2.0, rtol=0.1)
