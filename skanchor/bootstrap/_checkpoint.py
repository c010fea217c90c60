"""Finished blocks of a bootstrap, kept in a file from which it can go on.

The file is a line that says what it is, the SHA-256 of the rest, and an ``.npz``
archive of plain arrays, one of which holds the header as JSON. Nothing in it is ever
run, and a file that is damaged, or of another run, is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skanchor._typing import Array
from skanchor.io import write_atomically

__all__ = ["Checkpoint"]


Block = dict[str, tuple[Array, Array | None]]
"""Values, and errors if there are any, of each method on one block of resamples."""

FIRST_LINE = b"skanchor bootstrap checkpoint, format 2\n"
PICKLE = b"\x80"
"""First byte of a pickle, which is what format 1 was."""
DIGEST_SIZE = hashlib.sha256().digest_size


@dataclass(slots=True)
class Checkpoint:
    """Blocks that are finished, and the file that keeps them, if there is one.

    Attributes
    ----------
    path : path or None
        The file.
    seed : int
        Seed of the resamples.
    key : dict of str
        Fingerprints of the run, by what they are of.
    blocks : dict
        Finished blocks by number.
    digest : bytes or None
        Digest in the file as this run has read or written it; None without a file.
    """

    path: Any
    seed: int
    key: dict[str, str]
    blocks: dict[int, Block]
    digest: bytes | None = None

    @classmethod
    def open(cls, path: Any, random_state: Any, key: dict[str, str]) -> Checkpoint:
        """Take up a run that may have begun before; refuse the file of another.

        Parameters
        ----------
        path : path or None
            The file, which is begun if there is none.
        random_state : int, RandomState or None
            Seed of the resamples; None takes that of the file.
        key : dict of str
            Fingerprints of the run, by what they are of.

        Returns
        -------
        Checkpoint

        Raises
        ------
        ValueError
            If the file is no checkpoint, is damaged, or belongs to another run.
        """
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        if path is None:
            return cls(path, seed, key, {})
        if not os.path.exists(path):
            begun = cls(path, seed, key, {})
            # A file that cannot be written is told before the work, not after it.
            begun._write()
            return begun
        saved = _read(path)
        other = [name for name in key if saved.key.get(name) != key[name]]
        if random_state is not None and saved.seed != seed:
            other.append("seed")
        if other:
            raise ValueError(
                f"{os.fspath(path)} belongs to another run, with other "
                f"{', other '.join(other)}; name another file, or delete it."
            )
        return saved

    def add(self, number: int, block: Block) -> None:
        """Keep a finished block, in the file as well."""
        self.blocks[number] = block
        if self.path is not None:
            self._write()

    def _write(self) -> None:
        """Write the file, unless another run has it."""
        if os.path.exists(self.path) and _digest(self.path) != self.digest:
            raise ValueError(
                f"{os.fspath(self.path)} has been changed while this run used it; give "
                "every run a checkpoint of its own."
            )
        payload = _pack(self)
        self.digest = hashlib.sha256(payload).digest()
        write_atomically(self.path, FIRST_LINE + self.digest + payload)


def _digest(path: Any) -> bytes | None:
    """Digest in a file; None if it is no checkpoint."""
    with open(path, "rb") as file:
        first = file.read(len(FIRST_LINE))
        return file.read(DIGEST_SIZE) if first == FIRST_LINE else None


def _pack(checkpoint: Checkpoint) -> bytes:
    methods = list(next(iter(checkpoint.blocks.values()), {}))
    header = {"key": checkpoint.key, "seed": checkpoint.seed, "methods": methods}
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    }
    for number, block in checkpoint.blocks.items():
        for m, name in enumerate(methods):
            values, errors = block[name]
            arrays[f"{number}/{m}/values"] = values
            if errors is not None:
                arrays[f"{number}/{m}/errors"] = errors
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _read(path: Any) -> Checkpoint:
    """Read a file, whosever it is; refuse one that is not whole."""
    with open(path, "rb") as file:
        content = file.read()
    if not content.startswith(FIRST_LINE):
        what = "is not a checkpoint of a bootstrap"
        if content.startswith(PICKLE):
            what = (
                "is a pickle, as checkpoints once were; it is not opened, because "
                "that can run any code, so the run must begin anew"
            )
        raise ValueError(f"{os.fspath(path)} {what}; name another file, or delete it.")
    head = len(FIRST_LINE) + DIGEST_SIZE
    digest, payload = content[len(FIRST_LINE) : head], content[head:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError(
            f"{os.fspath(path)} is damaged: its content is not what its checksum says. "
            "Delete it, or put back a copy."
        )
    with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
        blocks: dict[int, Block] = {}
        for entry in arrays:
            number, _, part = entry.partition("/")
            if part.endswith("/values"):
                name = header["methods"][int(part.partition("/")[0])]
                errors = entry.replace("values", "errors")
                found = arrays[errors] if errors in arrays else None
                blocks.setdefault(int(number), {})[name] = arrays[entry], found
    return Checkpoint(path, header["seed"], header["key"], blocks, digest)
