"""Commands that help, followed before they are printed: one mends all that is wrong."""

from __future__ import annotations

import argparse
import os
import shlex
import warnings
from collections.abc import Callable, Sequence

from skanchor._cli.again import RANKING, command
from skanchor._cli.command import BadInputError

_LARGEST = 4_000_000
"""Bytes of files beyond which commands are not tried: they would have to be read."""

_MOST = 6
"""Largest number of commands that one is replaced by, or that are printed in all."""

_DEEPEST = 2
"""How many further faults a command may mend."""

_Parse = Callable[[Sequence[str]], argparse.Namespace]
_Case = tuple[str, list[str]]


def followed(lines: Sequence[str], files: Sequence[str], parse: _Parse) -> list[str]:
    """Lines of commands of which none only leads to the next message.

    A command after which something else must be decided gives way to those that decide
    it, too. One that ends in a message without a command is left out, if others are
    left.

    Parameters
    ----------
    lines : sequence of str
        Cases, and below each its command, which begins with two blanks.
    files : sequence of str
        Files of battles.
    parse : callable
        Parser of the arguments of the program.

    Returns
    -------
    list of str
    """
    cases = _cases(lines)
    if not cases or not files or any(words[:1] not in RANKING for _, words in cases):
        return list(lines)
    if not all(map(os.path.isfile, files)):
        return list(lines)
    if sum(map(os.path.getsize, files)) > _LARGEST:
        return list(lines)
    found = _tried(cases, parse, _DEEPEST)
    if not found or len(found) > max(_MOST, len(cases)):
        return list(lines)
    return [
        line
        for case, words in found
        for line in ([f"{case}:"] if case else []) + [f"  {command(words)}"]
    ]


def _cases(lines: Sequence[str]) -> list[_Case]:
    """Cases and words of the commands of some lines."""
    found, case = [], ""
    for line in lines:
        if not line.startswith("  "):
            case = line.removesuffix(":")
            continue
        found.append((case, shlex.split(line)[1:]))
        case = ""
    return found


def _tried(cases: Sequence[_Case], parse: _Parse, deeper: int) -> list[_Case]:
    """Cases whose commands work, or lead as far as they are followed."""
    found: list[_Case] = []
    for case, words in cases:
        next_lines = _lines_after(words, parse)
        if next_lines is None:
            found.append((case, words))
            continue
        more = _cases(next_lines)
        if deeper and more:
            inner = [(_both(case, then), again) for then, again in more]
            inner = _tried(inner, parse, deeper - 1)
            found += inner if 0 < len(inner) <= _MOST else [(case, words)]
        elif more:
            found.append((case, words))
    return found


def _both(case: str, then: str) -> str:
    """One case of two."""
    if not (case and then):
        return case or then
    return f"{case}, and {then[:1].lower()}{then[1:]}"


def _lines_after(words: Sequence[str], parse: _Parse) -> list[str] | None:
    """Lines below the message that a command ends in; None if its rows can be used.

    Files that are not there, as those that the user must name, say nothing.
    """
    from skanchor._cli.table import check_table, groups_of, load_battles
    from skanchor._cli.wording import command_lines
    from skanchor.reports import overview
    from skanchor.warning_log import WarningLog

    try:
        options = parse(words)
        options.typed = list(words)
        with warnings.catch_warnings(), WarningLog():
            warnings.simplefilter("ignore")
            check_table(options)
            X, y, _ = load_battles(options)
            new = [] if options.no_new else options.new
            refusal = overview(X, y, groups_of(X, options), new).refusal
    except BadInputError as error:
        return error.lines
    except OSError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        return command_lines(error, words, options.battles)
    if refusal is None:
        return None
    return command_lines(refusal, words, options.battles) or None
