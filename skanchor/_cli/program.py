"""The program: its commands, and the exit code of a run."""

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from skanchor._cli.parser import make_parser, run
from skanchor._cli.signals import exit_code, raised_as_interrupts
from skanchor._cli.streams import drop_stdout, print_line, show_own_warnings
from skanchor._cli.values import BadInputError

# Values of flags that some commands do not take.
_ABSENT = {
    **{"new": None, "no_new": False, "hide_votes_of": None},
    **{"set": None, "n_jobs": None, "tools": None, "level": 0.95},
}

_BAD_INPUT = 2
_FRESH_OBJECTS = 50_000  # that are made before Python looks for some to free
_BROKEN_PIPE = 141  # as a shell reports a program that SIGPIPE ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code: 0, or 2 on bad input."""
    try:
        with raised_as_interrupts(), _rare_collections():
            cause = _run(sys.argv[1:] if argv is None else argv)
        if cause is not None:
            print_line(f"error: {cause}")
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


def _run(typed: Sequence[str]) -> str | None:
    """Run a command; return None on success, and on bad input the error message."""
    try:
        # Without arguments, print the help.
        known = argparse.Namespace(typed=typed, **_ABSENT)
        options = make_parser().parse_args(list(typed) or ["--help"], known)
        with warnings.catch_warnings():
            options.warned = show_own_warnings()
            run(options)
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
