"""Errors of a judge's parameters, and bias by feature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor._diagnostics.judges import judge_errors, partial_effects
from skanchor.bias import BoostedBias
from skanchor.datasets import load_demo

JUDGE = "judge-beta"


def fitted(item_effects, **calibrator):
    X, y = load_demo(return_X_y=True)
    return AnchorPipeline(
        calibrator=JudgeCalibrator(**calibrator), cv=2, random_state=0,
        item_effects=item_effects,
    ).fit(X, y)  # fmt: skip


@pytest.mark.parametrize("item_effects", ["none", "random"])
def test_the_covariance_is_that_of_generalised_least_squares(item_effects):
    anchor = fitted(item_effects)
    sample = anchor._sample
    X, m = sample.X, sample.X.judges.tolist().index(JUDGE)
    cut = X.by_judge(m)
    used = ~X.involves_new[cut.rows]
    rows = cut.rows[used]
    p = expit(X.logits()[rows])
    A = np.column_stack(
        [X.score_differences[rows], X.order[rows],
         X.features_left[rows] - X.features_right[rows]]
    )  # fmt: skip
    variance = np.diag(1 / (p * (1 - p)))
    if X.item_covariance is not None:
        eye = np.eye(len(X.models))
        Z = eye[cut.left[used]] - eye[cut.right[used]]
        variance += X.item_covariance[m, m] * Z @ Z.T
    expected = np.linalg.inv(A.T @ np.linalg.solve(variance, A))
    result = judge_errors(sample, anchor.calibrator_)[JUDGE]
    assert_allclose(result, expected, rtol=1e-6)


def test_partial_effects_are_lines_through_the_median():
    anchor = fitted("none", position_effect=False)
    sample, calibrator = anchor._sample, anchor.calibrator_
    table = partial_effects(sample, calibrator, [JUDGE]).loc[JUDGE]
    for name in ("length", "markdown"):
        part = table.loc[name]
        slope = calibrator.coefficients_.loc[JUDGE, name]
        assert_allclose(np.diff(part["effect"]), slope * np.diff(part["value"]))
        # A line's error is nothing where it is fixed, and grows from there.
        ratio = part["standard_error"] / part["effect"].abs()
        assert_allclose(ratio, ratio.iloc[0], rtol=1e-6)


def test_a_learner_without_coefficients_has_no_band():
    anchor = fitted("none", bias=BoostedBias(max_rounds=3))
    table = partial_effects(anchor._sample, anchor.calibrator_, [JUDGE])
    assert np.isfinite(table["effect"]).all()
    last_stage = hasattr(anchor.calibrator_.biases_[JUDGE], "last_stage")
    assert table["standard_error"].notna().all() == last_stage
