"""What speed.py measures: for each timing, steps by their label.

A timing gets a factor for its sizes and a folder for its files, prepares data, and
returns its steps; the first is the yardstick of the others. A step that returns a
number has measured its seconds itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv, dataset, parquet
from scipy.linalg import cho_factor, cho_solve
from sklearn.linear_model import LogisticRegression

from skanchor import (
    AnchorHistory,
    AnchorPipeline,
    BTLRegressor,
    Comparisons,
    read_battles,
)
from skanchor.datasets import fetch_arena
from skanchor.evaluation import leave_one_model_out
from skanchor.simulation import simulate_battles

Steps = dict[str, Callable[[], Any]]
N_FOLDS = 10


def make_table(
    n_models: int = 20,
    n_judges: int = 7,
    n_features: int = 12,
    n_human: int = 21_000,
    n_judge: int = 188_000,
    item_sd: float = 0.0,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw votes and verdicts; the last model has no votes.

    Judges deviate from models by ``item_sd`` judge logits, at a correlation of .3.
    """
    rng = np.random.default_rng(0)
    n = n_human + n_judge
    judge = np.r_[np.full(n_human, -1), rng.integers(0, n_judges, n_judge)]
    a = rng.integers(0, n_models, n)
    b = (a + rng.integers(1, n_models, n)) % n_models
    for side in (a, b):
        votes = (judge < 0) & (side == n_models - 1)
        side[votes] = rng.integers(0, n_models - 1, votes.sum())
    b = np.where(a == b, (a + 1) % (n_models - 1), b)
    theta = rng.normal(size=n_models)
    left, right = rng.normal(size=(2, n, n_features))
    c = np.append(rng.uniform(0.5, 2.0, n_judges), 1.0)
    coef = 0.2 * rng.normal(size=(n_judges, n_features))
    coef = np.vstack([coef, np.zeros(n_features)])
    eta = c[judge] * (theta[a] - theta[b])
    eta += np.sum((left - right) * coef[judge], axis=1)
    if item_sd:
        apart = np.sqrt(0.7) * rng.normal(size=(n_judges, n_models))
        u = item_sd * (apart + np.sqrt(0.3) * rng.normal(size=n_models))
        u = np.vstack([u, np.zeros(n_models)])
        eta += u[judge, a] - u[judge, b]
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    names = np.array([f"model-{i:03d}" for i in range(n_models)])
    judges = np.array([*(f"judge-{m}" for m in range(n_judges)), "human"])
    table = {"model_a": names[a], "model_b": names[b], "judge": judges[judge]}
    for side, block in (("a", left), ("b", right)):
        table |= {f"x{j}_{side}": block[:, j] for j in range(n_features)}
    return pd.DataFrame(table), y


def fit_of(X: Any, y: Any, **settings: Any) -> Callable[[], Any]:
    """The whole inference, with contrasts and rank sets."""

    def step() -> None:
        anchor = AnchorPipeline(random_state=0, **settings).fit(X, y)
        anchor.contrasts()
        anchor.rank_sets()

    return step


def application(scale: float, folder: Path) -> Steps:
    """The size of the paper's application: 209,000 rows, 12 features, 7 judges.

    The yardstick is ten plain fits of each of the seven judges with scikit-learn's
    newton-cholesky logistic regression.
    """
    n_human, n_judge = round(21_000 * scale), round(188_000 * scale)
    X, y = make_table(n_human=n_human, n_judge=n_judge)
    encoded = Comparisons.from_battles(X)
    codes = [X[f"model_{side}"].str[-3:].astype(int).to_numpy() for side in "ab"]
    first, second = (X.filter(regex=f"x.*_{side}").to_numpy() for side in "ab")
    delta, contrast = (codes[0] - codes[1]) / 10.0, first - second

    def plain() -> None:
        for judge in range(7):
            its = (X["judge"] == f"judge-{judge}").to_numpy()
            # Rows side by side, as scikit-learn wants them, so that it copies nothing.
            design = np.ascontiguousarray(np.column_stack([delta[its], contrast[its]]))
            for _ in range(N_FOLDS):
                LogisticRegression(
                    C=np.inf, solver="newton-cholesky", fit_intercept=False
                ).fit(design, y[its])

    paper = {"historical_fit": "two-step"}
    return {
        "seventy plain fits": plain,
        "encode the table": lambda: Comparisons.from_battles(X),
        "two steps, no item effects": fit_of(encoded, y, item_effects=None, **paper),
        "two steps, auto": fit_of(encoded, y, **paper),
        "joint, no item effects": fit_of(encoded, y, item_effects=None),
        "joint, random": fit_of(encoded, y, item_effects="random"),
        "joint, auto (the default)": fit_of(encoded, y),
    }


def simulation(scale: float, folder: Path) -> Steps:
    """The default simulation: 8,500 rows, three features, three judges."""
    data = simulate_battles(round(8000 * scale), round(500 * scale), random_state=0)
    return {
        "draw": lambda: simulate_battles(random_state=0),
        "defaults": fit_of(data.X, data.y),
        "no item effects": fit_of(data.X, data.y, item_effects=None),
        "item effects": fit_of(data.X, data.y, item_effects="random"),
    }


def equal_rows(scale: float, folder: Path) -> Steps:
    """Two million rows without features, which are fitted as some 15,000 cells."""
    n_human = round(4e5 * scale)
    X, y = make_table(50, 5, 0, n_human, 4 * n_human)
    return {
        "pandas counts equal rows": lambda: X.assign(y=y).value_counts(),
        "fit": fit_of(X, y),
    }


def arena(scale: float, folder: Path) -> Steps:
    """Every model of the arena left out in turn."""
    X, y = fetch_arena(return_X_y=True)
    models = sorted(set(X["model_a"]))[: max(round(20 * scale), 1)]
    anchor = AnchorPipeline(random_state=0)
    return {
        "one fit of all rows": fit_of(X, y, new_models=models[:1]),
        f"{len(models)} models left out": lambda: leave_one_model_out(
            anchor, X, y, models=models
        ),
    }


def make_votes(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw codes of the two models of 200, and whether the first won."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=200)
    a = rng.integers(0, 200, n_rows)
    b = (a + rng.integers(1, 200, n_rows)) % 200
    won = rng.random(n_rows) < 1.0 / (1.0 + np.exp(theta[b] - theta[a]))
    return a, b, won


def btl(scale: float, folder: Path) -> Steps:
    """BTL with intervals: ten million rows of codes, a million of names."""
    a, b, won = make_votes(round(1e7 * scale))
    codes, y = pd.DataFrame({"model_a": a, "model_b": b}), won.astype(int)
    n = len(y) // 10
    names = codes[:n].map(lambda code: f"vendor/model-{code:03d}-chat")
    return {
        "a.sum(), b.sum(), y.sum()": lambda: (a.sum(), b.sum(), y.sum()),
        f"{len(y):,} codes": lambda: BTLRegressor().fit(codes, y).conf_int(),
        f"{n:,} names": lambda: BTLRegressor().fit(names, y[:n]).conf_int(),
    }


def judges(scale: float, folder: Path) -> Steps:
    """A hundred judges of a hundred rows each, and twenty of five hundred."""
    steps: Steps = {}
    for n_judges in (20, 100):
        n_judge = max(round(10_000 * scale), 60 * n_judges)
        X, y = make_table(12, n_judges, 3, round(3_000 * scale), n_judge, 0.3)
        steps[f"{n_judges} judges, auto"] = fit_of(X, y)
        steps[f"{n_judges} judges, random"] = fit_of(X, y, item_effects="random")
    return steps


def history(scale: float, folder: Path) -> Steps:
    """Place 500 rows beside a history of 200,000, seven judges, twelve features.

    The yardstick factorises ten systems as large as those of the folds.
    """
    data = simulate_battles(
        round(200_000 * scale), 500, n_models=20, n_judges=7, n_features=12,
        human_fraction=0.1, item_sd=0.3, random_state=0,
    )  # fmt: skip
    new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1).to_numpy()
    anchor = AnchorPipeline(item_effects="random", random_state=0)
    path = folder / "history"
    AnchorHistory(anchor).fit(data.X[~new], data.y[~new]).save(path)
    stored, X, y = AnchorHistory.load(path), data.X[new], data.y[new]
    size = 20 + 2 * 7 + 7 * 21
    rows = np.random.default_rng(0).normal(size=(N_FOLDS, 2 * size, size))
    systems, targets = rows.transpose(0, 2, 1) @ rows, np.eye(size)[:, :21]

    def solve() -> None:
        for system in systems:
            cho_solve(cho_factor(system, lower=True), targets)

    def read_all() -> None:
        result = stored.place(X, y)
        result.conf_int(), result.contrasts()
        result.rank_sets(method="holm")
        result.rank_sets(among="all", method="holm")

    return {
        f"ten systems of {size} parameters": solve,
        "load": lambda: AnchorHistory.load(path),
        "load and place": lambda: AnchorHistory.load(path).place(X, y),
        "place": lambda: stored.place(X, y),
        "place, contrasts, rank sets": read_all,
    }


def write_pieces(path: Path, n_rows: int, n_features: int) -> None:
    """Write the same table again and again, a fifth votes, as Parquet or CSV."""
    X, y = make_table(50, 5, n_features, 50_000, 200_000)
    won = np.where(y == 1, "model_a", "model_b")
    # Drawn tables begin with all votes.
    mixed = X.round(4).assign(winner=won).sample(frac=1.0, random_state=0)
    piece = pa.Table.from_pandas(mixed, preserve_index=False)
    kind = csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
    with kind(str(path), piece.schema) as writer:
        for start in range(0, n_rows, len(piece)):
            writer.write_table(piece[: n_rows - start])


def reading(scale: float, folder: Path) -> Steps:
    """Ten million rows of Parquet, and a million of CSV with six features."""
    tall, wide = folder / "battles.parquet", folder / "battles.csv"
    write_pieces(tall, round(1e7 * scale), 0)
    write_pieces(wide, round(1e6 * scale), 6)
    return {
        "pyarrow, Parquet": lambda: parquet.read_table(tall),
        "read_battles, Parquet": lambda: read_battles(tall),
        "pyarrow, CSV": lambda: csv.read_csv(wide),
        "read_battles, CSV": lambda: read_battles(wide),
    }


def batches(scale: float, folder: Path) -> Steps:
    """A history from a million rows of Parquet, with twelve features and without."""
    from skanchor.large import fit_history

    wide, tall = folder / "wide.parquet", folder / "tall.parquet"
    write_pieces(wide, round(1e6 * scale), 12)
    write_pieces(tall, round(1e6 * scale), 0)

    def read(path: Path) -> None:
        for batch in dataset.dataset(path).to_batches(use_threads=False):
            len(batch)

    def fit(path: Path, effects: str | None) -> None:
        anchor = AnchorPipeline(item_effects=effects, random_state=0)
        fit_history(path, anchor)

    return {
        "plain read, 12 features": lambda: read(wide),
        "12 features, no item effects": lambda: fit(wide, None),
        "12 features": lambda: fit(wide, "auto"),
        "no features": lambda: fit(tall, "auto"),
    }


def start_up(scale: float, folder: Path) -> Steps:
    """Imports in new interpreters, wall time."""
    base = "import sklearn.base, sklearn.model_selection, pandas, scipy.optimize"
    # What goes before the clock starts, and what is timed.
    programs = {
        "scikit-learn, pandas, scipy.optimize": ("pass", base),
        "after them, import skanchor": (base, "import skanchor"),
        "after them, every public name": (base, "from skanchor import *"),
    }

    def run(before: str, timed: str) -> float:
        lines = (before, "import time; start = time.perf_counter()", timed,
                 "print(time.perf_counter() - start)")  # fmt: skip
        command = [sys.executable, "-c", "\n".join(lines)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(done.stdout)

    return {
        name: lambda program=program: run(*program)
        for name, program in programs.items()
    }


def large(scale: float, folder: Path) -> Steps:
    """A million rows of 1,000 models and 100 judges, two folds."""
    n_human = round(200_000 * scale)
    X, y = make_table(1_000, 100, 0, n_human, 4 * n_human)
    return {"fit": lambda: AnchorPipeline(item_effects=None, cv=2).fit(X, y)}


TIMINGS: dict[str, Callable[[float, Path], Steps]] = {
    timing.__name__: timing
    for timing in (
        application, simulation, equal_rows, arena, btl, judges, history, batches,
        reading, start_up, large,
    )
}  # fmt: skip
