"""Contexts: kinds of prompts, in each of which a model has a score of its own.

With contexts, the item that has a score is a model in a context (:class:`InContext`);
without contexts it is a model. The context is part of the item's label. So the code
that slices rows, or looks up what was learned by label, is the same with and without
contexts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.labels import exact_values, factorize
from skanchor._battles.table import as_frame
from skanchor.exceptions import BattlesError


@dataclass(frozen=True, slots=True)
class InContext:
    """A model in a context: the item that has a score where a fit has contexts.

    Attributes
    ----------
    context : label
        The kind of prompt.
    model : label
        The model.

    Examples
    --------
    >>> from skanchor._battles import InContext
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
    """Whether the labels of encoded rows are models in contexts."""
    return len(X.models) > 0 and isinstance(X.models[0], InContext)


def read_contexts(column: str, table: Any) -> NDArray[Any]:
    """Return the context of each row, from a column of the table.

    Raises
    ------
    BattlesError
        If there is no such column, or a row has no context.
    """
    frame = as_frame(table)
    if frame is None or column not in frame.columns:
        raise BattlesError(f"The table has no column {column!r} of contexts.")
    values = exact_values(frame[column]).astype(object)
    lost = pd.isna(values)
    if lost.any():
        raise BattlesError(
            f"{lost.sum()} rows have no context, the first is row "
            f"{int(np.argmax(lost))}. Drop them, or give them one."
        )
    return values


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
        contexts = factorize(as_objects(item.context for item in labels), "Contexts")
        return cls(
            *contexts, *factorize(as_objects(item.model for item in labels), "Models")
        )


def as_objects(labels: Iterable[Any]) -> NDArray[Any]:
    """Labels as an array of objects, of shape (n_labels,) even if labels are tuples."""
    labels = list(labels)
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def with_contexts(
    models: NDArray[Any],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    contexts: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Encode the models of rows with contexts as items, sorted by context, then model.

    Parameters
    ----------
    models : ndarray of shape (n_models,)
        Labels.
    left, right : ndarray of shape (n_rows,)
        Codes of the models; -1 is a model outside ``models``.
    contexts : ndarray of shape (n_rows,)
        Context of each row.

    Returns
    -------
    items : ndarray of shape (n_items,)
        Labels (:class:`InContext`) of the combinations that occur in the rows.
    left, right : ndarray of shape (n_rows,)
        Item codes of the two sides; -1 where the model code was -1.
    """
    code, labels = factorize(contexts, "The column of contexts")
    try:
        order = np.argsort(labels, kind="stable")
    except TypeError:
        # Labels of mixed types stay in order of appearance.
        order = np.arange(len(labels))
    # The inverse permutation maps the code of a context to its sorted code.
    code, labels = np.argsort(order)[code], labels[order]
    size = len(models)
    # Item codes in the full grid of contexts times models, row-major. Only combinations
    # that occur become items: the grid is renumbered without gaps.
    sides = [np.where(side < 0, -1, code * size + side) for side in (left, right)]
    used = np.unique(np.concatenate(sides))
    used = used[used >= 0]
    names, known = labels.tolist(), models.tolist()
    items = [InContext(names[at // size], known[at % size]) for at in used.tolist()]
    left, right = (
        np.where(side < 0, -1, np.searchsorted(used, side)) for side in sides
    )
    return as_objects(items), left, right
