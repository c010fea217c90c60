"""Results of passes, stored so that an interrupted fit can resume where it stopped.

The computations between two passes depend only on the results of the passes, so nothing
else is stored. Tables are stored as Arrow streams.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.sparse import csr_array

from skanchor._comparisons.grouping import AUTO
from skanchor._numerics.blocks import Blocks
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array
from skanchor.io.archive import Archive, ArchiveKind
from skanchor.io.checkpoint import ResumableRun
from skanchor.streaming._groups import (
    ColumnTable,
    GroupedHeld,
    GroupLabels,
    GroupTable,
)
from skanchor.streaming._local_columns import streamed_columns
from skanchor.streaming._sums import PointSums
from skanchor.streaming._survey import Survey

SUMS: dict[str, type[PointSums] | type[SourceSums] | type[GroupedHeld]] = {
    "point": PointSums,
    "held": SourceSums,
    "held by group": GroupedHeld,
}
"""Names in the file of the types of sums."""

SECONDS = 30.0
"""Shortest time between two writings of the file while a pass is running."""


@dataclass(slots=True)
class StoredPass:
    """Result of one pass, which may be incomplete.

    Attributes
    ----------
    result : Survey, list of PointSums, SourceSums or GroupedHeld, or None
        Sum over the finished jobs; None before the first.
    n_jobs : int
        Number of finished jobs.
    is_complete : bool
        Whether these are all jobs of the pass.
    """

    result: Any = None
    n_jobs: int = 0
    is_complete: bool = False


@dataclass(eq=False)
class Journal(ResumableRun):
    """Passes of a fit.

    Attributes
    ----------
    passes : dict of int to StoredPass
        Results by the number of the pass.
    layout : list of (int, int) or None
        First row and length of each part, known after the first pass.
    groups : str or None
        Column of the groups of dependent rows, None for independent rows; "auto" before
        that is decided.
    """

    FILE: ClassVar = ArchiveKind("stream checkpoint", 8)

    passes: dict[int, StoredPass] = field(default_factory=dict)
    layout: list[tuple[int, int]] | None = None
    groups: str | None = AUTO
    _written: float = 0.0

    def pass_of(self, number: int) -> StoredPass:
        """Result of a pass; an empty one if it has not begun."""
        return self.passes.setdefault(number, StoredPass())

    def note(self, number: int, result: Any) -> None:
        """Record the sum after one more job, and write the file now and then."""
        stored = self.passes[number]
        stored.result, stored.n_jobs = result, stored.n_jobs + 1
        if time.monotonic() - self._written > SECONDS:
            self.save()

    def finish(self, number: int, layout: list[tuple[int, int]]) -> None:
        """Mark a pass as complete, and write the file."""
        self.passes[number].is_complete = True
        if self.path is None:
            # Without a file nobody reads the result again, so its memory is released.
            del self.passes[number]
        self.layout = layout
        self.save()

    def save(self) -> None:
        """Write the file, if there is one; refuse if another run has changed it."""
        super().save()
        self._written = time.monotonic()

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Header and arrays of the passes.

        The arrays of a pass are named ``number/...``; those of the sums of judge m
        ``number/m/field``.
        """
        arrays: dict[str, Array] = {}
        known = {}
        for number, stored in self.passes.items():
            result = stored.result
            if result is None:
                continue
            about: dict[str, Any] = {
                "n_jobs": stored.n_jobs,
                "whole": stored.is_complete,
            }
            if isinstance(result, Survey):
                about["survey"], parts = _of_survey(result)
            else:
                about["judges"], parts = len(result), _of_sums(result)
                about["sums"] = next(
                    name for name, kind in SUMS.items() if isinstance(result[0], kind)
                )
            arrays |= {f"{number}/{name}": values for name, values in parts.items()}
            known[number] = about
        header = {"layout": self.layout, "groups": self.groups, "passes": known}
        return header, arrays

    def unpack(self, found: Archive) -> None:
        """Take the passes of a file."""
        for number, about in found.header["passes"].items():
            parts = _under(number, found.arrays)
            result: Any
            if "survey" in about:
                result = _to_survey(about["survey"], parts)
            else:
                result = _to_sums(SUMS[about["sums"]], about["judges"], parts)
            self.passes[int(number)] = StoredPass(
                result, about["n_jobs"], about["whole"]
            )
        self.groups = found.header.get("groups", AUTO)
        layout = found.header["layout"]
        if layout is not None:
            self.layout = [(start, length) for start, length in layout]


def _of_sums(sums: list[Any]) -> dict[str, Array]:
    """Arrays of the sums of all judges, named ``m/field`` for judge m."""
    return {
        f"{m}/{name}": values
        for m, own in enumerate(sums)
        for name, values in _arrays_of(own).items()
    }


def _arrays_of(own: PointSums | SourceSums | GroupedHeld) -> dict[str, Any]:
    """Arrays of one judge's sums by field; nested sums share one level of names."""
    found: dict[str, Any] = {}
    for one in fields(own):
        values = getattr(own, one.name)
        if one.name in ("grouped", "by_group"):
            tables = values if isinstance(values, list) else [values] if values else []
            for number, table in enumerate(tables):
                found |= {
                    f"{name} {number}": one for name, one in _of_groups(table).items()
                }
        elif isinstance(values, SourceSums):
            found |= _arrays_of(values)
        elif isinstance(values, Blocks):
            found["widths"] = np.array(values.widths)
        elif values is not None:
            found[one.name] = np.asarray(values)
    return found


def _of_groups(table: GroupTable | ColumnTable) -> dict[str, Any]:
    """Arrays of sums by group."""
    if isinstance(table, GroupTable):
        return dict(zip(("keys", "sums"), table.merged(), strict=True))
    keys, items, others = table.merged()
    parts = {"items": items.indices, "net": items.data, "starts": items.indptr}
    return {"keys": keys, **parts, "others": others}


def _to_sums(kind: Any, n_judges: int, arrays: dict[str, Array]) -> list[Any]:
    """Rebuild the sums of all judges from the arrays of :func:`_of_sums`."""
    return [_from_arrays(kind, _under(m, arrays)) for m in range(n_judges)]


def _under(number: Any, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays of a pass or judge, by their names without its number."""
    start = f"{number}/"
    return {
        name.removeprefix(start): values
        for name, values in arrays.items()
        if name.startswith(start)
    }


def _from_arrays(kind: Any, arrays: dict[str, Array]) -> Any:
    """Rebuild one judge's sums from the arrays of :func:`_arrays_of`."""
    n_tables = sum(name.startswith("keys ") for name in arrays)
    if kind is GroupedHeld:
        n_local = arrays["score"].shape[1]
        columns = [_to_columns(arrays, k, n_local) for k in range(n_tables)]
        return GroupedHeld(arrays["score"], columns)
    names = {one.name for one in fields(SourceSums)}
    # The widths of the blocks are those of items, display order (one) and span.
    n_items, _, n_span = arrays["widths"].tolist()
    own: dict[str, Any] = {n: values for n, values in arrays.items() if n in names}
    sums = SourceSums(streamed_columns(n_items, n_span), **own)
    if kind is SourceSums:
        return sums
    grouped = None
    if n_tables:
        keys = arrays["keys 0"].astype(np.int64)
        grouped = GroupTable([(keys, arrays["sums 0"])])
    others: dict[str, Any] = {
        one.name: arrays[one.name]
        for one in fields(kind)
        if one.name not in ("sums", "grouped")
    }
    return kind(sums, **others, grouped=grouped)


def _to_columns(arrays: dict[str, Any], k: int, n_local: int) -> ColumnTable:
    """Rebuild sums of local columns by group from the arrays of :func:`_of_groups`."""
    hashes, others = arrays[f"keys {k}"], arrays[f"others {k}"]
    content = tuple(arrays[f"{name} {k}"] for name in ("net", "items", "starts"))
    items = csr_array(content, (len(hashes), n_local - others.shape[1]))
    return ColumnTable([(hashes, items, others)])


def _of_survey(survey: Survey) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a survey; judges are numbered in the names of arrays."""
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
    if survey.groups is not None:
        assert survey.group_votes is not None
        arrays["vote keys"], arrays["vote sums"] = survey.group_votes.merged()
        arrays["groups"], texts, arrays["numbers"] = survey.groups.merged()
        arrays["group of row"] = np.concatenate([*survey.hashes.values()])
        arrays["labels"] = _of_table(pa.table({"label": texts}))
    about = {
        "n_rows": survey.n_rows,
        "features": list(survey.features),
        "shape": list(survey.shape),
        "judge_labels": list(survey.judge_labels),
        "digests": list(survey.digests.items()),
    }
    return about, arrays


def _to_survey(about: dict[str, Any], arrays: dict[str, Any]) -> Survey:
    """Rebuild a survey from its header and arrays."""
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
    features, groups, group_votes = tuple(about["features"]), None, None
    if "groups" in arrays:
        texts = _to_table(arrays["labels"])["label"].combine_chunks()
        groups = GroupLabels([(arrays["groups"], texts, arrays["numbers"])])
        keys = arrays["vote keys"].astype(np.int64)
        group_votes = GroupTable([(keys, arrays["vote sums"])])
    digests = {start: digest for start, digest in about["digests"]}
    hashes = {}
    if groups is not None:
        # Parts follow each other, from the first row on.
        starts = list(digests)
        parts = np.split(arrays["group of row"], starts[1:])
        hashes = dict(zip(starts, parts, strict=True))
    return Survey(
        about["n_rows"], votes, verdicts, sample, features, ranges, groups, group_votes,
        tuple(about["shape"]), tuple(about["judge_labels"]), digests, hashes,
    )  # fmt: skip


def _as_objects(table: pd.DataFrame) -> pd.DataFrame:
    """Turn text columns into columns of Python objects, as they were when written."""
    texts = [name for name in table if table[name].dtype.kind not in "iuf"]
    return table.astype(dict.fromkeys(texts, object))


def _of_table(table: pa.Table) -> Array:
    """Serialise a table: the bytes of an Arrow stream, as an array of uint8."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _to_table(values: Array) -> pa.Table:
    """Read back a table that :func:`_of_table` serialised."""
    return pa.ipc.open_stream(values.tobytes()).read_all()
