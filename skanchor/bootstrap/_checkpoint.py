"""Finished blocks of a bootstrap, kept in a file from which it can go on."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from sklearn.utils import check_random_state

from skanchor.io import write_atomically
from skanchor.sample import Sample

__all__ = ["Checkpoint"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Blocks that are finished, and the file that keeps them, if there is one.

    Attributes
    ----------
    path : path or None
        The file.
    seed : int
        Seed of the resamples.
    key : str
        Fingerprint of data and settings.
    blocks : dict
        Finished blocks by number.
    """

    path: Any
    seed: int
    key: str
    blocks: dict[int, Any]

    @classmethod
    def open(
        cls, path: Any, random_state: Any, sample: Sample, settings: Any
    ) -> Checkpoint:
        """Take up a run that may have begun before; refuse the file of another."""
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        if path is None:
            return cls(None, seed, "", {})
        X = sample.X
        rows = (X.models.tolist(), X.judges.tolist(), X.left, X.right, X.judge,
                X.order, X.features_left, X.features_right)  # fmt: skip
        key = joblib.hash((rows, sample.y, sample.weight, sample.groups, *settings))
        if not os.path.exists(path):
            return cls(path, seed, key, {})
        try:
            saved = joblib.load(path)
            known, old_seed, blocks = saved["key"], saved["seed"], saved["blocks"]
        except Exception as error:
            raise ValueError(
                f"{os.fspath(path)} is not a checkpoint of a bootstrap ({error}); name "
                "another file, or delete it."
            ) from error
        if known != key or (random_state is not None and old_seed != seed):
            raise ValueError(
                f"{os.fspath(path)} belongs to a run with other data, methods, seed or "
                "settings; name another file, or delete it."
            )
        return cls(path, old_seed, key, blocks)

    def add(self, number: int, block: Any) -> None:
        """Keep a finished block, in the file as well."""
        self.blocks[number] = block
        if self.path is not None:
            buffer = io.BytesIO()
            content = {"key": self.key, "seed": self.seed, "blocks": self.blocks}
            joblib.dump(content, buffer)
            write_atomically(self.path, buffer.getvalue())
