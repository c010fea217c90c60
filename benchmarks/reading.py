"""Reading large tables and ranking them, beside pyarrow's bare read.

``python benchmarks/reading.py``: a million rows of CSV with six feature pairs, and ten
million rows of Parquet without features; each step in a process of its own, for the
sake of its peak memory, imports included. Writes ``results/reading.csv``; with
``--scale 0.1`` all tables are a tenth as long.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet
from report import write_rows

STEP = 250_000
N_MODELS, N_JUDGES = 50, 5
HEADER = ("table", "step", "seconds", "peak MiB")


def batches(n_rows: int, n_features: int) -> Iterator[pa.Table]:
    """A table in pieces: a fifth human, one model that people have not seen."""
    rng = np.random.default_rng(0)
    names = pa.array([f"vendor/model-{k:02d}" for k in range(N_MODELS)])
    judges = pa.array(["human", *(f"judge-{k}" for k in range(N_JUDGES))])
    score = np.linspace(-2.0, 2.0, N_MODELS)
    for start in range(0, n_rows, STEP):
        n = min(STEP, n_rows - start)
        human = rng.random(n) < 0.2
        # People have not seen the last model.
        size = N_MODELS - human
        first = rng.integers(0, size, n)
        second = (first + rng.integers(1, size, n)) % size
        judge = np.where(human, 0, rng.integers(1, N_JUDGES + 1, n))
        left, right = rng.normal(size=(2, n_features, n)).round(4)
        logit = score[first] - score[second]
        if n_features:
            logit = logit + np.where(human, 0.0, 0.3) * (left - right)[0]
        wins = rng.random(n) < 1.0 / (1.0 + np.exp(-logit))
        columns = {
            "model_a": names.take(pa.array(first)),
            "model_b": names.take(pa.array(second)),
            "judge": judges.take(pa.array(judge)),
            "winner": pa.array(np.where(wins, "model_a", "model_b")),
        }
        for k in range(n_features):
            columns |= {f"x{k}_a": pa.array(left[k]), f"x{k}_b": pa.array(right[k])}
        yield pa.table(columns)


def write(path: Path, n_rows: int, n_features: int) -> None:
    writer = None
    for batch in batches(n_rows, n_features):
        if writer is None:
            kind = csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
            writer = kind(str(path), batch.schema)
        writer.write_table(batch)
    assert writer is not None
    writer.close()


def step(name: str, path: str) -> None:
    """One step, in this process."""
    if name == "pyarrow":
        if path.endswith(".csv"):
            csv.read_csv(path)
        else:
            parquet.read_table(path)
    elif name == "read_battles":
        from skanchor import read_battles

        read_battles(path)
    else:
        from skanchor._cli import main

        assert main(["rank", path, *name.split()[2:]]) == 0


def measure(name: str, path: Path) -> tuple[float, float]:
    """Processor time and peak memory of a step in a new interpreter."""
    output = subprocess.run(
        [sys.executable, __file__, "--step", name, "--path", str(path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    seconds, peak = output.split()[-2:]
    return float(seconds), float(peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--step")
    parser.add_argument("--path")
    options = parser.parse_args()
    if options.step:
        start = time.process_time()
        step(options.step, options.path)
        seconds = time.process_time() - start
        print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    rows = []
    plans = (
        ("CSV", 1_000_000, 6, ("pyarrow", "read_battles", "skanchor rank")),
        (
            "Parquet",
            10_000_000,
            0,
            ("pyarrow", "read_battles", "skanchor rank --item-effects none"),
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind, n_rows, n_features, steps in plans:
            n_rows = int(n_rows * options.scale)
            path = Path(folder, f"battles.{kind.lower()}")
            write(path, n_rows, n_features)
            size = path.stat().st_size / 2**20
            table = f"{kind}, {n_rows:,} rows, {n_features} features, {size:.0f} MiB"
            for name in steps:
                seconds, peak = measure(name, path)
                rows.append((table, name, f"{seconds:.1f}", f"{peak:.0f}"))
                print(*rows[-1], flush=True)
            path.unlink()
    write_rows("reading", HEADER, rows)


if __name__ == "__main__":
    main()
