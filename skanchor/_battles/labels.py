"""Labels of models, judges and groups: coded as integers, merged, and aligned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor._battles.columns import first_rows, look_up
from skanchor.exceptions import BattlesError

_LOOK = 10_000
"""Objects that are looked at to see whether most of them are the same ones."""


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


def _objects(column: nw.Series[Any]) -> NDArray[Any]:
    result = np.empty(len(column), dtype=object)
    result[:] = column.to_list()
    return result


def is_text_column(column: nw.Series[Any]) -> bool:
    """Whether the type of a column is text or categorical.

    A pandas column of objects is not: its values would have to be looked at.
    """
    if str(getattr(column.to_native(), "dtype", None)) == "object":
        return False
    return isinstance(column.dtype, (nw.String, nw.Categorical, nw.Enum))


def factorize(
    column: nw.Series[Any] | NDArray[Any], what: str
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Code a column of labels of any type.

    Parameters
    ----------
    column : Series or ndarray of shape (n_rows,)
        Labels.
    what : str
        What holds them, for an error.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Code of each row, -1 where it has no label.
    labels : ndarray of shape (n_labels,)
        The different labels, in the order of the rows.
    """
    codes, labels = _narrow_codes(column, what)
    return codes.astype(np.intp, copy=False), labels


def _narrow_codes(
    column: nw.Series[Any] | NDArray[Any], what: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes as those of :func:`factorize`, in integers that may be narrow."""
    if isinstance(column, nw.Series):
        if is_text_column(column):
            return _text_codes(column.to_arrow())
        column = exact_values(column)
    if column.dtype.kind == "U":
        column = column.astype(object)
    elif column.dtype == np.float16:
        # pandas has no index of 16-bit floats.
        column = column.astype(np.float64)
    try:
        codes, labels = _codes_of_values(column)
    except TypeError:
        odd = [value for value in column.tolist() if not isinstance(value, Hashable)]
        if not odd:
            raise
        raise BattlesError(
            f"{what} holds {odd[0]!r:.40}, a {type(odd[0]).__name__}; give text or "
            "numbers."
        ) from None
    return codes, np.asarray(labels)


def _text_codes(array: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes and labels of a column of Arrow, of texts or of their dictionary."""
    was_coded = pa.types.is_dictionary(array.type)
    array = array if was_coded else array.dictionary_encode()
    if isinstance(array, pa.ChunkedArray):
        # Chunks may have dictionaries of their own.
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    indices = array.indices
    if array.null_count:
        # Those of polars have no sign.
        indices = indices.cast(pa.int64()).fill_null(-1)
    codes = np.asarray(indices.to_numpy(zero_copy_only=False))
    labels = np.array(array.dictionary.to_pylist(), dtype=object)
    if not was_coded:
        return codes, labels
    # Labels may be listed that no row has, or twice, and in any order. Mostly the first
    # rows have all of them.
    for rows in (codes[:_LOOK], codes):
        used = pd.unique(rows)
        used = used[used >= 0].astype(np.intp)
        if len(used) == len(labels):
            break
    code_of, known = pd.factorize(labels[used])
    place = np.full(len(labels) + 1, -1)
    place[used] = code_of
    # Code -1 reads the -1 at the end.
    return look_up(place, codes), known


def _codes_of_values(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    if values.dtype.kind == "O" and len(values) > _LOOK:
        # Equal labels mostly are one object, and its address is compared much faster
        # than a text. So only one example of each address is looked at.
        address = np.frombuffer(np.ascontiguousarray(values), dtype=np.intp)
        if len(pd.unique(address[:_LOOK])) < _LOOK // 2:
            at, found = pd.factorize(address)
            codes, labels = pd.factorize(values[first_rows(at, len(found))])
            return look_up(codes, at), labels
    return pd.factorize(values)


def code_ids(
    column: nw.Series[Any] | NDArray[Any], name: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return codes, perhaps narrow, and distinct labels of models or judges.

    Raises
    ------
    BattlesError
        If ids are missing, infinite, complex, or no labels at all.
    """
    if isinstance(column, nw.Series) and not is_text_column(column):
        column = exact_values(column)
    kind = "" if isinstance(column, nw.Series) else column.dtype.kind
    if kind == "c":
        raise BattlesError(f"Complex data not supported: id column {name!r}.")
    if kind == "O" and len(column) and not pd.api.types.is_scalar(column[0]):
        # The first value stands for all: a look at every one would take too long.
        raise TypeError(
            f"Ids in column {name!r} must be strings or numbers: argument must be a "
            f"string or a real number, got {type(column[0]).__name__}."
        )
    codes, labels = _narrow_codes(column, f"Column {name!r}")
    missing = codes < 0
    if missing.any():
        raise BattlesError(
            f"Column {name!r} has {missing.sum()} missing ids, the first in "
            f"row {int(np.argmax(missing))}. Fill NaN and nulls, or drop these rows."
        )
    if labels.dtype.kind == "O":
        # Texts of numpy's own type would be shown as such.
        labels[:] = [str(x) if isinstance(x, np.str_) else x for x in labels]
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise BattlesError(f"Column {name!r} contains infinity.")
    return codes, labels


def merge_labels(
    columns: Sequence[tuple[NDArray[Any], NDArray[Any]]],
) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    """Recode columns to one common, sorted vocabulary.

    Returns the vocabulary and the new codes of each column.
    """
    parts = [labels for _, labels in columns]
    if len({part.dtype.kind for part in parts}) > 1:
        # Integers beside floats would be rounded.
        parts = [part.astype(object) for part in parts]
    codes, labels = pd.factorize(np.concatenate(parts))
    # `rank` is the inverse permutation: position of each label in sorted order.
    order = argsort_labels(labels, "model_a and model_b")
    rank = np.empty(len(labels), dtype=np.intp)
    rank[order] = np.arange(len(labels))
    # New code of each label of each column.
    moved = np.split(rank[codes], np.cumsum([len(part) for part in parts])[:-1])
    found = [look_up(new, old) for new, (old, _) in zip(moved, columns, strict=True)]
    return np.asarray(labels)[order], found


def argsort_labels(labels: NDArray[Any], name: str) -> NDArray[np.intp]:
    """Return the permutation that sorts labels; raise if they cannot be compared."""
    try:
        return np.argsort(labels, kind="stable")
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise TypeError(
            f"Ids of {name} mix types that cannot be ordered: {kinds}; convert them "
            "to strings."
        ) from None


def label_index(labels: NDArray[Any], name: str) -> pd.Index:
    """Return the index of a table by model or judge."""
    return pd.Index(labels, name=name)


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
