"""Which public tests notice which faults: in `tests`, `python -m mutants --help`."""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

# What every test imports anyway, so that forked processes start with it.
import narwhals  # noqa: F401
import pandas  # noqa: F401
import polars  # noqa: F401
import pyarrow.parquet  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn.linear_model  # noqa: F401
from mutants.choice import CHOSEN, GOLDEN, choose, chosen_tests, write_rows
from mutants.faults import ROOT, runnable_faults
from mutants.report import KILLS, recorded, report
from mutants.trial import copied, end, started, verdict


class Job:
    """A fault that is being tried in a process of its own."""

    def __init__(self, fault, parts, folder, arguments):
        tests, *self.later = parts
        self.fault, self.first, limit = fault, arguments.first, arguments.limit
        self.folder = Path(folder)
        self.record = self.folder / f"{fault.name}.json"
        self.deadline, self.is_late = time.monotonic() + 120 + 10 * limit, False
        target = copied(self.folder / fault.name)
        module = target / "skanchor" / fault.file
        module.write_text(fault.patched(), encoding="utf-8")
        for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*"):
            compiled.unlink()
        files = dict.fromkeys(name.split("::")[0] for name in tests)
        there = [file for file in files if (ROOT / file).exists()]
        arguments = [*there, *(["-x"] if arguments.first else [])]
        self.process = started(target, arguments, self.record, tests, limit)

    def ended(self):
        """Whether the process is over; it is ended at the deadline."""
        self.is_late = self.process.is_alive() and time.monotonic() > self.deadline
        if self.process.is_alive() and not self.is_late:
            return False
        end(self.process)
        shutil.rmtree(self.folder / self.fault.name)
        return True

    def entry(self):
        """Outcome as the record of kills holds it."""
        there = self.record.exists()
        answer = json.loads(self.record.read_text()) if there else None
        outcome, failed = ("out of time", []) if self.is_late else verdict(answer)
        tests = len(answer["outcomes"]) if answer else 0
        by_file = Counter(name.split("::")[0] for name in failed)
        entry = {"outcome": outcome, "tests": tests, "killed_by": dict(by_file)}
        entry |= {"first": True} if self.first else {}
        why = {answer["failures"][name] for name in failed[:1]}
        print(f"{self.fault.name}: {outcome}, {len(failed)} of {tests}", *why)
        sys.stdout.flush()
        return entry, failed


def run(arguments):
    """Try faults, and write which tests notice them."""
    faults, chosen = runnable_faults(arguments.names), chosen_tests()
    if arguments.sample:
        faults = random.Random(arguments.seed).sample(faults, arguments.sample)
    record, jobs, killers = recorded(), [], set()
    with tempfile.TemporaryDirectory() as folder:
        waiting = [(fault, _parts(chosen[fault.name], arguments.first))
                   for fault in faults if chosen.get(fault.name)]  # fmt: skip
        for fault in faults:
            if not chosen.get(fault.name):
                record[fault.name] = {"outcome": "alive", "tests": 0, "killed_by": {}}
                print(f"{fault.name}: no test is chosen")
        while waiting or jobs:
            while waiting and len(jobs) < arguments.jobs:
                fault, parts = waiting.pop(0)
                jobs.append(Job(fault, parts, folder, arguments))
            time.sleep(0.1)
            for job in [job for job in jobs if job.ended()]:
                jobs.remove(job)
                entry, failed = job.entry()
                if entry["outcome"] == "alive" and job.later:
                    waiting.insert(0, (job.fault, job.later))
                    continue
                record[job.fault.name] = entry
                killers.update(failed)
                write_rows(KILLS, dict(sorted(record.items())))
    check_killers(sorted(killers))


def _parts(tests, first):
    """Tests in one part, or golden cases alone before those of other files."""
    if not first:
        return [tests]
    golden = [name for name in tests if name.startswith(GOLDEN)]
    parts = golden, [name for name in tests if name not in golden]
    return [part for part in parts if part]


def check_killers(tests):
    """Make sure that tests that fail with a fault pass without it."""
    if not tests:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        files = list(dict.fromkeys(name.split("::")[0] for name in tests))
        started(copied(folder), files, path, tests).join()
        failed = verdict(json.loads(path.read_text()))[1]
    print(
        f"{len(tests)} tests kill; without a fault {len(failed)} of them fail", *failed
    )
    if failed:
        raise SystemExit(1)


def main():
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("choose", help=f"choose tests anew: {CHOSEN.name}")
    one.add_argument("--limit", type=float, default=20, help="seconds for each fault")
    one = commands.add_parser("run", help=f"try faults: {KILLS.name}")
    one.add_argument("names", nargs="*", metavar="NAME")
    one.add_argument("--sample", type=int, help="that many faults, drawn at random")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--limit", type=float, default=30, help="seconds for each fault")
    one.add_argument("--jobs", type=int, default=1)
    one.add_argument("--first", action="store_true", help="stop at the first kill")
    one = commands.add_parser("report", help="print what the record says")
    one.add_argument("--without", nargs="*", default=(), metavar="FILE")
    arguments = parser.parse_args()
    if arguments.command == "choose":
        choose(arguments.limit)
    elif arguments.command == "run":
        run(arguments)
    else:
        report(arguments.without)


if __name__ == "__main__":
    main()
