"""Which tests notice which faults: in `tests`, `python -m mutants --help`."""

import argparse
import json
import random
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain

from mutants.faults import ROOT, runnable_faults
from mutants.report import KILLS, recorded, report
from mutants.trial import trial

GOLDEN = "tests/golden/test_golden.py"


def parts_of(fault, record):
    """Test files that may notice a fault, in parts that run one after another.

    Those that noticed it last time come first, then the golden cases, then all others.
    """
    reference = record.get(fault.name, {}).get("killed_by", {})
    first = [file for file in reference if (ROOT / file).exists()]
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    others = [path.relative_to(ROOT).as_posix() for path in tests]
    others = [file for file in others if file not in (*first, GOLDEN)]
    return [part for part in (first, [GOLDEN], others) if part]


def tried(fault, record, arguments):
    """Try a fault by its parts, up to the first that kills it unless all shall run."""
    parts = parts_of(fault, record)
    if arguments.whole:
        parts = [list(chain(*parts))]
    for part in parts:
        entry = trial(fault, part, arguments.limit, arguments.whole)
        if entry["outcome"] != "alive":
            break
    return fault, entry


def run(arguments):
    """Try faults, and write which tests notice them."""
    faults, record, killers = runnable_faults(arguments.names), recorded(), set()
    if arguments.sample:
        faults = random.Random(arguments.seed).sample(faults, arguments.sample)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(tried, fault, record, arguments) for fault in faults]
        for fault, entry in (job.result() for job in as_completed(jobs)):
            record[fault.name] = entry
            killers.update(entry["killed_by"])
            print(f"{fault.name}: {entry['outcome']}", *entry["killed_by"], flush=True)
            rows = (f'"{name}": {json.dumps(record[name])}' for name in sorted(record))
            KILLS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    if not killers:
        return
    # Tests that fail with a fault must pass without it.
    failed = trial(None, sorted(killers), arguments.limit, True)["killed_by"]
    if failed:
        raise SystemExit(f"these fail without a fault, too: {', '.join(failed)}")


def main():
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help=f"try faults: {KILLS.name}")
    one.add_argument("names", nargs="*", metavar="NAME")
    one.add_argument("--sample", type=int, help="that many faults, drawn at random")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--limit", type=float, default=600, help="seconds for each fault")
    one.add_argument("--jobs", type=int, default=1)
    one.add_argument("--whole", action="store_true", help="go on after the first kill")
    one = commands.add_parser("report", help="print what the record says")
    one.add_argument("--without", nargs="*", default=(), metavar="FILE")
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments)
    else:
        report(arguments.without)


if __name__ == "__main__":
    main()
