"""BTL from a million votes against other packages.

``pip install evalica arena-rank``, then ``python benchmarks/rivals [--rounds 5] [--rows
1e6]``. Every package takes its turn in every round, on one core and timed by the
processor, so that whatever else the machine does hits all alike; ratios are medians
over the rounds. Packages that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from adapters import RIVALS, Rival
from threadpoolctl import threadpool_limits


def make_table(n_rows: int, n_models: int = 200) -> pd.DataFrame:
    """Draw votes, a tenth of them ties."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=n_models)
    a = rng.integers(0, n_models, n_rows)
    b = (a + rng.integers(1, n_models, n_rows)) % n_models
    won = rng.random(n_rows) < 1.0 / (1.0 + np.exp(theta[b] - theta[a]))
    tied = np.random.default_rng(1).random(n_rows) < 0.1
    names = np.array([f"vendor/model-{i:03d}-chat" for i in range(n_models)])
    outcomes = np.array(["model_b", "model_a", "tie"])[np.where(tied, 2, won)]
    columns = {"model_a": names[a], "model_b": names[b], "winner": outcomes}
    # As pandas reads files.
    return pd.DataFrame(columns, dtype="string[pyarrow]")


def seconds_of(function: Callable[[], Any]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def compare(table: pd.DataFrame, rivals: list[Rival], rounds: int) -> pd.DataFrame:
    """Seconds of each package, and its scores beside skanchor's."""
    ready = [(rival, rival.prepare(table)) for rival in rivals]
    scores = [rival.scores(rival.fit(data)) for rival, data in ready]
    times = [
        [seconds_of(lambda r=rival, d=data: r.fit(d)) for rival, data in ready]
        for _ in range(rounds)
    ]
    ratios = [np.divide(one, one[0]) for one in times]
    rows = []
    for number, rival in enumerate(rivals):
        theirs = scores[number].reindex(scores[0].index)
        gap = (theirs - theirs.mean()) - (scores[0] - scores[0].mean())
        rows.append(
            {
                "package": rival.name,
                "intervals": "yes" if rival.has_intervals else "no",
                "seconds": statistics.median(one[number] for one in times),
                "times skanchor's": statistics.median(one[number] for one in ratios),
                "largest gap of scores": f"{gap.abs().max():.1e}",
            }
        )
    return pd.DataFrame(rows)


@threadpool_limits.wrap(limits=1)
def main() -> None:
    """Compare the packages that are installed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=float, default=1e6)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        # Threads that wait for one another would count as work.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rivals = [rival for rival in RIVALS if rival.is_installed()]
    table = compare(make_table(int(options.rows)), rivals, options.rounds)
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
