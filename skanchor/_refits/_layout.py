"""Arrays that depend on rows and roles alone, computed once for all sets of weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import usable_features
from skanchor._numerics.batched import Workspace
from skanchor._typing import Array
from skanchor.sample import Sample


@dataclass(frozen=True, eq=False)
class Cut:
    """Rows of one judge, or of all; rows of a pair of models lie side by side.

    Attributes
    ----------
    rows, left, right, order : ndarray of shape (n,)
        Row numbers, model codes, display order.
    contrast : ndarray of shape (n, n_features)
        Features of the first response minus those of the second.
    responses : ndarray of shape (2 n, n_features)
        Features of both responses.
    incidence : ndarray of shape (n, n_models)
        +1 at the first model, -1 at the second.
    """

    rows: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    order: Array
    contrast: Array
    responses: Array
    incidence: Array


class Layout:
    """Rows by role and judge, as arrays that do not depend on the weights.

    Parameters
    ----------
    sample : Sample
        Rows with decided roles; those without weight are left out.
    """

    def __init__(self, sample: Sample):
        X = sample.X
        self.used = sample.counts
        self.X, self.y = X, sample.y
        self.new = np.flatnonzero(X.is_new)
        self.historical = np.flatnonzero(~X.is_new)
        self._cuts: dict[Any, Cut] = {}
        self.work = Workspace()
        self.memo: dict[Any, Any] = {}

    @cached_property
    def features(self) -> tuple[Array, Array]:
        """Features of both sides; an error where a used row lacks one."""
        clean = usable_features(self.X, self.used & ~self.X.is_human)
        return clean.features_left, clean.features_right

    def cut(self, judge: int | None, *, arrivals: bool = False) -> Cut:
        """Historical rows of a judge, or all; None stands for every judge."""
        key = judge, arrivals
        if key not in self._cuts:
            X = self.X
            mine = X.judge >= 0 if judge is None else X.judge == judge
            rows = np.flatnonzero(self.used & mine & (arrivals | ~X.involves_new))
            # Rows of a pair side by side: solvers sum over such runs first.
            rows = _alike(rows, X.left[rows] * len(X.models) + X.right[rows])
            left, right = (side[rows] for side in self.features)
            self._cuts[key] = Cut(
                rows,
                X.left[rows],
                X.right[rows],
                X.order[rows],
                left - right,
                np.vstack([left, right]),
                dense_incidence(X.left[rows], X.right[rows], len(X.models)),
            )
        return self._cuts[key]

    @cached_property
    def arrival_rows(self) -> NDArray[np.intp]:
        """Rows that involve a new model, by humans or by judges with history."""
        X = self.X
        # By code of the judge; the last entry is that of people, whose code is -1.
        known = np.zeros(len(X.judges) + 1, dtype=bool)
        known[X.judge[self.used & ~X.involves_new & (X.judge >= 0)]] = True
        known[-1] = True
        return np.flatnonzero(self.used & X.involves_new & known[X.judge])

    @cached_property
    def arrival_signs(self) -> Array:
        """+1 where a new model is first, -1 where second, (n_arrivals, n_new)."""
        return self.arrival_incidence[:, self.new]

    @cached_property
    def arrival_incidence(self) -> Array:
        """+1 at the first model, -1 at the second, of the arrival rows."""
        X, rows = self.X, self.arrival_rows
        return dense_incidence(X.left[rows], X.right[rows], len(X.models))

    @cached_property
    def runs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Used rows sorted into runs of alike rows, and the start of each run.

        Alike are rows of the same two models in the same order, judge and display.
        """
        X, rows = self.X, np.flatnonzero(self.used)
        label = X.rows.alike.kind[rows]
        at = _alike(np.arange(len(rows)), label)
        rows, label = rows[at], label[at]
        return rows, np.flatnonzero(np.append(True, np.diff(label) != 0))


def _alike(rows: NDArray[np.intp], label: NDArray[np.intp]) -> NDArray[np.intp]:
    """Sort rows by label, unless most rows of a label lie side by side already."""
    if 4 * np.count_nonzero(np.diff(label)) > len(label):
        return rows[np.argsort(label, kind="stable")]
    return rows


def dense_incidence(
    left: NDArray[np.intp], right: NDArray[np.intp], n_models: int
) -> Array:
    """+1 at the first model, -1 at the second, of shape (n_rows, n_models)."""
    rows = np.arange(len(left))
    result = np.zeros((len(rows), n_models))
    result[rows, left] = 1.0
    result[rows, right] = -1.0
    return result


def columns_of(table: Array, rows: NDArray[np.intp]) -> Array:
    """Columns of a table; a view where they lie side by side."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
        return table[:, rows[0] : rows[-1] + 1]
    return table[:, rows]
