"""The definition of a command, and the parser of its arguments."""

from __future__ import annotations

import argparse
import difflib
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NoReturn

SHORT = {
    "battles": "tables of votes and verdicts, or - for standard input",
    "--demo": "a bundled (simulated) table instead",
    "--from": "tool that wrote the files (default: recognised by the columns)",
    "--columns": "names of columns, as in left=model_a,right=model_b",
    "--labels": "what outcomes mean, as in A=model_a,B=model_b,draw=tie",
    "--mapping": "what columns and outcomes mean, as skanchor inspect -o writes it",
    "--human": "labels of people among the judges; all others are judges",
    "--new --new-models": "new models (default: those without votes)",
    "--no-new": "no model is new: rank those with votes",
    "--hide-votes-of": "place these models as if they were new",
}
"""Help on flags of files; `skanchor inspect --help` says more, and has the others."""


class BadInputError(Exception):
    """Bad input, with a message that is printed as it is."""


def require_package(name: str, message: str) -> None:
    """Refuse what needs a package that is not installed."""
    if find_spec(name) is None:
        raise BadInputError(message)


def near_names(name: str, known: Collection[str], most: int = 3) -> str:
    """Names near to an unknown one, as a question, or else the known ones."""
    near = difflib.get_close_matches(name, known, most, 0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are {', '.join(list(known)[:20])}"


def refuse_unread(options: argparse.Namespace, flags: Iterable[str], why: str) -> None:
    """Refuse flags that were typed although nothing reads them.

    ``why`` ends a sentence that begins with the flag. A flag that was not typed is None
    or False.
    """
    for flag in flags:
        value = getattr(options, flag.removeprefix("--").replace("-", "_"))
        if value is not None and value is not False:
            raise BadInputError(f"{flag} {why}")


@dataclass(frozen=True, slots=True)
class Flags:
    """A parser, or a group of its flags, to which flags are added.

    Attributes
    ----------
    container : parser or group of argparse
        What they are added to.
    absent : frozenset of str
        Flags that the command does not take; their values are the defaults.
    in_full : bool
        Whether the help has all flags of files, or those of `SHORT` alone.
    of_files : bool
        Whether these are flags of files.
    """

    container: argparse._ActionsContainer
    absent: frozenset[str] = frozenset()
    in_full: bool = True
    of_files: bool = False

    def group(self, title: str, of_files: bool = False) -> Flags:
        """A group of flags with a title in the help."""
        made = self.container.add_argument_group(title)
        return replace(self, container=made, of_files=of_files)

    def value(self, flag: str, metavar: Any, says: str, **more: Any) -> None:
        """Add a flag with a value, or an argument; blanks stand between its names."""
        if self.of_files and not self.in_full:
            says = SHORT.get(flag, argparse.SUPPRESS)
        if flag.split()[0] in self.absent:
            name = more.get("dest", flag.split()[-1].lstrip("-").replace("-", "_"))
            name = "new" if name == "new_models" else name
            self.container.set_defaults(**{name: more.get("default")})
            return
        if "action" not in more or more["action"] != "store_true":
            more["metavar"] = metavar
        self.container.add_argument(*flag.split(), help=says, **more)

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
        self.value(flag, None, says, action="store_true", default=False)

    def exclusive(self) -> Flags:
        """A group of flags of which one at most may be typed."""
        made = self.container.add_mutually_exclusive_group()
        return replace(self, container=made)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the program; `program.COMMANDS` lists them.

    Attributes
    ----------
    name, help : str
        Name of the command, its first argument, and what it does in one line.
    examples : tuple of (str, str)
        Purpose of each example, and its words after the name of the command.
    arguments : callable
        Function that adds the arguments to a parser.
    run : callable
        Function that does the work. It checks its arguments first, and makes slow
        imports inside.
    more : str
        What else its help says.
    """

    name: str
    help: str
    examples: tuple[tuple[str, str], ...]
    arguments: Callable[[Flags], None]
    run: Callable[[argparse.Namespace], None]
    more: str = ""

    @property
    def description(self) -> str:
        """What it does, then examples."""
        text = f"{self.help[0].upper()}{self.help[1:]}. {self.more}".strip()
        lines = [
            (what, f"skanchor {self.name} {words}") for what, words in self.examples
        ]
        return f"{wrap_help(text)}\n\n{examples_text(lines)}"


class Parser(argparse.ArgumentParser):
    """A parser that raises `BadInputError` where argparse would exit.

    A flag must be typed in full: the beginning of one could be that of another command.
    """

    def __init__(self, **settings: Any):
        super().__init__(
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=25, width=88
            ),
            **settings,
        )

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
    """Break a text of the help into lines, which its formatter leaves as they are."""
    return textwrap.fill(text, 86)


def examples_text(examples: Sequence[tuple[str, str]]) -> str:
    """Text of the examples in the help."""
    width = max(len(command) for _, command in examples)
    if width > 50:
        lines = [f"  # {purpose}\n  {command}" for purpose, command in examples]
    else:
        lines = [f"  {command:{width}}  # {what}" for what, command in examples]
    return "\n".join(["examples:", *lines])
