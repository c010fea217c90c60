"""Graded outcomes that scores would silently be wrong by."""

import numpy as np
import pytest
from sklearn.base import clone
from tables import warnings_of

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.large import fit_history
from skanchor.simulation import simulate_battles

ANCHOR = AnchorPipeline(cv=2, item_effects=None, random_state=0)


@pytest.fixture(scope="module")
def battles():
    data = simulate_battles(2400, 240, new_score=1.0, random_state=0)
    is_new_row = data.X[["model_a", "model_b"]].eq("new-model").any(axis=1).to_numpy()
    y = np.asarray(data.y, dtype=float)
    y[::11] = 0.5
    return data.X[["model_a", "model_b", "judge"]], y, is_new_row


def of_grades(call):
    return [str(one) for one in warnings_of(call) if "graded" in str(one)]


def graded(y, which):
    """Sure answers, as 0.8 and 0.2, where ``which`` says so."""
    return np.where(which, 0.2 + 0.6 * y, y)


def test_verdicts_graded_on_new_models_alone_are_told(battles):
    X, y, is_new_row = battles
    judged = (X["judge"] != "human").to_numpy()
    assert of_grades(lambda: ANCHOR.fit(X, y)) == []
    # A sensitivity absorbs grades that history has, too.
    assert of_grades(lambda: ANCHOR.fit(X, graded(y, judged))) == []
    (result,) = of_grades(lambda: ANCHOR.fit(X, graded(y, judged & is_new_row)))
    assert "['judge-1', 'judge-2', 'judge-3'] on new models are graded (" in result
    (result,) = of_grades(lambda: ANCHOR.fit(X, graded(y, judged & ~is_new_row)))
    assert "on historical models are graded (" in result
    # One judge of three.
    first = (X["judge"] == "judge-1").to_numpy()
    (result,) = of_grades(lambda: ANCHOR.fit(X, graded(y, is_new_row & first)))
    assert "Verdicts of judges ['judge-1'] on new" in result
    # A few soft verdicts are no other kind.
    few = first & is_new_row & (np.arange(len(y)) % 20 == 0)
    assert of_grades(lambda: ANCHOR.fit(X, graded(y, few))) == []


def test_ties_of_grades_in_part_do_not_depend_on_the_level():
    """Verdicts on one kind alone have ties, so that these seem to follow the level."""
    data = simulate_battles(4000, 600, new_score=1.0, random_state=0)
    X = data.X[["model_a", "model_b", "judge"]]
    y = np.asarray(data.y, dtype=float)
    is_new_row = X[["model_a", "model_b"]].eq("new-model").any(axis=1).to_numpy()
    judged = (X["judge"] != "human").to_numpy()
    sure = np.random.default_rng(0).choice([0.0, 0.25, 0.5], len(y))
    for which in (is_new_row, ~is_new_row):
        outcomes = np.where(judged & which, sure + (1.0 - 2.0 * sure) * y, y)
        fitted = clone(ANCHOR)
        texts = " ".join(map(str, warnings_of(lambda y=outcomes: fitted.fit(X, y))))  # noqa: B023
        assert "models are graded" in texts and "How often two models tie" not in texts
        level = fitted.result_.diagnostics.ties["level"]
        assert level["human"] == 0.0 and level.drop("human").isna().all()


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
@pytest.mark.parametrize("by_batches", [False, True])
def test_a_history_knows_which_judges_graded(battles, by_batches, tmp_path):
    X, y, is_new_row = battles
    judged = (X["judge"] != "human").to_numpy()
    for old in (y, graded(y, judged)):
        if by_batches:
            rows = X[~is_new_row].assign(winner=old[~is_new_row])
            history = fit_history([rows], ANCHOR)
        else:
            history = AnchorHistory(ANCHOR).fit(X[~is_new_row], old[~is_new_row])
        shares = history.state_.facts["graded_verdicts"]
        history.save(tmp_path / "history", overwrite=True)
        history = AnchorHistory.load(tmp_path / "history")
        for new in (y, graded(y, judged)):
            result = of_grades(lambda: history.place(X[is_new_row], new[is_new_row]))  # noqa: B023
            assert len(result) == ((old is y) != (new is y))
    assert shares.keys() == {"judge-1", "judge-2", "judge-3"}
    mine = (X["judge"] == "judge-1").to_numpy() & ~is_new_row
    assert shares["judge-1"] == round(np.mean(y[mine] != 0.5), 4)
