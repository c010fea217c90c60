"""The same table by three roads: the pipeline, a history in memory, and batches.

Columns are read by their exact names, as a large data set is. Each bad table ends in
the same class of error and the same statement by each road; each odd one is
warned of alike. Where a road says it in its own words, the case lists these. A history
admits its rows as a fit does.
"""

import warnings
from functools import cache
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from faults import features, names, settings, votes
from numpy.testing import assert_allclose
from tables import plan_of

from skanchor import AnchorHistory, AnchorPipeline, BTLRegressor, split_battles
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.large import fit_history
from skanchor.reports import to_dict
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
ROADS = ["pipeline", "history", "large"]
ROW = 250
"""An odd row; as a large data set, it lies in the second of two tables."""


@cache
def history():
    data = simulate_battles(400, 10, n_models=4, n_judges=2, random_state=0)
    table = data.X.assign(winner=np.asarray(data.y, dtype=float))
    new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
    # Neither people nor judges come in order.
    return table[~new].sample(frac=1.0, random_state=0).reset_index(drop=True)


def take(road, table, human="human", weight=None, **settings):
    """Fit a table by a road; scores of the votes are those of its history."""
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None, **settings)
    if road == "large":
        half = len(table) // 2
        parts = [table.iloc[:half], table.iloc[half:]]
        result = fit_history(parts, anchor, human=human, sample_weight=weight)
        return scores_and_sensitivities(result.state_)
    weights = None if weight is None else table[weight].to_numpy()
    battles = table if weight is None else table.drop(columns=weight)
    X, y = split_battles(battles, human=human)
    if road == "pipeline":
        return anchor.set_params(new_models=[]).fit(X, y, weights).comparisons_
    return scores_and_sensitivities(AnchorHistory(anchor).fit(X, y, weights).state_)


def scores_and_sensitivities(state):
    """Labels of a history, with scores and sensitivities."""
    x, layout = state.fits.x[0], state.fits.layout
    slopes = x[layout.sensitivities][1:]
    return SimpleNamespace(
        models=state.models,
        judges=state.judges,
        feature_names=state.features,
        scores=x[layout.scores],
        sensitivities=slopes,
    )


def at(column, value, row=ROW):
    """The table with another value in one row."""
    table = history()
    values = table[column].astype(object)
    values[row] = value
    is_number = isinstance(value, float) and column not in ("model_a", "judge")
    return table.assign(**{column: values.astype(float) if is_number else values})


def crowd(**labels):
    return history().replace({"judge": {"human": "zeta"} | labels})


def weighed(value, others=1.0):
    table = history()
    return table.assign(w=np.where(np.arange(len(table)) == ROW, value, others))


def scaled(factor):
    table = history()
    return table.assign(x1_a=table["x1_a"] * factor, x1_b=table["x1_b"] * factor)


COUNTS = "holds numbers of equal rows: it needs frequency as weights, and rows without"
FEATURE = "Feature 'x1_a' contains infinity or a number too large"
# Titles of `faults`, and what is said by batches where it is not what a fit says.
FAULTY = {
    "A missing column": None,
    "A table without outcomes": None,
    "Half a feature pair": None,
    "An empty table": "The data set holds no rows",
    "No human row at all": None,
    "An outcome label that is not known": None,
    "A missing outcome": None,
    "Outcomes 1 and 2": None,
    "Dates as outcomes": None,
    "A missing model name": "'model_a' has missing values: 1",
    "A missing judge": None,
    "A NaN feature in a row that is used": None,
    "An infinite feature": None,
}


@pytest.mark.parametrize("title", FAULTY)
def test_what_a_fit_refuses_is_refused_by_batches(title):
    lists = (features.FAULTS, names.FAULTS, settings.FAULTS, votes.FAULTS)
    (entry,) = (one for one in chain(*lists) if one.title == title)
    error, statement = entry.raises
    with pytest.raises(error, match=FAULTY[title] or statement):
        take("large", entry.frame())


NOBODY = r"No row of column 'judge' holds the human labels \['zeto'\]; it holds"
BAD = {
    "sides of two types": (
        lambda: history().assign(x1_a=history()["x1_a"].astype(str)),
        BattlesError, "x1_a and x1_b differ in type"),
    "people under another label": (crowd, BattlesError, "no human row|No row is by"),
    "a label of people that no row holds": (
        crowd, BattlesError, NOBODY, {"human": "zeto"}),
    "one of two labels of people that no row holds": (
        crowd, BattlesError, NOBODY, {"human": ["zeta", "zeto"]}),
    "a judge called human beside people": (
        lambda: crowd(**{"judge-1": "human"}),
        BattlesError, "'human' among them, or rename that judge", {"human": "zeta"}),
    # Columns of Arrow have one type each.
    "models that are texts and numbers": (
        lambda: at("model_a", 1), TypeError, "Expected bytes"),
    "a feature that is too large": (lambda: scaled(1e200), BattlesError, FEATURE),
    "a feature that is too small": (
        lambda: scaled(1e-200), BattlesError, "'x1' is too small"),
    "a display order of another name": (
        lambda: history().assign(shown_first="left"),
        BattlesError, r"'shown_first' holds \['left'\]"),
    "weights that are no counts": (
        lambda: weighed(1.0), BattlesError, COUNTS, {"weight": "w"}),
    "counts of rows with features": (
        lambda: weighed(1.5), BattlesError, COUNTS,
        {"weight": "w", "weights": "frequency"}),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_is_refused_alike(case):
    make, error, statement, *inputs = BAD[case]
    with pytest.raises(error, match=statement):
        take("large", make(), **(inputs[0] if inputs else {}))


ODD = {
    "judges that look alike": (
        lambda: history().assign(judge=[
            "Judge-1" if judge == "judge-1" and row % 3 else judge
            for row, judge in enumerate(history()["judge"])
        ]),
        r"judges \['Judge-1', 'judge-1'\] differ in case, blanks"),
    "people that look alike": (
        lambda: history().assign(judge=[
            "Human" if judge == "human" and row % 3 == 0 else judge
            for row, judge in enumerate(history()["judge"])
        ]),
        r"judges \['human', 'Human'\] differ in case, blanks"),
    "a feature by whose name it is the outcome": (
        lambda: history().assign(score_a=1.0, score_b=2.0),
        "score_a and score_b are left out"),
    "a judge of few rows": (
        lambda: pd.concat(
            [history(), history().query("judge != 'human'")[:2].assign(judge="rare")]),
        "rare.*rows are left out"),
}  # fmt: skip


@pytest.mark.parametrize("road", ["pipeline", "large"])
@pytest.mark.parametrize("case", ODD)
def test_an_odd_table_is_warned_of_alike(case, road):
    make, statement = ODD[case]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        take(road, make())
    messages = [str(w.message) for w in caught if issubclass(w.category, DataWarning)]
    assert pd.Series(messages).str.contains(statement).sum() == 1


GOOD = {
    "as it is": (history, {}),
    "people by a pattern": (crowd, {"human": "zet*"}),
    "people by two labels": (
        lambda: history().assign(judge=[
            f"p{row % 2}" if judge == "human" else judge
            for row, judge in enumerate(history()["judge"])
        ]),
        {"human": ["p0", "p1"]}),
    "a feature that is missing in a vote": (
        lambda: at("x1_a", np.nan, int(np.argmax(history()["judge"] == "human"))), {}),
    "features of text": (lambda: history().assign(note_a="x", note_b="y"), {}),
    "weights": (
        lambda: history().assign(w=1.5 + np.arange(len(history())) % 2),
        {"weight": "w"}),
    "counts, some of them zero": (
        lambda: history().assign(w=np.arange(len(history())) % 3),
        {"weight": "w", "weights": "frequency"}),
    "ties left out": (
        lambda: history().assign(
            winner=history()["winner"].where(np.arange(len(history())) % 5 > 0, 0.5)),
        {"ties": "drop"}),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_a_good_table_gives_the_same_fit(case):
    make, inputs = GOOD[case]
    # Weights of rows with features need rows in memory.
    roads = ROADS[:2] if "weight" in inputs else ROADS
    one, *others = (take(road, make(), **inputs) for road in roads)
    for other in others:
        assert other.models.tolist() == one.models.tolist()
        assert other.judges.tolist() == one.judges.tolist()
        assert other.feature_names == one.feature_names
        assert_allclose(other.scores, one.scores, atol=2e-3)
        assert_allclose(other.sensitivities, one.sensitivities, rtol=2e-3)


def separated():
    """A judge that is wrong in two rows, which one fold holds out; folds by row."""
    data = simulate_battles(900, 120, n_models=5, n_judges=1, random_state=0)
    X, y = data.X[["model_a", "model_b", "judge"]], np.array(data.y, dtype=float)
    is_new_row = (X[["model_a", "model_b"]] == "new-model").any(axis=1).to_numpy()
    votes = (X["judge"] == "human").to_numpy() & ~is_new_row
    scores = BTLRegressor().fit(X[votes], y[votes]).scores_
    rows = np.flatnonzero(~votes & ~is_new_row)
    gap = scores[X["model_a"].iloc[rows]].to_numpy()
    gap = gap - scores[X["model_b"].iloc[rows]].to_numpy()
    y[rows] = gap > 0
    wrong = rows[np.argsort(-np.abs(gap))[:2]]
    y[wrong] = 1.0 - y[wrong]
    fold = np.random.default_rng(0).integers(0, 4, len(y))
    fold[wrong] = 0
    return X, y, is_new_row, fold


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_a_judge_separated_in_a_fold_is_placed_as_in_the_pipeline():
    X, y, is_new_row, fold = separated()
    settings = {"historical_fit": "two-step", "item_effects": None}
    whole = AnchorPipeline(cv=plan_of(fold), **settings).fit(X, y)
    reference = AnchorHistory(AnchorPipeline(cv=plan_of(fold[~is_new_row]), **settings))
    reference.fit(X[~is_new_row], y[~is_new_row])
    placed = reference.place(X[is_new_row], y[is_new_row], cv=plan_of(fold[is_new_row]))
    one, other = whole.leaderboard(), placed.leaderboard()
    # In the first fold the judge tells no score of finite size.
    assert np.isinf(one["standard_error"]).sum() > 1
    other = other.loc[one.index]
    for column in ("score", "standard_error", "low", "high"):
        assert_allclose(other[column], one[column], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["pipeline", "history"])
def test_folds_as_lists_say_which_rows_they_number(kind):
    table = history()[["model_a", "model_b", "judge", "winner"]]
    table = table.assign(w=1 + np.arange(len(table)) % 2)
    plan = plan_of(np.arange(len(table)) % 3)
    statement = rf"cv numbers the {table['w'].sum()} rows of the table that lists each"
    X, y = split_battles(table.drop(columns="w"))
    settings = {"weights": "frequency", "item_effects": None}
    anchor = AnchorPipeline(cv=plan, **settings)
    if kind == "pipeline":
        anchor.set_params(new_models=[])
    estimator = anchor if kind == "pipeline" else AnchorHistory(anchor)
    with pytest.raises(ValueError, match=statement):
        estimator.fit(X, y, table["w"])
    # Without counts nothing is said of them.
    estimator = AnchorPipeline(cv=plan_of(np.arange(9) % 3), new_models=[])
    with pytest.raises(ValueError, match=r"all rows not held out\.$"):
        estimator.fit(X, y)


@pytest.mark.parametrize("cv", [3, "lists"])
@pytest.mark.parametrize("counted", [False, True])
def test_a_history_numbers_rows_as_the_pipeline_does(cv, counted):
    table = history()
    y = table["winner"].where(np.arange(len(table)) % 5 > 0, 0.5).to_numpy()
    X = table[["model_a", "model_b", "judge"]]
    weight = np.arange(len(y)) % 3 if counted else None
    n_rows = len(y) if weight is None else int(weight.sum())
    anchor = AnchorPipeline(
        cv=plan_of(np.arange(n_rows) % 3) if cv == "lists" else cv,
        ties="drop",
        weights="frequency" if counted else "importance",
        item_effects=None,
        random_state=0,
    )
    fitted = AnchorHistory(anchor).fit(X, y, weight)
    whole = anchor.set_params(new_models=[]).fit(X, y, weight)
    for one, other in zip(whole.fold_plan_, fitted.fold_plan_, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            assert all(map(np.array_equal, mine, theirs))
    assert len(whole.influence_) == n_rows


def test_rows_that_are_people_s_by_default_are_told():
    table = history().drop(columns="judge")
    X, y = split_battles(table)
    anchor = AnchorPipeline(new_models=[], cv=3, random_state=0)
    statement = f"no column 'judge', so all {len(y)} rows count as human votes"
    with pytest.warns(DataWarning, match=statement):
        anchor.fit(X, y)
    assert "all rows count as human votes" in str(anchor.result_.inputs)
    assert to_dict(anchor)["inputs"]["all_human"] is True
    with pytest.warns(DataWarning, match=statement):
        AnchorHistory(AnchorPipeline(cv=3, random_state=0)).fit(X, y)
    # A column of people alone says who they are.
    fitted = AnchorPipeline(new_models=[], cv=3, random_state=0)
    fitted.fit(X.assign(judge="human"), y)
    assert to_dict(fitted)["inputs"]["all_human"] is False


@pytest.mark.parametrize("new_models", [None, []])
def test_a_table_of_judges_alone_names_the_next_step(new_models):
    X, y = split_battles(history().query("judge == 'judge-1'"))
    statement = r"No row is by a human: .*\['judge-1'\].*add the rows of people"
    with pytest.raises(BattlesError, match=statement):
        AnchorPipeline(new_models=new_models, cv=3).fit(X, y)
