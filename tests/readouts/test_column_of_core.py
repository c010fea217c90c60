"""A column of a judge's rows that the core has, and the bias learner does not.

See ``docs/development.md``, "Where to add something".
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

from skanchor import AnchorPipeline
from skanchor._estimators.weighing import WeightFunctions
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")


class Narrow:
    """A fitted learner that does not know its last column, nor the coefficient."""

    def __init__(self, learner):
        self.learner, self.coef_ = learner, getattr(learner, "coef_", [0.0])[:-1]
        self.contrast = learner.contrast

    def span(self, pairs):
        return self.learner.span(pairs)[:, :-1]


@pytest.fixture(params=[False, True], ids=["all pairs", "an untried pair"])
def results(request):
    """A result whose learners know all columns, and one whose learners do not."""
    data = simulate_battles(n_models=5, n_new=300, n_historical=1500, random_state=0)
    untried = data.X["judge"].eq("judge-2") & request.param
    for label in ("new-model", "model-03"):
        untried &= (data.X == label).any(axis=1)
    anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0)
    result = anchor.fit(data.X[~untried], data.y[~untried]).result_
    whole = result.fitted
    learners = [None, *map(Narrow, whole.learners[1:])]
    weights = [WeightFunctions(Narrow(w.learner)) for w in whole.debiaser.learners_[1:]]
    debiaser = SimpleNamespace(
        learners_=[whole.debiaser.learners_[0], *weights],
        solution_=whole.debiaser.solution_,
        rows=whole.debiaser.rows,
    )
    narrow = replace(whole, learners=learners, debiaser=debiaser)
    return result, replace(result, fitted=narrow), request.param


def test_plans_take_its_width_from_the_core(results):
    result, narrow, is_untried = results
    due, found = result.outlook([0.1]), narrow.outlook([0.1])
    # In rows that nobody has seen, the column favours neither side.
    rtol = 0.05 if is_untried else 1e-9
    assert_frame_equal(found.table, due.table, rtol=rtol)
    assert_frame_equal(narrow.worth().table, result.worth().table, rtol=rtol)
    costs = {"human": 1.0, "judges": 0.1}
    assert narrow.design(10, costs).half_widths.notna().all(axis=None)


def test_its_favours_are_recorded(results):
    result, narrow, _ = results
    due, found = result.benchmarks(), narrow.benchmarks()
    assert_allclose(found["favour"], due["favour"])
    assert "favour_further column 0" in found and np.isfinite(found["favour"]).all()
    by_column = [table.filter(like="favour_") for table in (found, due)]
    assert_allclose(*by_column)
    assert_frame_equal(narrow.breakdown(), result.breakdown())
