"""All methods on the default simulation, and on a real table with models left out.

``python benchmarks/baselines.py simulation`` is ``skanchor simulate default``, with the
flags of that command (``--replications 500``, ``--jobs 2``, ``-o FILE.parquet``,
``--resume``). ``python
benchmarks/baselines.py table BATTLES`` leaves each model of a battles table out in turn
(``--drop-ties`` without its ties, ``--no-position-effect`` without one for the methods
that have a calibrator; ``--methods`` names some alone). Run with
``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd

from skanchor import AnchorPipeline, JudgeCalibrator, split_battles
from skanchor._cli import main as skanchor_main
from skanchor.baselines import BASELINES, HumanOnly, Oracle, PerJudgeBTL
from skanchor.evaluation import leave_one_model_out
from skanchor.io import read_battles
from skanchor.metrics import (
    exact_insertion_rate,
    insertion_mae,
    rmse,
    spearman,
)


def methods() -> dict[str, Any]:
    """Every method that needs neither the truth nor votes on the new model."""
    known = {
        name: method()
        for name, method in BASELINES.items()
        if method not in (HumanOnly, Oracle)
    }
    twin = {"PerJudgeBTL(plug_in_average=True)": PerJudgeBTL(plug_in_average=True)}
    return (
        {
            "AnchorPipeline": AnchorPipeline(random_state=0),
            "AnchorPipeline(item_effects=None)": AnchorPipeline(
                item_effects=None, random_state=0
            ),
            "AnchorPipeline, as in the paper": AnchorPipeline(
                historical_fit="two-step",
                item_effects=None,
                calibrator=JudgeCalibrator(position_effect=False),
                random_state=0,
            ),
        }
        | known
        | twin
    )


def describe(table: pd.DataFrame) -> dict[str, str]:
    result = {"RMSE": "", "bias": "", "Spearman": ""}
    if "score" in table and table.score.notna().all():
        error = (table.score - table.true_score).to_numpy()
        value = rmse(table.true_score, table.score)
        spread = (error**2).std() / (2 * value * np.sqrt(len(error)))
        result["RMSE"] = f"{value:.3f} ({spread:.3f})"
        result["bias"] = f"{error.mean():+.3f}"
        result["Spearman"] = f"{spearman(table.true_score, table.score):.3f}"
    result["insertion MAE"] = f"{insertion_mae(table.true_rank, table['rank']):.3f}"
    result["exact"] = f"{exact_insertion_rate(table.true_rank, table['rank']):.3f}"
    if "width" in table and table.width.notna().all():
        result["coverage"] = f"{table.covered.astype(float).mean():.3f}"
        result["mean width"] = f"{table.width.mean():.3f}"
    return result


def show(rows: dict[str, dict[str, str]], drop: list[str]) -> None:
    table = pd.DataFrame.from_dict(rows, orient="index").drop(columns=drop)
    print("| method | " + " | ".join(table.columns) + " |")
    print("|---" * (1 + table.shape[1]) + "|")
    for name, row in table.iterrows():
        print(f"| `{name}` | " + " | ".join(row.fillna("")) + " |", flush=True)


def run_table(
    path: str, drop_ties: bool, position: bool, names: list[str] | None, jobs: int
) -> None:
    table = read_battles(path)
    if drop_ties:
        table = table[~table["winner"].astype(str).str.startswith("tie")]
    X, y = split_battles(table)
    rows = {}
    for name, method in methods().items():
        if names and name not in names:
            continue
        if not position and "calibrator" in method.get_params(deep=False):
            method.set_params(calibrator=JudgeCalibrator(position_effect=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            left_out = leave_one_model_out(method, X, y, n_jobs=jobs)
        rows[name] = describe(left_out)
    show(rows, [])


def main() -> None:
    if sys.argv[1:2] == ["simulation"]:
        sys.exit(skanchor_main(["simulate", "default", *sys.argv[2:]]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["simulation", "table"])
    parser.add_argument("path")
    parser.add_argument("--drop-ties", action="store_true")
    parser.add_argument(
        "--position-effect", action=argparse.BooleanOptionalAction, default=True
    )
    parser.add_argument("--methods", nargs="+", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    run_table(
        options.path,
        options.drop_ties,
        options.position_effect,
        options.methods,
        options.jobs,
    )


if __name__ == "__main__":
    main()
