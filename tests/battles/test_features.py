"""Feature pairs: both sides, of one type."""

import pytest
from battle_tables import KINDS, columns_of, kinds

from skanchor import Comparisons
from skanchor.exceptions import BattlesError


@kinds
def test_half_pair(kind):
    with pytest.raises(BattlesError, match=r"\['x_a'\] lack their other side"):
        Comparisons.from_battles(KINDS[kind](columns_of(x_b=None)))
    with pytest.raises(BattlesError, match=r"\['prompt_b'\] lack their other side"):
        Comparisons.from_battles(KINDS[kind](columns_of(prompt_a=None)))
    with pytest.raises(BattlesError, match="x_a and x_b differ in type"):
        Comparisons.from_battles(KINDS[kind](columns_of(x_b=list("abcdef"))))
