"""Kept histories: how long a new model takes, and what looking every day does.

``python benchmarks/history.py speed``: a new model with 500 verdicts against a history
of 200,000 rows. ``python benchmarks/history.py days [--draws 20]``: thirty days of
arrivals, each placed on its day; equal to the refit, and covered.
``python benchmarks/history.py profile``: where the time of placing goes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from report import timed

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.simulation import simulate_battles

NEW = "new-model"


def large_history(folder: Path) -> tuple[Path, object, object]:
    """A history of 200,000 rows in a file, and the rows of a new model."""
    data = simulate_battles(
        200_000,
        500,
        n_models=20,
        n_judges=7,
        n_features=12,
        human_fraction=0.1,
        item_sd=0.3,
        random_state=0,
    )
    late = (data.X[["model_a", "model_b"]] == NEW).any(axis=1).to_numpy()
    anchor = AnchorPipeline(item_effects="random", random_state=0)
    start = time.perf_counter()
    history = AnchorHistory(anchor).fit(data.X[~late], data.y[~late])
    print(f"fit of {np.sum(~late):,} rows: {time.perf_counter() - start:.1f} s")
    path = folder / "history"
    history.save(path)
    print(f"file: {path.stat().st_size / 1e6:.1f} MB")
    rows = np.flatnonzero(late & (data.X["judge"] != "human").to_numpy())
    return path, data.X.iloc[rows], data.y[rows]


def speed() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, X, y = large_history(Path(folder))
        print(f"load: {1e3 * timed(lambda: AnchorHistory.load(path), 20):.1f} ms")
        history = AnchorHistory.load(path)
        history.place(X, y)

        def read_all() -> None:
            result = history.place(X, y)
            result.conf_int(), result.contrasts()
            result.rank_sets(method="holm"), result.rank_sets("all", method="holm")

        print(
            f"place {len(y)} rows: {1e3 * timed(lambda: history.place(X, y), 20):.1f} ms"
        )


def profile(n: int = 20) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, X, y = large_history(Path(folder))
        history = AnchorHistory.load(path)
        history.place(X, y)
        with cProfile.Profile() as found:
            for _ in range(n):
                history.place(X, y)
        pstats.Stats(found).sort_stats("tottime").print_stats(45)
        pstats.Stats(found).sort_stats("cumtime").print_stats(70)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "days", "profile"])
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "speed":
        speed()
    elif options.what == "profile":
        profile()
