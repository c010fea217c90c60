"""Finished blocks of a bootstrap, stored in a file from which it can be resumed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from skanchor._typing import Array
from skanchor.io.archive import Archive, ArchiveKind
from skanchor.io.checkpoint import ResumableRun

Block = dict[str, tuple[Array, Array | None]]
"""For each method, values (n_resamples, n_models) on one block of resamples, and the
covariances (n_resamples, n_models, n_models) of inner refits or None."""


@dataclass(eq=False)
class Checkpoint(ResumableRun):
    """Finished blocks of a bootstrap.

    Attributes
    ----------
    blocks : dict of int to Block
        Finished blocks by number.
    """

    FILE: ClassVar = ArchiveKind("bootstrap checkpoint", 2)

    blocks: dict[int, Block] = field(default_factory=dict)

    def add(self, number: int, block: Block) -> None:
        """Store a finished block, and write the file."""
        self.blocks[number] = block
        self.save()

    def pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays; ``number/m/values`` is of method m in a block."""
        methods = list(next(iter(self.blocks.values()), {}))
        arrays: dict[str, Any] = {}
        for number, block in self.blocks.items():
            for m, name in enumerate(methods):
                values, errors = block[name]
                arrays[f"{number}/{m}/values"] = values
                if errors is not None:
                    arrays[f"{number}/{m}/errors"] = errors
        return {"methods": methods}, arrays

    def unpack(self, found: Archive) -> None:
        """Take the blocks of a file."""
        methods, arrays = found.header["methods"], found.arrays
        for entry, values in arrays.items():
            number, _, part = entry.partition("/")
            if part.endswith("/values"):
                name = methods[int(part.partition("/")[0])]
                errors = arrays.get(entry.replace("values", "errors"))
                self.blocks.setdefault(int(number), {})[name] = values, errors
