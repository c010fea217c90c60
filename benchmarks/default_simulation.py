"""RMSE, coverage and width on the default simulation, beside the joint likelihood.

Run ``python benchmarks/default_simulation.py [--replications 300] [--jobs 2]``; prints
one table and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skanchor import AnchorPipeline
from skanchor.baselines import JointBTL
from skanchor.simulation import simulate_battles

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from reference import Dense


def replicate(seed: int, joint: bool) -> dict[str, float]:
    data = simulate_battles(random_state=seed)
    true = data.truth.new_scores.iloc[0]
    anchor = AnchorPipeline(item_effects=None, random_state=seed).fit(data.X, data.y)
    score, error = anchor.scores_.iloc[0], anchor.standard_errors_.iloc[0]
    low, high = anchor.conf_int().iloc[0]
    plug_in = anchor.result_.plug_in[0][anchor.result_.is_new][0]
    row = {
        "error": score - true,
        "standard_error": error,
        "covered": float(low <= true <= high),
        "width": high - low,
        "plug_in": plug_in - true,
        "joint_btl": JointBTL().fit(data.X, data.y).scores_.iloc[0] - true,
    }
    if joint:
        dense = Dense(
            data.X, data.y, anchor.models_, anchor.judges_, anchor.new_models_
        )
        weight = np.ones(len(data.y))
        v = dense.joint(weight)
        row["mle_distance"] = (score - v[0]) / error
        inverse = np.linalg.inv(dense.information(v, weight))
        row["mle_error_ratio"] = error / np.sqrt(inverse[0, 0])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--joint", type=int, default=40, help="of these with the MLE")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rows = Parallel(options.jobs)(
        delayed(replicate)(seed, seed < options.joint)
        for seed in range(options.replications)
    )
    table = pd.DataFrame(rows)
    n = len(table)

    def rmse(column: str) -> str:
        squares = table[column].to_numpy() ** 2
        value = np.sqrt(squares.mean())
        return f"{value:.4f} (se {squares.std() / (2 * value * np.sqrt(n)):.4f})"

    covered = table.covered.mean()
    print(f"replications      {n}")
    print(f"RMSE anchor       {rmse('error')}")
    print(f"RMSE plug-in      {rmse('plug_in')}")
    print(f"RMSE JointBTL     {rmse('joint_btl')}")
    spread = np.sqrt(covered * (1 - covered) / n)
    print(f"coverage          {covered:.3f} (se {spread:.3f})")
    print(f"width             {table.width.mean():.3f}")
    distance = table.mle_distance.dropna()
    print(
        f"|anchor - MLE|/se {distance.abs().mean():.3f} mean, {distance.std():.3f} sd"
    )
    print(f"se / MLE se       {table.mle_error_ratio.mean():.3f}")


if __name__ == "__main__":
    main()
