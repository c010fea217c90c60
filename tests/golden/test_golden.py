"""Numbers, refusals and warnings are those of the records.

A change that is meant to change them keeps new records (``python -m golden CASE`` in
``tests``), and its commit says which and why.
"""

import ast
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from golden.cases import CASES, NEEDS_TORCH
from golden.records import FOLDER, distance, distances, file_of, gates, recorded, taken


def subjects(warnings):
    """All subjects of each finding: whether one warning has them, or one each."""
    result = {}
    for category, code, subject in warnings:
        result.setdefault((category, code), set()).update(subject)
    return result


def check(name):
    old, new = recorded(name), taken(name)
    assert new["error"] == old["error"]
    assert subjects(new["warnings"]) == subjects(old["warnings"])
    assert list(new["numbers"]) == list(old["numbers"])
    far = distances(new, old)
    assert {key: gap for key, gap in far.items() if gap > old["tolerance"]} == {}


@pytest.mark.parametrize("name", CASES)
def test_as_recorded(name):
    check(name)


@pytest.mark.torch
@pytest.mark.parametrize("name", NEEDS_TORCH)
def test_networks_as_recorded(name):
    # Other builds of torch round in other ways, so that only the gates hold.
    old, new = recorded(name), taken(name)
    assert new["error"] == old["error"]
    assert list(new["numbers"]) == list(old["numbers"])
    assert {key: gap for key, gap in gates(new, old).items() if gap > 100.0} == {}


def test_each_record_has_its_case():
    records, cases = (
        {path.stem for path in FOLDER.glob("*.json")},
        {file_of(name).stem: name for name in CASES | NEEDS_TORCH},
    )
    new = [name for stem, name in cases.items() if stem not in records]
    assert not new, f"record them, in tests: python -m golden {' '.join(new)}"
    assert not records - cases.keys(), "delete the files of these cases that are gone"


@pytest.mark.parametrize("name", ["cases.py", "records.py"])
def test_only_the_adapter_calls_the_package(name):
    tree = ast.parse(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    modules = [
        one
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for one in [getattr(node, "module", None), *(a.name for a in node.names)]
    ]
    assert not [one for one in modules if one and one.startswith("skanchor")]


def test_distance_is_in_units_of_the_largest_number():
    assert distance([1.0, 1e6], [1.0, 1e6]) == 0.0
    assert distance([1.0, 1e6 + 1], [1.0, 1e6]) == pytest.approx(1e-6)
    inf, nan = float("inf"), float("nan")
    assert distance([inf, nan, 1.0], [inf, nan, 1.0]) == 0.0
    assert distance([inf, 1.0], [-inf, 1.0]) == inf
    assert distance([nan, 1.0], [2.0, 1.0]) == inf
    assert distance([1.0], [nan]) == inf
    assert distance([1.0], [1.0, 2.0]) == inf


def test_gates_are_in_errors_of_scores_and_levels_of_rank_sets():
    sets = [[[2.0, 3.0]], [[2.0, 3.0]], [[1.0, 3.0]]]
    old = {"scores": [1.0, 2.0], "errors": [0.1, 0.2], "rank_sets": sets}
    far = {"scores": [1.0001, 2.0], "errors": [0.1, 0.20002], "rank_sets": sets}
    wider = [sets[0], [[1.0, 3.0]], sets[2]]
    outside = [sets[0], [[1.0, 4.0]], sets[2]]
    result = gates({"numbers": far}, {"numbers": old})
    assert result["scores"] == pytest.approx(1.0)
    assert result["errors"] == pytest.approx(1.0)
    assert result["rank_sets"] == 0.0
    for new, gap in ((wider, 0.0), (outside, float("inf"))):
        assert (
            gates({"numbers": far | {"rank_sets": new}}, {"numbers": old})["rank_sets"]
            == gap
        )


def test_an_error_of_what_is_hardly_connected_may_become_infinite():
    old = {"numbers": {"errors or infinite": [5e3, 0.1]}}
    for new, far in (([np.inf, 0.1], 0.0), ([5e3 - 1.0, 0.1], 2.0)):
        result = gates({"numbers": {"errors or infinite": new}}, old)
        assert result["errors or infinite"] == pytest.approx(far)


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_its_cases_are_left_out():
    assert not NEEDS_TORCH.keys() & CASES.keys()
