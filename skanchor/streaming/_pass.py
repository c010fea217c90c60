"""One pass over the rows: the sums of all judges, part by part, in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._typing import Array
from skanchor.comparisons import FeaturePairs
from skanchor.exceptions import BattlesError
from skanchor.streaming._parts import Part, check_length
from skanchor.streaming._reading import Folds, Reading, ReadRows
from skanchor.streaming._sums import LocalSums, Rows, Views

__all__ = ["PassSettings", "add_sums", "sum_parts"]


@dataclass(frozen=True, eq=False)
class PassSettings:
    """What a pass needs beside the nuisances; the same in all passes.

    Attributes
    ----------
    reading : Reading
        How tables are read.
    folds : Folds
        Which fold holds a row out.
    columns : sequence of str or None
        Columns to read.
    batch_rows : int
        Rows in memory at a time.
    models, judges : ndarray
        Labels.
    features : tuple of str
        Names of the features.
    displayed : ndarray of shape (n_judges,)
        Judges with a position effect, whose display order counts.
    learners : list
        By judge the learner that has the span, or None without features.
    ridged : bool
        Whether any span has a ridge.
    """

    reading: Reading
    folds: Folds
    columns: Sequence[str] | None
    batch_rows: int
    models: NDArray[Any]
    judges: NDArray[Any]
    features: tuple[str, ...]
    displayed: NDArray[np.bool_]
    learners: list[Any]
    ridged: bool

    def views(self, whole_only: bool) -> Views:
        """The training sets of a pass."""
        return Views(self.folds.n_splits, self.folds.n_repeats, whole_only)


def sum_parts(
    parts: Sequence[Part],
    settings: PassSettings,
    theta: list[Array],
    whole_only: bool,
) -> list[LocalSums]:
    """Sum some parts, in order.

    Parameters
    ----------
    parts : sequence of Part
        What to read.
    settings : PassSettings
        The same in all passes.
    theta : list of ndarray of shape (n_views, n_local)
        By judge, the local coefficients in each view.
    whole_only : bool
        Whether only the set of all rows is looked at.

    Returns
    -------
    list of LocalSums
        By judge.
    """
    views = settings.views(whole_only)
    total: list[LocalSums] | None = None
    for part in parts:
        n_rows = 0
        for table in part.tables(settings.columns, settings.batch_rows):
            rows = settings.reading.rows(table, part.start + n_rows, settings.folds)
            n_rows += len(table)
            found = [
                LocalSums.of(own, at, views)
                for own, at in zip(_cut_by_judge(rows, settings), theta, strict=True)
            ]
            total = found if total is None else add_sums(total, found)
        check_length(part, n_rows)
    assert total is not None
    return total


def add_sums(one: list[LocalSums], other: list[LocalSums]) -> list[LocalSums]:
    """Add the sums of two sets of parts, judge by judge."""
    return [mine + more for mine, more in zip(one, other, strict=True)]


def _cut_by_judge(rows: ReadRows, settings: PassSettings) -> list[Rows]:
    X = rows.X.relabel(settings.models, settings.judges)
    X = X.with_features(settings.features)
    found = []
    for m, learner in enumerate(settings.learners):
        cut = X.by_judge(m)
        pairs = cut.pairs
        order = cut.order * settings.displayed[m]
        blocks = [order[:, None]]
        squares = None
        if learner is not None:
            if len(cut) and not np.isfinite(pairs.contrast).all():
                raise BattlesError(
                    f"A feature of judge {settings.judges[m]!r} contains NaN. Fill "
                    "the values or drop the rows."
                )
            blocks.append(_span_columns(learner, pairs))
            if settings.ridged:
                squares = _squares(learner, pairs)
        found.append(
            Rows(
                cut.left,
                cut.right,
                np.column_stack(blocks),
                rows.y[cut.rows],
                rows.weight[cut.rows],
                rows.fold[:, cut.rows],
                squares,
            )
        )
    return found


def _span_columns(learner: Any, pairs: FeaturePairs) -> Array:
    """Columns of the span; a feature map may refuse to see no rows."""
    if len(pairs) or learner.feature_map_ is None:
        return np.asarray(learner.span(pairs))
    return np.empty((0, len(learner.coef_)))


def _squares(learner: Any, pairs: FeaturePairs) -> Array:
    """Values of the span's functions, and their squares, summed over the responses.

    From where the functions start is no matter to a variance.
    """
    sides = (pairs.left, pairs.right)
    left, right = (
        _span_columns(learner, FeaturePairs(side, np.zeros_like(side)))
        for side in sides
    )
    return np.hstack([left + right, left**2 + right**2])
