"""Values of flags that take OLD=NEW,...: names, labels and levels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from skanchor._cli.command import BadInputError


def pairs_of(flag: str, given: list[str]) -> dict[str, str]:
    """Pairs of a flag that takes OLD=NEW,...; each OLD may occur once."""
    pairs: dict[str, str] = {}
    for pair in parts_of(given):
        # The last sign counts, since a verdict such as A=B contains one.
        old, equals, new = (part.strip() for part in pair.rpartition("="))
        # The label of empty cells is empty, and so may be the name of a column.
        if not ((old or flag in ("--labels", "--columns")) and equals and new):
            raise BadInputError(f"{flag} takes OLD=NEW,..., got {pair!r}")
        twice = flag == "--columns" and new in pairs.values()
        if old in pairs or twice:
            raise BadInputError(f"{flag} has {old if old in pairs else new} twice")
        pairs[old] = new
    return pairs


def parts_of(given: list[str]) -> list[str]:
    """Pairs of a list that is separated by commas.

    A part without a sign of equality belongs to the next one: its name has a comma. So
    has a name in which a backslash stands before it.
    """
    parts: list[str] = []
    for each in given:
        open_ = ""
        for part in re.split(r"(?<!\\),", each):
            whole = f"{open_},{part}" if open_ else part
            open_ = "" if "=" in part else whole
            if not open_:
                parts.append(whole.replace("\\,", ","))
        if open_ or not each:
            parts.append(open_)
    return parts


def numbers_of(
    pairs: Iterable[str], takes: str, fits: Callable[[float], bool]
) -> dict[str, float]:
    """Number of each name of a flag that takes NAME=NUMBER; each name may occur once.

    ``takes`` says for messages what the flag takes, its name first, and ``fits`` which
    numbers it accepts.
    """
    numbers: dict[str, float] = {}
    for pair in pairs:
        # The last sign counts, since a name such as A=B contains one.
        name, _, number = (part.strip() for part in pair.rpartition("="))
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not name or not fits(value):
            raise BadInputError(f"{takes}, got {pair!r}")
        if name in numbers:
            raise BadInputError(f"{takes.partition(' ')[0]} has {name} twice")
        numbers[name] = value
    return numbers


def column_called(names: Iterable[str], wanted: str) -> str | None:
    """Name of a column, without regard to case and blanks; None if there is not one."""
    names = list(names)
    if wanted in names:
        return wanted
    key = wanted.strip().casefold()
    alike = [name for name in names if name.strip().casefold() == key]
    return alike[0] if len(alike) == 1 else None
