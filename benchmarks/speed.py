"""How long skanchor takes, beside yardsticks in the same run, or another checkout.

``python benchmarks/speed.py [NAME ...] [--rounds 3] [--scale 1]`` runs the timings that
are named (all without a name; ``--list`` shows them). Each runs in a process of its
own, so many rounds; every step is called once to warm up and then timed by the
processor, with one thread of linear algebra. Printed are medians over the rounds: the
seconds, and the ratio to the first step of the timing. ``--against PATH`` runs another
checkout of the package in turn, and prints its seconds and the ratio to them.
``--scale`` makes tables smaller or larger.

``--memory`` prints what the process holds before a step, with the data that it needs,
and the largest memory during the step, in MiB. It needs Linux, whose peak can be reset.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits
from timings import TIMINGS

LEAST, MOST = 0.3, 9
"""Seconds that a faster step is repeated for, and calls at most."""


def seconds_of(step: Callable[[], Any]) -> float:
    """Median processor time of a call, or of what it has measured itself."""
    step()
    times: list[float] = []
    while sum(times) < LEAST and len(times) < MOST:
        start = time.process_time()
        value = step()
        spent = time.process_time() - start
        times.append(value if isinstance(value, float) else spent)
    return statistics.median(times)


def measure_steps(name: str, scale: float) -> dict[str, float]:
    """Measure the steps of a timing in this process."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = TIMINGS[name](scale, Path(folder))
        with threadpool_limits(limits=1):
            return {label: seconds_of(step) for label, step in steps.items()}


def resident(field: str) -> float:
    """Memory of this process in MiB: VmRSS now, VmHWM at its peak."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(rf"{field}:\s+(\d+)", status)[0]) / 1024.0


def measure_memory(
    name: str, scale: float, number: int
) -> tuple[str, float, float] | None:
    """Label of a step, memory before it and peak within; None behind the last."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = list(TIMINGS[name](scale, Path(folder)).items())
        if number >= len(steps):
            return None
        label, step = steps[number]
        # 5 resets the peak to what is resident now.
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
        before = resident("VmRSS")
        step()
        return label, before, resident("VmHWM")


def memory(name: str, scale: float) -> pd.DataFrame:
    """Memory of every step of a timing, each in a process of its own."""
    rows: list[Any] = []
    while not rows or rows[-1] is not None:
        words = [name, "--scale", str(scale), "--step", str(len(rows))]
        rows.append(in_new_process(__file__, words, None))
    return pd.DataFrame(rows[:-1], columns=["step", "before", "peak"]).round(0)


def in_new_process(script: str, words: list[str], checkout: str | None) -> Any:
    """Run a script on its own, on a checkout of the package, and read its JSON."""
    environment = dict(os.environ)
    if checkout is not None:
        environment["PYTHONPATH"] = str(Path(checkout).resolve())
    done = subprocess.run(
        [sys.executable, script, *words, "--child"],
        env=environment, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def compare(name: str, options: argparse.Namespace) -> pd.DataFrame:
    """Medians of the steps of one timing over the rounds, and ratios within each."""
    checkouts = [None] if options.against is None else [None, options.against]
    words = [name, "--scale", str(options.scale)]
    rounds = [
        [in_new_process(__file__, words, checkout) for checkout in checkouts]
        for _ in range(options.rounds)
    ]
    here = pd.DataFrame([both[0] for both in rounds])
    table = pd.DataFrame({"seconds": here.median()})
    table["x first"] = here.div(here.iloc[:, 0], axis=0).median()
    if options.against is not None:
        there = pd.DataFrame([both[1] for both in rounds])
        ratios = here / there
        table["there"], table["ratio"] = there.median(), ratios.median()
    return table.rename_axis(name).reset_index()


def main() -> None:
    """Run the timings that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="show the timings")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the sizes")
    parser.add_argument("--against", metavar="PATH", help="another checkout")
    parser.add_argument("--memory", action="store_true", help="measure memory")
    parser.add_argument("--step", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(TIMINGS))
    if unknown:
        parser.error(f"no timing {', '.join(unknown)}; --list shows all")
    if options.child:
        (name,), scale, step = options.names, options.scale, options.step
        timed = measure_steps(name, scale) if step is None else None
        print(json.dumps(timed or measure_memory(name, scale, step)))
        return
    if options.list:
        for name, timing in TIMINGS.items():
            print(f"{name}: {(timing.__doc__ or '').splitlines()[0]}")
        return
    for name in options.names or TIMINGS:
        table = (
            memory(name, options.scale)
            if options.memory
            else compare(name, options).round(3)
        )
        print(table.to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
