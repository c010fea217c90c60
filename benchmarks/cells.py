"""Rows that say the same are fitted as one: time and memory beside fits of the rows.

``python benchmarks/cells.py fit [--rows 2e6]`` fits a drawn table without features by
cells and row by row; ``levels`` gives a million rows two features of two values each.
``python benchmarks/cells.py file [--rows 1e7]`` writes the table
as Parquet, and has processes of their own read it (``read_battles``) and rank it
(``skanchor rank``); with ``--row-by-row`` one of them ranks it without cells, in a
minute or more. ``python benchmarks/cells.py arena`` leaves each model of the arena
out in turn, by cells and row by row. ``python benchmarks/cells.py distinct`` fits the
default simulation, whose rows all differ, with and without the look for equal rows.
``python benchmarks/cells.py threads [--busy 2] [--models 1000]`` fits the arena, or a
drawn table of so many models without item effects, in processes with the threads of the
environment and with one thread of linear algebra, in turn, beside so many busy ones.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from skanchor import AnchorPipeline, _cells
from skanchor.datasets import fetch_arena
from skanchor.evaluation import leave_one_model_out
from skanchor.simulation import simulate_battles

READ = "import sys; from skanchor.io import read_battles; read_battles(sys.argv[1])"
RANK = (
    "import sys; from skanchor._cli.program import main; sys.exit(main(sys.argv[1:]))"
)
ROW_BY_ROW = "from skanchor import _cells; _cells._equal_rows = lambda *_: None; "
FITS = """
import sys, time
import numpy as np
from skanchor import AnchorPipeline
from skanchor.datasets import fetch_arena
from skanchor.simulation import simulate_battles

n_models, n_fits = map(int, sys.argv[1:])
if n_models:
    data = simulate_battles(
        n_models=n_models, n_historical=200 * n_models, random_state=0
    )
    X, y = data.X[["model_a", "model_b", "judge"]], data.y
    anchor, found = AnchorPipeline(item_effects=None, random_state=0), []
else:
    X, y = fetch_arena(return_X_y=True)
    anchor, found = AnchorPipeline(new_models=X["model_a"].iloc[:1], random_state=0), []
for _ in range(n_fits):
    start = time.perf_counter()
    anchor.fit(X, y)
    found.append(time.perf_counter() - start)
sys.stderr.write(f"\\n{np.median(found[1:])}")
"""
MEASURED = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
# The largest memory of this process: that of getrusage may be its parent's.
with open("/proc/self/status") as status:
    peak = next(line for line in status if line.startswith("VmHWM")).split()[1]
sys.stderr.write(f"\\n{used.ru_utime + used.ru_stime} {int(peak) / 1e6}")
"""


def draw(n_rows: int, n_models: int = 50, n_judges: int = 5) -> pd.DataFrame:
    """Battles with their winners; the last model is new."""
    rng = np.random.default_rng(0)
    scores = rng.normal(0.0, 0.7, n_models)
    slopes = np.append(rng.uniform(0.6, 1.4, n_judges), 1.0)
    judge = rng.integers(0, n_judges + 1, n_rows)
    # People compare old models alone.
    size = np.where(judge == n_judges, n_models - 1, n_models)
    left = rng.integers(0, size)
    right = (left + rng.integers(1, size)) % size
    eta = slopes[judge] * (scores[left] - scores[right])
    won = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-eta))
    tied = rng.random(n_rows) < 0.15
    names = np.array([f"model-{i:02d}" for i in range(n_models)], dtype=object)
    judges = np.array([*(f"judge-{m}" for m in range(n_judges)), "human"], object)
    winner = np.where(tied, "tie", np.where(won, "model_a", "model_b"))
    return pd.DataFrame(
        {
            "model_a": names[left],
            "model_b": names[right],
            "judge": judges[judge],
            "winner": winner.astype(object),
        }
    )


def seconds(work: Callable[[], object]) -> float:
    """Processor time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        work()
        return time.process_time() - start


def compare(name: str, work: Callable[[], object], rounds: int) -> None:
    """Print the time by cells and row by row, in turn."""
    look, found = _cells._equal_rows, []
    work()
    for _ in range(rounds):
        pair = []
        for way in (look, lambda *_: None):
            _cells._equal_rows = way
            pair.append(seconds(work))
        found.append(pair)
    _cells._equal_rows = look
    cells, rows = np.median(found, axis=0)
    print(f"{name}: {cells:.3f} s by cells, {rows:.3f} s by rows: {rows / cells:.2f}")


def run(code: str, *arguments: str, **environment: str) -> list[float]:
    """Numbers that a process of its own writes last on its error stream."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        # As installed, where modules have been compiled.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(number) for number in done.stderr.splitlines()[-1].split()]


def of_file(n_rows: int, rounds: int, *, row_by_row: bool) -> None:
    """Read and rank a file: processor seconds and largest memory in GB."""
    read, rank, slow = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n{MEASURED}"
        for code in (READ, RANK, ROW_BY_ROW + RANK)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "battles.parquet")
        draw(n_rows).to_parquet(path)
        # As installed: modules are compiled once, which the first round is for.
        kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
        found = [
            (run(read, path, **kept), run(rank, "rank", path, **kept))
            for _ in range(rounds + 1)
        ][1:]
        if row_by_row:
            taken, memory = run(slow, "rank", path, **kept)
            print(f"row by row: skanchor rank {taken:.2f} s, {memory:.2f} GB")
    (read, read_memory), (ranked, memory) = np.median(found, axis=0)
    print(
        f"{n_rows:,} rows of a file: read_battles {read:.2f} s, {read_memory:.2f} GB; "
        f"skanchor rank {ranked:.2f} s, {memory:.2f} GB: {ranked / read:.2f}, "
        f"{memory / read_memory:.2f}"
    )


def of_threads(rounds: int, n_busy: int, n_models: int) -> None:
    """Fit the arena, or so many models, with the environment's threads and with one."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(n_busy)
    ]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    try:
        what = str(n_models), "2" if n_models else "8"
        found = [(run(FITS, *what), run(FITS, *what, **one)) for _ in range(rounds)]
    finally:
        for process in busy:
            process.kill()
    ratios = [default[0] / single[0] for default, single in found]
    (default, single), ratio = np.median(found, axis=0)[:, 0], np.median(ratios)
    print(
        f"{n_models or 'arena'} beside {n_busy} busy processes: {default:.3f} s of "
        f"wall time, with one thread {single:.3f} s: {ratio:.2f} ({min(ratios):.2f} "
        f"to {max(ratios):.2f})"
    )


def main() -> None:
    """Run one of the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    choices = ["fit", "levels", "file", "arena", "distinct", "threads"]
    parser.add_argument("what", choices=choices)
    parser.add_argument("--rows", type=float)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--models", type=int, default=0)
    parser.add_argument("--row-by-row", action="store_true")
    options = parser.parse_args()
    anchor = AnchorPipeline(random_state=0)
    if options.what == "file":
        n_rows = int(options.rows or 1e7)
        of_file(n_rows, options.rounds, row_by_row=options.row_by_row)
        return
    if options.what == "threads":
        of_threads(options.rounds, options.busy, options.models)
        return
    if options.what == "arena":
        X, y = fetch_arena(return_X_y=True)
        name, work = "arena", lambda: leave_one_model_out(anchor, X, y)
    elif options.what in ("fit", "levels"):
        featured = options.what == "levels"
        n_models, n_judges = (20, 3) if featured else (50, 5)
        table = draw(
            int(options.rows or (1e6 if featured else 2e6)), n_models, n_judges
        )
        rng = np.random.default_rng(1)
        for column in ("f_a", "f_b", "g_a", "g_b") if featured else ():
            table[column] = rng.integers(0, 2, len(table)).astype(float)
        X, y = table.drop(columns="winner"), table["winner"]
        name, work = f"{len(X):,} rows", lambda: anchor.fit(X, y)
    else:
        data = simulate_battles(n_historical=200_000, n_new=2_000, random_state=0)
        name, work = "rows that differ", lambda: anchor.fit(data.X, data.y)
    compare(name, work, options.rounds)


if __name__ == "__main__":
    main()
