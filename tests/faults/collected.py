"""All faults, kind by kind, in the order of ``docs/faults.md``."""

from faults import (
    arrivals,
    command_line,
    contexts,
    features,
    human_rows,
    inference,
    judges,
    learners,
    life_cycle,
    names,
    outcomes,
    plans,
    separation,
    tables,
    tools,
    weights,
)

KINDS = (
    separation,
    human_rows,
    judges,
    arrivals,
    outcomes,
    names,
    features,
    tables,
    weights,
    plans,
    contexts,
    life_cycle,
    learners,
    tools,
    command_line,
    inference,
)
FAULTS = [entry for kind in KINDS for entry in kind.FAULTS]
assert len({entry.title for entry in FAULTS}) == len(FAULTS)
