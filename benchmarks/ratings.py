"""Pairs made of ratings: coverage and width of the new model's interval.

``python benchmarks/ratings.py [--draws 400] [--jobs 1]`` draws ratings from 1 to 5 of
six old models by a person and two judges, and of a new model by the judges, for 80
prompts. A rating is a rounded sum of the model's quality, an effect of the response
that all raters see, and the rater's noise; judges stretch the scale. The table goes to
a file and is read by `read_battles`, as a user's would be. Pairs are grouped by prompt
(the default), or taken as independent.

The true score is that of people's comparisons of all seven models on 20,000 further
prompts: the scores of a BTL fit to them.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skanchor import AnchorPipeline, BTLRegressor, read_battles, split_battles

MODELS = [f"model-{k}" for k in range(6)] + ["new-model"]
QUALITY = np.array([-0.6, -0.3, 0.0, 0.2, 0.4, 0.7, 0.3])
NEW = MODELS[-1]
RATERS = {"human": 1.0, "judge-1": 1.4, "judge-2": 0.8}  # how far each stretches scores
N_PROMPTS = 80


def ratings(rng: np.random.Generator, n_prompts: int) -> dict[str, np.ndarray]:
    """Ratings of each rater, of shape (n_prompts, n_models)."""
    shape = (n_prompts, len(MODELS))
    # The response of a model to a prompt is better or worse for every rater.
    response = QUALITY + 0.8 * rng.standard_normal(shape)
    return {
        rater: np.clip(
            np.rint(3.0 + stretch * response + 0.8 * rng.standard_normal(shape)), 1, 5
        )
        for rater, stretch in RATERS.items()
    }


def true_score() -> float:
    """Score of the new model by people's comparisons, beside the mean of the others."""
    given = ratings(np.random.default_rng(10**6), 20_000)["human"]
    rows = []
    for a in range(len(MODELS)):
        for b in range(a):
            gap = np.sign(given[:, a] - given[:, b])
            wins = float((0.5 * gap + 0.5).mean())
            rows.append((MODELS[a], MODELS[b], wins))
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "winner"])
    btl = BTLRegressor(tol=1e-12).fit(table[["model_a", "model_b"]], table["winner"])
    old = btl.scores_.drop(NEW)
    return float(btl.scores_[NEW] - old.mean())


def draw(seed: int, truth: float) -> list[tuple[float, float, bool]]:
    """Error, width and coverage of the new score: by prompt, and row by row."""
    given = ratings(np.random.default_rng(seed), N_PROMPTS)
    rows = [
        (f"p{prompt}", model, rater, score)
        for rater, scores in given.items()
        for (prompt, at), score in np.ndenumerate(scores)
        for model in [MODELS[at]]
        if rater != "human" or model != NEW
    ]
    table = pd.DataFrame(rows, columns=["Prompt", "Model", "Rater", "Rating"])
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.to_csv(path := Path(folder, "ratings.csv"), index=False)
        X, y = split_battles(read_battles(path))
        for groups in ("auto", None):
            anchor = AnchorPipeline(cv=5, random_state=seed).fit(X, y, groups=groups)
            low, high = anchor.conf_int().loc[NEW]
            error = float(anchor.scores_[NEW]) - truth
            found.append((error, high - low, bool(low <= truth <= high)))
    return found


def main() -> None:
    """Print a line for each meaning of the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    truth = true_score()
    print(f"true score {truth:.3f}")
    done = np.array(
        Parallel(options.jobs)(delayed(draw)(s, truth) for s in range(options.draws)),
        dtype=float,
    )
    for name, (error, width, held) in zip(
        ("by prompt", "row by row"), done.transpose(1, 2, 0), strict=True
    ):
        share = held.mean()
        print(
            f"{name}: coverage {share:.3f} ± "
            f"{(share * (1 - share) / len(held)) ** 0.5:.3f}, width "
            f"{np.median(width[np.isfinite(width)]):.3f}, rmse "
            f"{np.sqrt(np.mean(error**2)):.3f}, bias {error.mean():.3f}"
        )


if __name__ == "__main__":
    main()
