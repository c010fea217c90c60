"""Errors and warnings: their parts, and that the parts last."""

import pickle
from copy import copy

import pytest

from skanchor import exceptions
from skanchor.exceptions import BattlesError, SkanchorWarning, locate, located

KINDS = [
    getattr(exceptions, name)
    for name in exceptions.__all__
    if name.endswith(("Error", "Warning"))
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "again", [copy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_message_code_and_subject_survive(kind, again):
    is_warning = issubclass(kind, SkanchorWarning)
    parts = {"code": "odd-rows", "subject": ["m", 3, "m"]} if is_warning else {}
    problem = kind("Odd.", **parts)
    locate(problem, "Fold 3")
    problem = again(problem)
    assert type(problem) is kind and str(problem) == "Fold 3: Odd."
    if is_warning:
        assert (problem.code, problem.subject) == ("odd-rows", ("m", "3"))


def test_location_goes_before_the_message():
    with (
        pytest.raises(BattlesError, match=r"^Model 'x': Fold 3: Odd\.$"),
        located("Model 'x'"),
        located("Fold 3"),
    ):
        raise BattlesError("Odd.")
