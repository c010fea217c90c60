"""The registry: all designs by name, which is that of their group and their own."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

import context_designs
import item_designs
import judge_designs
import odd_tables
import people_designs
import read_out_designs
from cases import Design

GROUPS: dict[str, dict[str, Design]] = {
    "odd": odd_tables.DESIGNS,
    **people_designs.DESIGNS,
    **judge_designs.DESIGNS,
    **item_designs.DESIGNS,
    **context_designs.DESIGNS,
    **read_out_designs.DESIGNS,
}
DESIGNS: dict[str, Design] = {
    f"{group}/{name}": design
    for group, designs in GROUPS.items()
    for name, design in designs.items()
}


def names_of(words: Iterable[str]) -> list[str]:
    """Names of designs by their group, their name, or a pattern such as votes/*."""
    names = []
    for word in words:
        chosen = fnmatch.filter(DESIGNS, f"{word}/*" if word in GROUPS else word)
        if not chosen:
            raise ValueError(f"no design or group {word!r}; --list shows all")
        names += chosen
    return names
