"""A number of each row, given as a pair of features, is a column of the bias.

So is a block of such columns with penalties of its own, which one argument states.
The recipe of ``docs/development.md``, "Where to add something". Histories and batches
have columns with such penalties in ``history.test_anchor_history`` and
``large.test_large``.
"""

import numpy as np
import pytest

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles

EFFECT = 2.0


# One penalty for all columns, and one for each: the block of the last has none.
@pytest.mark.parametrize("alpha", [0.0, (0.5, 0.5, 0.5, 0.0)], ids=str)
# The verdicts that follow the column do not follow the scores.
@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_the_column_matters(alpha):
    drawn = simulate_battles(random_state=0)
    X, rng = drawn.X, np.random.default_rng(1)
    # Positive where it favours ``model_a``.
    z = rng.normal(size=len(X))
    follows = (X["judge"] != "human").to_numpy() & (rng.uniform(size=len(X)) < 0.4)
    wins = rng.uniform(size=len(X)) < 1.0 / (1.0 + np.exp(-EFFECT * z))
    y = np.where(follows, wins, drawn.y)
    table = X.assign(confidence_a=z / 2.0, confidence_b=-z / 2.0)
    calibrator = JudgeCalibrator(LinearBias(alpha=alpha))
    anchor = AnchorPipeline(calibrator=calibrator, cv=3, random_state=0).fit(table, y)
    without = AnchorPipeline(cv=anchor.fold_plan_).fit(X, y)
    # Two of five verdicts follow it, the others do not.
    coefficients = anchor.calibrator_.coefficients_["confidence"]
    assert (coefficients > 0.25 * EFFECT).all()
    moved = anchor.scores_["new-model"] - without.scores_["new-model"]
    assert abs(moved) > 1e-3
