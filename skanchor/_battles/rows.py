"""Battles as plain columns of codes, and what follows from rows and roles alone.

:class:`skanchor.Comparisons` holds such rows together with what the stages have
learned. All stages share one object of rows, so that derived arrays are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._battles.contexts import Items
from skanchor._battles.equal_rows import EqualRows, number_rows
from skanchor._battles.field_state import FieldState
from skanchor._battles.in_chunks import chunks
from skanchor._battles.judge_rows import JudgeRows
from skanchor._battles.labels import constant, is_in, positions
from skanchor._battles.pairs import FeaturePairs
from skanchor._typing import Array

ROW_COLUMNS = ("left", "right", "judge", "order", "features_left", "features_right")
"""Attributes of `EncodedRows` with one entry for each row."""


@dataclass(frozen=True, eq=False)
class EncodedRows(FieldState):
    """Rows of a battles table, without what the stages have learned.

    Attributes
    ----------
    models, judges : ndarray of shape (n_models,), (n_judges,)
        Vocabularies: the labels that the codes stand for.
    left, right : ndarray of shape (n_rows,)
        Model codes of ``model_a`` and ``model_b``; -1 is a model outside ``models``.
    judge : ndarray of shape (n_rows,)
        Judge codes; -1 is human, -2 a judge outside ``judges``.
    order : ndarray of shape (n_rows,)
        +1 where ``model_a`` was shown first, -1 where second, 0 where unknown.
    features_left, features_right : ndarray of shape (n_rows, n_features)
        Response features of the two sides.
    feature_names : tuple of str
        Names of the feature pairs, without ``_a`` and ``_b``.
    named : bool
        Whether the table names its columns; False for a bare array.
    new_models : tuple or None
        Labels of the models with free scores; None before roles are decided.
    """

    models: NDArray[Any]
    judges: NDArray[Any]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    judge: NDArray[np.intp]
    order: Array
    features_left: Array
    features_right: Array
    feature_names: tuple[str, ...] = ()
    named: bool = True
    new_models: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: Any) -> Self:
        # Slicing keeps the vocabularies and the roles.
        cut = zip(ROW_COLUMNS, self.columns, strict=True)
        return replace(self, **{name: column[rows] for name, column in cut})

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """The arrays with one entry for each row, in the order of `ROW_COLUMNS`."""
        return tuple(getattr(self, name) for name in ROW_COLUMNS)

    # ------------------------------------------------------------------------ derived
    @property
    def is_human(self) -> NDArray[np.bool_]:
        """Rows that carry a human vote."""
        return self.judge == -1

    @cached_property
    def is_new(self) -> NDArray[np.bool_]:
        """Models with free scores, aligned with ``models``."""
        return is_in(self.models, self.new_models or ())

    @cached_property
    def items(self) -> Items:
        """The entries of ``models`` split into contexts and models."""
        return Items.of(self.models)

    @cached_property
    def n_contexts(self) -> int:
        """Number of contexts, in each of which scores sum to zero; one without any."""
        return max(len(self.items.contexts), 1)

    @cached_property
    def involves_new(self) -> NDArray[np.bool_]:
        """Rows in which at least one side is a new model."""
        if not self.is_new.any():
            return constant(False, len(self))
        # Code -1, a model outside the vocabulary, reads the False at the end.
        padded = np.append(self.is_new, False)
        return np.asarray(padded[self.left] | padded[self.right])

    @cached_property
    def is_historical_judge_row(self) -> NDArray[np.bool_]:
        """Rows of a judge between historical models."""
        return (self.judge >= 0) & ~self.involves_new

    @cached_property
    def is_usable(self) -> NDArray[np.bool_]:
        """Rows of known models and judge that compare two different models."""
        return (
            (self.left >= 0)
            & (self.right >= 0)
            & (self.left != self.right)
            & (self.judge > -2)
        )

    @cached_property
    def all_known(self) -> bool:
        """Whether every model of the rows is in the vocabulary."""
        return all(
            len(side) == 0 or int(side.min()) >= 0 for side in (self.left, self.right)
        )

    @cached_property
    def features_complete(self) -> bool:
        """Whether no feature of any row is missing."""
        return bool(
            np.isfinite(self.features_left).all()
            and np.isfinite(self.features_right).all()
        )

    @cached_property
    def _judge_rows(self) -> dict[int, JudgeRows]:
        return {}

    def by_judge(self, judge: int) -> JudgeRows:
        """Return the usable rows of one judge (-1: human); computed once per judge."""
        if judge not in self._judge_rows:
            rows = self._by_pair(np.flatnonzero((self.judge == judge) & self.is_usable))
            pairs = FeaturePairs(
                self.features_left, self.features_right, self.feature_names, rows
            )
            self._judge_rows[judge] = JudgeRows(
                rows,
                self.left[rows],
                self.right[rows],
                self.order[rows],
                pairs,
                len(self.models),
            )
        return self._judge_rows[judge]

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Position of each usable row in :meth:`by_judge` of its judge; else zero."""
        places = np.zeros(len(self), dtype=np.intp)
        for m in range(-1, len(self.judges)):
            rows = self.by_judge(m).rows
            places[rows] = np.arange(len(rows))
        return places

    def _by_pair(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Row numbers of usable rows, sorted by the ordered pair of models."""
        size = len(self.models) ** 2
        # numpy sorts 16-bit integers by radix, in linear time.
        kind = np.uint16 if size <= np.iinfo(np.uint16).max else np.int64
        code = (self.left[rows] * len(self.models) + self.right[rows]).astype(kind)
        return rows[np.argsort(code, kind="stable")]

    @cached_property
    def sources(self) -> NDArray[np.intp]:
        """Source code of each row: its judge, context, and the new models it involves.

        Codes start at zero without gaps; unusable rows have code -1.
        """
        # `position` numbers new models from one; other models have zero. The label is
        # (judge, low, high, context) in mixed radix, where low and high are the sorted
        # numbers of the two sides: their order does not matter.
        position = np.append(np.where(self.is_new, np.cumsum(self.is_new), 0), 0)
        left, right = position[self.left], position[self.right]
        width = int(position.max()) + 1
        low, high = np.minimum(left, right), np.maximum(left, right)
        label = ((self.judge + 2) * width + low) * width + high
        if self.n_contexts > 1:
            label = label * self.n_contexts + self.items.context[self.left]
        label = np.where(self.is_usable, label, -1)
        size = int(label.max(initial=0)) + 2
        if size <= 4 * len(label):
            # Labels in a narrow range are renumbered by counting, much faster than by
            # sorting. Bin 0 is that of label -1.
            used = np.bincount(label + 1, minlength=size) > 0
            used[0] = False
            return np.asarray((np.cumsum(used) - 1).take(label + 1))
        values, codes = np.unique(label, return_inverse=True)
        # If there is a label -1, it is the first: shift the codes so that it gets -1.
        return np.asarray(codes - int(values[0] == -1))

    @cached_property
    def source_keys(self) -> list[tuple[Any, frozenset[Any], Any]]:
        """Judge (or ``"human"``), new models and context of each source."""
        keys = []
        # Codes -2 and -1 index from the end.
        judges = [*self.judges.tolist(), None, "human"]
        new = np.append(self.is_new, False)
        # One row of each source, in the order of the source codes.
        values, rows = np.unique(self.sources, return_index=True)
        for row in rows[values >= 0].tolist():
            sides = [side for side in (self.left[row], self.right[row]) if new[side]]
            labels = frozenset(self.models[sides].tolist())
            context = getattr(self.models[self.left[row]], "context", None)
            keys.append((judges[self.judge[row]], labels, context))
        return keys

    @cached_property
    def alike(self) -> EqualRows:
        """Rows that agree in judge, first model, second model and display order.

        Their features may differ.
        """
        return number_rows(self.judge, self.left, self.right, self.order)

    @cached_property
    def merged(self) -> Self:
        """The first row of each kind of :attr:`alike`; kept, as every fold reads it."""
        return self[self.alike.first]

    @cached_property
    def arrivals(self) -> tuple[NDArray[np.intp], Self]:
        """Numbers of the usable rows of new models, and these rows without features."""
        chosen = np.flatnonzero(self.involves_new & self.is_usable)
        return chosen, self.without_features()[chosen]

    def appearances(
        self, rows: NDArray[np.bool_], multiplicity: Array | None = None
    ) -> NDArray[np.intp]:
        """Return how many of the chosen rows involve each model, shape (n_models,).

        ``multiplicity``, of shape (n_rows,), says how many rows each stands for.
        """
        size = len(self.models)
        # Without a copy of the columns where all rows are chosen.
        chosen: Any = slice(None) if rows.all() else rows
        times = None if multiplicity is None else multiplicity[chosen]
        found = np.bincount(self.left[chosen], times, size) + np.bincount(
            self.right[chosen], times, size
        )
        return found.astype(np.intp)

    def appearances_by_judge(self, rows: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return how many of the chosen rows of each judge involve each model.

        The shape is (n_judges + 1, n_models); the last row is that of people.
        """
        n_judges, size = len(self.judges), len(self.models)
        # Codes -2 and -1, of other judges and of people, come before those of judges.
        found = np.zeros((n_judges + 2) * size, dtype=np.intp)
        for part in chunks(len(self)):
            first = (self.judge[part] + 2) * size
            for side in (self.left, self.right):
                at = (first + side[part])[rows[part]]
                found += np.bincount(at, minlength=len(found))
        table = found.reshape(n_judges + 2, size)
        return np.vstack([table[2:], table[1]])

    # ----------------------------------------------------------------- other columns
    def relabel(self, models: NDArray[Any], judges: NDArray[Any]) -> Self:
        """Return the rows coded by other vocabularies; unknown labels become -1, -2."""
        # The entries at the end map the codes -1, and -2, -1, to themselves.
        model_map = np.append(positions(self.models, models), -1)
        judge_map = np.append(positions(self.judges, judges, missing=-2), [-2, -1])
        return replace(
            self,
            models=models,
            judges=judges,
            left=model_map[self.left],
            right=model_map[self.right],
            judge=judge_map[self.judge],
        )

    def with_features(self, names: tuple[str, ...]) -> Self:
        """Return the rows with these features in this order; NaN for absent ones."""
        # Absent features pick the column of NaN that is appended at the end.
        place = {name: k for k, name in enumerate(self.feature_names)}
        at = [place.get(name, len(place)) for name in names]
        absent = np.full((len(self), 1), np.nan)
        left, right = (
            np.hstack([side, absent]).take(at, axis=1)
            for side in (self.features_left, self.features_right)
        )
        return replace(
            self, features_left=left, features_right=right, feature_names=names
        )

    def without_features(self) -> Self:
        """Return the rows without their features."""
        none = np.empty((len(self), 0))
        return replace(self, features_left=none, features_right=none, feature_names=())
