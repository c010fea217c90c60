"""What the record of kills says."""

import json
from collections import Counter, defaultdict

from mutants.faults import FOLDER, all_faults

KILLS = FOLDER / "kills.json"


def recorded():
    """Outcome of each fault, as the last run of it left it."""
    return json.loads(KILLS.read_text(encoding="utf-8")) if KILLS.exists() else {}


def report(without=()):
    """Print the share killed, what lives, and what only one test file kills.

    Parameters
    ----------
    without : sequence of str
        Test files that are thought away.
    """
    faults = {fault.name: fault for fault in all_faults()}
    record = {name: entry for name, entry in recorded().items() if name in faults}
    count = Counter(entry["outcome"] for entry in record.values())
    equivalent = sum(fault.equivalent is not None for fault in faults.values())
    total = len(faults) - equivalent
    killed = count["killed"]
    print(
        f"{killed} of {total} faults killed ({killed / max(total, 1):.1%}), "
        f"{count['out of time']} out of time, {count['alive']} alive, "
        f"{count['broken']} with a broken patch, {total - len(record)} not run; "
        f"{equivalent} equivalent"
    )
    for name, entry in record.items():
        if entry["outcome"] != "killed":
            print(f"{entry['outcome']}: {name}. {faults[name].sentence}")
    only, whole = defaultdict(list), 0
    for name, entry in record.items():
        files = set(entry["killed_by"])
        # Where a run ended at the first kill, other files may kill it, too.
        if entry.get("first"):
            continue
        whole += 1
        if len(files) == 1:
            only[files.pop()].append(name)
        elif files and files <= set(without):
            print(f"only files thought away kill {name}")
    print(
        f"{whole} faults were tried by all of their tests, the others up to the first "
        "that fails. Of the first, one file alone kills:"
    )
    for file, names in sorted(only.items()):
        mark = " (thought away)" if file in without else ""
        print(f"{file}{mark}: {', '.join(names)}")
