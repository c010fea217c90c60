"""Laws of the pipeline with all defaults: units, names, sides, rows times four."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tables import KEYS, drawn, small

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator

pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.SkanchorWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)
COLUMNS = ["score", "standard_error", "low", "high"]
three_new = drawn(
    n_models=5, n_judges=2, n_historical=300, n_new=60, n_new_models=3,
    new_score=[0.3, -0.4, 0.0],
)  # fmt: skip


def assert_same(one, other, rtol):
    assert_allclose(
        other.loc[one.index, COLUMNS], one[COLUMNS], rtol=rtol, atol=rtol / 10
    )


@pytest.mark.parametrize("unit", [1e-9, 1e9, 1e95])
def test_units_of_features_are_nothing(unit):
    """Scores and judges are fitted jointly, item effects chosen by the test."""
    data = small()
    scaled = {name: data.X[name] * unit for name in ("x1_a", "x1_b")}
    one, other = (
        AnchorPipeline(cv=3, random_state=0).fit(X, data.y).leaderboard()
        for X in (data.X, data.X.assign(**scaled))
    )
    assert_same(one, other, 1e-8)


def test_turning_rows_negates_the_position_effect_alone():
    """Without a column that says who was shown first, the first side was."""
    data = small()
    sides = {"_a": "_b", "_b": "_a"}
    turned = data.X.rename(
        columns=lambda name: name[:-2] + sides.get(name[-2:], name[-2:])
    )
    calibrator = JudgeCalibrator(position_effect=True)
    settings = {"calibrator": calibrator, "item_effects": None}
    one = AnchorPipeline(cv=3, random_state=0, **settings).fit(data.X, data.y)
    other = AnchorPipeline(cv=one.fold_plan_, **settings).fit(turned, 1 - data.y)
    assert_same(one.leaderboard(), other.leaderboard(), 1e-6)
    effects = one.calibrator_.position_effects_
    assert_allclose(other.calibrator_.position_effects_, -effects, atol=1e-7)
    assert effects.abs().max() > 0.01


names_of_models = st.lists(
    st.text("abcxyz0189", min_size=1, max_size=4), min_size=8, max_size=8, unique=True
)


@pytest.mark.parametrize(
    "kind", ["rows", "cells", "prompts", "contexts", "repeats", "history"]
)
# No shrinking: a table cannot be made smaller in a way that explains anything.
@settings(max_examples=1, database=None, phases=(Phase.explicit, Phase.generate))
@given(names_of_models, st.permutations(["j", "k"]), st.integers(0, 10_000))
def test_names_decide_nothing(kind, names, judges, seed):
    """Folds are drawn by the order of the rows, not by labels."""
    data = three_new(seed=seed)
    rng = np.random.default_rng(seed)
    X = data.X if kind in ("rows", "history") else data.X[KEYS]
    X = X.reset_index(drop=True)
    prompts = rng.integers(0, 200, len(X))
    if kind == "prompts":
        X["prompt_id"] = prompts
    if kind == "contexts":
        X["topic"] = rng.choice(["chat", "code"], len(X))
    options = {"contexts": {"context": "topic"}, "repeats": {"n_repeats": 2}}
    anchor = AnchorPipeline(random_state=0, cv=4, **options.get(kind, {}))
    is_new_row = (X["model_a"] + X["model_b"]).str.contains("new").to_numpy()
    old = sorted({*X["model_a"], *X["model_b"]})
    new = dict(zip(old, names, strict=True))
    other = dict(zip(["judge-1", "judge-2"], judges, strict=True))
    Z = X.replace({"model_a": new, "model_b": new, "judge": other})
    if kind == "contexts":
        Z["topic"] = Z["topic"].map({"chat": "z", "code": "a"})
    if kind == "prompts":
        Z["prompt_id"] = rng.permutation(200)[prompts]

    def answer(table):
        """Leaderboard and folds, or the class of the refusal."""
        try:
            if kind == "history":
                history = AnchorHistory(anchor).fit(
                    table[~is_new_row], data.y[~is_new_row]
                )
                placed = history.place(table[is_new_row], data.y[is_new_row])
                return placed.leaderboard(), placed.fold_plan
            fitted = anchor.fit(table, data.y)
        except ValueError as error:
            return type(error), []
        return fitted.leaderboard(), fitted.fold_plan_

    (one, plans), (again, others) = answer(X), answer(Z)
    if isinstance(one, type):
        assert one is again
        return
    again = again.rename(index={name: label for label, name in new.items()})
    # Covariances of item effects stop short of their limit.
    assert_same(one, again, 1e-4)
    ranks = ["rank_low", "rank_high", "n_human", "n_judge", "is_new"]
    assert again.loc[one.index, ranks].equals(one[ranks])
    for plan, same in zip(plans, others, strict=True):
        for (_, test), (_, rows) in zip(plan, same, strict=True):
            assert np.array_equal(test, rows)


def test_errors_halve_when_rows_quadruple():
    draw = drawn(
        scores=np.linspace(1, -1, 6), n_models=6, sensitivities=[0.8, 1.2], n_judges=2,
        rho=0.0,
    )  # fmt: skip
    errors = []
    for factor in (1, 4):
        data = draw(n_historical=3000 * factor, n_new=300 * factor)
        anchor = AnchorPipeline(item_effects=None, random_state=0)
        errors.append(anchor.fit(data.X, data.y).standard_errors_.iloc[0])
        assert not anchor.warnings_
    # The realised features and pairs differ; the law is up to a few percent.
    assert_allclose(errors[0] / errors[1], 2.0, rtol=0.1)
