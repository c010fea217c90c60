"""Roles: which models are historical and which are new, and which rows count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles.comparisons import Comparisons
from skanchor._battles.contexts import Items, as_objects
from skanchor._battles.labels import is_in, label_list
from skanchor._typing import Array
from skanchor.exceptions import BattlesError


def decide_roles(
    X: Comparisons, weight: Array, new_models: Sequence[Any] | None
) -> Comparisons:
    """Decide which models are historical and which are new, from rows that count.

    Parameters
    ----------
    X : Comparisons
        The battles.
    weight : ndarray of shape (n_rows,)
        Row weights; rows of weight zero have no influence.
    new_models : sequence of labels or None
        Models with free scores; None means those without human rows.

    Returns
    -------
    Comparisons
        The rows in the vocabulary of models and judges that have rows of positive
        weight, with ``new_models`` set.

    Raises
    ------
    BattlesError
        If a named model has no row, or a model without human rows is not named.
    """
    active = X.is_usable & (weight > 0)
    if not active.any():
        raise BattlesError(
            "No battle between two different models has positive weight."
        )
    human = active & X.is_human
    # An item is a model, or a model in a context (`items.model` is its model code). A
    # model has one role in all contexts, so items are looked at by model.
    items, shown, voted = X.items, X.appearances(active) > 0, X.appearances(human) > 0
    seen, known = (
        np.bincount(items.model[which], minlength=len(items.models)) > 0
        for which in (shown, voted)
    )
    # Models with rows, and those of them without votes, which are new by default.
    present, without_votes = items.models[seen], items.models[seen & ~known]
    if new_models is None and X.new_models is not None:
        # Roles that were decided before; with contexts they name items.
        new_models = Items.of(as_objects(X.new_models)).models.tolist()
    new = tuple(without_votes)
    if new_models is not None:
        new = tuple(label_list("new_models", new_models))
        absent = [model for model in new if not is_in(present, [model]).any()]
        if absent:
            raise BattlesError(
                f"new_models names {absent}, which no battle of positive weight "
                f"involves; known models are {present[:10].tolist()}. In a "
                "cross-validation, split with SourceKFold, which keeps rows of every "
                "source in training; learning_curve needs shuffle=True as well.",
            )
        forgotten = without_votes[~is_in(without_votes, new)]
        # Without any vote something else is wrong, which is said later.
        if len(forgotten) and human.any():
            raise BattlesError(
                f"Models {forgotten.tolist()} have no human rows and are not in "
                "new_models. Add them to it, or drop their rows."
            )
    judged = np.bincount(X.judge[active & ~X.is_human], minlength=len(X.judges)) > 0
    found = X.relabel(X.models[shown], X.judges[judged])
    if len(items.contexts):
        # In encoded rows the labels of new models are those of items.
        new = tuple(X.models[shown & is_in(items.models, new)[items.model]].tolist())
    return found.with_columns(new_models=new)


def count_rows(
    X: Comparisons, weight: Array, multiplicity: Array | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count each model's human rows and judge rows; two arrays of shape (n_models,)."""
    used = X.is_usable & (weight > 0)
    return (
        X.appearances(used & X.is_human, multiplicity),
        X.appearances(used & ~X.is_human, multiplicity),
    )


def usable_features(X: Comparisons, used: NDArray[np.bool_]) -> Comparisons:
    """Raise if a row in ``used`` lacks a feature; set missing ones elsewhere to zero.

    With NaN, a row of weight zero would make every sum NaN; with zeros it adds zero.
    """
    if X.features_complete:
        return X
    finite = np.isfinite(X.features_left) & np.isfinite(X.features_right)
    bad = used & ~finite.all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        column = X.feature_names[int(np.argmin(finite[row]))]
        kind, why = "judge", ""
        if X.is_human[bad].all():
            kind = "human"
            why = " A bias of people needs the features of what they have voted on."
        raise BattlesError(
            f"Feature {column!r} contains NaN in {bad.sum()} {kind} rows, the first in "
            f"row {row}. Fill the values or drop the rows.{why}"
        )
    return X.with_columns(
        features_left=np.where(finite, X.features_left, 0.0),
        features_right=np.where(finite, X.features_right, 0.0),
    )
