"""The definition of a command, and the parser of its arguments."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

__all__ = ["BadInputError", "Command", "Parser", "examples_text", "wrap_help"]


class BadInputError(Exception):
    """Bad input, with a message that is printed as it is."""


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
    add_arguments : callable
        Function that adds its arguments to a parser.
    run : callable
        Function that does the work, given the parsed arguments. It checks them first,
        and makes slow imports inside.
    """

    name: str
    help: str
    description: str
    examples: tuple[tuple[str, str], ...]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


class Parser(argparse.ArgumentParser):
    """A parser that raises `BadInputError` where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        """Raise the message in one line; argparse would also print the usage."""
        raise BadInputError(f"{message} (see {self.prog} --help)")


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
