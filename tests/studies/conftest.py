"""A small experiment, of which a draw takes a tenth of a second."""

import pytest

from skanchor import AnchorPipeline
from skanchor.baselines import DirectScore, Oracle
from skanchor.studies import Cell, Experiment, StudyMethod


@pytest.fixture
def tiny():
    settings = {"n_historical": 1000, "n_models": 5, "human_fraction": 0.5, "n_new": 80}
    cells = tuple(
        Cell(f"rho={rho}", {**settings, "rho": rho}, 0.1) for rho in (0.0, 0.5)
    )
    methods = (
        StudyMethod("ANCHOR", AnchorPipeline(cv=2, item_effects=None), "own", "holm"),
        StudyMethod("Oracle", Oracle(), "own"),
        StudyMethod("DirectScore", DirectScore(), "basic"),
    )
    return Experiment(
        "tiny", "a small one", "", cells, methods, ("rmse", "coverage"),
        replications=3, n_resamples=5,
    )  # fmt: skip
