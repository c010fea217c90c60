"""Kept sums of the history, plus arrivals, are the cross-fit of all rows together."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import SplineTransformer

from skanchor import (
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
    SourceKFold,
)
from skanchor._admission import admit_to_ranking
from skanchor._chain import fit_stages
from skanchor._engine import FullFit, cross_fit
from skanchor._items import estimate_item_covariance
from skanchor._riesz import RowEvidence, SplitSums, weight_learners
from skanchor._stages import Stages
from skanchor._stored_folds import StoredHistory
from skanchor.bias import BoostedBias, LinearBias
from skanchor.exceptions import LearnerError
from skanchor.results import RankingResult
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles

KNOTS = SplineTransformer(4, degree=2, knots="quantile", extrapolation="linear")
SETTINGS = {
    "plain": {},
    "ridge": {"bias": LinearBias(alpha=0.02)},
    "knots": {"bias": LinearBias(feature_map=KNOTS, alpha=0.01)},
    "position": {"position_effect": True},
    "joint": {"historical_fit": "joint", "position_effect": True},
    "curved": {"judge_scale": "curved", "position_effect": True},
}


def stages_of(
    bias="linear", historical_fit="two-step", judge_scale="straight", **settings
):
    return Stages(
        BTLRegressor(),
        JudgeCalibrator(bias, **settings),
        ArrivalScorer(),
        RieszDebiaser("calibrator", judge_scale=judge_scale),
        historical_fit,
    )


def battles(weighted=False, grouped=False, seed=0):
    """Two new models, which meet each other, and one of them people."""
    data = simulate_battles(
        2400, 200, n_models=6, n_new_models=2, item_sd=0.3, random_state=seed
    )
    rng = np.random.default_rng(seed)
    X, y = data.X.copy(), np.asarray(data.y)
    X["shown_first"] = rng.choice(["model_a", "model_b"], len(X))
    new = sorted(set(X.model_a[X.model_a.str.startswith("new")]))
    own = np.flatnonzero(X.model_a == new[0])
    X.loc[own[:20], "judge"] = "human"
    X.loc[own[20:50], "model_b"] = new[1]
    weight = rng.exponential(size=len(X)) if weighted else None
    groups = rng.integers(0, len(X) // 3, len(X)) if grouped else None
    return admit_to_ranking(Sample.admit(X, y, weight, groups), new)


def split(sample, plans):
    """Historical rows in a vocabulary of their own, arrivals, and the folds of both."""
    new = sample.X.involves_new
    history = sample[~new]
    old = sample.X.models[~sample.X.is_new]
    known = history.X.with_columns(new_models=()).relabel(old, sample.X.judges)
    place = np.where(new, np.cumsum(new), np.cumsum(~new)) - 1
    halves = []
    for wanted in (~new, new):
        halves.append(
            [
                [tuple(place[rows[wanted[rows]]] for rows in fold) for fold in plan]
                for plan in plans
            ]
        )
    return history.with_battles(known), sample[new], *halves


def fit(stages, sample, items):
    plugged = fit_stages(stages, sample)
    covariance = None
    if items:
        fitted = sample.with_battles(plugged.X)
        covariance = estimate_item_covariance(fitted, plugged.calibrator)
    return FullFit.of(stages, sample, plugged, covariance)


def ranked(X, found):
    """Result of a cross-fit, models in order of their labels."""
    order = np.argsort(X.models)
    result = RankingResult(
        X.models[order],
        X.is_new[order],
        np.array([one.estimate[order] for one in found.repeats]),
        np.array([one.covariance[np.ix_(order, order)] for one in found.repeats]),
        np.any([one.undetermined for one in found.repeats], axis=0)[order],
        *np.zeros((2, len(order)), dtype=int),
    )
    parts = np.array([one.parts[:, order] for one in found.repeats])
    return result, parts


@pytest.mark.parametrize(
    ("name", "items", "weights", "groups"),
    [
        ("plain", False, False, False),
        ("plain", True, True, True),
        ("ridge", False, True, False),
        ("ridge", True, False, False),
        ("knots", False, False, True),
        ("knots", True, True, False),
        ("position", False, True, True),
        ("position", True, False, True),
        ("joint", False, True, True),
        ("joint", True, True, True),
        ("curved", False, False, True),
        ("curved", True, True, False),
    ],
)
def test_kept_sums_and_arrivals_are_the_cross_fit_of_all_rows(
    name, items, weights, groups
):
    stages = stages_of(**SETTINGS[name])
    sample = battles(weights, groups)
    units = None if not groups else sample.groups
    plans = [
        list(SourceKFold(3, random_state=seed).split(sample.X, groups=units))
        for seed in (0, 1)
    ]
    full = fit(stages, sample, items)
    together, parts = ranked(sample.X, cross_fit(full, plans))

    history, arrivals, early, late = split(sample, plans)
    kept = StoredHistory.of(fit(stages, history, items), early)
    placed = kept.place(arrivals, late).found
    X = placed.influence.sample.X
    apart, apart_parts = ranked(X, placed)

    assert apart.is_new.sum() == 2
    assert_allclose(apart.estimates, together.estimates, rtol=0, atol=1e-9)
    assert_allclose(apart.covariances, together.covariances, rtol=0, atol=1e-9)
    assert_allclose(apart_parts, parts, rtol=0, atol=1e-9)
    assert apart.rank_sets().equals(together.rank_sets())


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.InstabilityWarning")
def test_history_knows_nothing_of_what_arrives():
    """It is fitted before the arrivals are there; other arrivals find it the same."""
    stages, sample = stages_of(), battles()
    plans = [list(SourceKFold(3, random_state=0).split(sample.X))]
    history, arrivals, early, late = split(sample, plans)
    kept = StoredHistory.of(fit(stages, history, True), early)
    once = kept.place(arrivals, late).found.repeats[0]
    moved = arrivals.with_battles(
        arrivals.X.with_rows(features_left=arrivals.X.features_left + 5.0)
    )
    other = kept.place(moved, late).found.repeats[0]
    assert np.abs(other.estimate[-2:] - once.estimate[-2:]).min() > 0.1
    again = kept.place(arrivals, late).found.repeats[0]
    assert_allclose(again.estimate, once.estimate, rtol=0, atol=0)


def both(rows, learners):
    """Sums that replace rows, of those in training and of those held out."""
    return SplitSums(rows.training_sums(learners), rows.held_out_sums(learners))


def test_chunks_of_the_history_add_up():
    """Sums of two halves are those of the whole, with groups that span them, too."""
    for grouped in (False, True):
        sample = battles(grouped=grouped)
        full = fit(stages_of(), sample, False)
        training = sample.weight * (np.arange(len(sample)) % 3 > 0)
        held_out = np.flatnonzero(training == 0)
        learners = weight_learners(
            full.chain.X, sample.weight, full.chain.calibrator.bias
        )

        def sums(rows, sample=sample, full=full, training=training, learners=learners):
            part = sample.with_battles(full.chain.X)[rows]
            out = np.flatnonzero(training[rows] == 0)
            return both(RowEvidence.of(part, training[rows], out), learners)

        middle = len(sample) // 2
        every = np.arange(len(sample))
        halves = sums(every[:middle]) + sums(every[middle:])
        whole = RowEvidence.of(sample.with_battles(full.chain.X), training, held_out)
        debiaser = full.chain.debiaser
        rows = debiaser.influence_sums([whole])
        for kept in (halves, both(whole, learners)):
            found = debiaser.influence_sums([kept])
            assert_allclose(found.total, rows.total, atol=1e-10)
            assert_allclose(found.outer, rows.outer, atol=1e-10)
            # Sums do not tell rows apart, but groups.
            assert np.isnan(found.largest).all() != grouped


def test_kept_history_is_small_and_survives_pickling():
    stages, sample = stages_of(), battles()
    plans = [list(SourceKFold(3, random_state=0).split(sample.X))]
    history, arrivals, early, late = split(sample, plans)
    kept = StoredHistory.of(fit(stages, history, True), early)
    again = pickle.loads(pickle.dumps(kept))
    one, other = (each.place(arrivals, late).found.repeats[0] for each in (kept, again))
    assert_allclose(one.covariance, other.covariance, rtol=0, atol=0)
    assert len(kept.whole.X) == 0


def test_what_needs_the_rows_says_so():
    sample = battles()
    plans = [list(SourceKFold(3, random_state=0).split(sample.X))]
    history, arrivals, early, late = split(sample, plans)
    with pytest.raises(LearnerError, match=r"'judge-1'.* has no span"):
        StoredHistory.of(
            fit(stages_of(BoostedBias(max_rounds=2)), history, False), early
        )
    stages = stages_of()
    bounded = RieszDebiaser("calibrator", weight_bound=3.0)
    stages = Stages(stages.btl, stages.calibrator, stages.arrival, bounded)
    kept = StoredHistory.of(fit(stages, history, False), early)
    with pytest.raises(ValueError, match="weight_bound needs the rows, but only"):
        kept.place(arrivals, late)
