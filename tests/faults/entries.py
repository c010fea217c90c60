"""The table of faults, and the inputs of those that are tested here.

``faults.csv`` lists every fault once: what it is about, the input, the answer, and the
test elsewhere that shows it. Where it names no test, a module of this folder gives the
input to `table` or `call`, with the class of the answer and what it names.
"""

import csv
from dataclasses import dataclass, field
from pathlib import Path

with Path(__file__).with_name("faults.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


@dataclass
class Fault:
    """An input, and what it must lead to."""

    title: str
    raises: tuple | None = None
    warns: list = field(default_factory=list)
    run: object = None
    check: object = None
    frame: object = None
    params: dict = field(default_factory=dict)
    flags: tuple = ()


class Listing(list):
    """Faults of one module. Each has its own, as pytest imports modules twice."""

    def table(self, title, frame, *, raises=None, warns=(), check=None, flags=(),
              **params):  # fmt: skip
        """Add a battles table, made when its test runs, and what fitting it gives.

        With flags, the command line reads it from a file, too.
        """
        self.append(
            Fault(title, raises, list(warns), None, check, frame, params, flags)
        )

    def call(self, title, run, *, raises=None, warns=(), check=None):
        """Add a call, or several, that has no file."""
        self.append(Fault(title, raises, list(warns), run, check))
