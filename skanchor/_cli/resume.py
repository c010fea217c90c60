"""Finished parts of a long command, stored so that the same command can be resumed.

The first line of the file is JSON with the fingerprint of the run; each further line is
one part. A run that was killed leaves at most its last line broken. The part of a
broken line is computed again.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from skanchor._cli.command import BadInputError

_FORMAT = "skanchor kept work 1"


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
