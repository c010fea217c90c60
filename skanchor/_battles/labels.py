"""Labels of models and judges: coded as integers, merged, and aligned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor._battles.coded import coded_text, dictionary_codes
from skanchor._battles.in_chunks import first_rows, look_up
from skanchor.exceptions import BattlesError

# _MANY: rows beyond which equal objects are first found by their memory addresses.
# _STEP: rows of a chunk that stays in the processor's cache.
_MANY, _STEP = 10_000, 1 << 16

# Whole numbers up to this one (2^53) are exact as floats.
_EXACT_FLOATS = 1 << 53

# Addresses of Python objects are multiples of this many bytes.
_ALIGNMENT = 16


def to_numpy(column: nw.Series[Any]) -> NDArray[Any]:
    """Return the values of a column as an array; 128-bit integers become objects."""
    if column.dtype in (nw.Int128, nw.UInt128):
        # numpy has no such type.
        return _objects(column)
    native = column.to_native()
    if isinstance(native, pa.ChunkedArray) and pa.types.is_dictionary(native.type):
        # Where a row has none, pyarrow would put a value of the dictionary.
        native = native.cast(native.type.value_type)
        column = nw.from_native(native, series_only=True)
    return np.asarray(column.to_numpy())


def exact_values(column: nw.Series[Any]) -> NDArray[Any]:
    """Return a column of labels as an array in which different labels stay different.

    Integers in a column with nulls become objects: as floats, large ones would be
    rounded to equal values.
    """
    if column.dtype.is_integer() and column.is_null().any():
        return _objects(column)
    return to_numpy(column)


def given_values(labels: Any) -> Any:
    """Return labels of rows that a user gives beside a table, columns as arrays."""
    column = nw.from_native(labels, series_only=True, pass_through=True)
    return exact_values(column) if isinstance(column, nw.Series) else labels


def _objects(column: nw.Series[Any]) -> NDArray[Any]:
    result = np.empty(len(column), dtype=object)
    result[:] = column.to_list()
    return result


def code_labels(
    column: nw.Series[Any] | NDArray[Any], name: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return codes and distinct labels of an id column; raise if ids are missing.

    Codes may be narrow integers.
    """
    if isinstance(column, nw.Series) and is_text_column(column):
        codes, labels = text_codes(column)
        _refuse_missing(codes, name)
        return codes, labels
    values = exact_values(column) if isinstance(column, nw.Series) else column
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: id column {name!r}.")
    if values.dtype.kind in "iu":
        return _integer_codes(values)
    if values.dtype.kind == "U":
        values = values.astype(object)
    elif values.dtype == np.float16:
        # pandas has no index of 16-bit floats.
        values = values.astype(np.float64)
    if values.dtype.kind == "O":
        # The first value stands for all: a look at every one would take too long.
        for value in values[:1]:
            known = isinstance(value, (str, int, float, np.generic))
            if not known and not pd.api.types.is_scalar(value):
                raise TypeError(
                    f"Ids in column {name!r} must be strings or numbers: argument must "
                    f"be a string or a real number, got {type(value).__name__}."
                )
    codes, labels = factorize(values, f"Column {name!r}")
    if labels.dtype.kind == "O":
        # Texts of numpy's own type would be shown as such.
        labels[:] = [str(x) if isinstance(x, np.str_) else x for x in labels]
    _refuse_missing(codes, name)
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise BattlesError(f"Column {name!r} contains infinity.")
    return codes, labels


def _refuse_missing(codes: NDArray[Any], name: str) -> None:
    """Raise if rows of an id column have no id."""
    missing = codes < 0
    if missing.any():
        raise BattlesError(
            f"Column {name!r} has {missing.sum()} missing ids, the first in "
            f"row {int(np.argmax(missing))}. Fill NaN and nulls, or drop these rows."
        )


def label_index(labels: NDArray[Any], name: str) -> pd.Index:
    """Return the index of a table by model or judge; cached if all labels are texts.

    pandas infers the type of a new index, which takes longer than to make the table.
    """
    values = labels.tolist()
    if all(type(label) is str for label in values):
        # The name of an index can be changed in place, so `rename` makes a copy.
        return _text_index(tuple(values)).rename(name)
    return pd.Index(labels, name=name)


@lru_cache(maxsize=64)
def _text_index(labels: tuple[str, ...]) -> pd.Index:
    return pd.Index(np.array(labels, dtype=object))


def label_list(name: str, labels: Iterable[Any]) -> list[Any]:
    """Return the labels of a parameter as a list; raise for a text or odd labels."""
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
    """Return a read-only column of one repeated value; it needs memory for one only."""
    return np.broadcast_to(np.asarray(value), size)


def is_constant(column: NDArray[Any]) -> bool:
    """Whether a column is stored as one repeated value, as by :func:`constant`."""
    return column.strides == (0,)


def is_text_column(column: nw.Series[Any]) -> bool:
    """Whether the type of a column is text or categorical.

    A pandas column of objects is not: its values would have to be looked at.
    """
    if str(getattr(column.to_native(), "dtype", None)) == "object":
        return False
    return isinstance(column.dtype, (nw.String, nw.Categorical, nw.Enum))


def text_codes(column: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return codes, -1 where null, and used labels of a text or categorical column.

    Codes may be narrow integers.
    """
    coded = coded_text(column.to_native())
    if coded is not None:
        return coded.codes, np.array(coded.labels, dtype=object)
    array = column.to_arrow()
    if isinstance(array, pa.ChunkedArray):
        # Chunks have dictionaries of their own; combining them makes codes comparable.
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes = dictionary_codes(array).astype(np.intp)
    labels = np.array(array.dictionary.to_pylist(), dtype=object)
    # A categorical column may list categories that no row uses: they are not models.
    return _drop_unused(codes, labels)


def _integer_codes(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes and labels of integers; labels are sorted if their range is narrow."""
    low, high = value_range(values)
    if high - low >= len(values) or high > np.iinfo(np.intp).max:
        codes, labels = pd.factorize(values)
        return codes.astype(np.intp), labels
    # In a narrow range the distance from the smallest value serves as the code, which
    # is faster than hashing.
    codes = values.astype(np.intp, copy=False)
    codes = codes - low if low else codes
    return _drop_unused(codes, np.arange(low, high + 1).astype(values.dtype))


def value_range(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and largest value, in one pass; NaN if any value is NaN."""
    parts = [values[start : start + _STEP] for start in range(0, len(values), _STEP)]
    if not parts:
        # An empty range.
        return 0, -1
    limits = [(part.min(), part.max()) for part in parts]
    low, high = np.array(limits).T
    return low.min().item(), high.max().item()


def _drop_unused(
    codes: NDArray[np.intp], labels: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Remove labels that no code uses, and renumber the codes; -1 stays -1."""
    used = np.zeros(len(labels) + 1, dtype=bool)
    for start in range(0, len(codes), _STEP):
        # Code -1 marks the extra entry at the end, which belongs to no label.
        used[codes[start : start + _STEP]] = True
        if used[:-1].all():
            return codes, labels
    # New code of each label: the number of used ones before it.
    new_code = np.append(np.cumsum(used[:-1]) - 1, -1)
    return new_code.take(codes), labels[used[:-1]]


def factorize(values: NDArray[Any], what: str) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return codes, -1 where missing, and distinct labels of a column of any type.

    ``what`` names the column in an error message.
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
        # Readers mostly store equal strings of a file as one object, and comparing
        # addresses is much faster than comparing texts. So rows are first coded by
        # address (`at`); only one example of each address is factorized.
        address = np.frombuffer(np.ascontiguousarray(values), dtype=np.intp)
        if len(set(address[:_MANY].tolist())) < _MANY // 2:
            at, example = _addresses(address)
            codes, labels = pd.factorize(values[example])
            if len(labels) == len(example) and (codes >= 0).all():
                # Each address has a label of its own: address codes are label codes.
                return at, np.asarray(labels)
            return codes.take(at), np.asarray(labels)
    if values.dtype.kind == "i" and len(values):
        low, high = value_range(values)
        if high - low < len(values):
            codes, first = _by_first_row(values.astype(np.intp) - low, high - low + 1)
            return codes, values[first]
    codes, labels = pd.factorize(values)
    return codes.astype(np.intp, copy=False), np.asarray(labels)


def _by_first_row(
    codes: NDArray[np.intp], size: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Small codes renumbered by the first row of each, and these rows, by counting."""
    n_rows, row = len(codes), first_rows(codes, size)
    is_first = np.zeros(n_rows + 1, dtype=bool)
    is_first[row] = True
    number = np.cumsum(is_first) - 1
    return number.take(row).take(codes), np.flatnonzero(is_first[:-1])


def _addresses(
    address: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Code of each row's address, and for each code one row that has it."""
    low, high = value_range(address)
    size = (high - low) // _ALIGNMENT + 1
    if size > 32 * len(address):
        at, distinct = pd.factorize(address)
        example = np.empty(len(distinct), dtype=np.intp)
        example[at] = np.arange(len(at))
        return at, example
    # Objects lie close together: slot = (address - low) / 16 indexes a table directly,
    # without hashing. It holds code + 1, zero where no row has had the slot. The
    # operating system allocates only the pages that are written to.
    table = np.zeros(size, dtype=np.int32)
    codes, examples, n_known = np.empty(len(address), dtype=np.intp), [], 0
    for start in range(0, len(address), _STEP):
        slot = address[start : start + _STEP] - low
        slot //= _ALIGNMENT
        part = table.take(slot)
        fresh = np.flatnonzero(part == 0)
        if len(fresh):
            # Every fresh row writes its number into its slot; the row that is read
            # back becomes the example of the slot, and gets the next code.
            table[slot[fresh]] = fresh
            first = fresh[table.take(slot[fresh]) == fresh]
            table[slot[first]] = np.arange(n_known + 1, n_known + len(first) + 1)
            examples.append(start + first)
            n_known += len(first)
            part = table.take(slot)
        np.subtract(part, 1, out=codes[start : start + _STEP])
    return codes, np.concatenate(examples)


def merge_labels(
    columns: Sequence[tuple[NDArray[Any], NDArray[Any]]],
) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    """Recode columns to one common, sorted vocabulary.

    Returns the vocabulary and the new codes of each column.
    """
    stacked = _stacked([labels for _, labels in columns])
    codes, labels = pd.factorize(stacked)
    # `rank` is the inverse permutation: position of each label in sorted order.
    order = argsort_labels(labels, "model_a and model_b")
    rank = np.empty(len(labels), dtype=np.intp)
    rank[order] = np.arange(len(labels))
    start, result = 0, []
    for column_codes, column_labels in columns:
        stop = start + len(column_labels)
        # New code of each label of this column; codes that stay are not looked up.
        moved = rank[codes[start:stop]]
        same = np.array_equal(moved, np.arange(len(moved)))
        result.append(
            column_codes.astype(np.intp, copy=False)
            if same
            else look_up(moved, column_codes)
        )
        start = stop
    return np.asarray(labels)[order], result


def _stacked(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Labels of several columns in one array, of a type that keeps them distinct."""
    # Only a mix of integers with floats, or of signed with unsigned, needs care: numpy
    # would turn all into floats, and large integers would be rounded.
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
    """Return the permutation that sorts labels; raise if they cannot be compared."""
    kinds = {type(label).__name__ for label in labels}
    try:
        return np.argsort(labels, kind="stable")
    except TypeError:
        raise TypeError(
            f"Ids of {name} mix types that cannot be ordered: {sorted(kinds)}; convert "
            "them to strings."
        ) from None


def is_in(labels: NDArray[Any], wanted: Iterable[Any]) -> NDArray[np.bool_]:
    """Return which labels are among the wanted ones, as a mask."""
    chosen = set(wanted)
    return np.fromiter((label in chosen for label in labels), bool, len(labels))


def same_labels(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two vocabularies hold the same labels in the same order."""
    return a is b or (
        len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))
    )


def positions(
    labels: NDArray[Any], vocabulary: NDArray[Any], missing: int = -1
) -> NDArray[np.intp]:
    """Return each label's index in a vocabulary, ``missing`` where it is absent."""
    index = {label: i for i, label in enumerate(vocabulary)}
    return np.array([index.get(label, missing) for label in labels], dtype=np.intp)


def align(values: Any, old: NDArray[Any], new: NDArray[Any]) -> Any:
    """Reorder rows of ``values`` from old labels to new; NaN for labels not in old."""
    if values is None or same_labels(old, new):
        return values
    # Position -1, of a label that is not in `old`, picks the row of NaN at the end.
    missing = np.full((1, *values.shape[1:]), np.nan)
    return np.concatenate([values, missing])[positions(new, old)]
