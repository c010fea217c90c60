"""Fixtures that every test module may ask for."""

import os
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from skanchor._model import newton

# Threads that share two cores with other workers wait longer than they work.
threadpool_limits(1, user_api="blas")

# The same examples in every run: what is drawn anew belongs into the fuzzing.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


def pytest_collection_modifyitems(items):
    """Skip what is marked ``torch`` where networks cannot be fitted."""
    if find_spec("torch") and find_spec("skorch"):
        return
    for item in items:
        if item.get_closest_marker("torch"):
            item.add_marker(pytest.mark.skip(reason="needs torch and skorch"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Start the global generator anew, which draws where no random_state is given.

    Nothing may hang on this one draw: the tests pass with other values of
    ``SKANCHOR_TEST_SEED``, too.
    """
    seed = int(os.environ.get("SKANCHOR_TEST_SEED", "0"))
    np.random.seed(seed)  # noqa: NPY002 (only this is the global generator)


@pytest.fixture
def exact_folds(monkeypatch):
    """Let the fits of folds end at their minimum, as those of a reference do."""
    monkeypatch.setattr(newton, "FOLD_TOLERANCE", 1e-12)


@pytest.fixture
def rng():
    """A generator that starts from the same seed in every test."""
    return np.random.default_rng(20260417)
