"""Rows of one prompt belong together, unless the user says that they do not."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skanchor import AnchorHistory, AnchorPipeline, BTLRegressor, SourceKFold
from skanchor._battles.grouping import FEW_GROUPS, find_groups
from skanchor.baselines import JointBTL
from skanchor.bootstrap import bootstrap
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

ANCHOR = AnchorPipeline(cv=3, item_effects=None, random_state=0)


@pytest.fixture(scope="module")
def battles():
    """A table with prompts of three rows on average, and its outcomes."""
    data = simulate_battles(900, 150, n_models=6, n_judges=2, random_state=2)
    rng = np.random.default_rng(0)
    n = len(data.X)
    return data.X.assign(prompt_id=rng.integers(0, n // 3, n)), np.asarray(data.y)


def errors(fitted):
    return fitted.result_.standard_errors.to_numpy()


def test_prompts_are_the_groups_by_default(battles):
    X, y = battles
    fitted = ANCHOR.fit(X, y)
    assert fitted.result_.inputs.groups == "prompt_id"
    assert "prompt_id" not in fitted.result_.inputs.ignored
    by_default = errors(fitted)
    assert_array_equal(by_default, errors(ANCHOR.fit(X, y, groups="prompt_id")))
    rows = ANCHOR.fit(X, y, groups=None)
    assert rows.result_.inputs.groups is None
    assert_array_equal(errors(rows), errors(ANCHOR.fit(X.drop(columns="prompt_id"), y)))
    assert not np.allclose(by_default, errors(rows))


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.filterwarnings("ignore:.* copies of earlier ones")
def test_a_table_given_several_times_is_no_surer(battles, copies):
    X, y = battles
    X = X.assign(prompt_id=np.arange(len(X)))
    # As groups, so that the folds are drawn alike.
    once = errors(ANCHOR.fit(X, y, groups=np.arange(len(X))))
    many = pd.concat([X] * copies, ignore_index=True)
    again = errors(ANCHOR.fit(many, np.tile(y, copies)))
    assert_allclose(again, once, rtol=1e-3)
    # Taken for independent, they would shrink the variance of the votes.
    rows = ANCHOR.fit(many, np.tile(y, copies), groups=None).btl_.standard_errors_
    grouped = ANCHOR.fit(many, np.tile(y, copies)).btl_.standard_errors_
    assert_allclose(rows, grouped / copies**0.5, rtol=1e-6)


def test_every_door_groups_by_prompt(battles):
    X, y = battles
    human = (X["judge"] == "human").to_numpy()
    votes, won = X[human], y[human]
    one, other = (
        BTLRegressor().fit(votes, won, groups=groups) for groups in ("prompt_id", None)
    )
    mine = BTLRegressor().fit(votes, won).standard_errors_
    assert_array_equal(mine, one.standard_errors_)
    assert (mine != other.standard_errors_).any()
    assert JointBTL().fit(X, y).result_.inputs.groups == "prompt_id"
    refits = [
        bootstrap(JointBTL(), X, y, n_resamples=8, random_state=0, **groups)
        for groups in ({}, {"groups": "prompt_id"}, {"groups": None})
    ]
    one, same, other = (refit.standard_errors for refit in refits)
    assert_array_equal(one, same)
    assert (one != other).any()
    models = ["model-02"]
    tables = [
        leave_one_model_out(ANCHOR, X, y, models=models, **groups)
        for groups in ({}, {"groups": "prompt_id"}, {"groups": None})
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert not tables[0].equals(tables[2])
    for train, test in SourceKFold(3, random_state=0).split(X):
        prompts = X["prompt_id"].to_numpy()
        assert not set(prompts[train]) & set(prompts[test])


def test_rows_without_a_prompt_are_groups_of_their_own(battles):
    X, y = battles
    prompts = X["prompt_id"].astype(object).mask(np.arange(len(X)) % 4 == 0)
    table = X.assign(prompt_id=prompts)
    result = find_groups("auto", table, len(X))
    groups = pd.Series(result.prompts)
    assert_array_equal(result.prompts, pd.factorize(groups)[0])
    lost = prompts.isna().to_numpy()
    assert result.name == "prompt_id" and groups[lost].is_unique
    assert not set(groups[lost]) & set(groups[~lost])
    assert [label is None for label in result.labels[result.prompts]] == lost.tolist()
    reference = pd.factorize(prompts[~lost])[0]
    assert_array_equal(pd.factorize(groups[~lost])[0], reference)
    fitted = ANCHOR.fit(table, y)
    assert_array_equal(errors(fitted), errors(ANCHOR.fit(X, y, groups=groups)))


def test_few_prompts_are_told_and_rows_are_independent(battles):
    X, y = battles
    few = X.assign(prompt_id=np.arange(len(X)) % (FEW_GROUPS - 1))
    with pytest.warns(DataWarning, match="only 29 different values, too few"):
        result = errors(ANCHOR.fit(few, y))
    assert_array_equal(result, errors(ANCHOR.fit(X, y, groups=None)))


@pytest.mark.filterwarnings("ignore:.* copies of earlier ones")
def test_a_history_has_the_groups_of_prompts(battles):
    X, y = battles
    is_new_row = X[["model_a", "model_b"]].eq("new-model").any(axis=1).to_numpy()
    history = AnchorHistory(ANCHOR).fit(X[~is_new_row], y[~is_new_row])
    named = AnchorHistory(ANCHOR).fit(
        X[~is_new_row], y[~is_new_row], groups="prompt_id"
    )
    mine = history.place(X[is_new_row], y[is_new_row])
    assert_array_equal(
        mine.standard_errors,
        named.place(X[is_new_row], y[is_new_row], groups="prompt_id").standard_errors,
    )
    with pytest.raises(BattlesError, match="give the groups of these rows"):
        history.place(X[is_new_row].drop(columns="prompt_id"), y[is_new_row])
    alone = AnchorHistory(ANCHOR).fit(X[~is_new_row], y[~is_new_row], groups=None)
    with pytest.warns(DataWarning, match="these rows count as independent, although"):
        result = alone.place(X[is_new_row], y[is_new_row])
    assert_array_equal(
        result.standard_errors,
        alone.place(X[is_new_row], y[is_new_row], groups=None).standard_errors,
    )
    # Without features a history of independent rows can be updated by counts alone.
    names = ["model_a", "model_b", "judge", "prompt_id"]
    pairs = X.loc[~is_new_row, names].assign(
        prompt_id=np.arange(np.sum(~is_new_row)) // 2
    )
    alone = AnchorHistory(ANCHOR).fit(pairs, y[~is_new_row], groups=None)
    votes = pairs[:80]
    with pytest.warns(DataWarning, match="these rows count as independent, although"):
        assert alone.update(votes, y[~is_new_row][:80]).updated_from_ == "counts"


def spread(fit, n_draws, seed):
    """Variance of a score over draws, and mean estimated ones: by prompt, by row."""
    rng = np.random.default_rng(seed)
    scores, by_prompt, by_row = [], [], []
    for _ in range(n_draws):
        X, y = fit(rng)
        fitted = BTLRegressor().fit(X, y)
        scores.append(fitted.scores_["a"])
        by_prompt.append(fitted.standard_errors_["a"] ** 2)
        # They hardly differ between draws.
        if len(by_row) < 20:
            alone = BTLRegressor().fit(X, y, groups=None)
            by_row.append(alone.standard_errors_["a"] ** 2)
    return np.var(scores, ddof=1), np.mean(by_prompt), np.mean(by_row)


def test_three_annotators_are_not_three_votes():
    names, theta = np.array(list("abcde")), np.array([0.6, 0.2, 0.0, -0.3, -0.5])

    def fit(rng):
        sides = np.array([rng.permutation(5)[:2] for _ in range(333)])
        p = 1.0 / (1.0 + np.exp(theta[sides[:, 1]] - theta[sides[:, 0]]))
        first = rng.random(333) < p
        # The others decide anew in one case of ten.
        again = [np.where(rng.random(333) < 0.1, rng.random(333) < p, first)
                 for _ in range(2)]  # fmt: skip
        X = pd.DataFrame(names[np.tile(sides, (3, 1))], columns=["model_a", "model_b"])
        X = X.assign(
            prompt_id=np.tile(np.arange(333), 3), rater=np.repeat([1, 2, 3], 333)
        )
        return X, np.concatenate([first, *again]).astype(float)

    result, by_prompt, by_row = spread(fit, 100, 1)
    # An empirical variance of 100 draws has a standard error of 14 %.
    assert 0.6 < by_prompt / result < 1.5
    assert by_row / result < 0.55


def test_pairs_of_one_rating_are_not_votes_of_their_own():
    names, theta = np.array(list("abcde")), np.array([0.6, 0.2, 0.0, -0.3, -0.5])
    left, right = np.triu_indices(5, 1)

    def fit(rng):
        # Gumbel noise makes the ratings of a prompt follow the Bradley-Terry model.
        rating = theta + rng.gumbel(size=(80, 5))
        X = pd.DataFrame({"model_a": names[np.tile(left, 80)],
                          "model_b": names[np.tile(right, 80)]})  # fmt: skip
        X = X.assign(prompt_id=np.repeat(np.arange(80), 10))
        return X, (rating[:, left] > rating[:, right]).ravel().astype(float)

    result, by_prompt, by_row = spread(fit, 100, 2)
    assert 0.6 < by_prompt / result < 1.5
    assert by_row / result < 0.75
