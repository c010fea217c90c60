"""A few random cases of each kind, the same ones each time.

``python -m fuzz MINUTES FIRST_SEED`` in this folder's parent goes on for longer.
"""

import pytest
from fuzz.cases import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_no_case_is_a_fault(kind):
    for seed in range(4):
        about, verdict = KINDS[kind](seed)
        assert not verdict.is_fault, (seed, about, verdict)
