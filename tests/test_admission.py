"""The road to a ranking: each refusal, each warning, and what decides nothing."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skanchor import AnchorPipeline, BTLRegressor, Comparisons, split_battles
from skanchor._battles import decide_roles
from skanchor._sample.admission import (
    admit_to_ranking,
    leave_out_separated,
)
from skanchor._sample.judges import (
    leave_out_feature_separated,
    leave_out_judges,
)
from skanchor._sample.row_rules import check_weights_and_groups, mean_weight
from skanchor._sample.sample import Sample
from skanchor.bias import LinearBias
from skanchor.exceptions import (
    BattlesError,
    BoundWarning,
    DataWarning,
    SeparationWarning,
)
from skanchor.simulation import simulate_battles

# Votes on three models, all of which have won and lost; a judge of old and new ones.
ROUND = [("a", "b", "human", 1), ("b", "c", "human", 1), ("c", "a", "human", 1)]
OLD = [("a", "b", "j", 1), ("b", "c", "j", 0), ("c", "a", "j", 1)]
NEW = [("n", "a", "j", 1), ("b", "n", "j", 0)]


def sample(*rows, weight=None, groups=None, features=()):
    """A sample in its roles, from rows (first, second, judge, outcome)."""
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "judge", "y"])
    X = table[["model_a", "model_b", "judge"]].copy()
    for k, name in enumerate(features):
        for side, sign in (("a", 1.0), ("b", -1.0)):
            X[f"{name}_{side}"] = sign * np.cos(np.arange(len(X)) + k)
    found = Sample.admit(Comparisons.from_battles(X), table["y"], weight, groups)
    return found.with_battles(decide_roles(found.X, found.weight, None))


def raw(*rows, weight=None):
    """The same before roles are decided."""
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "judge", "y"])
    X = Comparisons.from_battles(table[["model_a", "model_b", "judge"]])
    return Sample.admit(X, table["y"], weight)


def used(admitted):
    return np.flatnonzero(admitted.counts).tolist()


# ----------------------------------------------------------------------------- refusals


def test_no_judge_with_history():
    with (
        pytest.warns(DataWarning, match="Judge 'j' has 0 historical rows"),
        pytest.raises(BattlesError, match=r"Judges \['j'\] have no row between two"),
    ):
        admit_to_ranking(raw(*ROUND, *NEW), None)


# ------------------------------------------------------------------------------- judges


def test_a_judge_with_little_history_is_left_out_where_another_places_the_model():
    # Two features ask for 5 (1 + 2) rows; five times three of the first judge do.
    rows = [*ROUND, *(OLD * 5), *NEW, ("a", "b", "k", 1), ("n", "b", "k", 0)]
    full = sample(*rows, features=["u", "v"])
    with pytest.warns(DataWarning, match="'k' has 1 historical rows, .* than the 15"):
        admitted = leave_out_judges(full, by_parameters=True)
    assert admitted.X.judges.tolist() == ["j"]
    assert used(admitted) == list(range(20))
    # Without features five rows are asked for.
    with pytest.warns(DataWarning, match="fewer than the 5 "):
        leave_out_judges(sample(*rows), by_parameters=True)


# --------------------------------------------------------------------------- separation
UNBEATEN = [("top", model, "human", 1) for model in "abc"] * 2


def test_an_unbeaten_model_is_left_out_with_its_rows():
    rows = [*ROUND, *OLD, *NEW, *UNBEATEN, ("top", "a", "j", 1)]
    full = sample(*rows)
    with (
        pytest.warns(SeparationWarning, match=r"\['top'\] never lost"),
        pytest.warns(DataWarning, match=r"The 7 rows of models \['top'\]"),
    ):
        kept = leave_out_separated(full, BTLRegressor())
    assert kept.X.models.tolist() == ["a", "b", "c", "n"]
    assert used(kept) == list(range(8))
    assert kept.X.new_models == ("n",)
    # A ridge bounds every score.
    assert leave_out_separated(full, BTLRegressor(alpha=0.1)) is full


def test_a_model_on_the_bound_is_left_out_with_its_rows():
    """Judges are not calibrated on a score that is where the bound happens to be."""
    won = [("top", model, "human", 1) for model in "abc"] * 20
    rows = [
        *(ROUND * 9),
        *OLD,
        *NEW,
        *won,
        ("a", "top", "human", 1),
        ("top", "a", "j", 1),
    ]
    full = sample(*rows)
    assert leave_out_separated(full, BTLRegressor()) is full
    for alpha in (0.0, 1e-9):
        btl = BTLRegressor(score_bound=1.5, alpha=alpha)
        with (
            pytest.warns(BoundWarning, match=r"\['top'\] lie beyond the bound"),
            pytest.warns(DataWarning, match=r"The 62 rows of models \['top'\]"),
        ):
            kept = leave_out_separated(full, btl)
        assert kept.X.models.tolist() == ["a", "b", "c", "n"]
    with (
        pytest.warns(BoundWarning),
        pytest.warns(DataWarning, match="are left out"),
        pytest.raises(BattlesError, match=r"they lie on the bound of 0\.1 logits"),
    ):
        held = [*ROUND, ("a", "b", "human", 1), ("b", "c", "human", 1), *OLD, *NEW]
        leave_out_separated(sample(*held), BTLRegressor(score_bound=0.1))


# ------------------------------------------------------------------ weights and groups
def heard(found):
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        result = check_weights_and_groups(found)
    return result, [str(record.message) for record in records]


def test_the_unit_is_the_mean_weight_of_historical_rows():
    rows, n_new = [*ROUND, *OLD, *NEW], len(NEW)
    weight = np.arange(1.0, 1.0 + len(rows))
    weight[0] = 0.0
    full = sample(*rows, weight=weight)
    result, messages = heard(full)
    assert messages == []
    assert_array_equal(result.weight, weight)
    assert mean_weight(full) == weight[1:-n_new].mean()
    scaled = full.in_units(3.0)
    assert_allclose(scaled.weight * scaled.unit, weight)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_extreme_weights_are_brought_near_one(unit):
    weight = unit * np.arange(1.0, 9.0)
    result = check_weights_and_groups(sample(*ROUND, *OLD, *NEW, weight=weight))
    assert_allclose(result.weight, np.arange(1.0, 9.0) / 8.0)
    assert_allclose(result.unit, weight.max())


# ------------------------------------------------------------------ rows without weight


# --------------------------------------------------------------------- settled verdicts
def settled_by_feature(share=1.0):
    """Battles in which a feature decides a share of the verdicts of the first judge."""
    data = simulate_battles(
        n_historical=700, n_new=150, n_models=8, n_judges=2, random_state=3
    )
    X, y = data.X.reset_index(drop=True), np.asarray(data.y, dtype=float)
    chosen = np.random.default_rng(1).random(len(X)) < share
    decided = (X["judge"] == "judge-1").to_numpy() & chosen
    return X, np.where(decided, X["x2_a"] > X["x2_b"], y)


def in_roles(X, y):
    found = Sample.admit(Comparisons.from_battles(X), y, None)
    return found.with_battles(decide_roles(found.X, found.weight, None))


def test_a_settled_judge_is_left_out_and_its_rows_are_counted():
    X, y = settled_by_feature()
    n = int((X["judge"] == "judge-1").sum())
    with pytest.warns(SeparationWarning, match=f"All {n} are left out"):
        kept = leave_out_feature_separated(in_roles(X, y), "linear")
    assert kept.X.judges.tolist() == ["judge-2"]
    assert len(kept) == len(X)


def test_what_leaves_a_finite_fit_is_admitted_as_it_is():
    X, y = settled_by_feature(0.95)
    known = in_roles(X, y)
    assert leave_out_feature_separated(known, "linear") is known
    X, y = settled_by_feature()
    ridged = in_roles(X, y)
    assert leave_out_feature_separated(ridged, LinearBias(alpha=0.01)) is ridged
    # A ridge on the feature that settles them is enough; one on the others is none.
    assert leave_out_feature_separated(ridged, LinearBias(alpha=(0, 0.01, 0))) is ridged
    with pytest.warns(SeparationWarning, match="by feature 'x2'"):
        leave_out_feature_separated(ridged, LinearBias(alpha=(0.01, 0, 0.01)))
    plain = in_roles(X[["model_a", "model_b", "judge"]], y)
    assert leave_out_feature_separated(plain, "linear") is plain
    # What a feature settles in a few rows leaves the others to say something.
    rare = X.assign(x2_a=X["x2_a"].where(X.index % 3 == 0, X["x2_b"]))
    y = np.where((X["judge"] == "judge-1") & (X.index % 3 > 0), 1.0 - y, y)
    few = in_roles(rare, y)
    assert leave_out_feature_separated(few, "linear") is few


@pytest.mark.parametrize("new_models", [None, []])
def test_without_another_judge_a_settled_one_is_refused(new_models):
    X, y = settled_by_feature()
    rows = (X["judge"] != "judge-2").to_numpy()
    if new_models == []:
        old = (X[["model_a", "model_b"]] != "new-model").all(axis=1).to_numpy()
        rows = rows & old
    found = Sample.admit(Comparisons.from_battles(X[rows]), y[rows], None)
    known = found.with_battles(decide_roles(found.X, found.weight, new_models))
    what = "is left" if new_models == [] else "places new model 'new-model'"
    with pytest.raises(BattlesError, match=f"no other judge {what}"):
        leave_out_feature_separated(known, "linear")


# -------------------------------------------------------------------------- thin judges
def thin(n_judges, rows):
    """A table of some judges with so many rows on historical models."""
    n_new = 5 * n_judges
    data = simulate_battles(
        n_models=6, n_judges=1, n_historical=800 + n_judges * rows, n_human=800,
        n_new=n_new, rho=0.0, item_sd=0.2, random_state=0,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]].copy()
    of_new = (X[["model_a", "model_b"]] == "new-model").any(axis=1)
    for rows_of in (of_new, ~of_new & (X["judge"] != "human")):
        at = X.index[rows_of]
        X.loc[at, "judge"] = [f"seed {i % n_judges}" for i in range(len(at))]
    return X, data.y


@pytest.mark.parametrize(
    ("n_judges", "rows", "is_told"), [(20, 40, True), (20, 60, False), (4, 40, False)]
)
def test_judges_too_thin_for_sensitivities_of_their_own_are_told(
    n_judges, rows, is_told
):
    X, y = thin(n_judges, rows)
    anchor = AnchorPipeline(cv=2, item_effects=None, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        anchor.fit(X, y)
    said = [str(one.message) for one in told if "in the median" in str(one.message)]
    assert bool(said) == is_told
    if is_told:
        assert "20 judges have 40 verdicts each on historical models" in said[0]
        assert said[0].endswith("pool='judges'.")
        # What it advises helps.
        one, _ = split_battles(X.assign(winner=y), pool="judges")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            pooled = AnchorPipeline(cv=2, item_effects=None, random_state=0).fit(one, y)
        assert not any("in the median" in str(one.message) for one in told)
        assert 2 * pooled.standard_errors_.iloc[0] < anchor.standard_errors_.iloc[0]
        assert abs(pooled.scores_.iloc[0] - 0.5) < 4 * pooled.standard_errors_.iloc[0]
