"""How often the check of intervals rejects where they hold.

``python benchmarks/check_size.py DESIGN [--draws 48] [--first 1]`` draws tables of
one of ``DESIGNS``, fits the pipeline with default settings but four folds, and tests
its intervals on all historical models. Prints the share of draws in which each test has
a p-value below .05 and .01, with the Monte-Carlo error of a share of .05.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

from skanchor import AnchorPipeline
from skanchor.evaluation import check_intervals
from skanchor.reports import interval_verdict
from skanchor.simulation import simulate_battles

DESIGNS = {
    "plain": {"n_historical": 4000},
    "item effects": {"n_historical": 4000, "item_sd": 0.3, "item_corr": 0.6},
    "twenty models": {
        "n_historical": 8000,
        "n_models": 20,
        "item_sd": 0.2,
        "item_corr": 0.5,
    },
    "few votes": {
        "n_historical": 4000,
        "n_human": 400,
        "item_sd": 0.2,
        "item_corr": 0.3,
    },
    "six models": {
        "n_historical": 4000,
        "n_human": 400,
        "n_models": 6,
        "item_sd": 0.2,
        "item_corr": 0.3,
    },
}
"""Arguments of ``simulate_battles``, without features."""


def tested(design: str, seed: int) -> dict[str, float | str]:
    """P-values of the tests, and the verdict, on one table of a design."""
    data = simulate_battles(n_new=10, rho=0.0, random_state=seed, **DESIGNS[design])
    old = ~(data.X[["model_a", "model_b"]] == "new-model").any(axis=1).to_numpy()
    X, y = data.X.loc[old, ["model_a", "model_b", "judge"]], data.y[old]
    anchor = AnchorPipeline(cv=4, random_state=0, new_models=[]).fit(X, y)
    found = check_intervals(anchor, X, y)
    assert found.largest is not None
    assert found.top is not None and found.direction is not None
    return {
        "largest miss": found.largest.p_value,
        "best model": found.top.p_value,
        "direction": found.direction.p_value,
        "number": found.coverage_p,
        "together": found.p_value,
        "verdict": str(interval_verdict(found).holds),
    }


def main() -> None:
    """Draw, test and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("design", choices=DESIGNS)
    parser.add_argument("--draws", type=int, default=48)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first, options.first + options.draws)
    table = pd.DataFrame([tested(options.design, seed) for seed in seeds])
    verdicts = table.pop("verdict")
    shares = pd.DataFrame({level: (table < level).mean() for level in (0.05, 0.01)})
    print(shares.round(3))
    print(f"Monte-Carlo error of .05: {np.sqrt(0.05 * 0.95 / len(table)):.3f}")
    print(verdicts.value_counts().to_string())


if __name__ == "__main__":
    main()
