"""Names of learners, and what a learner must have."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from skanchor.bias import BiasLearner, LinearBias, make_learner
from skanchor.bias.registry import LEARNERS


def test_names_and_protocol():
    assert isinstance(make_learner("linear"), LinearBias)
    assert isinstance(LinearBias(), BiasLearner)
    with pytest.raises(ValueError, match="Unknown bias learner 'cubic'"):
        make_learner("cubic")
    with pytest.raises(TypeError, match="lacks contrast"):
        make_learner(StandardScaler())
    with pytest.raises(ValueError, match="'loss' parameter of LinearBias"):
        LinearBias(loss="hinge").fit(np.ones((3, 1)), np.ones(3))


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_learners_say_that_they_are_not_fitted(name):
    learner, rows = make_learner(name), np.ones((3, 1))
    for ask in (learner.psi, learner.contrast):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            ask(rows)
