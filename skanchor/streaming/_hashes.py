"""Hashes of row numbers and of labels, the same in every process and batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from skanchor._comparisons.grouping import label_text, own_label
from skanchor.exceptions import BattlesError

# Multipliers and increment of SplitMix64 (Steele, Lea and Flood 2014).
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_GOLDEN = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1

_NUMBERS, _WITHOUT = 1, 2
"""Seeds of the hashes of whole numbers, and of rows without a label."""


def row_hash(number: NDArray[np.integer], seed: int) -> NDArray[np.uint64]:
    """Hash of row numbers: output of the generator SplitMix64 at these positions.

    Parameters
    ----------
    number : ndarray of shape (n_rows,)
        Row numbers.
    seed : int
        Seed of the generator; other seeds give unrelated hashes.

    Returns
    -------
    ndarray of shape (n_rows,)
        Unsigned 64-bit integers.
    """
    # The seed is mixed, too: else the hashes of seed + 1 would be those of this seed,
    # shifted by one row.
    start = np.array([(seed + 1) * _GOLDEN & _WORD], dtype=np.uint64)
    value = number.astype(np.uint64) + np.uint64(1)
    value *= np.uint64(_GOLDEN)
    value += _mixed(start)
    return _mixed(value)


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Output function of SplitMix64, modulo 2^64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(_MIX[0])
    value = (value ^ (value >> np.uint64(27))) * np.uint64(_MIX[1])
    mixed: NDArray[np.uint64] = value ^ (value >> np.uint64(31))
    return mixed


def group_hashes(
    column: pa.ChunkedArray, start: int = 0, name: str = "groups"
) -> NDArray[np.int64]:
    """Hash of the group of each row.

    Parameters
    ----------
    column : pyarrow.ChunkedArray of length n_rows
        Labels. A row without one is a group of its own.
    start : int
        Number of the first row in the stream.
    name : str
        Name of the column.

    Returns
    -------
    ndarray of shape (n_rows,)

    Raises
    ------
    BattlesError
        If values of this type are neither texts nor numbers, nor become texts.
    """
    try:
        found = [_hashes(chunk) for chunk in column.chunks]
    except pa.ArrowNotImplementedError:
        # Lists, structs, and types of other libraries, such as periods of pandas.
        raise BattlesError(
            f"Column {name!r} of groups has the type {column.type}, which a stream "
            "cannot read as labels. Convert it to text or numbers."
        ) from None
    hashes = np.concatenate([*found, np.empty(0, np.uint64)])
    if column.null_count:
        lost = np.flatnonzero(column.is_null().to_numpy())
        hashes[lost] = row_hash(start + lost, _WITHOUT)
    return hashes.view(np.int64)


def group_texts(
    column: pa.ChunkedArray, rows: NDArray[np.intp], start: int = 0
) -> pa.Array:
    """Labels of the groups of some rows, as texts.

    Parameters
    ----------
    column, start
        As in :func:`group_hashes`.
    rows : ndarray of shape (n_chosen,)
        Index of each row among those of the column.

    Returns
    -------
    pyarrow.Array of texts, of length n_chosen
    """
    chunks = [_texts(chunk) for chunk in column.chunks]
    texts = pa.chunked_array(chunks, pa.large_string()).take(pa.array(rows))
    texts = pa.concat_arrays([pa.array([], pa.large_string()), *texts.chunks])
    if not texts.null_count:
        return texts
    own = [own_label(start + row) for row in rows.tolist()]
    return pc.if_else(texts.is_valid(), texts, pa.array(own, pa.large_string()))


def label_hashes(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Hash of each label as a text."""
    texts = pa.array(list(map(str, labels.tolist())), pa.large_string())
    return _text_hashes(texts).view(np.int64)


def _hashes(labels: pa.Array) -> NDArray[np.uint64]:
    """Hash of each label; of any value where there is none."""
    kind = labels.type
    if pa.types.is_integer(kind):
        return row_hash(_filled(labels).astype(np.int64), _NUMBERS)
    if _is_text(kind):
        return _text_hashes(_texts(labels))
    # Other values are turned into texts, each once.
    coded = labels if pa.types.is_dictionary(kind) else labels.dictionary_encode()
    known = coded.dictionary if coded is labels else _texts(coded.dictionary)
    if not len(known):
        return np.zeros(len(labels), dtype=np.uint64)
    return _hashes(known).take(_filled(coded.indices))


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _filled(numbers: pa.Array) -> NDArray[np.integer]:
    """Whole numbers, zero where there is none."""
    known = numbers.fill_null(0) if numbers.null_count else numbers
    return np.asarray(known.to_numpy(zero_copy_only=False))


def _texts(labels: pa.Array) -> pa.Array:
    """Labels as texts."""
    kind = labels.type
    if _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        return labels.cast(pa.large_string())
    texts = [
        None if label is None else label_text(label) for label in labels.to_pylist()
    ]
    return pa.array(texts, pa.large_string())


def _text_hashes(texts: pa.Array) -> NDArray[np.uint64]:
    """Hash of each text: eight bytes after the other are mixed into its length."""
    _, offsets, data = texts.buffers()
    if offsets is None:
        return np.empty(0, dtype=np.uint64)
    ends = np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1]
    content = np.frombuffer(data if data is not None else b"", np.uint8)
    content = np.append(content[ends[0] : ends[-1]], np.zeros(8, np.uint8))
    # Eight bytes from any byte on, as one number.
    words = np.ndarray(len(content) - 7, "<u8", content, strides=(1,))
    at, left = ends[:-1] - ends[0], np.diff(ends)
    value = row_hash(left, 0)
    rows: Any = slice(None)
    while len(left):
        # ``take`` would copy all of these overlapping words first.
        word = words[at]
        short = np.maximum(8 - left, 0).astype(np.uint64) * np.uint64(8)
        # Bytes beyond the end of a text belong to the next one.
        word = (word << short) >> short
        value[rows] = row_hash(value[rows] ^ word, 0)
        more = np.flatnonzero(left > 8)
        rows = more if isinstance(rows, slice) else rows[more]
        at, left = at[more] + 8, left[more] - 8
    return value
