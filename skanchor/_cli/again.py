"""The command that helps, in full: the one that was typed, with further flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skanchor._cli.pairs import escaped, parts_of

_FLAGS = {
    **{name: f"--{name}" for name in ("columns", "labels", "levels", "ratings")},
    **{name: f"--{name}" for name in ("human", "judges", "encoding")},
    "models": "--rename-models",
    "drop_invalid": "--drop-invalid",
    "all_human": "--all-human",
}
"""Flags of arguments, which the types of their values tell how to write."""

_REPEATED = frozenset(_FLAGS.values()) - {"--ratings", "--encoding"}
"""Flags that may be typed several times."""

RANKING = [["rank"], ["report"], ["plot"], ["compare"], ["evaluate"], ["inspect"]]
"""Commands that rank all models of a table by votes with ``--no-new``."""


def with_arguments(
    typed: Sequence[str], arguments: Mapping[str, Any], files: Sequence[str]
) -> list[str]:
    """Typed words with the flags of some arguments of `read_battles` after them."""
    flags: list[str] = []
    for name in filter(_FLAGS.__contains__, arguments):
        flag, value = _FLAGS[name], arguments[name]
        if isinstance(value, Mapping):
            typed = _without_pairs(typed, flag, value)
            flags += _mapping(flag, value)
        elif isinstance(value, bool):
            flags.append(flag)
        elif isinstance(value, str):
            flags += [flag, value]
        else:
            flags += [flag, ",".join(value)] if name == "ratings" else [flag, *value]
    no_new = arguments.get("all_human") or arguments.get("no_new")
    if no_new and typed[:1] in RANKING:
        # Where all rows are votes, no model is new.
        flags += [] if {"--new", "--no-new"} & set(typed) else ["--no-new"]
    words = with_flags(typed, flags)
    before = arguments.get("before")
    return words if before is None else with_file_before(words, before, files)


def with_file_before(
    typed: Sequence[str], path: str, files: Sequence[str]
) -> list[str]:
    """Typed words with a further file before those of battles."""
    words = list(typed)
    at = words.index(files[0]) if files and files[0] in words else len(words)
    return [*words[:at], path, *words[at:]]


def with_flags(typed: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Typed words and flags; the flags come before a ``--``, after which none may.

    A flag that has been typed with another value is replaced.
    """
    words = list(typed)
    if len(flags) == 2 and flags[0] in words and flags[0] not in _REPEATED:
        at = words.index(flags[0])
        del words[at : at + 2]
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], *flags, *words[at:]]


def _without_pairs(
    typed: Sequence[str], flag: str, pairs: Mapping[Any, Any]
) -> list[str]:
    """Typed words without the pairs of a flag that others replace."""
    words, given = [], iter(typed)
    for word in given:
        joined = word.startswith(f"{flag}=")
        if word != flag and not joined:
            words.append(word)
            continue
        value = word.partition("=")[2] if joined else next(given, "")
        parts = [part.rpartition("=") for part in parts_of([value])]
        left = [
            escaped(f"{old}={new}")
            for old, _, new in parts
            if old.strip() not in map(str, pairs)
            and not (flag == "--columns" and new.strip() in pairs.values())
        ]
        if left:
            words += [flag, ",".join(left)]
    return words


def _mapping(flag: str, pairs: Mapping[Any, Any]) -> list[str]:
    """Words of a flag that takes OLD=NEW,...; each pair alone if a name has a comma."""
    shown = [
        f"{old}={new:g}" if isinstance(new, float) else f"{old}={new}"
        for old, new in pairs.items()
    ]
    shown = [*map(escaped, shown)]
    parts = shown if any("," in each for each in shown) else [",".join(shown)]
    # A value that begins with a hyphen would be taken for a flag.
    return [
        word
        for part in parts
        for word in ([f"{flag}={part}"] if part.startswith("-") else [flag, part])
    ]
