"""Results, errors and warnings are those of the records.

A change that is meant to change them keeps new records (``python -m golden CASE`` in
``tests``), and its commit says which and why.
"""

import pytest
from golden.cases import CASES
from golden.records import FOLDER, distance, file_of, known, taken


@pytest.mark.parametrize("name", CASES)
def test_as_recorded(name):
    assert file_of(name).exists(), f"record it, in tests: python -m golden {name}"
    old, new = known(name), taken(name)
    assert new["error"] == old["error"]
    assert new["warnings"] == old["warnings"]
    assert list(new["numbers"]) == list(old["numbers"])
    far = {
        key: distance(new["numbers"][key], value)
        for key, value in old["numbers"].items()
    }
    assert {key: gap for key, gap in far.items() if gap > old["tolerance"]} == {}


def test_each_record_has_its_case():
    records, cases = (
        {path.stem for path in FOLDER.glob("*.json")},
        {file_of(name).stem: name for name in CASES},
    )
    new = [name for stem, name in cases.items() if stem not in records]
    assert not new, f"record them, in tests: python -m golden {' '.join(new)}"
    assert not records - cases.keys(), "delete the files of these cases that are gone"


def test_distance_is_in_units_of_the_largest_number():
    assert distance([1.0, 1e6], [1.0, 1e6]) == 0.0
    assert distance([1.0, 1e6 + 1], [1.0, 1e6]) == pytest.approx(1e-6)
    inf, nan = float("inf"), float("nan")
    assert distance([inf, nan, 1.0], [inf, nan, 1.0]) == 0.0
    assert distance([inf, 1.0], [-inf, 1.0]) == inf
    assert distance([nan, 1.0], [2.0, 1.0]) == inf
    assert distance([1.0], [nan]) == inf
    assert distance([1.0], [1.0, 2.0]) == inf
