"""Errors and warnings: their parts, and that the parts last."""

import pickle
from copy import copy

import pytest
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning as ScikitLearnWarning

from skanchor import exceptions
from skanchor.exceptions import (
    Advice,
    BattlesError,
    ConvergenceWarning,
    DataWarning,
    LearnerError,
    Remedy,
    SkanchorWarning,
    Term,
    locate,
    located,
)
from skanchor.warning_log import WarningLog, warn_of_folds

RIDGE = Advice(Remedy.SHRINK_BIAS, {"alpha": 0.5})
KINDS = [
    getattr(exceptions, name)
    for name in exceptions.__all__
    if name.endswith(("Error", "Warning"))
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "again", [copy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_parts_survive(kind, again):
    error = again(kind("Not ", Term.AMONG_NEW_MODELS, ".", advice=RIDGE))
    assert type(error) is kind
    assert error.statement == "Not in new_models."
    assert error.advice == (RIDGE,)
    words = "Set a ridge penalty, such as LinearBias(alpha=0.5)."
    assert str(error) == f"Not in new_models. {words}"
    assert isinstance(error.args[1], Term)


@pytest.mark.parametrize("kind", [k for k in KINDS if issubclass(k, SkanchorWarning)])
@pytest.mark.parametrize(
    "again", [copy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_code_and_subject_survive(kind, again):
    warning = kind("Odd.", code="odd-rows", subject=["m", 3, "m"])
    locate(warning, "Fold 3")
    warning = again(warning)
    assert (warning.code, warning.subject) == ("odd-rows", ("m", "3"))
    assert str(warning) == "Fold 3: Odd."


def test_a_warning_may_have_no_code_and_no_subject():
    assert (DataWarning("Odd.").code, DataWarning("Odd.").subject) == ("", ())


def test_message_without_advice_is_its_statement():
    assert str(BattlesError("What is wrong.")) == "What is wrong."
    assert str(BattlesError()) == ""
    many = BattlesError("A.", advice=[RIDGE, Advice(Remedy.CONVERT_OUTCOMES)])
    assert str(many).endswith("(alpha=0.5). Convert them: y.astype(float).")


def test_the_number_of_the_problem_survives():
    error = pickle.loads(pickle.dumps(LearnerError("It failed.", problem=3)))
    assert (str(error), error.problem) == ("It failed.", 3)


def test_convergence_warning_is_scikit_learn_s_and_ours():
    assert issubclass(ConvergenceWarning, SkanchorWarning)
    assert issubclass(ConvergenceWarning, ScikitLearnWarning)


def test_location_goes_before_the_statement():
    with (
        pytest.raises(BattlesError, match=r"^Model 'x': Fold 3: Odd\. Set") as caught,
        located("Model 'x'"),
        located("Fold 3"),
    ):
        raise BattlesError("Odd.", advice=RIDGE)
    assert caught.value.statement == "Model 'x': Fold 3: Odd."
    assert caught.value.advice == (RIDGE,)


def test_merged_warnings_keep_their_advice():
    found = DataWarning("Odd.", advice=RIDGE)
    with WarningLog() as log:
        warn_of_folds({0: [found], 2: [found]})
    (merged,) = log.found
    assert type(merged) is DataWarning
    assert merged.statement == "In folds [0, 2], not on all rows: Odd."
    assert merged.advice == (RIDGE,)
    assert found.statement == "Odd."


def _refuse():
    raise BattlesError("Odd.", advice=RIDGE)


def test_parts_come_back_from_worker_processes():
    with pytest.raises(BattlesError) as caught:
        Parallel(n_jobs=2)([delayed(_refuse)(), delayed(_refuse)()])
    assert caught.value.advice == (RIDGE,)


def test_every_template_is_filled_by_its_values():
    for kind in Remedy:
        known = {"alpha": 0.01, "judge": "'gpt'", "judges": ["gpt"]}
        known["models"] = {"Owl": "owl"}
        known |= {"first": "great", "second": "poor", "levels": "'great': 1"}
        values = {n: v for n, v in known.items() if f"{{{n}" in kind.value}
        words = str(Advice(kind, values))
        assert words.endswith(".")
        assert not any(f"{{{name}" in words for name in known)
