"""The weights' learner is the calibrator's, until it is set to one of its own."""

import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from tables import small

from skanchor import AnchorPipeline, JudgeCalibrator, RieszDebiaser
from skanchor.bias import BoostedBias
from skanchor.exceptions import SkanchorWarning

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")


@pytest.fixture(scope="module")
def data():
    return small(seed=3)


def pipeline(bias="linear", **kwargs):
    return AnchorPipeline(
        calibrator=JudgeCalibrator(bias), cv=2, item_effects=None, random_state=0,
        **kwargs,
    )  # fmt: skip


def learners_of(anchor):
    """Class of the weights' learner of every judge."""
    learner = anchor.debiaser_.learner
    return {type(one) for one in learner.values()} if isinstance(
        learner, dict) else type(learner)  # fmt: skip


def test_nothing_but_the_parameter_changes_the_fit(data):
    quick = BoostedBias(max_rounds=3)
    plain = pipeline(quick).fit(data.X, data.y)
    nested = pipeline(quick).set_params(debiaser__inner_folds=2).fit(data.X, data.y)
    assert learners_of(plain) == learners_of(nested) == {BoostedBias}
    assert_allclose(nested.conf_int(), plain.conf_int(), rtol=1e-12)
    narrow = pipeline(quick, debiaser=RieszDebiaser("linear"))
    with pytest.warns(SkanchorWarning, match="has a flexible learner") as records:
        other = narrow.fit(data.X, data.y)
    # Of all rows, and so not of the folds.
    assert not [w for w in records if "folds" in str(w.message)]
    assert not (other.conf_int() == plain.conf_int()).all(axis=None)


def test_the_calibrator_s_learner_may_be_set_later(data):
    first = clone(pipeline().set_params(debiaser__inner_folds=3))
    later = clone(first.set_params(calibrator__bias=BoostedBias(max_rounds=3)))
    assert later.debiaser.learner == "calibrator"
    assert learners_of(later.fit(data.X, data.y)) == {BoostedBias}
    assert later.debiaser_.inner_folds == 3


def test_the_settings_of_the_calibrator_s_learner_are_the_weights_too(data):
    anchor = pipeline().set_params(
        debiaser__inner_folds=2, calibrator__bias__alpha=0.25
    )
    anchor.fit(data.X, data.y)
    assert anchor.debiaser_.learner.alpha == 0.25
    assert anchor.calibrator_.bias.alpha == 0.25


@pytest.mark.parametrize("fitted", [False, True])
def test_the_calibrator_s_learner_has_no_parameters_here(data, fitted):
    quick = BoostedBias(max_rounds=3)
    anchor = pipeline(quick).set_params(debiaser__inner_folds=2)
    anchor = anchor.fit(data.X, data.y) if fitted else anchor
    with pytest.raises(ValueError, match=r"set those of calibrator__bias, or first"):
        anchor.set_params(debiaser__learner__alpha=1)
    assert anchor.debiaser.learner == "calibrator"
    # What the message says to do.
    anchor.set_params(calibrator__bias__max_rounds=3)
    assert anchor.calibrator.bias.max_rounds == 3
    anchor.set_params(debiaser__learner="linear").set_params(debiaser__learner__alpha=1)
    assert anchor.debiaser.learner.alpha == 1
    # Or both at once, in any order.
    anchor.set_params(debiaser__learner__alpha=2, debiaser__learner="linear")
    assert anchor.debiaser.learner.alpha == 2
    assert isinstance(anchor.calibrator.bias, BoostedBias)


def test_outside_a_pipeline_there_is_no_calibrator(data):
    anchor = pipeline().fit(data.X, data.y)
    with pytest.raises(ValueError, match="AnchorPipeline's calibrator"):
        RieszDebiaser("calibrator").fit(anchor.comparisons_, data.y)
