"""The stages of a fitted pipeline are estimators as complete as by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tables import small

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    Comparisons,
    JudgeCalibrator,
    RieszDebiaser,
)
from skanchor._battles import decide_roles
from skanchor.exceptions import BattlesError

pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    # Before the arrivals are scored, their rows have no score.
    "ignore:Rows of models without a score:skanchor.exceptions.DataWarning",
)
STAGES = ("btl", "calibrator", "arrival", "debiaser")
METHODS = ("predict", "predict_proba", "decision_function", "win_probability")
OUTCOMES = ("names", "numbers", "ties", "fractions", "array", "array-names")


def battles(outcomes):
    """A table or an array, outcomes of one kind, and the new models."""
    if outcomes.startswith("array"):
        rng = np.random.default_rng(0)
        a = rng.integers(4, size=400)
        b = (a + rng.integers(1, 4, size=400)) % 4
        won = rng.random(400) < 1 / (1 + np.exp(-0.4 * (a - b)))
        X = np.column_stack([a, b, rng.normal(size=400)]).astype(float)
        return X, np.where(won, "yes", "no") if "names" in outcomes else won * 1, [3.0]
    data = small(seed=3)
    won = np.asarray(data.y).astype(int)
    tied = np.random.default_rng(0).random(len(won)) < 0.1
    names = np.where(won == 1, "model_a", "model_b")
    return {
        "names": (data.X, names, None),
        "numbers": (data.X, won, None),
        "ties": (data.X, np.where(tied, "tie", names), None),
        "fractions": (data.X, np.where(tied, 0.25, won), None),
    }[outcomes]


def by_hand(X, y, new_models):
    """Each stage fitted on what the one before hands on, and the rows it is given."""
    rows = Comparisons.from_battles(X)
    rows = decide_roles(rows, np.ones(len(rows)), new_models)
    stages, tables = {}, {}
    for name, stage in (
        ("btl", BTLRegressor()),
        ("calibrator", JudgeCalibrator()),
        ("arrival", ArrivalScorer()),
        ("debiaser", RieszDebiaser()),
    ):
        tables[name] = rows
        stages[name] = stage.fit(rows, y)
        rows = rows if name == "debiaser" else stage.transform(rows)
    return stages, tables, rows


@pytest.fixture(scope="module", params=OUTCOMES)
def both(request):
    X, y, new_models = battles(request.param)
    anchor = AnchorPipeline(
        cv=3,
        item_effects=None,
        historical_fit="two-step",
        new_models=new_models,
        random_state=0,
    ).fit(X, y)
    return anchor, X, y, *by_hand(X, y, new_models)


def answer(function, *args):
    """What a call gives, or the kind of error that it raises."""
    try:
        return function(*args)
    except Exception as error:
        return type(error)


def assert_alike(one, other):
    if isinstance(other, type):
        assert one is other
    elif np.asarray(other).dtype.kind in "fc":
        assert_allclose(one, other, atol=1e-9)
    else:
        assert_array_equal(one, other)


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("table", [True, False], ids=["table", "rows"])
def test_predictions_are_those_of_the_stage_fitted_by_hand(both, name, table):
    anchor, X, y, hand, tables, _ = both
    stage, expected = getattr(anchor, f"{name}_"), hand[name]
    rows = X if table else tables[name]
    answers = {}
    for method in METHODS:
        answers[method] = answer(getattr(expected, method), rows)
        assert_alike(answer(getattr(stage, method), rows), answers[method])
    score = answer(expected.score, rows, y)
    assert_alike(answer(stage.score, rows, y), score)
    if not table:
        # Given what it asks for, a stage answers, in the labels of the fit.
        assert set(np.unique(answers["predict"])) <= set(stage.classes_.tolist())
        assert answers["predict_proba"].shape == (len(rows), 2)
        assert_allclose(answers["predict_proba"].sum(axis=1), 1.0)
        # Without judges there is no verdict to score.
        unjudged = name == "calibrator" and not len(rows.judges)
        assert score is BattlesError if unjudged else np.isfinite(score)


def test_comparisons_carry_what_the_chain_learned(both):
    anchor, _, _, hand, _, rows = both
    result = anchor.comparisons_
    assert_array_equal(result.models, rows.models)
    assert result.new_models == rows.new_models
    assert_allclose(result.scores, rows.scores, atol=1e-9)
    assert_allclose(result.logits(), rows.logits(), atol=1e-9)
    if len(rows.judges):
        assert_allclose(result.sensitivities, rows.sensitivities, atol=1e-9)
        assert_allclose(result.biases, rows.biases, atol=1e-9)
        slopes = pd.Series(result.sensitivities, result.judges)
        assert_allclose(slopes, hand["calibrator"].sensitivities_[result.judges])
    old = anchor.btl_.scores_
    position = {model: i for i, model in enumerate(result.models.tolist())}
    assert_allclose(result.scores[[position[m] for m in old.index]], old)
    new = anchor.arrival_.scores_
    assert_allclose(result.scores[[position[m] for m in new.index]], new)


def test_after_a_ridge_verdicts_keep_the_odds_that_they_were_calibrated_to():
    X, y, _ = battles("numbers")
    X = X[["model_a", "model_b", "judge"]]
    calibrator = JudgeCalibrator(position_effect=False)
    anchor = AnchorPipeline(
        BTLRegressor(alpha=0.05), calibrator, historical_fit="two-step",
        item_effects=None, cv=3, random_state=0,
    ).fit(X, y)  # fmt: skip
    scores, shrunken = anchor.result_.all_scores, anchor.btl_.scores_
    corrected = scores[shrunken.index]
    ratio = (shrunken @ corrected) / (corrected @ corrected)
    assert 0.5 < ratio < 0.95
    rows = X[X["judge"] != "human"]
    gap = rows["model_a"].map(scores) - rows["model_b"].map(scores)
    slope = rows["judge"].map(anchor.calibrator_.sensitivities_) * ratio
    p = 1 / (1 + np.exp(-slope * gap))
    assert_allclose(anchor.win_probability(rows), p, atol=1e-9)


def test_judges_are_calibrated_on_historical_rows_alone():
    # The rows of the pipeline carry scores of new models, too.
    X, y, _ = battles("numbers")
    anchor = AnchorPipeline(
        historical_fit="two-step", item_effects=None, cv=3, random_state=0
    ).fit(X, y)
    assert np.isfinite(anchor.comparisons_.scores).all()
    again = JudgeCalibrator().fit(anchor.comparisons_, y)
    expected = anchor.calibrator_.sensitivities_
    assert_allclose(again.sensitivities_, expected, atol=1e-9)
