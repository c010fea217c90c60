"""scikit-learn's own estimator checks, with no expected failure.

``BTLRegressor`` and the bias learners learn from the checks' arrays as they are; the
others read and refuse them, and ``adapter`` makes battles of what they have read.
"""

import re
from pathlib import Path

import by_hand
import pytest
import sklearn
from adapter import OF_ROWS
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

from skanchor import BTLRegressor, JudgeCalibrator
from skanchor.baselines import BASELINES
from skanchor.bias import AutoBias, BoostedBias, LinearBias, NetworkBias
from skanchor.features import EmbeddingFeatures, ResponseFeatures

# The checks' tables have more features than rows of a judge: without a ridge the
# verdicts are separated, and no fit has a finite maximum.
RIDGED = {
    "btl": BTLRegressor(alpha=0.1, disconnected="warn"),
    # Rows of these checks have no display, and one side of them wins.
    "calibrator": JudgeCalibrator(LinearBias(alpha=0.1), position_effect=False),
}


ESTIMATORS = [
    BTLRegressor(disconnected="warn"),
    LinearBias(loss="squared"),
    # Baselines share what reads and refuses: one with errors and one without stand for
    # all, which `baselines.test_laws` has checked as far as no table is needed.
    OF_ROWS["JointMLE"](**RIDGED),
    OF_ROWS["DirectScore"](**RIDGED),
    OF_ROWS["Bootstrapped"](BASELINES["DirectScore"](**RIDGED), 3, random_state=0),
    BoostedBias(loss="squared", max_rounds=10),
    AutoBias(["linear"], n_splits=2, loss="squared"),
    OF_ROWS["JudgeCalibrator"](LinearBias(alpha=0.1), position_effect=False),
    OF_ROWS["ArrivalScorer"](),
    OF_ROWS["RieszDebiaser"](),
    # Item effects have a prior, beside which repeated rows are more than weights.
    OF_ROWS["AnchorPipeline"](**RIDGED, cv=2, item_effects=None, random_state=0),
]
# Its checks run in ``bias.test_network``, which is skipped without torch.
NETWORK = NetworkBias(loss="squared", max_epochs=1, module__width=8)
# What the stages say of separated votes and unseen ids is not at issue here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.SkanchorWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    # Checks are skipped without SCIPY_ARRAY_API; a test below sets it.
    "ignore::sklearn.exceptions.SkipTestWarning",
)


def name_of(estimator):
    return type(estimator).__name__


@parametrize_with_checks(ESTIMATORS, xfail_strict=True)
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", by_hand.OF_ROWS_OF_NUMBERS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_check_called_by_hand(estimator, check):
    check(name_of(estimator), clone(estimator))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_there_is_no_output_to_set(estimator):
    # What stages hand on is battles; the checks of set_output and of feature names
    # are for transformers of columns.
    assert not hasattr(estimator, "set_output")
    assert not hasattr(estimator, "get_feature_names_out")


def shown(estimator):
    text = re.sub(r"\{.*\}", "{...}", repr(estimator), flags=re.DOTALL)
    return re.sub(r"\s+", " ", text).replace("( ", "(")


def test_docs_state_the_count():
    if not sklearn.__version__.startswith("1.9."):
        pytest.skip("the page states the count of another scikit-learn")
    page = Path(__file__).parents[1] / "docs" / "faults.md"
    table = page.read_text("utf-8").partition("## scikit-learn's own checks")[2]
    counts = [
        *((item, len(by_hand.OF_ROWS_OF_NUMBERS)) for item in [*ESTIMATORS, NETWORK]),
        (ResponseFeatures(), len(by_hand.OF_ANY)),
        (EmbeddingFeatures(), len(by_hand.OF_ANY)),
    ]
    numbers = [(sum(1 for _ in estimator_checks_generator(e)), n) for e, n in counts]
    lines = [
        f"| `{shown(item)}` | {run} | {called} |"
        for (item, _), (run, called) in zip(counts, numbers, strict=True)
    ]
    result = re.findall(r"^\| `\w+\(.*\)` \| \d+ \| \d+ \|$", table, re.M)
    assert result == lines, "the table in docs/faults.md must be:\n" + "\n".join(lines)
