"""Scores of their own in every context, with judges that all contexts share."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference import Dense
from scipy.special import expit
from tables import meets

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError, DataWarning, DisconnectedError
from skanchor.reports import to_dict
from skanchor.results import ContextResult
from skanchor.simulation import simulate_battles

NEW = "new-model"
KINDS = ["chat", "code", "math"]


def simulated(seed=3, features=True, **options):
    sizes = {"n_models": 4, "n_historical": 3000, "n_new": 450}
    sizes |= {"rho": 0.5 if features else 0.0} | options
    data = simulate_battles(random_state=seed, **sizes)
    X = data.X if features else data.X.drop(columns=[c for c in data.X if c[:1] == "x"])
    kind = np.random.default_rng(seed).choice(KINDS, size=len(X), p=[0.5, 0.3, 0.2])
    return X.assign(kind=kind), data.y


def anchor(**options):
    reference = {"cv": 3, "item_effects": None, "random_state": 0, "context": "kind"}
    return AnchorPipeline(**reference | options)


@pytest.fixture(scope="module")
def table():
    return simulated()


@pytest.fixture(scope="module")
def fitted(table):
    return anchor().fit(*table)


# ------------------------------------------------------------------------- exact laws
@pytest.mark.parametrize("item_effects", [None, "random"])
def test_one_context_is_the_fit_without_contexts(table, item_effects):
    X, y = table
    plain = anchor(context=None, item_effects=item_effects)
    plain.fit(X.drop(columns="kind"), y)
    one = anchor(item_effects=item_effects).fit(X.assign(kind="all"), y)
    assert one.models_.tolist() == plain.models_.tolist()
    a, b = plain.result_, one.result_
    for name in ("estimates", "covariances", "parts", "lower_bound", "influence"):
        assert_allclose(getattr(b, name), getattr(a, name), rtol=0, atol=1e-12)
    pd.testing.assert_frame_equal(one.leaderboard(), plain.leaderboard())
    assert_allclose(
        one.predict_proba(X.assign(kind="all")),
        plain.predict_proba(X.drop(columns="kind")),
        atol=1e-12,
    )


def test_names_of_contexts_and_the_order_of_rows_change_nothing(table, fitted):
    X, y = table
    order = np.random.default_rng(0).permutation(len(X))
    position = np.argsort(order)
    plan = [(position[train], position[test]) for train, test in fitted.fold_plan_[0]]
    names = {"chat": "z", "code": "y", "math": "x"}
    moved = X.assign(kind=X["kind"].map(names)).iloc[order]
    again = anchor(cv=plan).fit(moved, np.asarray(y)[order])
    assert_allclose(again.result_.estimates, fitted.result_.estimates, atol=1e-9)
    assert_allclose(again.result_.covariances, fitted.result_.covariances, atol=1e-9)
    for kind, result in fitted.result_.by_context.items():
        other = again.result_.by_context[names[kind]]
        assert_allclose(other.estimates, result.estimates, atol=1e-9)


def apart(X, y, plan, kind):
    """Rows of one context, and what of a plan they are."""
    rows = np.flatnonzero((X["kind"] == kind).to_numpy())
    fits = [
        tuple(np.flatnonzero(np.isin(rows, part)) for part in pair) for pair in plan
    ]
    return X.iloc[rows], np.asarray(y)[rows], fits


@pytest.mark.parametrize("historical_fit", ["two-step", "joint"])
def test_with_judges_of_their_own_contexts_are_tables_of_their_own(
    historical_fit, exact_folds
):
    X, y = simulated(features=False)
    people = X["judge"] == "human"
    X["judge"] = X["judge"].where(people, X["judge"] + "@" + X["kind"])
    whole = anchor(historical_fit=historical_fit).fit(X, y)
    for kind in KINDS:
        part = apart(X, y, whole.fold_plan_[0], kind)
        alone = anchor(context=None, cv=part[2], historical_fit=historical_fit)
        alone.fit(part[0].drop(columns="kind"), part[1])
        result = whole.result_.by_context[kind]
        assert_allclose(result.estimates, alone.result_.estimates, atol=2e-6)
        assert_allclose(result.covariances, alone.result_.covariances, atol=2e-6)
    # Nothing that was estimated is common to two contexts.
    context = np.array([label.context for label in whole.result_.cells.models])
    cross = context[:, None] != context
    assert_allclose(whole.result_.cells.covariances[0][cross], 0.0, atol=1e-12)


# ------------------------------------------------------------ an independent reference


def test_against_a_dense_likelihood_by_hand(exact_folds):
    X, y = simulated(seed=7, features=False, n_historical=2400)
    calibrator = JudgeCalibrator(position_effect=False)
    result = anchor(calibrator=calibrator, cv=4, historical_fit="two-step").fit(X, y)
    cells = result.result_.cells
    items = {side: X[side] + " in " + X["kind"] for side in ("model_a", "model_b")}
    dense = Dense(
        X.assign(**items), y, map(str, cells.models), result.judges_,
        [f"{NEW} in {kind}" for kind in KINDS],
        context=[label.context for label in cells.models],
    )  # fmt: skip
    scores, covariance, _ = dense.anchor(result.fold_plan_[0])
    assert_allclose(cells.estimates[0], scores, atol=2e-6)
    assert_allclose(cells.covariances[0], covariance, atol=2e-6)
    assert np.abs(covariance).max() > 0.01


# -------------------------------------------------------------------- mixes of contexts
def test_a_mix_is_a_linear_map_of_the_scores_by_context(fitted):
    result, cells = fitted.result_, fitted.result_.cells
    assert isinstance(result, ContextResult) and result.contexts == KINDS
    assert fitted.contexts_.tolist() == KINDS
    mix = {"chat": 0.5, "math": 0.3, "code": 0.2}
    whole = result.under(mix)
    A = np.array(
        [
            [mix[label.context] * (label.model == model) for label in cells.models]
            for model in whole.models
        ]
    )
    assert_allclose(whole.estimates[0], A @ cells.estimates[0])
    assert_allclose(whole.covariances[0], A @ cells.covariances[0] @ A.T)
    for kind, one in result.by_context.items():
        assert abs(one.all_scores[~one.is_new].sum()) < 1e-9
        pd.testing.assert_frame_equal(
            one.conf_int(), result.under({kind: 1}).conf_int()
        )
    # What is reported is the equal mix.
    equal = result.under(dict.fromkeys(KINDS, 1 / 3))
    assert_allclose(equal.covariances, result.covariances)
    assert_allclose(fitted.scores_, equal.scores)
    assert_allclose(
        result.influence.sum(axis=0) + result.plug_in[0], equal.estimates[0]
    )
    assert_allclose(np.sum(result.influence**2, axis=0), np.diag(equal.covariances[0]))
    variance = fitted.variance_.loc[NEW]
    parts = variance[["human", "judge", "cross", "items"]].sum()
    assert_allclose(parts, fitted.standard_errors_[NEW] ** 2)
    assert 0 < variance["lower_bound"] < parts
    assert whole.n_human.sum() == 2 * (fitted._sample.X.is_human).sum()


def test_a_mix_can_be_asked_for(table, fitted):
    with_mix = anchor(context_mix={"chat": 0.25, "code": 0.75}).fit(*table)
    want = fitted.result_.under({"chat": 0.25, "code": 0.75})
    assert_allclose(with_mix.result_.covariances, want.covariances)
    assert with_mix.result_.mix == {"chat": 0.25, "code": 0.75}
    assert "kind; the scores mix 0.25 chat, 0.75 code" in str(with_mix.result_)
    assert "kind" not in with_mix.result_.inputs.ignored


def test_deviations_of_judges_add_up_over_contexts(table):
    X, y = table
    result = anchor(item_effects="random").fit(X, y)
    reference, debiaser = result.comparisons_, result.debiaser_
    covariance = result.item_covariance_
    a = debiaser.weights(reference)
    p = expit(reference.logits())
    items = reference.items
    exposure = np.zeros((3, 5, len(reference.models)))
    by_item = np.zeros((3, len(reference.models), len(reference.models)))
    for m in range(3):
        rows = reference.judge == m
        seen = (p * (1 - p))[rows, None] * a[rows]
        for side, sign in ((reference.left, 1.0), (reference.right, -1.0)):
            np.add.at(exposure[m], items.model[side[rows]], sign * seen)
            np.add.at(by_item[m], side[rows], sign * seen)
    alike = np.einsum("mit,mn,niu->tu", exposure, covariance, exposure)
    expected = np.einsum("mit,mn,niu->tu", by_item, covariance, by_item)
    reported = debiaser.solution_.weights.item_covariance
    assert_allclose(reported, alike, rtol=1e-6, atol=1e-9)
    # A mean over contexts does not average out what a judge makes of a model.
    new = reference.is_new
    assert reported[np.ix_(new, new)].mean() > 0.9 * np.diag(reported)[new].mean()
    assert expected[np.ix_(new, new)].mean() < 0.6 * np.diag(expected)[new].mean()


# ------------------------------------------------------------------------- what is seen
def test_predictions_know_contexts(table, fitted):
    X, _ = table
    row = X[X["judge"] == "human"].iloc[:1]
    chances = [fitted.win_probability(row.assign(kind=kind))[0] for kind in KINDS]
    sides = row[["model_a", "model_b"]].to_numpy()[0]
    for kind, chance in zip(KINDS, chances, strict=True):
        a, b = fitted.result_.by_context[kind].all_scores[list(sides)]
        assert_allclose(chance, expit(a - b))
    with pytest.warns(DataWarning, match="without a score"):
        assert fitted.win_probability(row.assign(kind="poetry"))[0] == 0.5
    with pytest.raises(BattlesError, match="names the column 'kind', which"):
        fitted.predict(row.drop(columns="kind"))
    again = fitted.predict_proba(fitted.comparisons_)
    assert_allclose(again, fitted.predict_proba(X))


# ---------------------------------------------------------------------- gaps and faults
def without(table, drop):
    X, y = table
    return X[~drop], np.asarray(y)[~drop.to_numpy()]


def test_a_context_without_votes_is_placed_by_judges(table):
    X, y = without(table, (table[0]["judge"] == "human") & (table[0]["kind"] == "math"))
    result = anchor().fit(X, y).result_
    math = result.by_context["math"]
    assert np.isfinite(math.all_standard_errors).all()
    assert math.n_human.sum() == 0
    with pytest.raises(BattlesError, match=r"No human votes place .* in 'math'.*joint"):
        anchor(historical_fit="two-step").fit(X, y)


def test_a_context_without_arrivals_has_no_new_score(table):
    X, y = without(table, meets(table[0], NEW) & (table[0]["kind"] == "math"))
    with pytest.raises(
        BattlesError, match=r"'math' has no row that places .*context_mix"
    ):
        anchor().fit(X, y)
    result = anchor(context_mix={"chat": 0.5, "code": 0.5}).fit(X, y).result_
    assert np.isfinite(result.standard_errors[NEW])
    assert not result.by_context["math"].is_new.any()
    with pytest.raises(BattlesError, match=rf"'math' has no row that places .*{NEW}"):
        result.under({"chat": 0.5, "math": 0.5})


def test_a_model_that_never_wins_in_a_context_has_no_score_in_a_mix(table):
    X, y = table
    y = np.asarray(y, dtype=float).copy()
    inside = (X["kind"] == "code").to_numpy() & ~meets(X, NEW)
    y[inside & (X["model_a"] == "model-01").to_numpy()] = 0.0
    y[inside & (X["model_b"] == "model-01").to_numpy()] = 1.0
    with pytest.warns(DataWarning, match=r"'model-01' in 'code'.*left out"):
        result = anchor().fit(X, y).result_
    assert result.all_standard_errors.index[result.unbounded].tolist() == ["model-01"]
    old = ~result.is_new & ~result.unbounded
    assert abs(result.all_scores[old].sum()) < 1e-9
    assert np.isfinite(result.by_context["chat"].all_standard_errors).all()
    assert np.isfinite(result.variance.loc[NEW]).all()


def test_a_context_needs_two_historical_models(table):
    X, _ = table
    drop = (X["kind"] == "math") & (meets(X, "model-01") | meets(X, "model-02"))
    drop |= (X["kind"] == "math") & meets(X, "model-03")
    X, y = without(table, drop)
    with pytest.raises(BattlesError, match=r"in context 'math': [01]; at least two"):
        anchor().fit(X, y)


def test_a_context_whose_models_have_no_limit_is_refused(table):
    X, y = table
    y = np.asarray(y, dtype=float).copy()
    inside = (X["kind"] == "math").to_numpy() & ~meets(X, NEW)
    # Who comes first by name wins.
    first = (X["model_a"] < X["model_b"]).to_numpy()
    y[inside] = first[inside]
    with pytest.raises(BattlesError, match="common scale"):
        anchor().fit(X, y)


def test_votes_that_fall_apart_in_a_context(table):
    X, y = table
    halves = X[["model_a", "model_b"]].isin(["model-01", "model-02"]).sum(axis=1) == 1
    human = X["judge"] == "human"
    X, y = without(table, halves & human & (X["kind"] == "code"))
    with pytest.raises(DisconnectedError, match="4 separate groups of models in 3 con"):
        anchor(historical_fit="two-step").fit(X, y)
    # Verdicts join them.
    assert np.isfinite(anchor().fit(X, y).result_.all_standard_errors).all()


@pytest.mark.parametrize(
    ("mix", "error", "match"),
    [
        ({"chat": 0.5, "code": 0.4}, ValueError, r"sum to one, here they sum to 0\.9"),
        ({"chat": 1.5, "code": -0.5}, ValueError, "not negative"),
        ({"poetry": 1.0}, BattlesError, r"\['poetry'\], which the table has not"),
    ],
)
def test_a_mix_that_is_none_is_refused(table, fitted, mix, error, match):
    with pytest.raises(error, match=match):
        fitted.result_.under(mix)
    with pytest.raises(error, match=match):
        anchor(context_mix=mix).fit(*table)


def test_what_does_not_go_with_contexts_is_refused_by_name(table):
    X, y = table
    with pytest.raises(ValueError, match="name their column by context"):
        anchor(context=None, context_mix={"chat": 1.0}).fit(X, y)
    with pytest.raises(ValueError, match="human_bias cannot be combined with"):
        anchor(human_bias="linear").fit(X, y)
    with pytest.raises(ValueError, match="leave_one_model_out does not support"):
        leave_one_model_out(anchor(), X, y)
    with pytest.raises(ValueError, match="AnchorHistory does not support contexts"):
        AnchorHistory(anchor()).fit(X, y)
    with pytest.raises(BattlesError, match="names the column 'topic', which"):
        anchor(context="topic").fit(X, y)
    with pytest.raises(
        BattlesError, match="'kind' has missing values: 1, the first in row 7"
    ):
        anchor().fit(X.assign(kind=X["kind"].mask(X.index == X.index[7])), y)


def test_few_models_in_many_contexts_are_few_models(table):
    result = anchor(item_effects="auto").fit(*table)
    assert result.item_effects_ == "random"
    reason = to_dict(result)["item_effects"]["reason"]
    assert "they always are with 4 historical models" in reason


def test_deviations_are_drawn_by_context(table):
    pytest.importorskip("matplotlib").use("Agg")
    from skanchor.plotting import ItemDeviationDisplay

    result = anchor(item_effects="random").fit(*table)
    drawn = ItemDeviationDisplay.from_estimator(result)
    assert set(map(str, drawn.models)) == set(map(str, result.result_.cells.models))
