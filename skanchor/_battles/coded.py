"""Codes of columns of text, found once for each: Arrow's data never changes."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor._battles.in_chunks import look_up

_LOOK = 1 << 14
"""Rows that are searched for texts before the rest is."""

_MOST = 0.5
"""Number of texts in these rows, in theirs, above which a column has no codes."""

_FEW = 0.1
"""Number of labels, in that of rows, up to which codes are kept."""


@dataclass(frozen=True, eq=False, slots=True)
class CodedText:
    """A column of text as codes of its different texts.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        Code of each row, -1 where it is null, in integers that may be narrow.
    texts : pyarrow.Array
        The different texts, in the order of the rows. All are in use.
    """

    codes: NDArray[Any]
    texts: pa.Array

    @classmethod
    def of(cls, codes: NDArray[Any], texts: pa.Array) -> CodedText:
        """Codes anew, so that texts are different, in use, and in the order of rows.

        Parameters
        ----------
        codes : ndarray of shape (n_rows,)
            Codes of texts, -1 where a row has none.
        texts : pyarrow.Array
            Texts; some may be equal, or not in use.

        Returns
        -------
        CodedText
        """
        size = len(texts)
        codes = codes.astype(_narrow(size), copy=False)
        order = _in_use(codes, size)
        found = texts.take(pa.array(order)).dictionary_encode()
        place = np.full(size + 1, -1, dtype=codes.dtype)
        place[order] = found.indices.to_numpy(zero_copy_only=False)
        if not np.array_equal(place[:-1], np.arange(size)):
            # Code -1 reads the -1 at the end.
            codes = look_up(place, codes)
        return cls(codes, found.dictionary)

    @property
    def labels(self) -> list[str]:
        """The different texts, in the order of the rows."""
        return list(self.texts.to_pylist())


_known: dict[int, CodedText] = {}
"""Codes of Arrow's data, by its address, as long as it exists."""


def arrow_text(column: Any) -> pa.ChunkedArray | None:
    """Return Arrow's data of a pandas column of text; None for other columns."""
    kind = getattr(column, "dtype", None)
    if isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow":
        data = column.array.__arrow_array__()
        return data if isinstance(data, pa.ChunkedArray) else None
    return None


def coded_text(column: Any) -> CodedText | None:
    """Return the codes of a pandas column of text or categories; None for others.

    Parameters
    ----------
    column : Series, or any object
        The column.

    Returns
    -------
    CodedText or None
        None also for text that is another in most rows: codes would take much memory.
    """
    if isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
        texts = column.cat.categories
        if not all(isinstance(text, str) for text in texts):
            return None
        return CodedText.of(
            column.cat.codes.to_numpy(), pa.array(texts.tolist(), pa.string())
        )
    data = arrow_text(column)
    if data is None:
        return None
    if id(data) in _known:
        return _known[id(data)]
    look = data.slice(0, _LOOK)
    if len(look.unique()) > _MOST * len(look):
        return None
    # The texts of Arrow's own dictionaries are different, and in the order of rows.
    coded = CodedText(*_of_chunks(data.dictionary_encode()))
    _keep(data, coded)
    return coded


def _keep(data: pa.ChunkedArray | None, coded: CodedText) -> None:
    """Keep the codes of data while it exists, unless most of its texts differ."""
    if data is not None and len(coded.texts) <= _FEW * len(data):
        _known[id(data)] = coded
        weakref.finalize(data, _known.pop, id(data), None).atexit = False


def _of_chunks(data: pa.ChunkedArray) -> tuple[NDArray[Any], pa.Array]:
    """Codes and texts of dictionaries that are the same in all chunks."""
    if not data.num_chunks:
        return np.empty(0, dtype=np.int8), pa.array([], data.type.value_type)
    texts = data.chunk(0).dictionary
    codes, start = np.empty(len(data), dtype=_narrow(len(texts))), 0
    # By chunks, which need less memory than the whole.
    for chunk in data.chunks:
        codes[start : start + len(chunk)] = dictionary_codes(chunk)
        start += len(chunk)
    return codes, texts


def dictionary_codes(array: pa.DictionaryArray) -> NDArray[Any]:
    """Return the code of each row in the dictionary of an array, -1 where null."""
    indices = array.indices
    if array.null_count:
        # Those of polars have no sign.
        indices = indices.cast(pa.int64()).fill_null(-1)
    return np.asarray(indices.to_numpy(zero_copy_only=False))


def _narrow(size: int) -> np.dtype[Any]:
    """The narrowest integers for ``size`` codes, and -1."""
    return np.min_scalar_type(-max(size, 1))


def _in_use(codes: NDArray[Any], size: int) -> NDArray[np.intp]:
    """Codes of ``size`` texts that rows have, in the order of the rows."""
    # Mostly the first rows have all of them.
    for part in (codes[:_LOOK], codes):
        found = pd.unique(part)
        found = found[found >= 0]
        if len(found) == size:
            break
    return found.astype(np.intp)
