"""How much memory the steps of the timings take, each in a process of its own.

``python benchmarks/memory.py [NAME ...] [--scale 1]`` takes the names of
``speed.py`` (without a name: application, equal_rows, reading, batches and large).
Printed are what the process holds before a step, with the data that it needs, and the
largest memory during the step, in MiB. Needs Linux, whose peak can be reset.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import warnings
from pathlib import Path

import pandas as pd
from speed import in_new_process
from timings import TIMINGS

USUAL = ["application", "equal_rows", "reading", "batches", "large"]


def resident(field: str) -> float:
    """Memory of this process in MiB: VmRSS now, VmHWM at its peak."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(rf"{field}:\s+(\d+)", status)[0]) / 1024.0


def measure_step(
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


def main() -> None:
    """Measure every step of the timings that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the sizes")
    parser.add_argument("--step", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(TIMINGS))
    if unknown:
        parser.error(f"no timing {', '.join(unknown)}; speed.py --list shows all")
    if options.child:
        print(json.dumps(measure_step(options.names[0], options.scale, options.step)))
        return
    for name in options.names or USUAL:
        rows: list[list[object]] = []
        while True:
            words = [name, "--scale", str(options.scale), "--step", str(len(rows))]
            row = in_new_process(__file__, words, None)
            if row is None:
                break
            rows.append(row)
        table = pd.DataFrame(rows, columns=["step", "before", "peak"]).round(0)
        print(name, table.to_string(index=False), sep="\n", flush=True)


if __name__ == "__main__":
    main()
