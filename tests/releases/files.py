"""Files that a release stores for later ones: ``python -m releases.files``."""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.simulation import simulate_battles

FOLDER = Path(__file__).parent
HISTORY = "history.anchor"
TABLE, EXPECTED = "battles.csv", "expected.json"


def draw():
    """Rows of five historical models and of a new one, with a feature and prompts."""
    made = simulate_battles(
        n_human=300,
        n_historical=600,
        n_new=300,
        n_models=5,
        n_judges=2,
        rho=0.0,
        scores=[1.2, 0.6, 0.0, -0.6, -1.2],
        sensitivities=[1.0, 1.5],
        random_state=0,
    )
    table = made.X[["model_a", "model_b", "judge"]].assign(winner=made.y)
    lengths = np.random.default_rng(0).normal(size=(2, len(table))).round(2)
    prompts = np.arange(len(table)) // 3
    return table.assign(length_a=lengths[0], length_b=lengths[1], prompt_id=prompts)


def battles(release):
    """Table and outcomes of a release, and which rows are those of the new model."""
    table = pd.read_csv(FOLDER / release / TABLE)
    is_late = table[["model_a", "model_b"]].eq("new-model").any(axis=1)
    return table.drop(columns="winner"), table["winner"], is_late


def fitted(release):
    """A history of the old models."""
    X, y, is_late = battles(release)
    anchor = AnchorPipeline(cv=2, random_state=0)
    return AnchorHistory(anchor).fit(X[~is_late], y[~is_late])


def placed(history, release):
    """Result of the new model by a history."""
    X, y, is_late = battles(release)
    return history.place(X[is_late], y[is_late])


def numbers(result):
    """Scores, errors and interval limits of the new models of a result."""
    limits = result.conf_int()
    return {
        "scores": result.scores.tolist(),
        "standard_errors": result.standard_errors.tolist(),
        "low": limits["low"].tolist(),
        "high": limits["high"].tolist(),
    }


def write(release):
    """Store a table, a history, and what it says of the new model."""
    folder = FOLDER / release
    folder.mkdir(exist_ok=True)
    draw().to_csv(folder / TABLE, index=False)
    history = fitted(release)
    history.save(folder / HISTORY)
    expected = {HISTORY: numbers(placed(history, release))}
    text = json.dumps(expected, indent=1, sort_keys=True)
    (folder / EXPECTED).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(version("skanchor"))
