"""Fits that several modules of this folder read."""

import pytest

from skanchor import AnchorPipeline
from skanchor.datasets import load_demo


@pytest.fixture(scope="session")
def anchor():
    """The demo table, fitted; item effects are left out, as a test does not see any."""
    return AnchorPipeline(cv=2, random_state=0).fit(*load_demo(return_X_y=True))


@pytest.fixture(scope="session")
def plug_in():
    """The demo table without corrections, so that there are no errors."""
    made = AnchorPipeline(cv=2, random_state=0, debiaser="passthrough")
    return made.fit(*load_demo(return_X_y=True))
