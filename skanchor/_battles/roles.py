"""Roles of models, the rows that count, and the columns that a fit has read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles.comparisons import Comparisons
from skanchor._battles.features import declared, sides_of
from skanchor._battles.labels import Items, as_objects, is_in, label_list
from skanchor._battles.table import as_frame
from skanchor._typing import Array
from skanchor.exceptions import BattlesError

# Columns that are read without being features: `rater` tells copies of a battle from
# votes of several people, `both_bad` marks ties to count.
_READ = ("model_a", "model_b", "judge", "shown_first", "rater", "both_bad")
_ALL_SOURCES = (
    "In a cross-validation, split with SourceKFold, which keeps rows of every source "
    "in training; learning_curve needs shuffle=True as well."
)

_SHOWN = 20
_TIES = {
    "half": "each half a win for either side",
    "drop": "left out: scores are those of decided votes",
}


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
    # An item is a model, or a model in a context (`items.model` is its model code). A
    # model has one role in all contexts, so items are looked at by model.
    items, human = X.items, active & X.is_human
    shown, voted = X.appearances(active) > 0, X.appearances(human) > 0
    has_rows, has_votes = (
        np.bincount(items.model, mask, len(items.models)) > 0 for mask in (shown, voted)
    )
    present, unvoted = items.models[has_rows], items.models[has_rows & ~has_votes]
    if new_models is None and X.new_models is not None:
        # Roles that were decided before; with contexts they name items.
        new_models = Items.of(as_objects(X.new_models)).models.tolist()
    new = unvoted.tolist() if new_models is None else new_models
    new = label_list("new_models", new)
    absent = sorted(set(new) - set(present.tolist()), key=new.index)
    if absent:
        raise lacking_source(
            f"new_models names {absent}, which no battle of positive weight involves; "
            f"known models are {present[:10].tolist()}."
        )
    forgotten = unvoted[~is_in(unvoted, new)].tolist()
    # Without any vote something else is wrong, which is said later.
    if forgotten and human.any():
        raise BattlesError(
            f"Models {forgotten} have no human rows and are not in new_models. Add "
            "them to it, or drop their rows."
        )
    is_judging = np.zeros(len(X.judges) + 1, dtype=bool)
    # Code -1, of people, is the last.
    is_judging[X.judge[active]] = True
    if len(items.contexts):
        # In encoded rows the labels of new models are those of items.
        new = X.models[shown & is_in(items.models, new)[items.model]].tolist()
    roles = X.relabel(X.models[shown], X.judges[is_judging[:-1]])
    return roles.with_columns(new_models=tuple(new))


def lacking_source(message: str) -> BattlesError:
    """Error of rows that lack a source, with a note for those who split them."""
    # A note stands below a traceback, and not in the one line of a command.
    error = BattlesError(message)
    error.add_note(_ALL_SOURCES)
    return error


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
        kind = "human" if X.is_human[bad].all() else "judge"
        raise BattlesError(
            f"Feature {column!r} contains NaN in {kind} rows: {bad.sum()}, the first "
            f"is row {row}. Fill the values or drop the rows."
        )
    left, right = (
        np.where(finite, side, 0.0) for side in (X.features_left, X.features_right)
    )
    return X.with_columns(features_left=left, features_right=right)


@dataclass(frozen=True)
class Inputs:
    """Record of which columns of a table a fit has read, and how.

    ``str`` describes it in three lines, and one more each for a table without judges,
    for raters, weights, ties, style and contexts, where there are any.

    Attributes
    ----------
    features : tuple of str
        Names of the response features in use.
    ignored : tuple of str
        Columns that are not used.
    groups : str or None
        Name of the column or array that groups dependent rows; None without groups.
    weights : str or None
        Name of the column or array of row weights; None without weights.
    counted : bool
        Whether a weight is a number of equal rows.
    ties : {"half", "drop"}
        How ties are treated: as half a win for each side, or left out.
    n_ties, n_both_bad : int
        Number of tied rows, and how many of them call both responses bad.
    style_controlled : bool
        Whether a bias of people is fitted, so that scores compare models at equal
        features.
    context : str or None
        Name of the column of contexts; None without contexts.
    mix : tuple of (label, float)
        Share of each context in the reported scores; empty without contexts.
    n_raters : int
        Number of people who voted, where the column ``rater`` names them, some vote
        repeatedly, and groups are the default; else zero.
    by_rater : bool
        Whether errors allow for votes of one rater that depend on each other.
    all_human : bool
        Whether all rows count as human because the table has no column ``judge``.
    """

    features: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    groups: str | None = None
    weights: str | None = None
    counted: bool = False
    ties: str = "half"
    n_ties: int = 0
    n_both_bad: int = 0
    style_controlled: bool = False
    context: str | None = None
    mix: tuple[tuple[Any, float], ...] = ()
    n_raters: int = 0
    by_rater: bool = False
    all_human: bool = False

    @classmethod
    def of(
        cls, table: Any, encoded: Comparisons, groups: Any, weights: Any = None
    ) -> Inputs:
        """Compare a table with its encoded rows to find what was read.

        Parameters
        ----------
        table : battles table, array or Comparisons
            The table as the user gave it.
        encoded : Comparisons
            Its encoded rows.
        groups : array-like, str or None
            Groups as the user gave them.
        weights : array-like or None
            Weights as the user gave them.

        Returns
        -------
        Inputs
        """
        record = cls(encoded.feature_names, (), _name(groups), _name(weights))
        frame = as_frame(table)
        if frame is None or not encoded.named:
            # Without column names nothing can be listed as ignored.
            return record
        # Groups that join several columns are named "first, second".
        used = {record.weights, *(record.groups or "").split(", "), *_READ}
        used.update(sides_of(map(declared, record.features)))
        ignored = tuple(column for column in frame.columns if column not in used)
        return replace(record, ignored=ignored, all_human="judge" not in frame.columns)

    def with_context(self, name: str) -> Inputs:
        """Return the record with a column noted as that of the contexts."""
        ignored = tuple(column for column in self.ignored if column != name)
        return replace(self, ignored=ignored, context=name)

    def without_features(self) -> Inputs:
        """Return the record of a method without features: their columns are ignored."""
        ignored = (*self.ignored, *sides_of(map(declared, self.features)))
        return replace(self, features=(), ignored=ignored)

    def __str__(self) -> str:
        errors = "not by rater"
        if self.by_rater:
            crossed = "prompts" if self.groups else "rows"
            errors = f"by rater, too, crossed with {crossed}"
        bad = f" ({self.n_both_bad} of them both bad)" if self.n_both_bad else ""
        counted = "numbers of equal rows" if self.counted else "importance"
        mix = _listed([f"{share:.3g} {name}" for name, share in self.mix])
        tastes = "none; a judge's taste for kinds of responses is not corrected"
        alone = "none; without a column 'judge' all rows count as human votes"
        # A line without a text says nothing.
        lines = {
            "Features": _listed(self.features) or tastes,
            "Columns ignored": _listed(self.ignored) or "none",
            "Groups": self.groups or "none; rows count as independent",
            "Judges": self.all_human and alone,
            "Raters": self.n_raters and f"{self.n_raters}; errors are {errors}",
            "Weights": self.weights and f"{self.weights}, {counted}",
            "Ties": self.n_ties and f"{self.n_ties} rows{bad}, {_TIES[self.ties]}",
            "Style": self.style_controlled and "scores are at equal features",
            "Contexts": mix and f"{self.context}; the scores mix {mix}",
        }
        return "\n".join(f"{title}: {text}." for title, text in lines.items() if text)


def _name(origin: Any) -> str | None:
    """Name of a column that was given by name or as a series; else "an array"."""
    if origin is None or isinstance(origin, str):
        return origin
    name = getattr(origin, "name", None)
    return "an array" if name is None else str(name)


def _listed(names: Sequence[str]) -> str:
    """Join names by commas; of many, list the first ones and count the others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
