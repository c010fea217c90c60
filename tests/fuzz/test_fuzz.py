"""A few random cases of each kind, the same ones each time.

``python -m fuzz MINUTES FIRST_SEED`` in this folder's parent goes on for longer.
"""

import numpy as np
import pytest
from fuzz import options, tables
from fuzz.cases import KINDS
from fuzz.verdict import counted_points
from sklearn.base import clone

from skanchor.exceptions import BattlesError


@pytest.mark.parametrize("kind", KINDS)
def test_no_case_is_a_fault(kind):
    for seed in range(4):
        about, verdict = KINDS[kind](seed)
        assert not verdict.is_fault, (seed, about, verdict)


# What longer runs have found, mended since: a judge sure of all its few rows once
# scores and deviations bend to it, sums of tiny weights, a ridge that went by the
# models' order, resamples of resamples that do not differ, one resample that is not
# finite beside a singular one, squares that overflow, a score whose votes cancel,
# judges who disagree by a million logits, two equal groups of models of which the one
# that the table named first had the scale, all outcomes alike, odds of ties beyond all
# numbers, one old model with an error beside others that have none.
@pytest.mark.parametrize(
    "seed",
    [50039, 60193, 60246, 60310, 60354, 300054, 301094, 301202, 301377,
     pytest.param(2002015, marks=pytest.mark.slow), 3000044, 5000466, 7000389, 7000478],
)  # fmt: skip
def test_what_was_found_stays_mended(seed):
    about, verdict = KINDS["tables"](seed)
    assert not verdict.is_fault, (about, verdict)


@pytest.mark.filterwarnings("ignore")
def test_scores_that_few_votes_hold_are_given_up_soon():
    """Nine votes beside 273 verdicts, counted as 145,000 rows: scores run away."""
    rng = np.random.default_rng([1, 60310])
    case = tables.draw(rng)
    method = clone(options.draw(rng, case=case))
    with counted_points() as n_points, pytest.raises(BattlesError, match="run away"):
        method.fit(case.X, case.y, sample_weight=case.weight)
    # All fits together; tens of thousands where each goes on to its limit of steps.
    assert n_points["all"] < 100_000
