"""Coverage of the interval with item effects, simulated and on real tables.

``python benchmarks/item_effects.py cells [--replications 1000]`` runs simulated cells;
``python benchmarks/item_effects.py table BATTLES`` leaves each model of a battles table
out in turn (ties dropped with ``--drop-ties``). Both print one line per setting.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom

from skanchor import AnchorPipeline, JudgeCalibrator, split_battles
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError
from skanchor.io import read_battles
from skanchor.metrics import insertion_mae, interval_width, rmse
from skanchor.simulation import simulate_battles

CELLS = [
    # models, judges, item sd, correlation between judges
    (6, 1, 0.3, 0.0),
    (6, 3, 0.0, 0.0),
    (6, 3, 0.3, 0.6),
    (6, 10, 0.6, 0.0),
    (10, 1, 0.0, 0.0),
    (10, 1, 0.3, 0.0),
    (10, 3, 0.1, 0.0),
    (10, 3, 0.3, 0.6),
    (10, 10, 0.0, 0.0),
    (10, 10, 0.3, 0.6),
    (10, 20, 0.3, 0.6),
    (10, 20, 0.6, 0.0),
    (20, 1, 0.6, 0.0),
    (20, 3, 0.0, 0.0),
    (20, 3, 0.1, 0.6),
    (20, 3, 0.6, 0.0),
    (20, 10, 0.3, 0.6),
    (60, 3, 0.0, 0.0),
    (60, 10, 0.3, 0.6),
    (60, 20, 0.1, 0.0),
]
LARGE = 600
"""Models times judges from which a cell gets a fifth of the replications."""


def replicate(
    seed: int, n_models: int, n_judges: int, sd: float, correlation: float
) -> dict[str, tuple[bool, float, float]]:
    """Whether the interval holds the score, its width, and the error, by treatment.

    Nothing where the draw is refused, as when a model never lost.
    """
    data = simulate_battles(
        n_historical=max(4000, 400 * n_models),
        n_models=n_models,
        n_judges=n_judges,
        item_sd=sd,
        item_corr=correlation,
        rho=0.0,
        random_state=seed,
    )
    X = data.X[["model_a", "model_b", "judge"]]
    true = data.truth.new_scores.iloc[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            anchor = AnchorPipeline(cv=5, random_state=0).fit(X, data.y)
        except BattlesError:
            return {}
    found = {}
    for name, result in {**anchor.results_, "auto": anchor.result_}.items():
        low, high = result.conf_int().iloc[0]
        error = result.scores.iloc[0] - true
        found[name] = (bool(low <= true <= high), high - low, error)
    return found


def run_cells(replications: int, jobs: int) -> None:
    print(
        "models judges   sd  corr  item_effects  reps  coverage  width median   rmse"
        "  band",
        flush=True,
    )
    for index, cell in enumerate(CELLS):
        n = replications // 5 if cell[0] * cell[1] >= LARGE else replications
        # Draws of their own, so that cells do not share their luck.
        seeds = range(10_000 * index, 10_000 * index + n)
        draws = Parallel(jobs)(delayed(replicate)(seed, *cell) for seed in seeds)
        done = [found for found in draws if found]
        n = len(done)
        for name in done[0]:
            rows = np.array([found[name] for found in done])
            hits = int(rows[:, 0].sum())
            # A cell fails only when its 99.9 % binomial interval misses the band.
            low, high = binom.ppf([0.0005, 0.9995], n, [0.93, 0.975])
            print(
                f"{cell[0]:6d} {cell[1]:6d} {cell[2]:4.1f} {cell[3]:5.1f}  {name:12}"
                f" {n:5d}  {hits / n:8.3f} {rows[:, 1].mean():6.3f}"
                f" {np.median(rows[:, 1]):6.3f}"
                f" {np.sqrt(np.mean(rows[:, 2] ** 2)):6.3f}"
                f"  {'in' if low <= hits <= high else 'OUT'}",
                flush=True,
            )


def run_table(options: argparse.Namespace) -> None:
    table = read_battles(options.path)
    if options.drop_ties:
        table = table[~table["winner"].astype(str).str.startswith("tie")]
    groups = None
    if options.groups is not None:
        groups = pd.factorize(table[options.groups])[0]
    if not options.features:
        table = table[["model_a", "model_b", "judge", "winner"]]
    X, y = split_battles(table)
    for how in options.methods:
        estimator = AnchorPipeline(
            calibrator=JudgeCalibrator(position_effect=True),
            item_effects=None if how == "none" else how,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            left_out = leave_one_model_out(
                estimator, X, y, groups=groups, n_jobs=options.jobs
            )
        both = np.hypot(left_out.standard_error, left_out.true_error)
        near = np.abs(left_out.score - left_out.true_score) < 1.96 * both
        print(
            f"{how:12} rmse {rmse(left_out.true_score, left_out.score):.3f}"
            f"  insertion MAE {insertion_mae(left_out.true_rank, left_out['rank']):.2f}"
            f"  covered {left_out.covered.sum()} of {len(left_out)}"
            f"  (with the reference's own error {near.sum()})"
            f"  width {interval_width(left_out.low, left_out.high):.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["cells", "table"])
    parser.add_argument("path", nargs="?")
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--methods", nargs="+", default=["none", "random", "auto"])
    parser.add_argument("--drop-ties", action="store_true")
    parser.add_argument("--features", action="store_true")
    parser.add_argument("--groups", metavar="COLUMN")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.what == "cells":
        run_cells(options.replications, options.jobs)
    elif options.path is None:
        parser.error("table needs the path of a battles table")
    else:
        run_table(options)


if __name__ == "__main__":
    main()
