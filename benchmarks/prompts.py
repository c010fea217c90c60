"""Rows of one prompt: coverage and width of intervals by prompt, and row by row.

``python benchmarks/prompts.py [--draws 400] [--jobs 2]`` draws the default simulation
with fewer rows and has three annotators, or three runs of a judge, decide each of its
pairs: each of them repeats the first outcome with probability .6, and decides anew
otherwise. So every outcome has the law of the simulation, and outcomes of one prompt
depend on each other. ``independent`` is the same with a repetition of probability zero.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skanchor import AnchorPipeline
from skanchor.simulation import simulate_battles

NEW, COPIES = "new-model", 3
DESIGNS = {"dependent": 0.6, "independent": 0.0}


def draw(seed: int, repeated: float) -> list[tuple[float, float, bool]]:
    """Error, width and coverage of the new score: by prompt, and row by row."""
    data = simulate_battles(800, 150, n_models=8, n_judges=3, random_state=seed)
    rng = np.random.default_rng([1, seed])
    p, first = 1.0 / (1.0 + np.exp(-data.truth.logits)), np.asarray(data.y, dtype=float)
    again = [np.where(rng.random(len(p)) < repeated, first, rng.random(len(p)) < p)
             for _ in range(COPIES - 1)]  # fmt: skip
    y = np.concatenate([first, *again])
    X = pd.concat([data.X.assign(prompt_id=np.arange(len(p)))] * COPIES)
    # Annotators, without whom equal outcomes would count as copies.
    X = X.assign(rater=np.repeat(np.arange(COPIES), len(p))).reset_index(drop=True)
    truth = float(data.truth.new_scores[NEW])
    found = []
    for groups in ("auto", None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchor = AnchorPipeline(random_state=seed).fit(X, y, groups=groups)
        low, high = anchor.conf_int().loc[NEW]
        error = float(anchor.scores_[NEW]) - truth
        found.append((error, high - low, bool(low <= truth <= high)))
    return found


def main() -> None:
    """Print a line for each design and meaning of the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for design, repeated in DESIGNS.items():
        done = np.array(
            Parallel(options.jobs)(
                delayed(draw)(seed, repeated) for seed in range(options.draws)
            )
        )
        for name, (error, width, held) in zip(
            ("by prompt", "row by row"), done.transpose(1, 2, 0), strict=True
        ):
            finite = width[np.isfinite(width)]
            print(
                f"{design}, {name}: coverage {held.mean():.3f} "
                f"+- {(held.mean() * (1 - held.mean()) / len(held)) ** 0.5:.3f}, "
                f"width {np.median(finite):.3f}, rmse {np.sqrt(np.mean(error**2)):.3f}"
            )


if __name__ == "__main__":
    main()
