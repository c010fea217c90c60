"""All methods on the default simulation, and on a real table with models left out.

``python benchmarks/baselines.py simulation [--replications 500]`` prints the error of
every method, and of `AnchorPipeline` also coverage and mean width; with ``--file`` the
draws are kept there, and a later call goes on where it ends. ``python
benchmarks/baselines.py table BATTLES`` leaves each model of a battles table out in turn
(``--drop-ties`` without its ties, ``--no-position-effect`` without one for the methods
that have a calibrator; ``--methods`` names some alone). Run with
``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skanchor import (
    AnchorPipeline,
    BTLRegressor,
    Comparisons,
    JudgeCalibrator,
    split_battles,
)
from skanchor.baselines import BASELINES, HumanOnly, Oracle, PerJudgeBTL
from skanchor.evaluation import leave_one_model_out
from skanchor.io import read_battles
from skanchor.metrics import (
    exact_insertion_rate,
    insertion_mae,
    insertion_rank,
    rmse,
    spearman,
)
from skanchor.simulation import simulate_battles

# Root mean squared errors of independent code on the same design.
REFERENCE = {
    "AnchorPipeline, as in the paper": "0.094",
    "HumanOnly": "0.174-0.186",
    "Oracle": "0.084",
    "JointBTL": "0.243",
    "PooledLLM": "0.113",
    "ScalarJudge": "0.230",
    "MeanShift": "0.106",
    "PerJudgeBTL": "0.245",
    "PerJudgeBTL(plug_in_average=True)": "0.11-0.12",
    "DirectScore": "0.104-0.107",
    "IPWOnly": "0.117",
    "HistoricalPPI": "0.111-0.116",
}


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


def replicate(seed: int, names: list[str] | None = None) -> pd.DataFrame:
    """True and estimated score and rank of one draw, by method."""
    data = simulate_battles(random_state=seed)
    X = Comparisons.from_battles(data.X)
    true, old = data.truth.new_scores.iloc[0], data.truth.scores
    reference = BTLRegressor().fit(X, data.y).scores_
    fits, fitted = {}, {"Oracle": Oracle(truth=data.truth)} | methods()
    for name, method in fitted.items():
        if not names or name in names:
            with warnings.catch_warnings():
                # That features reach beyond history, and tests that reject by chance.
                warnings.simplefilter("ignore")
                fits[name] = method.fit(X, data.y)
    if not names or "HumanOnly" in names:
        fits["HumanOnly"] = HumanOnly(new_models=data.truth.new_models).fit(
            pd.concat([data.X, data.extra_X], ignore_index=True),
            np.append(data.y, data.extra_y),
        )
    rows = {}
    for name, fit in fits.items():
        score = fit.scores_.iloc[0] if hasattr(fit, "scores_") else np.nan
        rank = fit.ranks_.iloc[0]
        if np.isfinite(score):
            rank = insertion_rank(score, reference)
        rows[name] = {
            "true_score": true,
            "score": score,
            "true_rank": insertion_rank(true, old),
            "rank": rank,
        }
        if isinstance(fit, AnchorPipeline):
            low, high = fit.conf_int().iloc[0]
            rows[name] |= {"covered": low <= true <= high, "width": high - low}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


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


def run_simulation(
    replications: int, names: list[str] | None, jobs: int, file: Path | None
) -> None:
    known = pd.DataFrame(columns=["seed", "method"])
    if file is not None and file.exists():
        known = pd.read_csv(file)
    seeds = sorted(set(range(replications)) - set(known["seed"]))
    done = Parallel(jobs)(delayed(replicate)(seed, names) for seed in seeds)
    fresh = [
        part.reset_index().assign(seed=seed)
        for seed, part in zip(seeds, done, strict=True)
    ]
    table = pd.concat([known, *fresh] if len(known) else fresh)
    if file is not None:
        table.to_csv(file, index=False)
    rows = {
        name: {"reference": REFERENCE.get(str(name), "")} | describe(part)
        for name, part in table.groupby("method", sort=False)
    }
    # One true score throughout: an order has no meaning.
    show(rows, ["Spearman"])


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["simulation", "table"])
    parser.add_argument("path", nargs="?")
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--drop-ties", action="store_true")
    parser.add_argument(
        "--position-effect", action=argparse.BooleanOptionalAction, default=True
    )
    parser.add_argument("--methods", nargs="+", metavar="NAME")
    parser.add_argument("--file", type=Path, help="CSV of the draws")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.what == "simulation":
        run_simulation(
            options.replications, options.methods, options.jobs, options.file
        )
    elif options.path is None:
        parser.error("table needs the path of a battles table")
    else:
        run_table(
            options.path,
            options.drop_ties,
            options.position_effect,
            options.methods,
            options.jobs,
        )


if __name__ == "__main__":
    main()
