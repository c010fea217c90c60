"""All faults whose inputs are here."""

from faults import (
    arrivals,
    features,
    human_rows,
    judges,
    names,
    outcomes,
    separation,
    settings,
    tools,
)

MODULES = (
    arrivals,
    features,
    human_rows,
    judges,
    names,
    outcomes,
    separation,
    settings,
    tools,
)
FAULTS = [entry for module in MODULES for entry in module.FAULTS]
