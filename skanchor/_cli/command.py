"""The definition of a command, and the parser of its arguments."""

from __future__ import annotations

import argparse
import difflib
import shlex
import textwrap
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NoReturn

from skanchor._text import printable

Case = tuple[str, list[str]]
"""When a command helps, empty if always; and its words, without the program's name."""


def lines_of(cases: Iterable[Case]) -> list[str]:
    """Lines to print of commands: each below the case in which it helps."""
    lines = []
    for case, words in cases:
        command = shlex.join(["skanchor", *words])
        lines += [*([f"{case}:"] if case else []), f"  {command}"]
    return list(map(printable, lines))


class BadInputError(Exception):
    """Bad input, with a message that is printed as it is.

    Parameters
    ----------
    message : str
        The message.
    *cases : (str, list of str)
        Commands that help, as attribute ``cases``, too.
    """

    def __init__(self, message: str, *cases: Case):
        super().__init__(message)
        self.cases = list(cases)


def require_package(name: str, message: str) -> None:
    """Refuse what needs a package that is not installed."""
    if find_spec(name) is None:
        raise BadInputError(message)


def require_known(what: str, name: str, known: Collection[str], *more: str) -> None:
    """Refuse an unknown name; say which known one is near to it."""
    if name not in known:
        near = difflib.get_close_matches(name, known, 1, 0.4)
        guess = f"; did you mean {near[0]}?" if near else ""
        listed = ", ".join([*known, *more])
        raise BadInputError(f"there is no {what} {name!r}{guess} (known: {listed})")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the program.

    A module of this folder defines one, and `program.COMMANDS` lists it.

    Attributes
    ----------
    name : str
        Name of the command, its first argument.
    help : str
        Its line in the list of commands.
    description : str
        Description in its own ``--help``.
    examples : tuple of (str, str)
        Purpose and command of each example.
    arguments : tuple of callable
        Functions that add its arguments to a parser, in the order of the help.
    run : callable
        Function that does the work, given the parsed arguments. It checks them first,
        and makes slow imports inside.
    """

    name: str
    help: str
    description: str
    examples: tuple[tuple[str, str], ...]
    arguments: tuple[Callable[[argparse.ArgumentParser], None], ...]
    run: Callable[[argparse.Namespace], None]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add all arguments to a parser."""
        for add in self.arguments:
            add(parser)


class Parser(argparse.ArgumentParser):
    """A parser that raises `BadInputError` where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        """Raise the message in one line; argparse would also print the usage."""
        raise BadInputError(f"{message} (see {self.prog} --help)")


# ---------------------------------------------------------------------------- flags
Flags = argparse._ActionsContainer
"""A parser, or a group of its flags."""


def add_names(parser: Flags, flag: str, metavar: str, says: str) -> None:
    """Add a flag that takes several names, and may be typed several times."""
    parser.add_argument(flag, nargs="+", action="extend", metavar=metavar, help=says)


def add_lists(parser: Flags, flag: str, metavar: str, says: str) -> None:
    """Add a flag that takes a list with commas, and may be typed several times."""
    parser.add_argument(flag, action="append", default=[], metavar=metavar, help=says)


def add_switch(parser: Flags, flag: str, says: str) -> None:
    """Add a flag without a value."""
    parser.add_argument(flag, action="store_true", help=says)


# ----------------------------------------------------------------------------- help
def wrap_help(text: str) -> str:
    """Break a text of the help into lines.

    The formatter that leaves the lines of examples as they are wraps no text itself.
    """
    return textwrap.fill(text, 79)


def examples_text(examples: tuple[tuple[str, str], ...]) -> str:
    """Text of the examples, for the end of the help."""
    lines = ["examples:"]
    for purpose, command in examples:
        lines += [f"  # {purpose}", f"  {command}"]
    return "\n".join(lines)
