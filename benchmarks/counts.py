"""Tables of wins: their fit against that of weights as importance, and of cells dealt.

``python benchmarks/counts.py [--replications 40]`` draws the default design without
features, counts equal rows, and fits the table of counts in three ways: as counts,
which is the fit of all rows; as importance, each cell whole in a fold, which chooses
folds by their outcomes; and so with every row listed by itself, the reference.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skanchor import AnchorPipeline
from skanchor.metrics import interval_width, rmse
from skanchor.simulation import simulate_battles

KEYS = ["model_a", "model_b", "judge"]
NEW = "new-model"


def replicate(seed: int) -> dict[str, tuple[float, float, float, float]]:
    """Score, error and limits of the new model, by how counts are read."""
    data = simulate_battles(tau=0.0, rho=0.0, random_state=seed)
    X, y = data.X[KEYS], np.asarray(data.y)
    table = X.assign(y=y).groupby([*KEYS, "y"], as_index=False).size()
    cells, outcomes, counts = table[KEYS], table["y"], table["size"]
    truth = float(data.truth.new_scores[NEW])
    found = {}
    for name, rows, outcome, weight, meaning in (
        ("rows", X, y, None, "importance"),
        ("counts", cells, outcomes, counts, "frequency"),
        ("cells", cells, outcomes, counts, "importance"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchor = AnchorPipeline(
                item_effects="none", random_state=seed, weights=meaning
            ).fit(rows, outcome, sample_weight=weight)
        low, high = anchor.conf_int().loc[NEW]
        found[name] = float(anchor.scores_[NEW]), truth, float(low), float(high)
    return found


def main() -> None:
    """Print a line for each way to read counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    done = Parallel(options.jobs)(
        delayed(replicate)(seed) for seed in range(options.replications)
    )
    lines = {}
    for name in done[0]:
        score, truth, low, high = np.array([each[name] for each in done]).T
        lines[name] = {
            "mean error": np.mean(score - truth),
            "rmse": rmse(truth, score),
            "coverage": np.mean((low <= truth) & (truth <= high)),
            "width": interval_width(low, high),
        }
    print(pd.DataFrame(lines).T.round(3).to_string())


if __name__ == "__main__":
    main()
