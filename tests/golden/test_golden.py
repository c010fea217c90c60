"""Numbers, refusals and warnings are those of the records.

A change that is meant to change them keeps new records (``python -m golden CASE`` in
``tests``), and its commit says which and why.
"""

import ast
from importlib.util import find_spec
from pathlib import Path

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


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_its_cases_are_left_out():
    assert not NEEDS_TORCH.keys() & CASES.keys()
