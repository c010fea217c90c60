"""What fitted methods hand out: labelled tables, and results that print briefly."""

import re

import numpy as np
import pytest

from skanchor import AnchorPipeline, Comparisons
from skanchor.baselines import BASELINES
from skanchor.bootstrap import Bootstrapped
from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def data():
    return simulate_battles(
        600, 100, n_models=5, n_judges=2, n_new_models=2, tau=0.0, random_state=5
    )


@pytest.fixture(scope="module")
def anchor(data):
    return AnchorPipeline(cv=3, random_state=1).fit(data.X, data.y)


@pytest.fixture(scope="module")
def bootstrapped(data):
    return Bootstrapped(n_resamples=20, random_state=0).fit(data.X, data.y)


# ----------------------------------------------------------------------------- labels
def model_tables(fitted):
    """All that a fitted method says of models."""
    names = ["scores_", "standard_errors_", "ranks_", "win_rates_", "variance_"]
    yield from ((n, getattr(fitted, n)) for n in names if hasattr(fitted, n))
    for name in ("leaderboard", "conf_int", "rank_sets"):
        if hasattr(fitted, name):
            yield name, getattr(fitted, name)()


def test_models_and_judges_are_labelled(anchor, bootstrapped):
    for fitted in (anchor, bootstrapped):
        tables = dict(model_tables(fitted))
        assert len(tables) == 6 + (fitted is anchor)
        assert all(table.index.name == "model" for table in tables.values())
        assert "model" in fitted.rank_sets().reset_index()
    result = anchor.result_
    assert result.all_scores.index.name == result.diagnostics.models.index.name
    refits = bootstrapped.refits_
    for table in (refits.conf_int(), refits.standard_errors, refits.rank_intervals()):
        assert table.index.name == "model"
    judges = anchor.calibrator_
    for table in (
        anchor.summary(),
        result.diagnostics.judges,
        judges.sensitivities_,
        judges.position_effects_,
        judges.choices_,
    ):
        assert table.index.name == "judge"


# ------------------------------------------------------------------------------ prints
def test_a_result_prints_its_new_models(data, anchor, bootstrapped):
    text = repr(anchor.result_)
    assert len(text) < 600 and len(text.splitlines()) == 4 + 3
    human = int((data.X["judge"] == "human").sum())
    assert text.startswith(
        f"AnchorResult: 7 models, 2 of them new; {human} human and "
        f"{len(data.X) - human} judge rows\n"
    )
    for model in anchor.new_models_:
        (line,) = re.findall(rf"^{model} +(.*)$", text, re.M)
        ranks = anchor.rank_sets().loc[model]
        expected = [
            anchor.scores_[model], anchor.standard_errors_[model],
            *anchor.conf_int().loc[model], *ranks,
        ]  # fmt: skip
        np.testing.assert_allclose(
            [float(word) for word in line.split()], expected, atol=6e-4
        )
    assert repr(bootstrapped.result_).startswith("BootstrapRanking: 7 models, 2 of")
    assert repr(bootstrapped.refits_) == (
        "BootstrapResult: 20 refits of DirectScore, 0 of them failed; 7 models, 2 of "
        "them new"
    )
    # Groups reach the method as codes, but keep their name.
    used = bootstrapped.result_.inputs
    assert used.features == ("x1", "x2", "x3") and used == anchor.result_.inputs
    rates = BASELINES["LogisticJudge"]().fit(data.X, data.y)
    assert len(repr(rates.result_).splitlines()) == 4 + 3
    assert f"{rates.win_rates_['new-model-1']:.3f}" in repr(rates.result_)


def test_results_without_errors_or_new_models_print(data):
    plug_in = AnchorPipeline(cv=3, debiaser="passthrough", random_state=0)
    assert "NaN" in repr(plug_in.fit(data.X, data.y).result_)
    old = ~(data.X[["model_a", "model_b"]].isin(data.truth.new_models).any(axis=1))
    leaderboard = AnchorPipeline(cv=3, new_models=[], random_state=0)
    text = repr(leaderboard.fit(data.X[old], data.y[old]).result_)
    first, others = text.split("\n", 1)
    assert first.endswith("rows; see leaderboard()")
    assert others == str(leaderboard.result_.inputs)
    votes = old & (data.X["judge"] == "human")
    leaderboard.fit(data.X[votes], data.y[votes])
    assert "0 judge rows" in repr(leaderboard.result_)
    assert leaderboard.calibrator_.coefficients_.shape == (0, 0)


def test_comparisons_print_in_one_line(data, anchor):
    human = int((data.X["judge"] == "human").sum())
    text = repr(Comparisons.from_battles(data.X))
    assert text == (
        f"Comparisons: {len(data.X)} rows, {human} of them human; 7 models; "
        "2 judges; 3 features"
    )
    assert "7 models, 2 of them new; " in repr(anchor.btl_.transform(data.X))
