"""The cross-fit: sums over folds are plain sums, groups count whole, far is told."""

import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
    _engine,
)
from skanchor._admission import admit_to_ranking
from skanchor._chain import Chain, complete, fit_stages
from skanchor._engine import FullFit, _instability, _unstable, cross_fit, sum_up
from skanchor._folds import Fold
from skanchor._items import ItemCovariance
from skanchor._judges import WEAK_SENSITIVITY
from skanchor._numerics.groups import Membership
from skanchor._riesz import InfluenceSums, _evidence
from skanchor._stages import Stages
from skanchor.bias import BoostedBias
from skanchor.exceptions import DataWarning, InstabilityWarning
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles
from skanchor.warning_log import WarningLog, warn

ITEMS = ItemCovariance(np.array([[0.09, 0.03], [0.03, 0.16]]), inflation=1.5)
STAGES = Stages(BTLRegressor(), JudgeCalibrator(), ArrivalScorer(), RieszDebiaser())


def fitted(groups=None, weight=None, items=None, **settings):
    """The fit of all rows, with or without item effects."""
    sizes = dict(n_models=5, n_judges=2, n_new=120, n_historical=900)
    data = simulate_battles(**{**sizes, **settings}, random_state=3)
    if groups == "pairs":
        groups = np.arange(len(data.y)) // 2
    sample = admit_to_ranking(Sample.admit(data.X, data.y, weight, groups), None)
    return FullFit.of(STAGES, sample, fit_stages(STAGES, sample), items)


def plan_of(sample, n_folds=3, seed=0):
    rng = np.random.default_rng(seed)
    units = np.arange(len(sample)) if sample.groups is None else sample.groups
    fold = rng.integers(n_folds, size=units.max() + 1)[units]
    return [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)
    ]


def folds_of(full):
    """What two folds hand back."""
    plan = plan_of(full.sample, n_folds=2)
    return [
        _engine._fit_fold(full, k, k, Fold(*part))[0] for k, part in enumerate(plan)
    ]


def by_hand(full, plan):
    """Influence of each row, plug-in and prior of each fold, one after the other."""
    sample = full.sample
    influence = np.zeros((len(sample), len(sample.X.models)))
    plug_in, prior, item_part = [], [], []
    for train, test in plan:
        training = Fold(train, test).training(sample)
        plugged = fit_stages(STAGES, training, full.plugged)
        chain = complete(STAGES, plugged, training, full.items, full.chain)
        influence[test] = chain.debiaser.influence(chain.X, sample.y)[test]
        influence[test] *= sample.weight[test, None]
        plug_in.append(chain.scores)
        prior.append(chain.debiaser.system_.prior_score(chain.X.deviations))
        item_part.append(chain.debiaser.system_.item_covariance())
    return influence, *(np.mean(each, axis=0) for each in (plug_in, prior, item_part))


@pytest.mark.parametrize("items", [None, ITEMS], ids=["none", "items"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [None, "pairs"])
def test_sums_over_folds_are_the_plain_sums(items, weighted, groups):
    weight = np.random.default_rng(2).exponential(size=1020) if weighted else None
    full = fitted(groups, weight, items)
    sample = full.sample
    plan = plan_of(sample)
    found = cross_fit(full, [plan])
    influence, plug_in, prior, item_part = by_hand(full, plan)
    (repeat,) = found.repeats
    step = influence.sum(axis=0) + prior
    assert_allclose(found.influence.values(), influence, atol=1e-10)
    assert_allclose(repeat.plug_in, plug_in, atol=1e-10)
    assert_allclose(repeat.estimate, plug_in + step, atol=1e-10)
    scale = 1.0 if items is None else items.inflation
    assert_allclose(repeat.item_part, scale * item_part, atol=1e-10)
    units = np.arange(len(sample)) if groups is None else sample.groups
    totals = np.zeros((units.max() + 1, influence.shape[1]))
    np.add.at(totals, units, influence)
    sampling = totals.T @ totals
    assert_allclose(repeat.covariance, sampling + repeat.item_part, atol=1e-10)
    assert_allclose(repeat.largest, np.abs(totals).max(axis=0), atol=1e-10)
    # Human, judge, cross and item parts of every variance.
    assert_allclose(repeat.parts.sum(axis=0), np.diag(repeat.covariance))
    assert repeat.instability is None and not repeat.undetermined.any()


def test_repeats_are_cross_fits_of_their_own():
    full = fitted()
    plans = [plan_of(full.sample, seed=seed) for seed in (0, 1)]
    both = cross_fit(full, plans)
    alone = [cross_fit(full, [plan]) for plan in plans]
    for repeat, one in zip(both.repeats, alone, strict=True):
        assert_allclose(repeat.estimate, one.repeats[0].estimate)
        assert_allclose(repeat.covariance, one.repeats[0].covariance)
    mean = np.mean([one.influence.values() for one in alone], axis=0)
    assert_allclose(both.influence.values(), mean, atol=1e-12)


# ----------------------------------------------------------------------- influence sums
def test_sums_of_many_rows_are_plain_sums(rng):
    influence = rng.normal(size=(9000, 3))
    human = rng.random(9000) < 0.3
    sums = InfluenceSums.of(influence, human, None)
    assert_allclose(sums.total, influence.sum(axis=0))
    assert_allclose(sums.sampling, influence.T @ influence)
    assert_allclose(sums.largest, np.abs(influence).max(axis=0))
    by_kind = [np.sum(influence[at] ** 2, axis=0) for at in (human, ~human)]
    assert_allclose(sums.parts, [*by_kind, np.zeros(3)])


def test_groups_are_squared_as_totals(rng):
    # Two groups by hand: votes 1 and 2 with a verdict -1; verdicts 3 and -3.
    influence = np.array([[1.0], [2.0], [-1.0], [3.0], [-3.0]])
    human = np.array([True, True, False, False, False])
    groups = Membership.of(np.array([0, 0, 0, 1, 1]))
    sums = InfluenceSums.of(influence, human, groups).with_closed_groups()
    assert sums.total.item() == 2.0
    assert sums.sampling.item() == (1 + 2 - 1) ** 2 + 0
    # Human 3 squared, judges 1 and 0 squared, cross twice 3 times -1.
    assert sums.parts.ravel().tolist() == [9.0, 1.0, -6.0]
    # The votes and the verdict on them make two, the other group nothing.
    assert sums.largest.item() == 2.0
    # A group of one row is that row.
    alone = InfluenceSums.of(
        influence, human, Membership.of(rng.permutation(5))
    ).with_closed_groups()
    plain = InfluenceSums.of(influence, human, None)
    assert_allclose(alone.sampling, plain.sampling)
    assert_allclose(alone.parts, plain.parts)


@pytest.mark.parametrize("groups", [None, "pairs"])
def test_sums_add_up_and_do_not_depend_on_their_steps(monkeypatch, groups):
    full = fitted(groups)
    plan = plan_of(full.sample)
    (whole,) = cross_fit(full, [plan]).repeats
    monkeypatch.setattr(_evidence, "_STEP", 7)
    monkeypatch.setattr(_evidence, "_CELLS", 1)
    (stepped,) = cross_fit(full, [plan]).repeats
    for name in ("estimate", "covariance", "parts", "largest"):
        assert_allclose(getattr(stepped, name), getattr(whole, name), rtol=1e-9)


def test_influence_is_computed_anew_where_learners_have_spans():
    """And kept where they have none; it is the same influence."""
    full = fitted()
    found = cross_fit(full, [plan_of(full.sample)])
    ((_, kept), *_), *_ = found.influence.repeats
    assert isinstance(kept, Chain) and not len(kept.X)
    copied = pickle.loads(pickle.dumps(found.influence))
    assert_allclose(copied.values(), found.influence.values(), rtol=1e-12)


@pytest.mark.parametrize("where", ["judges", "weights"])
def test_influence_is_kept_where_a_learner_has_no_span(where):
    boosted = BoostedBias(max_rounds=2)
    stages = replace(
        STAGES,
        calibrator=JudgeCalibrator(boosted if where == "judges" else "linear"),
        debiaser=RieszDebiaser(boosted if where == "weights" else "linear"),
    )
    sample = fitted().sample
    with WarningLog():
        full = FullFit.of(stages, sample, fit_stages(stages, sample), None)
        found = cross_fit(full, [plan_of(sample)])
    ((fold, kept), *_), *_ = found.influence.repeats
    assert isinstance(kept, np.ndarray) and kept.shape == (len(fold.test), 6)


# -------------------------------------------------------------------------- instability
def test_stable_scores_are_corrected_and_nothing_is_told(capfd):
    full = fitted()
    with WarningLog() as log:
        cross_fit(full, [plan_of(full.sample)])
    assert log.found == []
    assert capfd.readouterr() == ("", "")


def test_what_a_fold_warns_of_is_told_once_with_its_folds(monkeypatch):
    full = fitted()
    plain, calls = _engine.complete, []

    def odd(*args):
        calls.append(args)
        if len(calls) != 2:
            warn(DataWarning("odd"))
        return plain(*args)

    monkeypatch.setattr(_engine, "complete", odd)
    with WarningLog() as log:
        cross_fit(full, [plan_of(full.sample)])
    (told,) = log.found
    assert told.statement == "In folds [0, 2], not on all rows: odd"


def test_a_score_beyond_one_step_keeps_the_plug_in():
    """Coins in place of verdicts: sensitivities near zero, scores anywhere."""
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=600, tau=0.0, random_state=5
    )
    coin = np.random.default_rng(2).integers(0, 2, len(data.y))
    y = np.where(data.X.judge == "human", data.y, coin)
    sample = admit_to_ranking(Sample.admit(data.X, y), None)
    with WarningLog() as log:
        plugged = fit_stages(STAGES, sample)
        full = FullFit.of(STAGES, sample, plugged, None)
        (repeat,) = cross_fit(full, [plan_of(sample)]).repeats
    (told,) = [w for w in log.found if isinstance(w, InstabilityWarning)]
    assert "['new-model'] are not determined" in told.statement
    assert "Sensitivities are weak: judge 'judge-" in told.statement
    new = sample.X.is_new
    assert repeat.undetermined.tolist() == new.tolist()
    assert_allclose(repeat.estimate[new], plugged.scores[new])
    assert not np.allclose(repeat.estimate[~new], plugged.scores[~new])


@pytest.mark.parametrize("far", [(), (0, 2)])
def test_instability_names_the_folds_that_are_far(far):
    X = SimpleNamespace(models=np.array(["a", "n"]), judges=np.array(["j"]))
    full = SimpleNamespace(targets=np.array([1.0, -2.0]))
    folds = [
        SimpleNamespace(
            # The model that is determined may lie anywhere.
            scores=np.array([9.0, -2.0 - (3.5 if k in far else 3.0)]),
            sensitivities=np.array([1.0]),
        )
        for k in range(3)
    ]
    told = _instability(X, full, folds, np.array([False, True]))
    assert "['n'] are not determined" in told.statement
    named = "and folds [0, 2] place them 3 logits off"
    assert (named in told.statement) == ("and folds" in told.statement) == bool(far)
    assert "weak" not in told.statement
    assert "alpha=0.01" in str(told)


def test_instability_names_five_models_and_the_five_weakest_judges():
    slopes = np.array([0.04, 0.01, -3.0, 0.002, 0.03, 2.0, 0.02, -0.5])
    X = SimpleNamespace(
        models=np.array(list("abcdefg")),
        judges=np.array([f"j{m}" for m in range(len(slopes))]),
    )
    full = SimpleNamespace(targets=np.zeros(7))
    folds = [
        SimpleNamespace(scores=np.zeros(7), sensitivities=slopes + shift)
        for shift in (0.0, 1.0)
    ]
    text = _instability(X, full, folds, np.ones(7, dtype=bool)).statement
    assert "The scores of ['a', 'b', 'c', 'd', 'e'] and 2 more are not" in text
    # The weakest judge first; that of 2 is not weak, and each names its own folds.
    assert text.endswith(
        "Sensitivities are weak: judge 'j2' in folds [0, 1] (down to -3); "
        "judge 'j7' in folds [0] (down to -0.5); "
        "judge 'j3' in folds [0] (down to 0.002); "
        "judge 'j1' in folds [0] (down to 0.01); "
        "judge 'j6' in folds [0] (down to 0.02); 2 more."
    )


@pytest.mark.parametrize("n, others", [(5, ""), (6, " and 1 more")])
def test_instability_counts_what_it_does_not_name(n, others):
    X = SimpleNamespace(
        models=np.array(list("abcdef")[:n]),
        judges=np.array([f"j{m}" for m in range(7)]),
    )
    # A judge on the threshold is not weak.
    slopes = np.append(np.where(np.arange(6) < n, 0.0, 1.0), WEAK_SENSITIVITY)
    folds = [SimpleNamespace(scores=np.zeros(n), sensitivities=slopes)] * 2
    full = SimpleNamespace(targets=np.zeros(n))
    text = _instability(X, full, folds, np.ones(n, dtype=bool)).statement
    assert f"'d', 'e']{others} are not" in text
    last = "judge 'j4' in folds [0, 1] (down to 0)"
    assert text.endswith(f"{last}; 1 more." if others else f"{last}.")


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_the_pipeline_reports_what_the_engine_sums_up():
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=120, n_historical=900, random_state=3
    )
    anchor = AnchorPipeline(
        debiaser=RieszDebiaser(),
        cv=3,
        item_effects=ITEMS.covariance,
        historical_fit="two-step",
        random_state=0,
    ).fit(data.X, data.y)
    (repeat,) = cross_fit(
        fitted(items=ItemCovariance(ITEMS.covariance)), anchor.fold_plan_
    ).repeats
    assert_allclose(anchor.result_.estimates[0], repeat.estimate, atol=1e-9)
    assert_allclose(anchor.result_.covariances[0], repeat.covariance, atol=1e-9)


def test_outcomes_without_noise_are_warned_of_and_have_the_errors_of_votes():
    full = fitted(items=None)
    exact = replace(
        full.sample,
        outcomes=replace(full.sample.outcomes, values=expit(full.chain.X.logits())),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = FullFit.of(STAGES, exact, fit_stages(STAGES, exact), None)
    with WarningLog() as log:
        (repeat,) = cross_fit(again, [plan_of(exact)]).repeats
    assert any("show no noise" in str(warning) for warning in log.found)
    (noisy,) = cross_fit(full, [plan_of(full.sample)]).repeats
    error, votes = (np.sqrt(np.diag(one.covariance)) for one in (repeat, noisy))
    assert_allclose(error, votes, rtol=0.5)
    # Of votes that people and judges cast independently.
    assert_allclose(repeat.parts.sum(axis=0), np.diag(repeat.covariance))
    assert (repeat.parts[:2] > 0).all() and not repeat.parts[2].any()


@pytest.mark.parametrize("informed", [False, True])
def test_a_score_that_no_row_informs_shows_no_noise_and_lacks_none(informed):
    full = fitted()
    folds = folds_of(full)

    def silent(outer):
        outer = outer.copy()
        outer[:, -1] = outer[:, :, -1] = 0.0
        return outer

    folds = [
        replace(
            fold,
            expected=fold.expected if informed else silent(fold.expected),
            sums=replace(fold.sums, outer=silent(fold.sums.outer)),
        )
        for fold in folds
    ]
    with WarningLog() as log:
        repeat = sum_up(full, folds)
    assert any("show no noise" in str(warning) for warning in log.found) == informed
    # An error of nothing is none.
    assert repeat.undetermined[-1] != informed


@pytest.mark.parametrize("n_left", [1, 2])
def test_a_score_stands_beside_another_or_not_at_all(n_left):
    full = fitted()
    folds = folds_of(full)
    far = np.where(full.sample.X.is_new, 0.0, 9.0)
    far[np.flatnonzero(far)[:n_left]] = 0.0
    repeat = sum_up(full, [replace(fold, scores=fold.scores + far) for fold in folds])
    assert repeat.undetermined.tolist() == ((far > 0) | (n_left < 2)).tolist()


@pytest.mark.parametrize(("apart", "told"), [(3.0, False), (3.1, True)])
def test_a_fold_three_logits_off_is_not_believed(apart, told):
    targets = np.zeros(6)
    chain = SimpleNamespace(targets=targets)
    folds = [SimpleNamespace(scores=targets), SimpleNamespace(scores=targets.copy())]
    folds[1].scores[-1] -= apart
    still, noise = np.zeros(len(targets)), np.ones(len(targets))
    found = _unstable(chain, folds, still, noise)
    assert found.tolist() == [*([False] * (len(targets) - 1)), told]
    # Nor is an error that is none, or larger than all scores.
    for odd in (0.0, 101.0**2, np.nan):
        noise[0] = odd
        found = _unstable(chain, folds[:1], still, noise)
        assert found[:2].tolist() == [True, False]
    noise[0] = 99.0**2
    step = still.copy()
    step[0] = -apart
    assert _unstable(chain, folds[:1], step, noise)[0] == told
