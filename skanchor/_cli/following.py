"""Commands that help, followed before they are printed: one mends all that is wrong."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Sequence

from skanchor._cli.again import RANKING
from skanchor._cli.command import BadInputError, Case

_LARGEST = 4_000_000
"""Bytes of files beyond which commands are not tried: they would have to be read."""

_MOST = 6
"""Largest number of commands that one is replaced by, or that are printed in all."""

_DEEPEST = 2
"""How many further faults a command may mend."""

_Parse = Callable[[Sequence[str]], argparse.Namespace]


def followed(cases: list[Case], files: Sequence[str], parse: _Parse) -> list[Case]:
    """Commands of which none only leads to the next message.

    A command after which something else must be decided gives way to those that decide
    it, too. One that ends in a message without a command is left out, if others are
    left.

    Parameters
    ----------
    cases : list of (str, list of str)
        Commands, and when each helps.
    files : sequence of str
        Files of battles.
    parse : callable
        Parser of the arguments of the program.

    Returns
    -------
    list of (str, list of str)
    """
    if not cases or not files or any(words[:1] not in RANKING for _, words in cases):
        return cases
    if not all(map(os.path.isfile, files)):
        return cases
    if sum(map(os.path.getsize, files)) > _LARGEST:
        return cases
    found = _tried(cases, parse, _DEEPEST)
    return found if 0 < len(found) <= max(_MOST, len(cases)) else cases


def _tried(cases: Sequence[Case], parse: _Parse, deeper: int) -> list[Case]:
    """Cases whose commands work, or lead as far as they are followed."""
    found: list[Case] = []
    for case, words in cases:
        more = _cases_after(words, parse)
        if more is None:
            found.append((case, words))
        elif deeper and more:
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


def _cases_after(words: Sequence[str], parse: _Parse) -> list[Case] | None:
    """Commands below the message that one ends in; None if its rows can be used.

    Files that are not there, as those that the user must name, say nothing.
    """
    from skanchor._cli.table import check_table, groups_of, load_battles
    from skanchor._cli.wording import cases_of
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
        return error.cases
    except OSError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        return cases_of(error, words, options.battles)
    if refusal is None:
        return None
    return cases_of(refusal, words, options.battles) or None
