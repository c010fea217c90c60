"""The program: its commands, and the exit code of a run."""

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, NoReturn

from skanchor._cli.check import CHECK
from skanchor._cli.command import (
    BadInputError,
    Command,
    Flags,
    Parser,
    examples_text,
)
from skanchor._cli.compare import COMPARE
from skanchor._cli.fetch import FETCH
from skanchor._cli.history import HISTORY
from skanchor._cli.inspect import INSPECT
from skanchor._cli.plan import PLAN
from skanchor._cli.rank import RANK
from skanchor._cli.sensitivity import SENSITIVITY
from skanchor._cli.signals import exit_code, raised_as_interrupts
from skanchor._cli.streams import (
    drop_stdout,
    print_error,
    print_line,
    print_result,
    show_own_warnings,
)

COMMANDS: tuple[Command, ...] = (
    RANK,
    INSPECT,
    CHECK,
    COMPARE,
    SENSITIVITY,
    PLAN,
    HISTORY,
    FETCH,
)
"""All commands, in the order of the help."""

_FIRST_STEPS = (
    ("see what comes out", "skanchor rank --demo"),
    ("rank your own, and write a page", "skanchor rank battles.csv -o report.html"),
    ("before you rely on an interval", "skanchor check battles.csv"),
    ("flags of a command, with examples", "skanchor rank --help"),
)
_EXIT_CODE = "Exit code: 0 on success, 2 on bad input. The cause is then one line."
_MORE_FLAGS = "More flags of files: skanchor inspect --help. "

_NEW = frozenset(("--new", "--no-new", "--hide-votes-of"))
_ABSENT = {"check": _NEW, "history": _NEW}
"""Flags of files that a command does not take."""

_USAGE = {"history": "ACTION ... [flags]", "fetch": "NAME [flags]"}

_BAD_INPUT = 2
_FRESH_OBJECTS = 50_000  # that are made before Python looks for some to free
_BROKEN_PIPE = 141  # as a shell reports a program that SIGPIPE ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code: 0, or 2 on bad input."""
    try:
        with raised_as_interrupts(), _rare_collections():
            cause = _run(argv)
        if cause is not None:
            print_error(cause)
        return 0 if cause is None else _BAD_INPUT
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    except KeyboardInterrupt as interrupt:
        print_line("interrupted")
        return exit_code(interrupt)
    except BrokenPipeError:
        drop_stdout()
        return _BROKEN_PIPE


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for objects to free less often than it does by default.

    The modules of a command are hundreds of thousands of objects that stay. To go
    through them again and again takes a fifth of the time of a short command.
    """
    before = gc.get_threshold()
    gc.set_threshold(_FRESH_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _run(argv: Sequence[str] | None) -> str | None:
    """Run a command; return None on success, and on bad input the error message."""
    try:
        typed = list(sys.argv[1:] if argv is None else argv)
        if not typed:
            # Without arguments, print the help.
            print_result(make_parser().format_help())
            return None
        options = make_parser(typed).parse_args(typed)
        options.typed = typed
        with warnings.catch_warnings():
            options.warned = show_own_warnings()
            options.run(options)
    except BrokenPipeError:
        raise
    except BadInputError as error:
        return str(error)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}"
    except KeyError as error:
        return f"{error.args[0]!r} is missing" if error.args else "missing key"
    except (ValueError, TypeError, MemoryError) as error:
        return str(error) or type(error).__name__
    except BrokenProcessPool:
        return (
            "a worker was killed, perhaps for want of memory; use fewer --n-jobs, or "
            "none"
        )
    except Exception as error:
        # Not all errors of pyarrow are ValueErrors, and importing it for an ``except``
        # clause would be slow.
        if type(error).__module__.partition(".")[0] != "pyarrow":
            raise
        return str(error)
    return None


def make_parser(typed: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Make the parser of all commands.

    Flags are many and take time: with the words that a user has ``typed``, only the
    command among them gets its flags.
    """
    parser = Parser(
        prog="skanchor",
        usage="skanchor COMMAND [flags]",
        description="Rank new language models on the human scale from LLM judges.\n\n"
        + examples_text(_FIRST_STEPS),
        epilog=_EXIT_CODE,
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    for command in COMMANDS:
        takes_files = command.name not in ("inspect", "fetch")
        usage = _USAGE.get(command.name, "FILE ... [flags]")
        made = commands.add_parser(
            command.name,
            prog=f"skanchor {command.name}",
            usage=f"skanchor {command.name} {usage}",
            help=command.help,
            description=command.description,
            epilog=f"{_MORE_FLAGS if takes_files else ''}{_EXIT_CODE}",
        )
        if typed is None or command.name in typed:
            absent = _ABSENT.get(command.name, frozenset())
            command.arguments(Flags(made, absent, not takes_files))
        made.set_defaults(run=command.run)
    return parser


class _Version(argparse.Action):
    """Print the version, which is looked up only when asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str):
        super().__init__(option_strings, dest, nargs=0, help="print the version")

    def __call__(self, parser: argparse.ArgumentParser, *args: Any) -> NoReturn:
        from importlib.metadata import version

        print_result(f"skanchor {version('skanchor')}\n")
        parser.exit()
