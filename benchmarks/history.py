"""Kept histories: how long a new model takes, and what looking every day does.

``python benchmarks/history.py speed``: a new model with 500 verdicts against a history
of 200,000 rows. ``python benchmarks/history.py days [--draws 20] [--minutes 60]``:
months of thirty days, a new model placed on each of them: covered, and on the fifth and
the last day equal to the refit; no month is begun after so many minutes.
``python benchmarks/history.py profile``: where the time of placing goes.
``python benchmarks/history.py groups [--side 1.2]``: time of placing with and without
groups in turn, where a prompt has so many rows on average; memory, size of the file.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from report import timed
from scipy.linalg import cho_factor, cho_solve

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.simulation import simulate_battles

NEW = "new-model"


def large_history(
    folder: Path, side: float | None = None, groups: str | None = None
) -> tuple[Path, object, object]:
    """A history of 200,000 rows in a file, and the rows of a new model.

    With ``side`` rows have prompts, so many to each on average.
    """
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
    if side is not None:
        rng, n = np.random.default_rng(0), len(data.X)
        data.X["prompt_id"] = rng.integers(0, int(n / side), n)
    anchor = AnchorPipeline(item_effects="random", random_state=0)
    start = time.perf_counter()
    history = AnchorHistory(anchor).fit(data.X[~late], data.y[~late], groups=groups)
    print(f"fit of {np.sum(~late):,} rows: {time.perf_counter() - start:.1f} s")
    path = folder / f"history {groups}"
    history.save(path)
    print(f"file: {path.stat().st_size / 1e6:.1f} MB")
    rows = np.flatnonzero(late & (data.X["judge"] != "human").to_numpy())
    return path, data.X.iloc[rows], data.y[rows]


def speed(n: int = 20) -> None:
    """Load and place; beside it ten factorisations, all in turn, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        path, X, y = large_history(Path(folder))
        history = AnchorHistory.load(path)

        def read_all() -> None:
            result = history.place(X, y)
            result.conf_int(), result.contrasts()
            (
                result.rank_sets(method="holm"),
                result.rank_sets(among="all", method="holm"),
            )

        def first() -> None:
            # What is kept from one call to the next, a new object does not have.
            fresh.pop().place(X, y)

        fresh = [AnchorHistory.load(path) for _ in range(2 * n)]
        tasks = {
            "load": lambda: AnchorHistory.load(path),
            f"place {len(y)} rows, first call": first,
            f"place {len(y)} rows, later calls": lambda: history.place(X, y),
            "place, contrasts, rank sets by Holm": read_all,
            "floor: ten systems factorised and solved": ten_systems(
                len(history.models_)
            ),
        }
        for task in tasks.values():
            task()
        times: dict[str, list[float]] = {name: [] for name in tasks}
        # In turn, so that all of them see the machine in the same state.
        for _ in range(n):
            for name, task in tasks.items():
                times[name].append(1e3 * timed(task, 1))
        for name, found in times.items():
            print(f"{name}: median {np.median(found):.1f} ms, least {min(found):.1f}")


def with_groups(side: float, n: int = 40) -> None:
    """Load and place with and without groups, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = {}
        for groups in (None, "auto"):
            path, X, y = large_history(Path(folder), side, groups)
            tracemalloc.start()
            history = AnchorHistory.load(path)
            history.place(X, y, groups=groups)
            held, peak = (size / 1e6 for size in tracemalloc.get_traced_memory())
            tracemalloc.stop()
            print(f"loaded and placed: {held:.1f} MB, {peak:.1f} at most")
            name = f"groups={groups!r}"
            tasks[f"load, {name}"] = partial(AnchorHistory.load, path)
            tasks[f"place {len(y)} rows, {name}"] = partial(
                history.place, X, y, groups=groups
            )
        print(f"{X['prompt_id'].nunique()} prompts of the new model's rows")
        times = {name: [1e3 * timed(task, 1)] for name, task in tasks.items()}
        for _ in range(n):
            for name, task in tasks.items():
                times[name].append(1e3 * timed(task, 1))
        for name, found in times.items():
            print(f"{name}: median {np.median(found):.1f} ms, least {min(found):.1f}")


def ten_systems(n_models: int, n_judges: int = 7) -> Callable[[], None]:
    """Ten systems as large as those of the folds, solved for all scores."""
    size = n_models + 2 * n_judges + n_judges * (n_models + 1)
    rows = np.random.default_rng(0).normal(size=(10, 2 * size, size))
    systems = rows.transpose(0, 2, 1) @ rows
    targets = np.eye(size)[:, : n_models + 1]

    def task() -> None:
        for system in systems:
            cho_solve(cho_factor(system, lower=True), targets)

    print(f"systems of {size} parameters")
    return task


def one_month(seed: int, n_days: int = 30) -> list[dict[str, float]]:
    """A month: each day a new model, and the first of them again with more rows."""
    data = simulate_battles(
        3000, 240, n_models=8, n_new_models=n_days, item_sd=0.2, random_state=seed
    )
    X, y, truth = data.X, np.asarray(data.y), data.truth.new_scores
    sides = X[["model_a", "model_b"]].to_numpy()
    anchor = AnchorPipeline(cv=5, item_effects="random", random_state=seed)
    late = np.isin(sides, truth.index).any(axis=1)
    history = AnchorHistory(anchor).fit(X[~late], y[~late])
    first = truth.index[0]
    found = []
    for day, model in enumerate(truth.index):
        row: dict[str, float] = {"seed": seed, "day": day + 1}
        judged = (X["judge"] != "human").to_numpy()
        own = np.flatnonzero((sides == model).any(axis=1) & judged)
        again = np.flatnonzero((sides == first).any(axis=1) & judged)
        again = again[: (day + 1) * len(again) // n_days]
        for name, who, rows in (("new", model, own), ("again", first, again)):
            result = history.place(X.iloc[rows], y[rows])
            low, high = result.conf_int().loc[who]
            row[name] = float(low <= truth[who] <= high)
            row[f"width {name}"] = high - low
        if day in (4, n_days - 1):
            row["apart"] = _apart(history, X, y, late, own, model)
        found.append(row)
    return found


def _apart(history, X, y, late, own, model) -> float:
    """How far a placement is from the fit of old and new rows in the same folds."""
    result = history.place(X.iloc[own], y[own])
    old = np.flatnonzero(~late)
    rows = np.concatenate([old, own])
    plan = [
        tuple(
            np.concatenate([known, len(old) + new])
            for known, new in zip(early, late_, strict=True)
        )
        for early, late_ in zip(history.fold_plan_[0], result.fold_plan[0], strict=True)
    ]
    whole = AnchorPipeline(cv=plan, item_effects="random", new_models=[model])
    whole.fit(X.iloc[rows], y[rows])
    one, other = whole.result_, result
    return max(
        np.abs(one.estimates - other.estimates).max(),
        np.abs(one.covariances - other.covariances).max(),
    )


def days(n_draws: int, minutes: float) -> None:
    """Print coverage with its error: months are drawn anew, days of a month are not."""
    end, rows, n_months = time.perf_counter() + 60.0 * minutes, [], 0
    while n_months < n_draws and time.perf_counter() < end:
        rows += one_month(n_months)
        n_months += 1
    table = pd.DataFrame(rows)
    columns = ["new", "again"]
    week = ((table["day"] - 1) // 7 + 1).rename("week")
    for title, by in (("by week", week), ("in all", week.where(week < 0, 0))):
        months = table.groupby([by, table["seed"]])[columns].mean()
        shown = months.groupby(level=0).agg(["mean", "sem"])
        widths = table.groupby(by)[["width new", "width again"]].median()
        print(f"{title}: covered, mean over {n_months} months and error; median widths")
        print(pd.concat([shown, widths], axis=1).round(3).to_string())
    months = table.groupby("seed")[["new", "again"]]
    missed = (1.0 - months.mean()["new"]) * months.size()
    print(
        f"new models missed by month: mean {missed.mean():.2f} "
        f"(error {missed.sem():.2f}), sd {missed.std():.2f}; quantiles "
        f"{missed.quantile([0.5, 0.9, 0.95, 1.0]).round(0).astype(int).tolist()}"
    )
    none = months.min()
    print("months of which no interval misses:")
    print(none.agg(["mean", "sem"]).round(3).to_string())
    checked = table["apart"].notna()
    print(
        f"{len(table)} days placed; on {checked.sum()} of them compared with the fit "
        f"of all rows: largest distance {table['apart'].max():.1e}, median "
        f"{table['apart'].median():.1e}"
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
    parser.add_argument("what", choices=["speed", "groups", "days", "profile"])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--side", type=float, default=1.2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "speed":
        speed()
    elif options.what == "groups":
        with_groups(options.side)
    elif options.what == "days":
        days(options.draws, options.minutes)
    elif options.what == "profile":
        profile()
