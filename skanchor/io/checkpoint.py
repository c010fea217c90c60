"""Long work that stores what is finished in a file, from which it can be resumed.

A file that is damaged, or that belongs to another run, is refused. So is one that
another run has written since this run last did.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from skanchor.io.archive import Archive, ArchiveKind


@dataclass(eq=False)
class ResumableRun(ABC):
    """A run with a seed and a fingerprint, and the file of its results, if any.

    Attributes
    ----------
    path : path or None
        The file.
    seed : int
        Seed of all that the run draws.
    key : dict of str
        Fingerprints of what the results depend on, by the names that an error gives
        them; the seed is apart.
    digest : bytes or None
        Digest of the file as this run last read or wrote it; None before there is a
        file.
    """

    FILE: ClassVar[ArchiveKind]
    """Kind of the file, and version of its format."""

    path: Any
    seed: int
    key: dict[str, str]
    digest: bytes | None = None

    @classmethod
    def open(cls, path: Any, random_state: Any, key: Mapping[str, str]) -> Self:
        """Begin a run, or resume it from its file.

        Parameters
        ----------
        path : path or None
            The file, which is created if it does not exist.
        random_state : int, RandomState or None
            Seed of the run; None means that of the file.
        key : mapping of str to str
            Fingerprints of the run.

        Returns
        -------
        ResumableRun

        Raises
        ------
        ValueError
            If the file is no checkpoint, is damaged, or belongs to another run.
        """
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        begun = cls(path, seed, dict(key))
        if path is None:
            return begun
        if not os.path.exists(path):
            # So that a file that cannot be written is reported before the work.
            begun.save()
            return begun
        try:
            found = cls.FILE.read(path)
        except ValueError as error:
            raise ValueError(f"{error} Name another file, or delete it.") from None
        header = found.header
        saved = cls(path, header["seed"], header["key"], found.digest)
        other = [name for name in key if saved.key.get(name) != key[name]]
        # Without a random_state the run draws as the file did, whatever its seed.
        if random_state is not None and saved.seed != seed:
            other.append("seed")
        if other:
            raise ValueError(
                f"{os.fspath(path)} belongs to another run, with other "
                f"{', '.join(other)}; name another file, or delete it."
            )
        saved.unpack(found)
        return saved

    def save(self) -> None:
        """Write the file, if there is one; refuse if another run has changed it."""
        if self.path is None:
            return
        # The digest differs from the last known one if another run wrote the file.
        if os.path.exists(self.path) and self.FILE.digest(self.path) != self.digest:
            raise ValueError(
                f"{os.fspath(self.path)} has been changed while this run used it; give "
                "every run a checkpoint of its own."
            )
        header, arrays = self.pack()
        whole = {"key": self.key, "seed": self.seed, **header}
        self.digest = self.FILE.write(self.path, whole, arrays)

    @abstractmethod
    def pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the results so far."""

    @abstractmethod
    def unpack(self, found: Archive) -> None:
        """Take the results of a file that belongs to this run."""
