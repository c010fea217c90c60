"""The chain of stages: who learns from whom, what a training set must keep, seeds."""

import numpy as np
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone

from skanchor import (
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
)
from skanchor._admission import admit_to_ranking
from skanchor._chain import complete, fit_stages
from skanchor._items import ItemCovariance
from skanchor._judges import NoJudges
from skanchor._stages import Stages
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles


def small(**settings):
    sizes = dict(n_models=5, n_judges=2, n_new=120, n_historical=900)
    return simulate_battles(**{**sizes, **settings}, random_state=3)


def admitted(data=None, weight=None):
    data = small() if data is None else data
    return admit_to_ranking(Sample.admit(data.X, data.y, weight), None)


def stages(**parts):
    given = {
        "btl": BTLRegressor(),
        "calibrator": JudgeCalibrator(),
        "arrival": ArrivalScorer(),
        "debiaser": RieszDebiaser(),
    }
    return Stages(**{**given, **parts})


# ------------------------------------------------------------------------- the plug-in
@pytest.mark.parametrize("position", [False, True])
def test_each_stage_sees_what_the_earlier_ones_learned(position):
    sample = admitted()
    chain = fit_stages(
        stages(calibrator=JudgeCalibrator(position_effect=position)), sample
    )
    X, y, weight = sample.X, sample.y, sample.weight
    btl = BTLRegressor().fit(X, y, weight)
    calibrator = JudgeCalibrator(position_effect=position)
    calibrator.fit(btl.transform(X), y, weight)
    known = calibrator.transform(btl.transform(X))
    arrival = ArrivalScorer().fit(known, y, weight)
    assert_allclose(chain.btl.scores_, btl.scores_, rtol=1e-12)
    assert_allclose(chain.calibrator.sensitivities_, calibrator.sensitivities_)
    assert_allclose(chain.arrival.scores_, arrival.scores_)
    # And the rows carry all of it.
    expected = arrival.transform(known)
    assert_allclose(chain.scores, expected.scores)
    assert_allclose(chain.X.logits(), expected.logits())
    assert (chain.X.position_effects is not None) == position
    assert sample.X.scores is None


def test_rows_without_weight_teach_no_stage():
    sample = admitted()
    keep = np.random.default_rng(0).random(len(sample)) < 0.7
    weighted = fit_stages(stages(), sample.weighted(np.where(keep, 1.0, 0.0)))
    cut = fit_stages(stages(), sample[keep])
    assert_allclose(weighted.scores, cut.scores, atol=1e-8)
    assert_allclose(weighted.X.logits()[keep], cut.X.logits(), atol=1e-8)


def test_stages_given_are_not_fitted():
    given = stages()
    chain = fit_stages(given, admitted())
    complete(given, chain, admitted(), None)
    for name in ("btl", "calibrator", "arrival", "debiaser"):
        assert not any(
            key.endswith("_") and not key.startswith("_")
            for key in vars(getattr(given, name))
        )


def test_votes_alone_make_a_chain():
    data = small()
    table = data.X[data.X.judge == "human"]
    sample = Sample.admit(table, np.asarray(data.y)[(data.X.judge == "human")])
    chain = fit_stages(stages(), admit_to_ranking(sample, ["model-01"]))
    assert isinstance(chain.calibrator, NoJudges)
    assert np.isfinite(chain.scores).all()
    assert chain.arrival.new_models_.tolist() == ["model-01"]


def test_unbounded_are_those_of_votes_and_of_arrivals():
    data = small()
    new = (data.X.model_a == "new-model") | (data.X.model_b == "new-model")
    y = np.where(new, data.X.model_a == "new-model", data.y).astype(float)
    sample = admit_to_ranking(Sample.admit(data.X, y), None)
    with pytest.warns(UserWarning, match="won or lost every"):
        chain = fit_stages(stages(), sample)
    assert chain.X.models[chain.unbounded].tolist() == ["new-model"]
    assert not fit_stages(stages(), admitted()).unbounded.any()


# ------------------------------------------------------------------------ warm starts
@pytest.mark.parametrize("bias", ["linear", LinearBias(alpha=0.1)])
def test_a_start_changes_no_estimate(bias):
    sample = admitted()
    given = stages(calibrator=JudgeCalibrator(bias, position_effect=True))
    full = fit_stages(given, sample)
    weight = np.random.default_rng(1).exponential(size=len(sample))
    training = sample.weighted(weight)
    cold, warm = fit_stages(given, training), fit_stages(given, training, full)
    assert_allclose(warm.scores, cold.scores, atol=1e-7)
    assert_allclose(warm.X.logits(), cold.X.logits(), atol=1e-7)
    # Far from where it started.
    assert np.abs(warm.scores - full.scores).max() > 1e-3


def test_a_start_changes_no_item_effect_and_no_weight():
    sample = admitted()
    items = ItemCovariance(np.array([[0.2, 0.1], [0.1, 0.3]]))
    given = stages()
    full = fit_stages(given, sample)
    whole = complete(given, full, sample, items)
    weight = np.random.default_rng(1).exponential(size=len(sample))
    training = sample.weighted(weight)
    plugged = fit_stages(given, training)
    cold = complete(given, plugged, training, items)
    warm = complete(given, plugged, training, items, whole)
    assert_allclose(warm.X.deviations, cold.X.deviations, atol=2e-5)
    influences = [c.debiaser.influence(c.X, sample.y) for c in (warm, cold)]
    assert_allclose(*influences, atol=1e-5)
    assert np.abs(warm.X.deviations - whole.X.deviations).max() > 1e-3


# -------------------------------------------------------------- what completes a chain
def test_completion_keeps_the_plug_in_and_adds_weights():
    sample, given = admitted(), stages()
    plugged = fit_stages(given, sample)
    done = complete(given, plugged, sample, None)
    assert plugged.debiaser is None and done.btl is plugged.btl
    assert_array_equal(done.scores, plugged.scores)
    alone = RieszDebiaser().fit(plugged.X, sample.y, sample.weight)
    assert_allclose(done.debiaser.information_, alone.information_)
    passed = complete(stages(debiaser=None), plugged, sample, None)
    assert passed.debiaser is None


def test_item_effects_enter_the_logits_of_the_rows_they_are_of():
    sample, given = admitted(), stages()
    plugged = fit_stages(given, sample)
    items = ItemCovariance(np.array([[0.2, 0.1], [0.1, 0.3]]))
    done = complete(given, plugged, sample, items)
    u = done.X.deviations
    assert u.shape == (2, 6) and np.abs(u).max() > 0.01
    plain = done.X.with_columns(deviations=None)
    judge, left, right = sample.X.judge, sample.X.left, sample.X.right
    expected = np.where(judge >= 0, u[judge, left] - u[judge, right], 0.0)
    assert_allclose(done.X.logits() - plain.logits(), expected, atol=1e-12)
    # Nothing to deviate by is nothing.
    none = complete(given, plugged, sample, ItemCovariance(np.zeros((2, 2))))
    assert_allclose(none.X.deviations, 0.0, atol=1e-9)


def test_the_learner_of_the_weights_may_be_the_calibrator_s():
    given = stages(
        calibrator=JudgeCalibrator(LinearBias(alpha=0.3)),
        debiaser=RieszDebiaser(learner="calibrator"),
    )
    sample = admitted()
    done = complete(given, fit_stages(given, sample), sample, None)
    assert isinstance(done.debiaser.learner, LinearBias)
    assert done.debiaser.learner.alpha == 0.3
    assert given.debiaser.learner == "calibrator"


# ------------------------------------------------------------------------ training sets
def test_a_training_set_without_votes_on_a_model_is_refused():
    sample, given = admitted(), stages()
    full = fit_stages(given, sample)
    models = sample.X.models.tolist()
    code = models.index("model-02")
    votes = sample.X.is_human & ((sample.X.left == code) | (sample.X.right == code))
    training = sample.weighted(np.where(votes, 0.0, 1.0))
    with pytest.raises(BattlesError, match=r"no human row of models \['model-02'\]"):
        fit_stages(given, training, full)


def test_a_training_set_that_unbounds_a_model_is_refused():
    sample, given = admitted(), stages()
    full = fit_stages(given, sample)
    code = sample.X.models.tolist().index("model-02")
    first, second = sample.X.left == code, sample.X.right == code
    lost = (first & (sample.y == 0)) | (second & (sample.y == 1))
    training = sample.weighted(np.where(sample.X.is_human & lost, 0.0, 1.0))
    with (
        pytest.warns(UserWarning, match=r"\['model-02'\] never lost"),
        pytest.raises(BattlesError, match=r"\['model-02'\] have no limit on one side"),
    ):
        fit_stages(given, training, full)


# -------------------------------------------------------------------------------- seeds
class Seeded(Wrapped):
    """A learner that tells the seeds it was fitted with."""

    heard = ()

    def __init__(self, act="", random_state=0, loss="logistic"):
        super().__init__(act, loss)
        self.random_state = random_state

    def fit(self, *args, **kwargs):
        Seeded.heard += ((self.loss, self.random_state),)
        return super().fit(*args, **kwargs)


def seeds(seed_offset, random_state=7):
    Seeded.heard = ()
    learner = Seeded(random_state=random_state)
    given = stages(
        calibrator=JudgeCalibrator(learner), debiaser=RieszDebiaser(clone(learner))
    )
    sample = admitted()
    plugged = fit_stages(given, sample, seed_offset=seed_offset)
    complete(given, plugged, sample, None, seed_offset=seed_offset)
    heard = Seeded.heard
    found = {loss: {seed for kind, seed in heard if kind == loss} for loss, _ in heard}
    assert set(found) == {"logistic", "squared"}
    return found


def test_offset_zero_keeps_the_seeds_of_all_learners():
    assert seeds(0) == {"logistic": {7}, "squared": {7}}


def test_every_offset_draws_anew_and_again_alike():
    one, two = seeds(1), seeds(2)
    assert one == seeds(1)
    for loss in ("logistic", "squared"):
        assert one[loss].isdisjoint(two[loss]) and 7 not in one[loss] | two[loss]
        assert all(0 <= seed < 2**31 for seed in one[loss])
    assert seeds(1, random_state=None) == {"logistic": {None}, "squared": {None}}


def test_logits_of_human_rows_are_score_differences():
    chain = fit_stages(stages(), admitted())
    human = chain.X.is_human
    gap = chain.scores[chain.X.left] - chain.scores[chain.X.right]
    assert_allclose(expit(chain.X.logits()[human]), expit(gap[human]))
