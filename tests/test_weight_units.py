"""The unit of weights: all weights times a number are the same weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from skanchor import AnchorHistory, AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor.baselines import BASELINES
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles

pytestmark = [pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")]

RIDGE = JudgeCalibrator(bias=LinearBias(alpha=0.1))
OPTIONS = {
    "the default": {},
    "no item effects": {"item_effects": None},
    "random": {"item_effects": "random"},
    "two steps": {"historical_fit": "two-step", "item_effects": None},
    "two steps, random": {"historical_fit": "two-step", "item_effects": "random"},
    "ties left out": {"ties": "drop", "item_effects": "random"},
    "bias of people": {"human_bias": "linear", "item_effects": None},
    "ridge of the bias": {"calibrator": RIDGE, "item_effects": "random"},
    "ridge of the scores": {"btl": BTLRegressor(alpha=0.01), "item_effects": None},
    "no position effect": {"calibrator": JudgeCalibrator(position_effect=False)},
    "position effects": {"calibrator": JudgeCalibrator(position_effect=True)},
    "repeats": {"n_repeats": 2, "item_effects": "random"},
    "contexts": {"context": "kind"},
    "the plug-in": {"debiaser": "passthrough"},
}
UNIT = 7e-6


@pytest.fixture(scope="module")
def table():
    """Two new models, two judges, ties, weights, prompts and contexts."""
    data = simulate_battles(
        n_historical=700, n_new=80, n_models=6, n_judges=2, n_new_models=2,
        random_state=3,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    n = len(data.y)
    y = np.where(rng.random(n) < 0.1, 0.5, data.y)
    X = data.X.assign(kind=rng.integers(0, 2, n))
    return X, y, rng.uniform(0.5, 1.5, n), rng.integers(0, n // 3, n)


def board(method, X, y, weight, groups=None):
    fitted = clone(method).fit(X, y, sample_weight=weight, groups=groups)
    table = fitted.leaderboard().select_dtypes("number")
    return table.to_numpy(dtype=float)


def assert_unitless(method, X, y, weight, groups=None):
    """The leaderboard stays the same to eight digits."""
    expected, result = (
        board(method, X, y, unit * weight, groups) for unit in (1.0, UNIT)
    )
    hint = f"by {method}; does it add games of its own, as those of COUNTING do?"
    assert_allclose(result, expected, rtol=1e-8, atol=1e-8, err_msg=hint)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_unit_of_all_weights_is_nothing(name, table):
    X, y, weight, _ = table
    anchor = AnchorPipeline(cv=2, random_state=0).set_params(**OPTIONS[name])
    assert_unitless(anchor, X, y, weight)


# These add games to those of the rows, so that their weights are numbers of games.
COUNTING = {"LogisticJudge"}


@pytest.mark.parametrize(
    "name", sorted(set(BASELINES) - {"Oracle", "HumanOnly"} - COUNTING)
)
def test_nor_is_it_to_baselines(name, table):
    X, y, weight, _ = table
    assert_unitless(BASELINES[name](), X.drop(columns="kind"), y, weight)


@pytest.mark.parametrize("item_effects", [None, "random"])
def test_a_history_has_the_unit_of_its_rows(item_effects, table, tmp_path):
    """Arrivals have the same unit as the rows of the history."""
    X, y, weight, _ = table
    X = X.drop(columns="kind")
    new = X[["model_a", "model_b"]].isin(["new-model-1", "new-model-2"]).any(axis=1)
    new = new.to_numpy()
    anchor = AnchorPipeline(cv=2, random_state=0, item_effects=item_effects)

    def placed(unit):
        history = AnchorHistory(anchor).fit(X[~new], y[~new], unit * weight[~new])
        history.save(tmp_path / "history")
        loaded = AnchorHistory.load(tmp_path / "history")
        return loaded.place(X[new], y[new], unit * weight[new])

    one, other = (
        placed(unit).leaderboard().select_dtypes("number") for unit in (1.0, 7e-4)
    )
    assert_allclose(other, one, rtol=1e-8, atol=1e-8)
