"""The program: its commands, and the exit code of a run."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module

from skanchor._cli.output import check_output
from skanchor._cli.parser import BadInputError, make_parser
from skanchor._cli.streams import (
    drop_stdout,
    exit_code,
    print_line,
    print_result,
    raised_as_interrupts,
    show_own_warnings,
)

_BAD_INPUT = 2
_FRESH_OBJECTS = 50_000  # that are made before Python looks for some to free
_BROKEN_PIPE = 141  # as a shell reports a program that SIGPIPE ended

_MODULES = dict.fromkeys(["check", "compare", "sensitivity", "plan"], "answers")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code: 0, or 2 on bad input."""
    typed = list(sys.argv[1:] if argv is None else argv)
    # Modules are hundreds of thousands of objects that stay. To look through them again
    # and again for some to free takes a quarter of the time of a short command.
    before = gc.get_threshold()
    gc.disable()
    gc.set_threshold(_FRESH_OBJECTS)
    atexit.register(gc.freeze)
    try:
        with raised_as_interrupts(), warnings.catch_warnings():
            if typed == ["--version"]:
                from importlib.metadata import version

                print_result(f"skanchor {version('skanchor')}\n")
                return 0
            # Without arguments, print the help.
            options = make_parser().parse_args(typed or ["--help"])
            options.typed, options.warned = typed, show_own_warnings()
            _run(options)
    except SystemExit as stop:  # --help
        return int(stop.code or 0)
    except KeyboardInterrupt:
        print_line("interrupted")
        return exit_code()
    except BrokenPipeError:
        drop_stdout()
        return _BROKEN_PIPE
    except Exception as error:
        cause = _cause(error)
        if cause is None:
            raise
        print_line(f"error: {cause}")
        return _BAD_INPUT
    finally:
        gc.enable()
        gc.unfreeze()
        gc.set_threshold(*before)
    return 0


def _run(options: argparse.Namespace) -> None:
    """Run the command that was typed; its module is imported once it may run."""
    if options.demo is False and not options.battles:
        raise BadInputError(
            "give a FILE of battles, or --demo; a FILE goes before flags that take "
            "several values, such as --new"
        )
    check_output(options)
    module = import_module(
        f"skanchor._cli.{_MODULES.get(options.command, options.command)}"
    )
    # What has been imported is not looked through.
    gc.freeze()
    gc.enable()
    getattr(module, getattr(options, "action", options.command))(options)


def _cause(error: Exception) -> str | None:
    """What bad input, or a lack of means, has caused; None for a fault of ours."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, BrokenProcessPool):
        return (
            "a worker was killed, perhaps for want of memory; use fewer --n-jobs, or "
            "none"
        )
    if isinstance(error, KeyError):
        return f"{error} is missing"
    is_known = isinstance(error, (BadInputError, ValueError, TypeError, MemoryError))
    # Not all errors of pyarrow are ValueErrors, and importing it would be slow.
    if is_known or type(error).__module__.partition(".")[0] == "pyarrow":
        return str(error) or type(error).__name__
    return None
