"""Labels of models, judges, contexts and groups: coded as integers, and aligned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor._battles.rows import ordered_codes
from skanchor.exceptions import BattlesError

HUMAN = "human"
"""Label of the rows that carry human votes in the ``judge`` column."""

PEOPLE_LABELS = r"humans?|people|persons?|crowd( ?workers?)?|volunteers?"
"""Labels, in lower case and without signs, that mean people and nothing else."""


# ------------------------------------------------------------------------------ codes
def values_of(column: nw.Series[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return the values of a column as an array; 128-bit integers become objects."""
    if not isinstance(column, nw.Series):
        return column
    if column.dtype in (nw.Int128, nw.UInt128):
        return as_objects(column.to_list())
    return np.asarray(column.to_numpy())


def as_objects(labels: Iterable[Any]) -> NDArray[Any]:
    """Labels as an array of objects, of shape (n_labels,) even if labels are tuples."""
    labels = list(labels)
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def is_text_column(column: nw.Series[Any]) -> bool:
    """Whether the type of a column is text or categorical."""
    return isinstance(column.dtype, (nw.String, nw.Categorical, nw.Enum))


def factorize(
    column: nw.Series[Any] | NDArray[Any], what: str, *, may_lack: bool = True
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Code a column of labels of any type.

    Parameters
    ----------
    column : Series or ndarray of shape (n_rows,)
        Labels.
    what : str
        What holds them, for an error.
    may_lack : bool, default=True
        Whether rows may have no label.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Code of each row, -1 where it has no label.
    labels : ndarray of shape (n_labels,)
        The different labels, in the order of the rows.
    """
    values: Any = column
    if isinstance(column, nw.Series):
        values = column.to_native()
        if not isinstance(values, pd.Series) or isinstance(values.dtype, pd.ArrowDtype):
            values = _in_arrow(column)
    try:
        codes, labels = pd.factorize(values)
    except (TypeError, NotImplementedError):
        odd = [value for value in values.tolist() if not isinstance(value, Hashable)]
        if not odd:
            raise
        raise BattlesError(
            f"{what} holds {odd[0]!r:.40}, a {type(odd[0]).__name__}; give text or "
            "numbers."
        ) from None
    if not may_lack and (codes < 0).any():
        raise BattlesError(
            f"{what} has missing values: {(codes < 0).sum()}, the first in row "
            f"{int(np.argmin(codes))}. Fill NaN and nulls, or drop these rows."
        )
    return codes, labels.to_numpy() if hasattr(labels, "to_numpy") else labels


def _in_arrow(column: nw.Series[Any]) -> Any:
    """A column of other libraries than numpy, as pandas can code it."""
    if column.dtype in (nw.Int128, nw.UInt128):
        return values_of(column)
    array = column.to_arrow()
    if pa.types.is_dictionary(array.type):
        # A dictionary may hold labels that no row has, or twice.
        array = array.cast(array.type.value_type)
    return pd.arrays.ArrowExtensionArray(array)  # type: ignore[attr-defined]


def code_ids(
    column: nw.Series[Any] | NDArray[Any], name: str
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return codes and distinct labels of models or judges.

    Raises
    ------
    BattlesError
        If ids are missing, infinite, complex, or no labels at all.
    """
    if len(column) and not pd.api.types.is_scalar(column[0]):
        # The first value stands for all: a look at every one would take too long.
        raise TypeError(
            f"Ids in column {name!r} must be strings or numbers: argument must be a "
            f"string or a real number, got {type(column[0]).__name__}."
        )
    if not isinstance(column, nw.Series) or column.dtype.is_integer():
        values = values_of(column)
        if values.dtype.kind in "iu":
            codes, labels = ordered_codes(values)
            # Mostly the first rows have all labels.
            for part in (codes[:10_000], codes):
                is_used = np.bincount(part, minlength=len(labels)) > 0
                if is_used.all():
                    return codes, labels
            return (np.cumsum(is_used) - 1).take(codes), labels[is_used]
    codes, labels = factorize(column, f"Column {name!r}", may_lack=False)
    if labels.dtype.kind == "c":
        raise BattlesError(f"Complex data not supported: id column {name!r}.")
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise BattlesError(f"Column {name!r} contains infinity.")
    return codes, labels


def sorted_labels(
    parts: list[NDArray[Any]], name: str
) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    """Return one sorted vocabulary of several arrays of labels, and their codes in it.

    Raises
    ------
    TypeError
        If labels of different types cannot be compared.
    """
    if len({part.dtype.kind for part in parts}) > 1:
        # Integers beside floats would be rounded.
        parts = [part.astype(object) for part in parts]
    both = np.concatenate(parts)
    try:
        labels, codes = np.unique(both, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in both})
        raise TypeError(
            f"Labels of {name} mix types that cannot be ordered: {kinds}; convert them "
            "to strings."
        ) from None
    return labels, np.split(codes, np.cumsum([len(part) for part in parts])[:-1])


# ---------------------------------------------------------------------- vocabularies
def label_index(labels: NDArray[Any], name: str) -> pd.Index:
    """Return the index of a table by model or judge."""
    return pd.Index(labels, name=name)


def label_list(name: str, labels: Iterable[Any]) -> list[Any]:
    """Return the labels of a parameter as a list; raise for a text."""
    if isinstance(labels, str):
        raise TypeError(f"{name} must be a list of labels, got the text {labels!r}.")
    return list(labels)


def is_in(labels: NDArray[Any], wanted: Iterable[Any]) -> NDArray[np.bool_]:
    """Return which labels are among the wanted ones, as a mask."""
    chosen = set(wanted)
    return np.fromiter((label in chosen for label in labels), bool, len(labels))


def same_labels(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two vocabularies hold the same labels in the same order."""
    return a is b or a.tolist() == b.tolist()


def positions(labels: NDArray[Any], vocabulary: NDArray[Any]) -> NDArray[np.intp]:
    """Return each label's index in a vocabulary, -1 where it is absent."""
    # As objects: integers beside floats would be rounded.
    index = pd.Index(vocabulary, dtype=object)
    return index.get_indexer(pd.Index(labels, dtype=object))


def align(values: Any, old: NDArray[Any], new: NDArray[Any], axis: int = 0) -> Any:
    """Reorder an axis from old labels to new; NaN for labels that are not in old."""
    if values is None or same_labels(old, new):
        return values
    rows = np.moveaxis(values, axis, 0)
    # Position -1, of a label that is not in `old`, picks the row of NaN at the end.
    missing = np.full((1, *rows.shape[1:]), np.nan)
    return np.moveaxis(np.concatenate([rows, missing])[positions(new, old)], 0, axis)


# --------------------------------------------------------------------------- contexts
@dataclass(frozen=True, slots=True)
class InContext:
    """A model in a context: the item that has a score where a fit has contexts.

    The context is part of the item's label. So the code that slices rows, or looks up
    what was learned by label, is the same with and without contexts.

    Attributes
    ----------
    context : label
        The kind of prompt.
    model : label
        The model.

    Examples
    --------
    >>> from skanchor._battles.labels import InContext
    >>> print(InContext("coding", "owl"))
    owl in coding
    """

    context: Any
    model: Any

    def __str__(self) -> str:
        return f"{self.model} in {self.context}"

    def __repr__(self) -> str:
        return f"{self.model!r} in {self.context!r}"


@dataclass(frozen=True, eq=False, slots=True)
class Items:
    """Labels of items, split into contexts and models.

    Attributes
    ----------
    context : ndarray of shape (n_items,)
        Context code of each item; zero where labels are models without contexts.
    contexts : ndarray of shape (n_contexts,)
        Labels of the contexts; empty where labels are models without contexts.
    model : ndarray of shape (n_items,)
        Model code of each item.
    models : ndarray of shape (n_models,)
        Labels of the models.
    """

    context: NDArray[np.intp]
    contexts: NDArray[Any]
    model: NDArray[np.intp]
    models: NDArray[Any]

    @classmethod
    def of(cls, labels: NDArray[Any]) -> Items:
        """Split labels, which are all models or all models in contexts."""
        if not len(labels) or not isinstance(labels[0], InContext):
            at = np.arange(len(labels))
            return cls(np.zeros_like(at), np.empty(0, dtype=object), at, labels)
        contexts = as_objects(item.context for item in labels)
        models = as_objects(item.model for item in labels)
        return cls(*pd.factorize(contexts), *pd.factorize(models))
