"""Every fault is named once and still has a text to patch."""

from pathlib import Path

from mutants.faults import all_faults

import skanchor

FAULTS, PACKAGE = all_faults(), Path(skanchor.__file__).parent


def test_names_are_unique():
    names = [fault.name for fault in FAULTS]
    assert sorted(set(names)) == sorted(names)


def test_patches_apply():
    for fault in FAULTS:
        assert fault.patched(PACKAGE) and len(fault.lines(PACKAGE)), fault.name
