"""Values of flags: what is accepted, and how it is read."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable
from typing import Any


class BadInputError(Exception):
    """Bad input, with a message that is printed as it is."""


def _number(takes: str, fits: Callable[[float], bool]) -> Callable[[str], float]:
    """Type of a flag whose numbers must fit; ``takes`` says which do."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not fits(value):
            raise argparse.ArgumentTypeError(f"takes {takes}, got {text!r}")
        return int(value) if value.is_integer() else value

    return parse


def _pair(
    takes: str, of_value: Callable[[str], Any] = str
) -> Callable[[str], tuple[str, Any]]:
    """Type of a flag that takes NAME=VALUE, as ``takes`` writes it."""

    def parse(text: str) -> tuple[str, Any]:
        # The last sign counts, since a name such as A=B contains one.
        name, equals, value = (part.strip() for part in text.rpartition("="))
        if not equals or not value:
            raise argparse.ArgumentTypeError(f"takes {takes}, got {text!r}")
        return name, of_value(value)

    return parse


def _pairs(text: str) -> list[tuple[str, str]]:
    """Pairs of a list OLD=NEW,...; a comma of a name follows a backslash."""
    parse = _pair("OLD=NEW,...")
    return [parse(part.replace("\\,", ",")) for part in re.split(r"(?<!\\),", text)]


def _setting(text: str) -> tuple[str, str]:
    """A parameter and its value, which may have signs of equality itself."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(
            f"takes NAME=VALUE, got {text!r} (a FILE goes before --set)"
        )
    return name, value


def _commas(text: str) -> list[str]:
    """Names of a list that is separated by commas."""
    return [name for part in text.split(",") if (name := part.strip())]


_positive = _number("a finite number above zero", lambda x: 0 < x < math.inf)
TYPES: dict[str, Callable[[str], Any]] = {
    "commas": _commas,
    "jobs": _number(
        "a number of jobs, or -1 for all cores", lambda x: x % 1 == 0 and x != 0
    ),
    "level": _number("a level strictly between 0 and 1", lambda x: 0 < x < 1),
    "not negative": _number("a finite number from zero on", lambda x: 0 <= x < 1e9),
    "pairs": _pairs,
    "positive": _positive,
    "price": _pair("SOURCE=PRICE", _positive),
    "score": _pair("MODEL=SCORE", _number("a finite score", math.isfinite)),
    "setting": _setting,
}
"""Types of flags by the name that ``commands.toml`` gives them."""


def by_name(flag: str, pairs_given: Iterable[tuple[str, Any]] | None) -> dict[str, Any]:
    """Values by name, each of which may occur once."""
    values: dict[str, Any] = {}
    for name, value in pairs_given or ():
        if name in values:
            raise BadInputError(f"{flag} has {name} twice")
        values[name] = value
    return values


def refuse_typed(options: argparse.Namespace, flags: Iterable[str], why: str) -> None:
    """Refuse flags that were typed although nothing reads them.

    ``why`` ends a sentence that begins with the flag.
    """
    typed = {word.partition("=")[0] for word in options.typed}
    for flag in flags:
        if flag in typed:
            raise BadInputError(f"{flag} {why}")
