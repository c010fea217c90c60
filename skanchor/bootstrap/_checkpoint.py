"""Finished blocks of a bootstrap in a file to resume from, and what identifies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.base import clone

from skanchor._typing import Array
from skanchor.io.archive import Archive, ArchiveKind
from skanchor.io.checkpoint import ResumableRun
from skanchor.sample import Sample

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


def run_key(
    sample: Sample,
    methods: Mapping[str, Any],
    fitted: Mapping[str, Any],
    **options: Any,
) -> dict[str, str]:
    """Fingerprints of a run, by the names that an error message gives them.

    Parameters
    ----------
    sample : Sample
        All rows.
    methods, fitted : mapping from str to estimator
        The methods as they were given, and fitted on all rows, which decides the roles
        of models and judges.
    **options
        Further settings that change the refits.

    Returns
    -------
    dict of str
        Without the seed, which the checkpoint stores itself, and the number of
        resamples: a longer run can use the blocks of a shorter one.

    Raises
    ------
    TypeError
        If a setting of a method has no fingerprint.
    """
    X = sample.X
    columns = (*X.rows.columns, sample.y, sample.weight, sample.groups)
    rows = [None if c is None else np.ascontiguousarray(c) for c in columns]
    labels = (X.models.tolist(), X.judges.tolist(), X.feature_names)
    roles = {name: _roles(method) for name, method in fitted.items()}
    # Clones, so that fitted attributes of a method do not matter.
    settings = {name: clone(method) for name, method in methods.items()}
    try:
        given = joblib.hash(settings)
    except Exception as error:
        raise TypeError(
            "A checkpoint must identify its run, but the settings of the methods "
            f"have no fingerprint ({error}). Give functions of a module rather than "
            "lambdas, or no checkpoint."
        ) from error
    return {
        "data": joblib.hash((rows, labels), coerce_mmap=True),
        "roles of models and judges": joblib.hash(roles),
        "methods or settings of theirs": given,
        **{name: repr(value) for name, value in options.items()},
        # NumPy's random streams may differ between versions.
        "versions of skanchor and NumPy": f"{version('skanchor')}, {np.__version__}",
    }


def _roles(fitted: Any) -> list[list[Any]]:
    """Labels of all models, the new ones and the judges of a fitted method."""
    names = ("models_", "new_models_", "judges_")
    return [np.asarray(getattr(fitted, name, [])).tolist() for name in names]
