"""Names of learners, and what a learner must have."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skanchor.bias import make_learner
from skanchor.bias.registry import LEARNERS


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_learners_say_that_they_are_not_fitted(name):
    learner, rows = make_learner(name), np.ones((3, 1))
    for ask in (learner.psi, learner.contrast):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            ask(rows)
