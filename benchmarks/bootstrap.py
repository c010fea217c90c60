"""The bootstrap engine: its speed against plain loops of refits, and its coverage.

``python benchmarks/bootstrap.py speed`` times 500 resamples of every method on the
default simulation (processor time, one thread), against two loops of refits in the
same run: on encoded rows with the resample as weights, and on the resampled table, as a
user would write it. ``python benchmarks/bootstrap.py coverage`` is ``skanchor simulate
refits``, with the flags of that command. Run with ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from skanchor import Comparisons
from skanchor._cli import main as skanchor_main
from skanchor.baselines import (
    BASELINES,
    HumanOnly,
    Oracle,
    PerJudgeBTL,
)
from skanchor.bootstrap import bootstrap
from skanchor.simulation import simulate_battles

N_RESAMPLES = 500


def methods() -> dict[str, Any]:
    known = {
        name: method()
        for name, method in BASELINES.items()
        if method not in (HumanOnly, Oracle)
    }
    twin = {"PerJudgeBTL(plug_in_average=True)": PerJudgeBTL(plug_in_average=True)}
    return known | twin


def timed(function: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return float(np.median(times))


def run_speed(repeats: int, sample: int) -> None:
    data = simulate_battles(random_state=0)
    X = Comparisons.from_battles(data.X)
    rng = np.random.default_rng(0)
    n = len(data.y)
    source = pd.factorize(
        data.X["judge"] + (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
        .astype(str)
    )[0]  # fmt: skip
    strata = [np.flatnonzero(source == code) for code in range(source.max() + 1)]
    draws = [
        np.concatenate([rng.choice(rows, len(rows)) for rows in strata])
        for _ in range(sample)
    ]

    def on_weights(method: Any) -> None:
        for rows in draws:
            weight = np.bincount(rows, minlength=n)
            clone(method).fit(X, data.y, sample_weight=weight)

    def on_tables(method: Any) -> None:
        for rows in draws:
            clone(method).fit(data.X.iloc[rows], data.y[rows])

    def engine(chosen: dict[str, Any]) -> None:
        bootstrap(chosen, X, data.y, n_resamples=N_RESAMPLES, random_state=0)

    scale = N_RESAMPLES / sample
    print("| method | engine, s | loop on weights | ratio | loop on tables | ratio |")
    print("|---|---|---|---|---|---|")
    total = np.zeros(2)
    for name, method in methods().items():
        engine({name: method})
        fast = timed(lambda name=name, method=method: engine({name: method}), repeats)
        slow = [
            timed(lambda loop=loop, method=method: loop(method), repeats) * scale
            for loop in (on_weights, on_tables)
        ]
        total += slow
        print(
            f"| `{name}` | {fast:.3f} | {slow[0]:.2f} | {slow[0] / fast:.0f} "
            f"| {slow[1]:.2f} | {slow[1] / fast:.0f} |",
            flush=True,
        )
    fast = timed(lambda: engine(methods()), repeats)
    print(
        f"| all together | {fast:.3f} | {total[0]:.2f} | {total[0] / fast:.0f} "
        f"| {total[1]:.2f} | {total[1] / fast:.0f} |"
    )


def main() -> None:
    if sys.argv[1:2] == ["coverage"]:
        sys.exit(skanchor_main(["simulate", "refits", *sys.argv[2:]]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "coverage"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sample", type=int, default=20, help="refits of each loop")
    options = parser.parse_args()
    run_speed(options.repeats, options.sample)


if __name__ == "__main__":
    main()
