"""Every fault is named once and still has a text to patch."""

import pytest
from mutants.faults import all_faults

FAULTS = all_faults()


def test_names_are_unique():
    names = [fault.name for fault in FAULTS]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_patch_applies(fault):
    assert fault.patched()
    assert len(fault.lines())
