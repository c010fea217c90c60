"""Fixtures that every test module may ask for."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from skanchor._model import newton
from skanchor.datasets import fetch_mt_bench

# The same examples in every run: what is drawn anew belongs into the fuzzing.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

ARENA_JUDGES = (
    "human",
    "gpt-4-0125-preview",
    "claude-3-opus-20240229",
    "gpt-3.5-turbo",
)


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


@pytest.fixture(scope="session")
def arena_table():
    """The Chatbot Arena battles of 20 models, by humans and three LLM judges.

    One row per battle and judge, 107 676 in all, columns prompt_id (the number of
    the battle; every judge saw all of them), model_a, model_b, judge and winner.
    The table is shared by the whole session: copy before changing it.
    """
    mirror = os.environ.get("SKANCHOR_DATA_MIRROR")
    if not mirror:
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    parts = [
        pd.read_json(Path(mirror, "arena", f"{judge}.json"), lines=True).assign(
            judge=judge
        )
        for judge in ARENA_JUDGES
    ]
    table = pd.concat(parts, ignore_index=True)
    # question_id repeats across battles, so `num` is what joins the judges.
    table = table.rename(columns={"num": "prompt_id"})
    table["winner"] = table["winner"].replace({"tie (bothbad)": "tie"})
    return table[["prompt_id", "model_a", "model_b", "judge", "winner"]]


@pytest.fixture(scope="session")
def mt_bench_table():
    """The battles of MT-bench, from the published files: copy before changing it."""
    if not os.environ.get("SKANCHOR_DATA_MIRROR"):
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    return fetch_mt_bench().frame
