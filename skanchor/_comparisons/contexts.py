"""Contexts: kinds of prompts, in each of which a model has a score of its own.

A model in a context is an item with a score, as a model is where there are no contexts.
Which context it is in is part of its label, so that rows, slices of them and all that
is learned by label need to know nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._comparisons.labels import exact_values, factorize
from skanchor._comparisons.table import as_frame
from skanchor.exceptions import BattlesError

__all__ = ["InContext", "Items", "has_contexts", "read_contexts", "with_contexts"]


@dataclass(frozen=True, slots=True)
class InContext:
    """A model in a context, which is what has a score where there are contexts.

    Attributes
    ----------
    context : label
        The kind of prompt.
    model : label
        The model.

    Examples
    --------
    >>> from skanchor._comparisons import InContext
    >>> print(InContext("coding", "owl"))
    owl in coding
    """

    context: Any
    model: Any

    def __str__(self) -> str:
        return f"{self.model} in {self.context}"

    def __repr__(self) -> str:
        return f"{self.model!r} in {self.context!r}"


def has_contexts(X: Any) -> bool:
    """Whether the models of encoded rows are those of contexts."""
    return len(X.models) > 0 and isinstance(X.models[0], InContext)


def read_contexts(contexts: Any, table: Any, n_rows: int) -> NDArray[Any]:
    """Context of each row; refuse rows without one.

    Parameters
    ----------
    contexts : str or array-like of shape (n_rows,)
        The column of the table that holds them, or the contexts themselves.
    table : battles table
        One row per comparison.
    n_rows : int
        Number of its rows.

    Returns
    -------
    ndarray of shape (n_rows,)

    Raises
    ------
    BattlesError
        If there is no such column, or a row has no context.
    """
    if isinstance(contexts, str):
        frame = as_frame(table)
        if frame is None or contexts not in frame.columns:
            raise BattlesError(f"The table has no column {contexts!r} of contexts.")
        contexts = exact_values(frame[contexts])
    values = np.asarray(contexts, dtype=object)
    if values.shape != (n_rows,):
        raise BattlesError(
            f"contexts must have one label for each of {n_rows} rows, not the shape "
            f"{values.shape}."
        )
    lost = pd.isna(values)
    if lost.any():
        raise BattlesError(
            f"{lost.sum()} rows have no context, the first is row "
            f"{int(np.argmax(lost))}. Drop them, or give them one."
        )
    return values


@dataclass(frozen=True, eq=False, slots=True)
class Items:
    """Labels taken apart into contexts and models.

    Attributes
    ----------
    context : ndarray of shape (n_items,)
        Code of each one's context, zero where labels are of models alone.
    contexts : ndarray of shape (n_contexts,)
        Their labels; none where labels are of models alone.
    model : ndarray of shape (n_items,)
        Code of each one's model.
    models : ndarray of shape (n_models,)
        Their labels.
    """

    context: NDArray[np.intp]
    contexts: NDArray[Any]
    model: NDArray[np.intp]
    models: NDArray[Any]

    @classmethod
    def of(cls, labels: NDArray[Any]) -> Items:
        """Take labels apart: of models, or of models in contexts."""
        if not len(labels) or not isinstance(labels[0], InContext):
            at = np.arange(len(labels))
            return cls(np.zeros_like(at), np.empty(0, dtype=object), at, labels)
        return cls(
            *_coded([label.context for label in labels]),
            *_coded([label.model for label in labels]),
        )


def _coded(labels: list[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes and distinct labels, in order of appearance."""
    code = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    distinct = np.empty(len(code), dtype=object)
    distinct[:] = list(code)
    return np.array([code[label] for label in labels], dtype=np.intp), distinct


def with_contexts(
    models: NDArray[Any],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    contexts: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Items of rows that have contexts, by context and then by model.

    Parameters
    ----------
    models : ndarray of shape (n_models,)
        Labels.
    left, right : ndarray of shape (n_rows,)
        Codes of the models; -1 is none of them.
    contexts : ndarray of shape (n_rows,)
        Context of each row.

    Returns
    -------
    items : ndarray of shape (n_items,)
        Labels of the models in contexts that rows have.
    left, right : ndarray of shape (n_rows,)
        Their codes.
    """
    code, labels = factorize(contexts, "The column of contexts")
    order = _sorted_if_possible(labels)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    code, labels = place[code], labels[order]
    size = len(models)
    sides = [np.where(side < 0, -1, code * size + side) for side in (left, right)]
    used = np.unique(np.concatenate(sides))
    used = used[used >= 0]
    items = np.empty(len(used), dtype=object)
    names, known = labels.tolist(), models.tolist()
    items[:] = [InContext(names[at // size], known[at % size]) for at in used.tolist()]
    left, right = (
        np.where(side < 0, -1, np.searchsorted(used, np.maximum(side, 0)))
        for side in sides
    )
    return items, left, right


def _sorted_if_possible(labels: NDArray[Any]) -> NDArray[np.intp]:
    try:
        return np.argsort(labels, kind="stable")
    except TypeError:
        # Labels of several kinds stay in order of appearance.
        return np.arange(len(labels))
