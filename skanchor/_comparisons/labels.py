"""Labels of models and judges: coded as integers, merged, and moved."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError

__all__ = [
    "align",
    "argsort_labels",
    "code_labels",
    "constant",
    "exact_values",
    "factorize",
    "is_constant",
    "is_in",
    "is_text",
    "label_index",
    "label_list",
    "merge_labels",
    "positions",
    "same_labels",
    "text_codes",
    "to_numpy",
    "value_range",
]

# Rows beyond which a column of objects is worth a look at their addresses, and rows
# of a step that stays in the cache.
_MANY, _STEP = 10_000, 1 << 16

# Whole numbers up to this one are floats, too.
_EXACT_FLOATS = 1 << 53

# Python places no two objects closer together, in bytes.
_ALIGNMENT = 16


def to_numpy(column: nw.Series[Any]) -> NDArray[Any]:
    """Values of a column as an array; integers of 128 bits as objects."""
    if column.dtype in (nw.Int128, nw.UInt128):
        # A type that numpy lacks.
        return _objects(column)
    return np.asarray(column.to_numpy())


def exact_values(column: nw.Series[Any]) -> NDArray[Any]:
    """Values of a column of labels as an array that tells all of them apart.

    Integers beside nulls do not become floats, which merge large ones.
    """
    if column.dtype.is_integer() and column.is_null().any():
        return _objects(column)
    return to_numpy(column)


def _objects(column: nw.Series[Any]) -> NDArray[Any]:
    result = np.empty(len(column), dtype=object)
    result[:] = column.to_list()
    return result


def code_labels(
    column: nw.Series[Any] | NDArray[Any], name: str
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes and distinct labels of an id column."""
    if isinstance(column, nw.Series) and is_text(column):
        codes, labels = text_codes(column)
        missing = codes < 0
        if missing.any():
            raise BattlesError(
                f"Column {name!r} has {missing.sum()} missing ids, the first in "
                f"row {int(np.argmax(missing))}. Fill them, or drop these rows."
            )
        return codes, labels
    values = exact_values(column) if isinstance(column, nw.Series) else column
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: id column {name!r}.")
    if values.dtype.kind in "iu":
        return _integer_codes(values)
    if values.dtype.kind == "U":
        values = values.astype(object)
    elif values.dtype == np.float16:
        # pandas has no index of them.
        values = values.astype(np.float64)
    if values.dtype.kind == "O":
        for value in values[:1]:
            known = isinstance(value, (str, int, float, np.generic))
            if not known and not pd.api.types.is_scalar(value):
                raise TypeError(
                    f"Ids in column {name!r} must be strings or numbers: argument must "
                    f"be a string or a real number, got {type(value).__name__}."
                )
    codes, labels = factorize(values, f"Column {name!r}")
    missing = codes < 0
    if missing.any():
        raise BattlesError(
            f"Column {name!r} contains NaN or null ids ({missing.sum()} rows, the "
            f"first in row {int(np.argmax(missing))})."
        )
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise BattlesError(f"Column {name!r} contains infinity.")
    return codes, labels


def label_index(labels: NDArray[Any], name: str) -> pd.Index:
    """Index of a table by model or judge, made once for the same texts.

    To find the type of an index, pandas takes longer than to make the table.
    """
    values = labels.tolist()
    if all(type(label) is str for label in values):
        # A name may be changed in place: each table has an index of its own.
        return _text_index(tuple(values)).rename(name)
    return pd.Index(labels, name=name)


@lru_cache(maxsize=64)
def _text_index(labels: tuple[str, ...]) -> pd.Index:
    return pd.Index(np.array(labels, dtype=object))


def label_list(name: str, labels: Iterable[Any]) -> list[Any]:
    """List the labels of a parameter; refuse a text, whose letters it would list."""
    if isinstance(labels, str):
        raise TypeError(f"{name} must be a list of labels, got the text {labels!r}.")
    labels = list(labels)
    for label in labels:
        if not isinstance(label, Hashable):
            raise TypeError(
                f"{name} must be a list of labels, got one that holds {label!r}."
            )
    return labels


def constant(value: float, size: int) -> NDArray[Any]:
    """Column of one value that takes no room."""
    return np.broadcast_to(np.asarray(value), size)


def is_constant(column: NDArray[Any]) -> bool:
    """Whether a column repeats one value by the way it is stored."""
    return column.strides == (0,)


def is_text(column: nw.Series[Any]) -> bool:
    """Whether a column holds text by its type."""
    if str(getattr(column.to_native(), "dtype", None)) == "object":
        return False
    return isinstance(column.dtype, (nw.String, nw.Categorical, nw.Enum))


def text_codes(column: nw.Series[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes, -1 where null, and the labels in use of a text or categorical column."""
    array = column.to_arrow()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    indices = array.indices.fill_null(-1) if array.null_count else array.indices
    codes = indices.to_numpy(zero_copy_only=False).astype(np.intp)
    labels = np.array(array.dictionary.to_pylist(), dtype=object)
    # A category that no row uses is not a model.
    return _drop_unused(codes, labels)


def _integer_codes(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    low, high = value_range(values)
    if high - low >= len(values) or high > np.iinfo(np.intp).max:
        codes, labels = pd.factorize(values)
        return codes.astype(np.intp), labels
    # Numbers of a narrow range need no table of hashes.
    codes = values.astype(np.intp, copy=False)
    codes = codes - low if low else codes
    return _drop_unused(codes, np.arange(low, high + 1).astype(values.dtype))


def value_range(values: NDArray[Any]) -> tuple[Any, Any]:
    """Smallest and largest value, read once from memory; NaN if any is."""
    parts = [values[start : start + _STEP] for start in range(0, len(values), _STEP)]
    if not parts:
        return 0, -1
    limits = [(part.min(), part.max()) for part in parts]
    low, high = np.array(limits).T
    return low.min().item(), high.max().item()


def _drop_unused(
    codes: NDArray[np.intp], labels: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    used = np.zeros(len(labels) + 1, dtype=bool)
    for start in range(0, len(codes), _STEP):
        # Code -1 marks the last entry, which is no label.
        used[codes[start : start + _STEP]] = True
        if used[:-1].all():
            return codes, labels
    place = np.append(np.cumsum(used[:-1]) - 1, -1)
    return place.take(codes), labels[used[:-1]]


def factorize(values: NDArray[Any], what: str) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes, -1 where missing, and labels of a column of any kind.

    What the column is called is for an error to name it.
    """
    try:
        return _codes_and_labels(values)
    except TypeError:
        odd = [value for value in values.tolist() if not isinstance(value, Hashable)]
        if not odd:
            raise
        raise BattlesError(
            f"{what} holds {odd[0]!r:.40}, a {type(odd[0]).__name__}; give text or "
            "numbers."
        ) from None


def _codes_and_labels(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    if values.dtype.kind == "O" and len(values) > _MANY:
        # Equal strings of a column that was read from a file mostly are one object,
        # and addresses are told apart much faster than texts.
        address = np.frombuffer(np.ascontiguousarray(values), dtype=np.intp)
        if len(set(address[:_MANY].tolist())) < _MANY // 2:
            at, example = _addresses(address)
            codes, labels = pd.factorize(values[example])
            if len(labels) == len(example) and (codes >= 0).all():
                return at, np.asarray(labels)
            return codes.take(at), np.asarray(labels)
    codes, labels = pd.factorize(values)
    return codes.astype(np.intp, copy=False), np.asarray(labels)


def _addresses(
    address: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Codes of addresses, and a row of each code."""
    low, high = value_range(address)
    size = (high - low) // _ALIGNMENT + 1
    if size > 32 * len(address):
        at, distinct = pd.factorize(address)
        example = np.empty(len(distinct), dtype=np.intp)
        example[at] = np.arange(len(at))
        return at, example
    # Objects close together need no table of hashes. Of this one, of codes from one on,
    # the system hands out only the pages that are touched.
    table = np.zeros(size, dtype=np.int32)
    codes, examples, n_known = np.empty(len(address), dtype=np.intp), [], 0
    for start in range(0, len(address), _STEP):
        slot = address[start : start + _STEP] - low
        slot //= _ALIGNMENT
        part = table.take(slot)
        fresh = np.flatnonzero(part == 0)
        if len(fresh):
            # Of the rows that write into a slot, one is read back.
            table[slot[fresh]] = fresh
            first = fresh[table.take(slot[fresh]) == fresh]
            table[slot[first]] = np.arange(n_known + 1, n_known + len(first) + 1)
            examples.append(start + first)
            n_known += len(first)
            part = table.take(slot)
        np.subtract(part, 1, out=codes[start : start + _STEP])
    return codes, np.concatenate(examples)


def merge_labels(
    columns: Sequence[tuple[NDArray[np.intp], NDArray[Any]]],
) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    """Bring coded columns to one sorted vocabulary."""
    stacked = _stacked([labels for _, labels in columns])
    codes, labels = pd.factorize(stacked)
    rank = argsort_labels(labels, "model_a and model_b")
    place = np.empty(len(labels), dtype=np.intp)
    place[rank] = np.arange(len(labels))
    start, result = 0, []
    for column_codes, column_labels in columns:
        stop = start + len(column_labels)
        moved = place[codes[start:stop]]
        same = np.array_equal(moved, np.arange(len(moved)))
        result.append(column_codes if same else moved.take(column_codes))
        start = stop
    return np.asarray(labels)[rank], result


def _stacked(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Labels of several columns in one array, of a type that merges none of them."""
    kinds = {part.dtype.kind for part in parts}
    if not kinds <= set("iuf") or len(kinds) == 1 or not kinds & set("iu"):
        return np.concatenate(parts)
    whole = [part for part in parts if part.dtype.kind in "iu" and len(part)]
    largest = max(
        (abs(int(end)) for part in whole for end in value_range(part)), default=0
    )
    kind, limit = ("f8", _EXACT_FLOATS) if "f" in kinds else ("i8", 2**63 - 1)
    exact = kind if largest <= limit else "O"
    return np.concatenate([part.astype(exact) for part in parts])


def argsort_labels(labels: NDArray[Any], name: str) -> NDArray[np.intp]:
    """Order that sorts labels; refuse those that have none."""
    kinds = {type(label).__name__ for label in labels}
    try:
        return np.argsort(labels, kind="stable")
    except TypeError:
        raise TypeError(
            f"Ids of {name} mix types that cannot be ordered: {sorted(kinds)}; convert "
            "them to strings."
        ) from None


def is_in(labels: NDArray[Any], wanted: Iterable[Any]) -> NDArray[np.bool_]:
    """Which labels are among the wanted ones."""
    chosen = set(wanted)
    return np.fromiter((label in chosen for label in labels), bool, len(labels))


def same_labels(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two vocabularies are equal."""
    return a is b or (
        len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))
    )


def positions(
    labels: NDArray[Any], vocabulary: NDArray[Any], missing: int = -1
) -> NDArray[np.intp]:
    """Place of each label in a vocabulary, ``missing`` where it has none."""
    place = {label: i for i, label in enumerate(vocabulary)}
    return np.array([place.get(label, missing) for label in labels], dtype=np.intp)


def align(values: Any, old: NDArray[Any], new: NDArray[Any]) -> Any:
    """Move rows of ``values`` with their labels; NaN where a label is new."""
    if values is None or same_labels(old, new):
        return values
    missing = np.full((1, *values.shape[1:]), np.nan)
    return np.concatenate([values, missing])[positions(new, old)]
