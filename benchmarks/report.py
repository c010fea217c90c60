"""What the benchmarks share: timing, memory, and tables of results."""

from __future__ import annotations

import csv
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

RESULTS = Path(__file__).parent / "results"


def timed(function: Callable[[], Any], repeats: int = 3) -> float:
    """Median processor time of a call, blind to what else the machine does."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def write_rows(
    name: str, header: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Print a table and write it to ``results/<name>.csv``."""
    RESULTS.mkdir(exist_ok=True)
    with open(RESULTS / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    print(pd.DataFrame(rows, columns=list(header)).to_string(index=False))


def peak_bytes(function: Callable[[], Any]) -> int:
    """Most memory that a call holds beyond what was there before."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
