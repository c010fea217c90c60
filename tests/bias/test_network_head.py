"""The ridge of a network's last layer."""

import numpy as np

from skanchor.bias._network_head import simplest_within_error


def test_the_simplest_choice_within_one_error(rng):
    noise = rng.normal(size=400)
    noise -= noise.mean()
    # Standard error of the sum of the gaps: 20 times their deviation of one.
    unit = noise / noise.std()
    terms = np.column_stack([unit + 30 / 400, 2 * unit + 10 / 400, unit * 0])
    assert simplest_within_error(terms) == 1
    assert simplest_within_error(np.add(terms, [-1.0, 0, 0])) == 0
    assert simplest_within_error(terms[:, [2]]) == 0
