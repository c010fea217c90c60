"""Summaries of a study, by hand; and the experiments of the paper as data."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skanchor import AnchorPipeline
from skanchor.studies import (
    EXPERIMENTS,
    MEASURES,
    paired_differences,
    settings_of,
    summarize_study,
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "cell": np.repeat(["a", "b"], 40),
            "method": np.tile(["ANCHOR", "other"], 40),
            "seed": np.tile(np.repeat(np.arange(20), 2), 2),
            "error": rng.normal(size=80),
            "covered": rng.integers(2, size=80),
            "variance": rng.uniform(1, 2, size=80),
            "human": rng.uniform(0.1, 1, size=80),
            "failed": "",
            "settings": np.repeat([json.dumps({"x": 1}), json.dumps({"x": 2})], 40),
        }
    )
    return table.assign(squared_error=table["error"] ** 2)


def test_summary_by_hand(rows):
    names = ("rmse", "coverage", "absolute_bias", "empirical_variance",
             "variance_by_human_part")  # fmt: skip
    found = summarize_study(rows, names).loc[("b", "ANCHOR")]
    own = rows[(rows["cell"] == "b") & (rows["method"] == "ANCHOR")]
    assert found["draws"] == 20
    assert_allclose(found["rmse"], np.sqrt((own["error"] ** 2).mean()))
    assert_allclose(found["coverage"], own["covered"].mean())
    assert_allclose(found["coverage_error"], own["covered"].std() / np.sqrt(20))
    assert_allclose(found["absolute_bias"], abs(own["error"].mean()))
    assert_allclose(found["empirical_variance"], own["error"].var())
    ratio = own["variance"] / own["human"]
    assert_allclose(found["variance_by_human_part"], ratio.mean())


def test_monte_carlo_errors_are_those_of_repeated_studies():
    """Spread of each measure over 2,000 studies of 50 draws, against what one says."""
    rng = np.random.default_rng(1)
    error = 0.3 + rng.normal(size=(2000, 50))
    studies = [pd.DataFrame({"error": e, "squared_error": e**2}) for e in error]
    for name in ("rmse", "empirical_variance", "absolute_bias"):
        found = np.array([MEASURES[name](study) for study in studies])
        # Both are random: three in a hundred for the spread, and a bias of order 1/n.
        assert_allclose(found[:, 0].std(), found[:, 1].mean(), rtol=0.08)


def test_draws_that_failed_count_only_as_draws(rows):
    lost = rows["seed"] == 3
    rows.loc[lost, "failed"] = "undetermined"
    rows.loc[lost, ["error", "squared_error", "covered"]] = np.nan
    found = summarize_study(rows, ("rmse", "failed"))
    assert (found["draws"] == 20).all()
    assert_allclose(found["failed"], 1 / 20)
    own = rows[(rows["cell"] == "a") & (rows["method"] == "other") & ~lost]
    expected = np.sqrt((own["error"] ** 2).mean())
    assert_allclose(found.loc[("a", "other"), "rmse"], expected)


def test_paired_differences(rows):
    found = paired_differences(rows, "squared_error")
    own = rows[rows["cell"] == "a"].pivot(
        index="seed", columns="method", values="squared_error"
    )
    gap = own["other"] - own["ANCHOR"]
    row = found.loc[("a", "other")]
    assert_allclose(row["difference"], gap.mean())
    assert_allclose(row["error"], gap.std() / np.sqrt(20))
    assert len(found) == 2


def test_settings_of_cells(rows):
    assert settings_of(rows)["x"].tolist() == [1, 2]


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_experiments_of_the_paper(experiment):
    names = [method.name for method in experiment.methods]
    assert len(set(names)) == len(names) and "ANCHOR" in names
    default = next(m for m in experiment.methods if m.name == "defaults")
    assert repr(default.estimator) == repr(AnchorPipeline())
    assert set(experiment.measures) <= set(MEASURES)
    cells = [cell.name for cell in experiment.cells]
    assert len(set(cells)) == len(cells) and not any(": " in cell for cell in cells)
    # Settings are written to files.
    assert all(json.dumps(cell.settings) for cell in experiment.cells)
    assert experiment.reading.endswith(".") and experiment.seconds > 0


def test_grids_are_those_of_the_paper():
    cells = {name: len(each.cells) for name, each in EXPERIMENTS.items()}
    assert (cells["history"], cells["variance"], cells["shift"]) == (4, 5, 16)
    assert cells["insertion"] == 4
    anchor = next(m for m in EXPERIMENTS["history"].methods if m.name == "ANCHOR")
    settings = anchor.estimator.get_params()
    assert settings["historical_fit"] == "two-step" and settings["cv"] == 10
    assert settings["item_effects"] is None and settings["disagreement"] == "ignore"
    assert not settings["calibrator"].position_effect
    assert EXPERIMENTS["history"].n_resamples == 500
    assert EXPERIMENTS["weights"].replications == 100
    assert EXPERIMENTS["shift"].replications == 500
