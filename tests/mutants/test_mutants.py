"""Every fault is named once and still has a text to patch."""

from mutants.faults import all_faults

FAULTS = all_faults()


def test_names_are_unique():
    names = [fault.name for fault in FAULTS]
    assert sorted(set(names)) == sorted(names)


def test_patches_apply():
    for fault in FAULTS:
        assert fault.patched() and len(fault.lines()), fault.name
