"""Which models are historical and which are new."""

import numpy as np
import pandas as pd
import pytest

from skanchor import Comparisons
from skanchor._battles import count_rows, decide_roles
from skanchor.exceptions import BattlesError


def battles(*rows, new_models=None):
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "judge"])
    return Comparisons.from_battles(frame, new_models=new_models)


ROWS = [("a", "b", "human"), ("b", "c", "human"), ("a", "c", "j"), ("n", "a", "j"),
        ("b", "m", "k")]  # fmt: skip
ONE = np.ones(len(ROWS))


def test_rows_that_count_are_usable_and_have_weight():
    X = battles(*ROWS, ("a", "a", "j"))
    human, judged = count_rows(X, np.array([1.0, 0.0, 1.0, 2.0, 0.0, 1.0]))
    counts = dict(zip(X.models.tolist(), zip(human, judged, strict=True), strict=True))
    assert counts == {"a": (1, 2), "b": (1, 0), "c": (0, 1), "m": (0, 0), "n": (0, 1)}


def test_roles_default_to_models_without_votes():
    X = decide_roles(battles(*ROWS), ONE, None)
    assert X.new_models == ("m", "n")
    assert X.models.tolist() == ["a", "b", "c", "m", "n"]
    assert X.involves_new.tolist() == [False, False, False, True, True]
    # Slicing does not change them.
    assert X[:2].new_models == ("m", "n")


def test_given_new_models_travel():
    X = decide_roles(battles(*ROWS, new_models=["n", "m"]), ONE, None)
    assert X.new_models == ("n", "m")
    assert decide_roles(battles(*ROWS), ONE, ["n", "m"]).new_models == ("n", "m")


def test_model_without_votes_must_be_named():
    with pytest.raises(BattlesError, match=r"\['m'\] have no human rows"):
        decide_roles(battles(*ROWS), ONE, ["n"])
    with pytest.raises(BattlesError, match=r"\['m', 'n'\] have no human rows"):
        decide_roles(battles(*ROWS), ONE, [])
    with pytest.raises(BattlesError, match=r"new_models names \['x'\]"):
        decide_roles(battles(*ROWS), ONE, ["n", "m", "x"])


def test_warm_arrival():
    X = decide_roles(battles(*ROWS), ONE, ["c", "m", "n"])
    assert X.is_new.tolist() == [False, False, True, True, True]
    assert X.involves_new.tolist() == [False, True, True, True, True]


def test_rows_without_weight_decide_nothing():
    weight = np.array([1.0, 0, 1, 1, 0])
    X = decide_roles(battles(*ROWS), weight, None)
    assert X.models.tolist() == ["a", "b", "c", "n"]
    assert X.judges.tolist() == ["j"]
    assert X.new_models == ("c", "n")
    assert X.right.tolist() == [1, 2, 2, 0, -1]
    assert X.judge.tolist() == [-1, -1, 0, 0, -2]
    with pytest.raises(BattlesError, match="positive weight"):
        decide_roles(battles(*ROWS), 0 * ONE, None)


def test_self_comparisons_decide_nothing():
    X = battles(*ROWS, ("s", "s", "human"), ("n", "n", "human"))
    roles = decide_roles(X, np.ones(7), None)
    assert "s" not in roles.models
    assert roles.new_models == ("m", "n")
    assert roles.is_usable.tolist() == [True] * 5 + [False] * 2
