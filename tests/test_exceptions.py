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
def test_messages_survive(kind, again):
    error = again(kind("Not in new_models."))
    assert type(error) is kind
    assert str(error) == "Not in new_models."
    assert str(again(kind())) == ""


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


def test_location_goes_before_the_message():
    with (
        pytest.raises(BattlesError, match=r"^Model 'x': Fold 3: Odd\.$"),
        located("Model 'x'"),
        located("Fold 3"),
    ):
        raise BattlesError("Odd.")
