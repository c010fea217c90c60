"""A small simulated battles table, bundled with the package."""

from __future__ import annotations

import gzip
import io
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from skanchor.datasets.bunch import as_bunch
from skanchor.simulation import simulate_battles

_FILE = "demo_battles.csv.gz"
_SEED = 20260915
_TARGET = "winner"
_SCORES = {
    "amber-otter": 0.9,
    "blue-heron": 0.65,
    "cedar-fox": 0.45,
    "dusty-lark": 0.2,
    "early-moth": 0.0,
    "fern-badger": -0.35,
    "grey-robin": -0.75,
    "hazel-newt": -1.1,
}
_NEW_SCORES = {"ivory-lynx": 0.55, "jade-finch": -0.2}
_SENSITIVITIES = {"judge-alpha": 1.4, "judge-beta": 0.8, "judge-gamma": 1.1}
# Columns x1, x2, x3 of the simulation. The third feature biases no judge, so the table
# can leave it out without hiding a bias.
_BIAS_COEF = [[0.6, 0.2, 0.0], [-0.2, 0.5, 0.0], [0.4, -0.3, 0.0]]
_N_PROMPTS = 1200


def _add_ties(rng, y, logits) -> np.ndarray:
    """Turn close calls into ties without moving any win rate.

    With p = P(model_a wins) and t = 0.6 min(p, 1 - p), the outcome becomes a tie with
    probability t, half of it taken from the wins and half from the losses, so that
    P(win) + P(tie) / 2 is still p.
    """
    p = expit(logits)
    p_outcome = np.where(y == 1, p, 1 - p)
    # P(tie | outcome) = (t / 2) / P(outcome), with t / 2 = 0.3 min(p, 1 - p).
    is_tie = rng.random(y.size) < 0.3 * np.minimum(p, 1 - p) / p_outcome
    return np.where(is_tie, "tie", np.where(y == 1, "model_a", "model_b"))


def make_demo() -> pd.DataFrame:
    """Simulate the demo table that the bundled file contains.

    Returns
    -------
    frame : DataFrame
        4,000 battles; see the DESCR of `load_demo`.
    """
    data = simulate_battles(
        n_historical=3300,
        n_new=350,
        n_models=len(_SCORES),
        n_judges=len(_SENSITIVITIES),
        n_new_models=len(_NEW_SCORES),
        n_human=1100,
        scores=list(_SCORES.values()),
        new_score=list(_NEW_SCORES.values()),
        sensitivities=list(_SENSITIVITIES.values()),
        bias_coef=_BIAS_COEF,
        random_state=_SEED,
    )
    truth, X = data.truth, data.X
    # The simulation numbers models and judges; here they get names.
    models = [*truth.historical_models, *truth.new_models]
    model_names = dict(zip(models, [*_SCORES, *_NEW_SCORES], strict=True))
    judge_names = dict(zip(truth.judges, _SENSITIVITIES, strict=True))
    judge_names[truth.human] = "human"
    rng = np.random.default_rng(_SEED)
    prompt = rng.integers(_N_PROMPTS, size=len(X))
    return pd.DataFrame(
        {
            "model_a": X["model_a"].map(model_names),
            "model_b": X["model_b"].map(model_names),
            "judge": X["judge"].map(judge_names),
            "prompt_id": [f"prompt-{i:04d}" for i in prompt],
            "length_a": X["x1_a"].round(3),
            "length_b": X["x1_b"].round(3),
            "markdown_a": X["x2_a"].round(3),
            "markdown_b": X["x2_b"].round(3),
            _TARGET: _add_ties(rng, data.y, truth.logits),
        }
    )


def _write_demo(path: str | Path | None = None) -> None:
    """Write the bundled file again; the same table gives the same bytes."""
    path = Path(__file__).parent / "data" / _FILE if path is None else Path(path)
    text = make_demo().to_csv(index=False, float_format="%.3f", lineterminator="\n")
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def load_demo(*, return_X_y: bool = False, as_frame: bool = True) -> Any:
    """Load the demo battles: a small SIMULATED table with two new models.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return data as a DataFrame and target as a Series; otherwise both are arrays
        (data of dtype object) and the order of the columns is `feature_names`.

    Returns
    -------
    data : Bunch
        - data : the battles without their outcome, of shape (4000, 8).
        - target : the outcomes, "model_a", "model_b" or "tie", of shape (4000,).
        - frame : DataFrame of both, None if `as_frame` is False.
        - feature_names, target_names : the columns of data, and of target.
        - new_models : the models without human comparisons.
        - true_scores, true_sensitivities : Series, the values used.
        - DESCR : how the table was made.
    (data, target) : tuple
        If `return_X_y` is True.

    Examples
    --------
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> X.shape, sorted(y.unique())
    ((4000, 8), ['model_a', 'model_b', 'tie'])
    """
    packed = (files(__package__) / "data" / _FILE).read_bytes()
    frame = pd.read_csv(io.BytesIO(gzip.decompress(packed)))
    return as_bunch(
        frame,
        return_X_y,
        as_frame,
        "demo",
        new_models=list(_NEW_SCORES),
        true_scores=pd.Series(_SCORES | _NEW_SCORES, name="score"),
        true_sensitivities=pd.Series(_SENSITIVITIES, name="sensitivity"),
    )
