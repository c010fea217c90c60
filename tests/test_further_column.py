"""A number of each row, given as a pair of features, reaches fit, history and batches.

So does a block of such columns with penalties of its own, which one argument states.
The recipe of ``docs/development.md``, "Where to add something".
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from tables import plan_of

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor.bias import LinearBias
from skanchor.large import fit_history
from skanchor.simulation import simulate_battles

# The verdicts that follow the column do not follow the scores.
pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

EFFECT = 2.0


def with_column(X, z):
    """The table with a number of each row, positive where it favours ``model_a``."""
    return X.assign(confidence_a=z / 2.0, confidence_b=-z / 2.0)


# One penalty for all columns, and one for each: the block of the last has none.
@pytest.fixture(scope="module", params=[0.0, (0.5, 0.5, 0.5, 0.0)], ids=str)
def fits(request, tmp_path_factory):
    """Table, pipeline on all rows, and two histories of the old rows."""
    drawn = simulate_battles(random_state=0)
    X, rng = drawn.X, np.random.default_rng(1)
    z = rng.normal(size=len(X))
    follows = (X["judge"] != "human").to_numpy() & (rng.uniform(size=len(X)) < 0.4)
    wins = rng.uniform(size=len(X)) < 1.0 / (1.0 + np.exp(-EFFECT * z))
    y = np.where(follows, wins, drawn.y)
    table = with_column(X, z)
    new = (X[["model_a", "model_b"]] == "new-model").any(axis=1).to_numpy()
    calibrator = JudgeCalibrator(LinearBias(alpha=request.param))
    anchor = AnchorPipeline(calibrator=calibrator, cv=3, random_state=0)
    path = tmp_path_factory.mktemp("rows") / "history.parquet"
    table[~new].assign(winner=y[~new]).to_parquet(path)
    by_batches = fit_history(path, anchor)
    anchor.set_params(cv=list(by_batches.fold_plan_[0]))
    fold = np.random.default_rng(0).integers(0, 3, int(new.sum()))
    plan = plan_of(fold)
    # The same folds for all rows at once: old rows as in the batches, then the new.
    old_at, new_at = np.flatnonzero(~new), np.flatnonzero(new)
    both = [
        tuple(
            np.concatenate([old_at[mine], new_at[theirs]])
            for mine, theirs in zip(old, new_rows, strict=True)
        )
        for old, new_rows in zip(anchor.cv, plan, strict=True)
    ]
    AnchorHistory(anchor).fit(table[~new], y[~new]).save(path.with_name("anchor"))
    history = AnchorHistory.load(path.with_name("anchor"))
    new_rows = (table[new], y[new])
    return SimpleNamespace(
        pipeline=clone(anchor).set_params(cv=both).fit(table, y),
        without=AnchorPipeline(cv=both).fit(X, y),
        placed=history.place(*new_rows, cv=plan),
        by_batches=by_batches.place(*new_rows, cv=plan),
    )


def test_the_column_matters(fits):
    coefficients = fits.pipeline.calibrator_.coefficients_["confidence"]
    # Two of five verdicts follow it, the others do not.
    assert (coefficients > 0.25 * EFFECT).all()
    moved = fits.pipeline.scores_["new-model"] - fits.without.scores_["new-model"]
    assert abs(moved) > 1e-3


def test_a_history_places_as_the_pipeline(fits):
    mine, theirs = fits.placed, fits.pipeline.result_
    assert_allclose(mine.scores, theirs.scores, atol=1e-8)
    assert_allclose(mine.standard_errors, theirs.standard_errors, rtol=1e-6)


def test_batches_place_as_a_history(fits):
    mine, theirs = fits.by_batches, fits.placed
    error = theirs.standard_errors
    # What the sums miss falls with the number of rows.
    assert np.abs(mine.scores - theirs.scores).max() < 1e-2 * error.min()
    assert_allclose(mine.standard_errors, error, rtol=1e-2)
