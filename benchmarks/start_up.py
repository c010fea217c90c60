"""What skanchor adds to the time that its imports take anyway.

``python benchmarks/start_up.py``: medians over new interpreters, taken in turn.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from report import write_rows

BASE = "import sklearn.base, sklearn.model_selection, pandas, scipy.optimize"
CLOCK = "import time; start = time.perf_counter()"
# What goes before the clock starts, and what is timed.
PROGRAMS = {
    "scikit-learn, pandas, scipy.optimize": ("pass", BASE),
    "after them, import skanchor": (BASE, "import skanchor"),
    "after them, every public name": (BASE, "from skanchor import *"),
    "skanchor --help": ("pass", "from skanchor._cli import main; main(['--help'])"),
}


def main(rounds: int = 9) -> None:
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(rounds):
        for name, (before, timed) in PROGRAMS.items():
            lines = (before, CLOCK, timed, "print(time.perf_counter() - start)")
            done = subprocess.run(
                [sys.executable, "-c", "\n".join(lines)],
                check=True,
                capture_output=True,
                text=True,
            )
            times[name].append(float(done.stdout.splitlines()[-1]))
    rows = [(name, f"{statistics.median(t):.3f}") for name, t in times.items()]
    write_rows("start_up", ("what", "seconds"), rows)


if __name__ == "__main__":
    main()
