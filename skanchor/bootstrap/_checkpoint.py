"""Finished blocks of a bootstrap, stored in a file from which it can be resumed.

A file that is damaged, or that belongs to another run, is refused.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skanchor._typing import Array
from skanchor.io.archive import ArchiveKind

__all__ = ["Checkpoint"]


Block = dict[str, tuple[Array, Array | None]]
"""For each method, values (n_resamples, n_models) on one block of resamples, and the
covariances (n_resamples, n_models, n_models) of inner refits or None."""

FILE = ArchiveKind("bootstrap checkpoint", 2)
"""Format and version of the file."""


@dataclass(slots=True)
class Checkpoint:
    """Finished blocks, and the file that stores them, if there is one.

    Attributes
    ----------
    path : path or None
        The file.
    seed : int
        Seed of the resamples.
    key : dict of str
        Fingerprints of the data, settings and versions of the run, by their names.
    blocks : dict
        Finished blocks by number.
    digest : bytes or None
        Digest of the file as this run last read or wrote it; None without a file.
    """

    path: Any
    seed: int
    key: dict[str, str]
    blocks: dict[int, Block]
    digest: bytes | None = None

    @classmethod
    def open(cls, path: Any, random_state: Any, key: dict[str, str]) -> Checkpoint:
        """Begin a run, or resume it from its file.

        Parameters
        ----------
        path : path or None
            The file, which is created if it does not exist.
        random_state : int, RandomState or None
            Seed of the resamples; None takes that of the file.
        key : dict of str
            Fingerprints of the run, by the names of what they stand for.

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
            # So that a file that cannot be written is reported before the work.
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
        """Store a finished block, and write the file."""
        self.blocks[number] = block
        if self.path is not None:
            self._write()

    def _write(self) -> None:
        """Write the file; refuse if another run has changed it."""
        if os.path.exists(self.path) and FILE.digest(self.path) != self.digest:
            raise ValueError(
                f"{os.fspath(self.path)} has been changed while this run used it; give "
                "every run a checkpoint of its own."
            )
        methods = list(next(iter(self.blocks.values()), {}))
        header = {"key": self.key, "seed": self.seed, "methods": methods}
        # Arrays of method m in a block are named "block/m/values" and ".../errors".
        arrays: dict[str, Any] = {}
        for number, block in self.blocks.items():
            for m, name in enumerate(methods):
                values, errors = block[name]
                arrays[f"{number}/{m}/values"] = values
                if errors is not None:
                    arrays[f"{number}/{m}/errors"] = errors
        self.digest = FILE.write(self.path, header, arrays)


def _read(path: Any) -> Checkpoint:
    """Read a checkpoint of any run; refuse a file that is damaged or is none."""
    try:
        found = FILE.read(path)
    except ValueError as error:
        raise ValueError(f"{error} Name another file, or delete it.") from None
    header, arrays = found.header, found.arrays
    blocks: dict[int, Block] = {}
    for entry, values in arrays.items():
        number, _, part = entry.partition("/")
        if part.endswith("/values"):
            name = header["methods"][int(part.partition("/")[0])]
            errors = arrays.get(entry.replace("values", "errors"))
            blocks.setdefault(int(number), {})[name] = values, errors
    return Checkpoint(path, header["seed"], header["key"], blocks, found.digest)
