"""What a command is, and how its arguments are read."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

__all__ = ["BadInputError", "Command", "Parser", "examples_text", "wrapped"]


class BadInputError(Exception):
    """Bad input whose message is ready for the reader."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the program.

    A module of this folder defines one, and `program.COMMANDS` lists it.

    Attributes
    ----------
    name : str
        The word that asks for it.
    help : str
        What the list of commands says of it.
    description : str
        What its own ``--help`` says of it.
    examples : tuple of (str, str)
        Commands to learn from, each after what it is for.
    add_arguments : callable
        Adds its arguments to a parser.
    run : callable
        Does the work, given the parsed arguments; raises what is wrong with them. What
        takes time to import it imports itself.
    """

    name: str
    help: str
    description: str
    examples: tuple[tuple[str, str], ...]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


class Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Report in one line, where argparse would print the usage too."""
        raise BadInputError(f"{message} (see {self.prog} --help)")


def wrapped(text: str) -> str:
    """Break a text of the help into lines, as argparse would if it had no examples."""
    return textwrap.fill(text, 79)


def examples_text(examples: tuple[tuple[str, str], ...]) -> str:
    """Lay out examples for the end of the help."""
    lines = ["examples:"]
    for purpose, command in examples:
        lines += [f"  # {purpose}", f"  {command}"]
    return "\n".join(lines)
