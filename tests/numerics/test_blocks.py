"""Named blocks of columns."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skanchor._numerics.blocks import Blocks

blocks = Blocks.of(items=3, delta=1, order=0, span=2)


def test_blocks_lie_side_by_side():
    every = np.arange(blocks.size)
    parts = [every[blocks[name]] for name in blocks.names]
    assert [len(part) for part in parts] == [3, 1, 0, 2]
    assert_array_equal(np.concatenate(parts), every)
    assert_array_equal(every[blocks.run("delta", "span")], [3, 4, 5])
    assert_array_equal(blocks.at("span", "delta"), [4, 5, 3])
    assert_array_equal(blocks.at("order"), [])


def test_an_unknown_block_is_an_error():
    with pytest.raises(ValueError, match="not in tuple"):
        blocks["curve"]
