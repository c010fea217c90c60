"""Moments that are shrunk towards judges that are alike."""

import numpy as np
from numpy.testing import assert_allclose

from skanchor._numerics.shrinkage import Shrinkage, shrink


def test_shrinkage_keeps_what_judges_have_in_common():
    alike = 0.2 * (0.7 * np.eye(3) + 0.3)
    for kept in (Shrinkage(0.0, 0.0), Shrinkage(0.3, 0.8), Shrinkage(1.0, 1.0)):
        assert_allclose(shrink(alike, kept), alike)
    assert shrink(np.array([[0.4]]), Shrinkage()) == 0.4
    odd = np.diag([1.0, 0.0, 0.0])
    got = np.diag(shrink(odd, Shrinkage(0.5, 0.5)))
    assert got[0] < 1.0 and (got[1:] > 0).all()
    assert_allclose(shrink(odd + 0.1, Shrinkage(1.0, 1.0)), odd + 0.1)
