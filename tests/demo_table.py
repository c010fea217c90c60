"""How the bundled table was made, which the tests make again."""

import numpy as np
import pandas as pd
from scipy.special import expit

from skanchor.datasets._demo import NEW_SCORES, SCORES, SENSITIVITIES
from skanchor.simulation import simulate_battles

_SEED = 20260915
# Columns x1, x2, x3 of the simulation. The third feature biases no judge, so the table
# can leave it out without hiding a bias.
_BIAS_COEF = [[0.6, 0.2, 0.0], [-0.2, 0.5, 0.0], [0.4, -0.3, 0.0]]
_N_PROMPTS = 1200


def add_ties(rng, y, logits) -> np.ndarray:
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
        n_models=len(SCORES),
        n_judges=len(SENSITIVITIES),
        n_new_models=len(NEW_SCORES),
        n_human=1100,
        scores=list(SCORES.values()),
        new_score=list(NEW_SCORES.values()),
        sensitivities=list(SENSITIVITIES.values()),
        bias_coef=_BIAS_COEF,
        random_state=_SEED,
    )
    truth, X = data.truth, data.X
    # The simulation numbers models and judges; here they get names.
    models = [*truth.historical_models, *truth.new_models]
    model_names = dict(zip(models, [*SCORES, *NEW_SCORES], strict=True))
    judge_names = dict(zip(truth.judges, SENSITIVITIES, strict=True))
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
            "winner": add_ties(rng, data.y, truth.logits),
        }
    )
