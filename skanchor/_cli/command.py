"""The definition of a command, and the parser of its arguments."""

from __future__ import annotations

import argparse
import difflib
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NoReturn


class BadInputError(Exception):
    """Bad input, with a message that is printed as it is."""


def require_package(name: str, message: str) -> None:
    """Refuse what needs a package that is not installed."""
    if find_spec(name) is None:
        raise BadInputError(message)


def require_known(what: str, name: str, known: Collection[str]) -> None:
    """Refuse an unknown name; say which known one is near to it."""
    if name not in known:
        near = difflib.get_close_matches(name, known, 1, 0.4)
        guess = f"; did you mean {near[0]}?" if near else ""
        listed = ", ".join(known)
        raise BadInputError(f"there is no {what} {name!r}{guess} (known: {listed})")


def refuse_given(options: argparse.Namespace, flags: Iterable[str], why: str) -> None:
    """Refuse flags that were given although nothing reads them.

    ``why`` ends a sentence that begins with the flag. A flag that was not given is None
    or False.
    """
    for flag in flags:
        value = getattr(options, flag.removeprefix("--").replace("-", "_"))
        if value is not None and value is not False:
            raise BadInputError(f"{flag} {why}")


def require_at_least(flag: str, value: int | None, least: int, why: str = "") -> None:
    """Refuse a number below the least one; None is not given."""
    if value is not None and value < least:
        raise BadInputError(f"{flag} must be at least {least}, got {value}{why}")


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags and arguments of a parser, or a group of them, to which more are added.

    Attributes
    ----------
    container : parser or group of argparse
        What they are added to.
    """

    container: argparse._ActionsContainer

    def value(self, flag: str, metavar: Any, says: str, **more: Any) -> None:
        """Add a flag with a value, or an argument; blanks stand between its names."""
        self.container.add_argument(*flag.split(), metavar=metavar, help=says, **more)

    def choice(self, flag: str, choices: Sequence[str], says: str) -> None:
        """Add a flag whose value is one of some words, by default the first."""
        says += " (default: %(default)s)"
        self.container.add_argument(
            flag, choices=choices, default=choices[0], help=says
        )

    def number(self, flag: str, metavar: str, says: str, default: float) -> None:
        """Add a flag with a number of the type that its default has."""
        says += " (default: %(default)s)"
        self.value(flag, metavar, says, type=type(default), default=default)

    def names(self, flag: str, metavar: str, says: str) -> None:
        """Add a flag that takes several names, and may be typed several times."""
        self.value(flag, metavar, says, nargs="+", action="extend")

    def lists(self, flag: str, metavar: str, says: str) -> None:
        """Add a flag that takes a list with commas, and may be typed several times."""
        self.value(flag, metavar, says, action="append", default=[])

    def switch(self, flag: str, says: str) -> None:
        """Add a flag without a value."""
        self.container.add_argument(flag, action="store_true", help=says)

    def exclusive(self) -> Flags:
        """A group of flags of which one at most may be typed."""
        return Flags(self.container.add_mutually_exclusive_group())


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
        Purpose of each example, and its words after the name of the command, or the
        whole line if it names the program.
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
    arguments: tuple[Callable[[Flags], None], ...]
    run: Callable[[argparse.Namespace], None]

    @property
    def typed_examples(self) -> list[tuple[str, str]]:
        """The examples in full: most are words after the name of the command."""
        return [
            (purpose, words if "skanchor" in words else f"skanchor {self.name} {words}")
            for purpose, words in self.examples
        ]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add all arguments to a parser."""
        for add in self.arguments:
            add(Flags(parser))


class Parser(argparse.ArgumentParser):
    """A parser that raises `BadInputError` where argparse would exit.

    A flag must be typed in full: the beginning of one could be that of another command.
    """

    def __init__(self, **settings: Any):
        super().__init__(allow_abbrev=False, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; refuse what is left over here, where the command is known."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Raise the message in one line; argparse would also print the usage."""
        raise BadInputError(f"{message} (see {self.prog} --help)")


# ----------------------------------------------------------------------------- help
def wrap_help(text: str) -> str:
    """Break a text of the help into lines.

    The formatter that leaves the lines of examples as they are wraps no text itself.
    """
    return textwrap.fill(text, 79)


def examples_text(examples: Iterable[tuple[str, str]]) -> str:
    """Text of the examples, for the end of the help."""
    lines = ["examples:"]
    for purpose, command in examples:
        lines += [f"  # {purpose}", f"  {command}"]
    return "\n".join(lines)
