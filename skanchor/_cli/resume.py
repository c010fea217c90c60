"""Finished parts of a long command, stored so that the same command can be resumed.

The first line of the file is JSON with the fingerprint of the run; each further line is
one part. A run that was killed leaves at most its last line broken. The part of a
broken line is computed again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from skanchor._cli.command import BadInputError, Flags
from skanchor._cli.method import Task

_FORMAT = "skanchor kept work 1"
# Settings on which no result depends.
_IDLE = ("n_jobs", "verbose")


def add_resume(flags: Flags) -> None:
    """Add the flag that names the file."""
    flags.value(
        "--resume",
        "FILE",
        "store each finished part in FILE, and start from the parts that it has "
        "(without this flag, Ctrl-C writes them to a new file)",
    )


@dataclass(slots=True)
class FinishedParts:
    """Finished parts of a command: rows of results by method and model.

    Attributes
    ----------
    key : str
        Fingerprint of the rows and settings of the run.
    path : str or None
        The file, if there is one yet.
    parts : dict
        From (method, model) to the row of results.
    """

    key: str
    path: str | None
    parts: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def add(self, method: str, model: str, row: dict[str, Any]) -> None:
        """Store a part, also in the file if there is one."""
        self.parts[method, model] = row
        if self.path is not None:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(_line((method, model), row))

    def of(self, method: str) -> dict[str, dict[str, Any]]:
        """Parts of a method, by model."""
        return {model: row for (by, model), row in self.parts.items() if by == method}

    def leave(self) -> str:
        """Write the parts to a file if they are in none; return where they are."""
        if not self.parts:
            return "nothing was finished yet"
        if self.path is None:
            path = f"skanchor-{self.key[:8]}.resume"
            if os.path.exists(path):
                return f"{path} is there already, so what was finished is lost"
            with open(path, "x", encoding="utf-8") as file:
                file.write(_head(self.key))
                file.writelines(_line(name, row) for name, row in self.parts.items())
            self.path = path
        return (
            f"{len(self.parts)} fits are stored in {self.path}; to go on, give the "
            f"same command with --resume {self.path}"
        )


@contextmanager
def finished_parts(task: Task, options: argparse.Namespace) -> Iterator[FinishedParts]:
    """Parts that an earlier run has finished; on an interrupt, all parts are saved."""
    finished = open_parts(options.resume, _work_key(task, options))
    try:
        yield finished
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(finished.leave())
        raise


def _work_key(task: Task, options: argparse.Namespace) -> str:
    """Fingerprint of the rows, settings and version of a run."""
    from importlib.metadata import version

    import pandas as pd

    digest = hashlib.sha256(version("skanchor").encode())
    for column in (task.X, task.y, task.weight, task.groups):
        frame = column if hasattr(column, "columns") else pd.Series(column)
        values = pd.util.hash_pandas_object(frame, index=False)
        digest.update(values.to_numpy().tobytes())
    # An estimator counts by its class: its parameters are in the list themselves.
    settings = [("level", options.level)] + [
        (name, type(value).__name__ if hasattr(value, "get_params") else value)
        for name, value in sorted(task.pipeline.get_params().items())
        if name not in _IDLE
    ]
    digest.update(repr(settings).encode())
    digest.update(repr(task.groups if isinstance(task.groups, str) else "").encode())
    return digest.hexdigest()


def open_parts(path: str | None, key: str) -> FinishedParts:
    """Read the parts of a file, or begin one; refuse the file of another run.

    Parameters
    ----------
    path : str or None
        The file; None keeps parts in memory.
    key : str
        Fingerprint of the run.

    Returns
    -------
    FinishedParts
    """
    finished = FinishedParts(key, path)
    if path is None:
        return finished
    if not os.path.exists(path):
        with open(path, "x", encoding="utf-8") as file:
            file.write(_head(key))
        return finished
    with open(path, encoding="utf-8", errors="replace") as file:
        head, *lines = file.read().split("\n")
    found = _read_part(head)
    if found.get("format") != _FORMAT:
        raise BadInputError(f"--resume {path}: not a file of stored fits; name another")
    if found.get("key") != key:
        raise BadInputError(
            f"--resume {path}: stored by a run on other rows or with other settings; "
            "name another file, or delete it"
        )
    for line in lines:
        part = _read_part(line)
        if part:
            finished.parts[part["method"], part["model"]] = part["row"]
    if lines and lines[-1]:
        # The last line is broken: the next part must begin on a new line.
        with open(path, "a", encoding="utf-8") as file:
            file.write("\n")
    return finished


def _head(key: str) -> str:
    """First line of a file."""
    return json.dumps({"format": _FORMAT, "key": key}) + "\n"


def _line(name: tuple[str, str], row: dict[str, Any]) -> str:
    """Line of one part, with scalars of NumPy as Python's."""
    plain = {key: v.item() if hasattr(v, "item") else v for key, v in row.items()}
    part = {"method": name[0], "model": name[1], "row": plain}
    return json.dumps(part) + "\n"


def _read_part(line: str) -> dict[str, Any]:
    """Object of a line; empty if the line is broken."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
