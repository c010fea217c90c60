"""Results of passes, kept so that an interrupted fit goes on where it stopped.

What lies between two passes follows from their results alone, so that these are all
that is kept, tables among them as streams of Arrow. A file that is damaged, or of
another run, is refused.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.utils import check_random_state

from skanchor._numerics.blocks import Blocks
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array
from skanchor.io.archive import ArchiveKind
from skanchor.streaming._sums import PointSums, streamed_columns
from skanchor.streaming._survey import Survey

__all__ = ["Journal", "StoredPass"]

FILE = ArchiveKind("stream checkpoint", 3)
"""The kind of file that keeps them."""

SUMS: dict[str, type[PointSums] | type[SourceSums]] = {
    "point": PointSums,
    "held": SourceSums,
}
"""Kinds of sums."""

SECONDS = 30.0
"""Time between two writings of a pass that goes on."""


@dataclass(slots=True)
class StoredPass:
    """What is known of one pass.

    Attributes
    ----------
    result : Survey, list of PointSums or SourceSums, or None
        Added up so far; None where nothing is.
    n_jobs : int
        Jobs that it holds.
    is_complete : bool
        Whether these are all.
    """

    result: Any = None
    n_jobs: int = 0
    is_complete: bool = False


@dataclass(slots=True)
class Journal:
    """Passes of a fit, and the file that keeps them, if there is one.

    Attributes
    ----------
    path : path or None
        The file.
    seed : int
        Seed of the folds.
    key : str
        Fingerprint of the run.
    passes : dict of int to KeptPass
        By number.
    layout : list of (int, int) or None
        First row and length of each part, once they are known.
    digest : bytes or None
        What the file states of its content, as this run knows it; None before there is
        one.
    """

    path: Any
    seed: int
    key: str
    passes: dict[int, StoredPass] = field(default_factory=dict)
    layout: list[tuple[int, int]] | None = None
    digest: bytes | None = None
    _written: float = 0.0

    @classmethod
    def open(cls, path: Any, random_state: Any, key: str) -> Journal:
        """Take up a run that may have begun before; refuse the file of another.

        Parameters
        ----------
        path : path or None
            The file, which is begun if there is none.
        random_state : int, RandomState or None
            Seed of the folds; None takes that of the file.
        key : str
            Fingerprint of the run.

        Returns
        -------
        Journal

        Raises
        ------
        ValueError
            If the file is no checkpoint, is damaged, or belongs to another run.
        """
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        begun = cls(path, seed, key)
        if path is None:
            return begun
        if not os.path.exists(path):
            # A file that cannot be written is told before the work, not after it.
            begun.save()
            return begun
        saved = _read_journal(path)
        if saved.key != key or (random_state is not None and saved.seed != seed):
            raise ValueError(
                f"{os.fspath(path)} belongs to another run, with other data, settings, "
                "seed or versions; name another file, or delete it."
            )
        return saved

    def pass_of(self, number: int) -> StoredPass:
        """What is known of a pass."""
        return self.passes.setdefault(number, StoredPass())

    def note(self, number: int, result: Any) -> None:
        """Keep what one more job has added."""
        kept = self.passes[number]
        kept.result, kept.n_jobs = result, kept.n_jobs + 1
        if time.monotonic() - self._written > SECONDS:
            self.save()

    def finish(self, number: int, layout: list[tuple[int, int]]) -> None:
        """Keep the result of a whole pass, where there is a file to keep it in."""
        self.passes[number].is_complete = True
        if self.path is None:
            del self.passes[number]
        self.layout = layout
        self.save()

    def save(self) -> None:
        """Write the file, if there is one, unless another run has it."""
        if self.path is None:
            return
        if os.path.exists(self.path) and FILE.digest(self.path) != self.digest:
            raise ValueError(
                f"{os.fspath(self.path)} has been changed while this run used it; give "
                "every run a checkpoint of its own."
            )
        self.digest = FILE.write(self.path, *_pack(self))
        self._written = time.monotonic()


def _pack(journal: Journal) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of the file."""
    arrays: dict[str, Array] = {}
    known = {}
    for number, kept in journal.passes.items():
        if kept.result is None:
            continue
        about: dict[str, Any] = {"n_jobs": kept.n_jobs, "whole": kept.is_complete}
        if isinstance(kept.result, Survey):
            about["survey"], parts = _of_survey(kept.result)
        else:
            about["judges"], parts = len(kept.result), _of_sums(kept.result)
            about["sums"] = next(
                name for name, kind in SUMS.items() if isinstance(kept.result[0], kind)
            )
        arrays |= {f"{number}/{name}": values for name, values in parts.items()}
        known[number] = about
    header = {
        "key": journal.key,
        "seed": journal.seed,
        "layout": journal.layout,
        "passes": known,
    }
    return header, arrays


def _read_journal(path: Any) -> Journal:
    """Read a file, whosever it is; refuse one that is not whole."""
    if FILE.digest(path) is None:
        raise ValueError(
            f"{os.fspath(path)} is not a checkpoint of a stream; name another file, "
            "or delete it."
        )
    found = FILE.read(path)
    header, arrays = found.header, found.arrays
    passes = {}
    for number, about in header["passes"].items():
        parts = {
            name.partition("/")[2]: values
            for name, values in arrays.items()
            if name.startswith(f"{number}/")
        }
        result: Any
        if "survey" in about:
            result = _to_survey(about["survey"], parts)
        else:
            result = _to_sums(SUMS[about["sums"]], about["judges"], parts)
        passes[int(number)] = StoredPass(result, about["n_jobs"], about["whole"])
    layout = header["layout"]
    return Journal(
        path,
        header["seed"],
        header["key"],
        passes,
        None if layout is None else [(start, length) for start, length in layout],
        found.digest,
    )


def _of_sums(sums: list[Any]) -> dict[str, Array]:
    """Arrays of the sums of each judge."""
    return {
        f"{m}/{name}": values
        for m, own in enumerate(sums)
        for name, values in _arrays_of(own).items()
    }


def _arrays_of(own: PointSums | SourceSums) -> dict[str, Array]:
    """Arrays by field; those of sums within sums, and widths of blocks, among them."""
    found: dict[str, Array] = {}
    for one in fields(own):
        values = getattr(own, one.name)
        if isinstance(values, SourceSums):
            found |= _arrays_of(values)
        elif isinstance(values, Blocks):
            found["widths"] = np.array(values.widths)
        elif values is not None:
            found[one.name] = np.asarray(values)
    return found


def _to_sums(kind: Any, n_judges: int, arrays: dict[str, Array]) -> list[Any]:
    """The sums of each judge, from their arrays."""
    return [
        _from_arrays(
            kind,
            {
                name.partition("/")[2]: values
                for name, values in arrays.items()
                if name.startswith(f"{m}/")
            },
        )
        for m in range(n_judges)
    ]


def _from_arrays(kind: Any, arrays: dict[str, Array]) -> Any:
    """What :func:`_arrays_of` was given."""
    names = {one.name for one in fields(SourceSums)}
    n_items, _, n_span = arrays["widths"].tolist()
    own: dict[str, Any] = {n: values for n, values in arrays.items() if n in names}
    sums = SourceSums(streamed_columns(n_items, n_span), **own)
    if kind is SourceSums:
        return sums
    others = {one.name: arrays[one.name] for one in fields(kind) if one.name != "sums"}
    return kind(sums, **others)


def _of_survey(survey: Survey) -> tuple[dict[str, Any], dict[str, Any]]:
    judges = list(survey.sample)
    arrays: dict[str, Any] = {
        "votes": _of_table(pa.Table.from_pandas(survey.votes)),
        "verdicts": _of_table(pa.Table.from_pandas(survey.verdicts)),
        "judges": _of_table(pa.table({"judge": judges})),
    }
    for m, judge in enumerate(judges):
        hashes, table, fold = survey.sample[judge]
        low, high = survey.ranges[judge]
        arrays |= {f"hashes {m}": hashes, f"rows {m}": _of_table(table)}
        arrays |= {f"low {m}": low, f"high {m}": high, f"fold {m}": fold}
    return {"n_rows": survey.n_rows, "features": list(survey.features)}, arrays


def _to_survey(about: dict[str, Any], arrays: dict[str, Any]) -> Survey:
    judges = _to_table(arrays["judges"])["judge"].to_pylist()
    sample = {
        judge: tuple(
            [arrays[f"hashes {m}"], _to_table(arrays[f"rows {m}"]), arrays[f"fold {m}"]]
        )
        for m, judge in enumerate(judges)
    }
    votes, verdicts = (
        _as_objects(_to_table(arrays[name]).to_pandas())
        for name in ("votes", "verdicts")
    )
    ranges = {
        judge: (arrays[f"low {m}"], arrays[f"high {m}"])
        for m, judge in enumerate(judges)
    }
    features = tuple(about["features"])
    return Survey(about["n_rows"], votes, verdicts, sample, features, ranges)


def _as_objects(table: pd.DataFrame) -> pd.DataFrame:
    """Texts as they were before they were written."""
    texts = [name for name in table if table[name].dtype.kind not in "iuf"]
    return table.astype(dict.fromkeys(texts, object))


def _of_table(table: pa.Table) -> Array:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _to_table(values: Array) -> pa.Table:
    return pa.ipc.open_stream(values.tobytes()).read_all()
