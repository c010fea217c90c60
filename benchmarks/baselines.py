"""All methods on the default simulation, and on a real table with models left out.

``python benchmarks/baselines.py simulation`` is ``skanchor simulate default``, with the
flags of that command (``--replications 500``, ``--jobs 2``, ``-o FILE.parquet``,
``--resume``). ``python
benchmarks/baselines.py table BATTLES`` leaves each model of a battles table out in turn
(``--drop-ties`` without its ties, ``--no-position-effect`` without one for the methods
that have a calibrator; ``--shuffle-sides`` with the sides of each row drawn at random;
``--judges-by-history 7`` with the judges that have most history; ``--methods`` names
some alone). *Held* counts the human scores inside the intervals, *closer* the models
that the first method places closer than this one. Run with ``OMP_NUM_THREADS=1``.
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
from skanchor.baselines import (
    BASELINES,
    ConformalRanking,
    DirectScore,
    HumanOnly,
    JointBTL,
    Oracle,
    PerJudgeBTL,
    SoftElo,
)
from skanchor.bootstrap import Bootstrapped
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError
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
    known |= {
        "JointBTL, 500 refits": Bootstrapped(JointBTL(), random_state=0),
        "ConformalRanking(SoftElo())": ConformalRanking(SoftElo()),
        "ConformalRanking(DirectScore())": ConformalRanking(DirectScore()),
    }
    return (
        {
            "AnchorPipeline": AnchorPipeline(random_state=0),
            "AnchorPipeline(item_effects=None)": AnchorPipeline(
                item_effects=None, random_state=0
            ),
            "AnchorPipeline, as in the paper": AnchorPipeline(
                historical_fit="two-step",
                item_effects=None,
                disagreement="ignore",
                calibrator=JudgeCalibrator(position_effect=False),
                random_state=0,
            ),
        }
        | known
        | twin
    )


def describe(table: pd.DataFrame) -> dict[str, str]:
    result = {"RMSE": "", "bias": "", "Spearman": "", "held": "", "mean width": ""}
    if "score" in table and table.score.notna().all():
        error = (table.score - table.true_score).to_numpy()
        value = rmse(table.true_score, table.score)
        spread = (error**2).std() / (2 * value * np.sqrt(len(error)))
        result["RMSE"] = f"{value:.3f} ({spread:.3f})"
        result["bias"] = f"{error.mean():+.3f}"
        result["Spearman"] = f"{spearman(table.true_score, table.score):.3f}"
    result["insertion MAE"] = f"{insertion_mae(table.true_rank, table['rank']):.3f}"
    result["exact"] = f"{exact_insertion_rate(table.true_rank, table['rank']):.3f}"
    result["largest"] = str((table.true_rank - table["rank"]).abs().max())
    if "low" in table and table.low.notna().all():
        result["held"] = f"{table.covered.sum()} of {len(table)}"
        result["mean width"] = f"{(table.high - table.low).mean():.3f}"
    return result


def show(rows: dict[str, dict[str, str]], drop: list[str]) -> None:
    table = pd.DataFrame.from_dict(rows, orient="index").drop(columns=drop)
    print("| method | " + " | ".join(table.columns) + " |")
    print("|---" * (1 + table.shape[1]) + "|")
    for name, row in table.iterrows():
        print(f"| `{name}` | " + " | ".join(row.fillna("")) + " |", flush=True)


def run_table(path: str, options: argparse.Namespace) -> None:
    table = read_battles(path)
    if options.drop_ties:
        table = table[~table["winner"].astype(str).str.startswith("tie")]
    X, y = split_battles(table)
    if options.shuffle_sides:
        X, y = shuffled(X, y)
    rows, first = {}, None
    for name, method in methods().items():
        if options.methods and name not in options.methods:
            continue
        if not options.position_effect and "calibrator" in method.get_params(False):
            method.set_params(calibrator=JudgeCalibrator(position_effect=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                left_out = leave_one_model_out(
                    method, X, y,
                    judges_by_history=options.judges_by_history, n_jobs=options.jobs,
                )  # fmt: skip
            except BattlesError as error:
                print(f"{name}: {error}")
                continue
        rows[name] = describe(left_out)
        if "score" in left_out:
            distance = (left_out.score - left_out.true_score).abs()
            first = distance if first is None else first
            rows[name]["closer"] = str((first < distance).sum())
    show(rows, [])


def shuffled(X: pd.DataFrame, y: pd.Series) -> tuple[pd.DataFrame, np.ndarray]:
    """The same rows with sides drawn at random, and outcomes turned with them."""
    rng = np.random.default_rng(0)
    swap = rng.random(len(X)) < 0.5
    pairs = [name[:-2] for name in X if name.endswith("_a") and f"{name[:-2]}_b" in X]
    X, first = X.copy(), X.copy()
    for name in pairs:
        X[f"{name}_a"] = first[f"{name}_a"].where(~swap, first[f"{name}_b"])
        X[f"{name}_b"] = first[f"{name}_b"].where(~swap, first[f"{name}_a"])
    labels = np.asarray(y, dtype=object)
    other = {"model_a": "model_b", "model_b": "model_a"}
    return X, np.where(swap, [other.get(each, each) for each in labels], labels)


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
    parser.add_argument("--shuffle-sides", action="store_true")
    parser.add_argument("--judges-by-history", type=int, metavar="N")
    parser.add_argument("--methods", nargs="+", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    run_table(options.path, options)


if __name__ == "__main__":
    main()
