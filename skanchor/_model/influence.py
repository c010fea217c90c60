"""Influence of held-out rows, and dispersion of residuals, both by groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._model.fit import PEOPLE
from skanchor._model.linalg import SymmetricSystem, positive_part
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

NO_DISPERSION = 1e-10
"""Dispersion below which the residuals of a source are rounding."""


@dataclass(frozen=True, eq=False)
class Influence:
    """Sums over the influence of rows, Riesz weight times weight times residual.

    Attributes
    ----------
    total : ndarray of shape (n_items,)
        The correction.
    parts : ndarray of shape (3, n_items, n_items)
        Summed products of the totals of groups: of people's rows, of judges' rows, and
        of both together.
    by_rater : ndarray of shape (n_raters, n_items)
        Total of the votes of each rater.
    by_rater_and_group : ndarray of shape (n_items, n_items)
        Summed products of the totals of one rater's votes in one group.
    largest : ndarray of shape (n_items,)
        Largest total of a group, in size.
    """

    total: Array
    parts: Array
    by_rater: Array
    by_rater_and_group: Array
    largest: Array

    def __add__(self, other: Influence) -> Influence:
        largest = np.maximum(self.largest, other.largest)
        total, parts, raters, both = (
            getattr(self, f.name) + getattr(other, f.name) for f in fields(self)[:-1]
        )
        return Influence(total, parts, raters, both, largest)

    def covariance_parts(self) -> Array:
        """Parts of the sampling covariance, with what raters add to people's.

        Votes depend on each other by group and by rater. The squares by rater are
        added, those by rater and group subtracted, which the groups have already
        (Cameron, Gelbach and Miller 2011). Of the difference the nearest positive
        semidefinite matrix is taken, so that no variance falls below that by group.
        """
        excess = self.by_rater.T @ self.by_rater - self.by_rater_and_group
        parts = self.parts.copy()
        parts[0] += positive_part(excess)
        return parts


def influence_of(
    weights: RieszWeights,
    held_out: Sequence[SourceRows],
    n_raters: int,
    others: Sequence[tuple[NDArray[np.int64], Array]] = (),
) -> Influence:
    """Sum the influence of held-out rows; groups must be complete among them.

    Parameters
    ----------
    weights : RieszWeights
        Of a fit to other rows.
    held_out : sequence of SourceRows
        The rows, with the weights that they have in the table.
    n_raters : int
        Number of raters of the whole table.
    others : sequence of (groups, totals)
        Codes of groups, and their totals by other rows: of people, then of judges.

    Returns
    -------
    Influence
    """
    n_items = weights.values.shape[1]
    total, largest = np.zeros(n_items), np.zeros(n_items)
    parts = np.zeros((3, n_items, n_items))
    by_rater, both = np.zeros((n_raters, n_items)), np.zeros((n_items, n_items))
    # Whether rows are people's, codes of groups, and values.
    grouped = [(kind, *totals) for kind, totals in enumerate(others)]
    for rows in held_out:
        kind, local = int(rows.source != PEOPLE), weights.local(rows.source)
        residual = residuals(weights, rows)
        score, outer = rows.scores(residual)
        total += score @ local
        parts[kind] += local.T @ outer @ local
        # Of a row that stands for several, the values are those of each.
        values = row_influence(weights, rows, residual / rows.count)
        is_alone = rows.group < 0
        all_alone = bool(is_alone.all())
        largest = _largest(largest, values if all_alone else values[is_alone])
        if not all_alone:
            grouped.append((kind, rows.group[~is_alone], values[~is_alone]))
        has_rater = rows.rater >= 0
        if has_rater.any():
            voted, rater = values[has_rater], rows.rater[has_rater]
            by_rater += _sums_by(rater, voted, n_raters)
            # A vote without a group is one of its own.
            group = np.where(is_alone, -1 - rows.rows, rows.group)[has_rater]
            group, names = pd.factorize(group)
            unit, units = pd.factorize(rater * len(names) + group)
            by_unit = _sums_by(unit, voted, len(units))
            both += by_unit.T @ by_unit
    if grouped:
        code, groups = pd.factorize(np.concatenate([one for _, one, _ in grouped]))
        totals = np.zeros((2, len(groups), n_items))
        for kind, codes_of_rows, values in grouped:
            at, code = code[: len(codes_of_rows)], code[len(codes_of_rows) :]
            totals[kind] += _sums_by(at, values, len(groups))
        human, judge = totals
        cross = human.T @ judge
        parts += np.stack([human.T @ human, judge.T @ judge, cross + cross.T])
        largest = _largest(largest, human + judge)
    return Influence(total, parts, by_rater, both, largest)


def residuals(weights: RieszWeights, rows: SourceRows) -> Array:
    """Weight of each row times its outcome less the probability, of shape (n,)."""
    return np.asarray(rows.weight * (rows.y - weights.fit.probabilities(rows)))


def row_influence(weights: RieszWeights, rows: SourceRows, residual: Array) -> Array:
    """Riesz weight of each row times a residual, of shape (n, n_items)."""
    values = rows.products(weights.local(rows.source))
    values *= residual[:, None]
    return values


def _largest(so_far: Array, values: Array) -> Array:
    # By both ends, so that no array of absolute values is made.
    high, low = values.max(axis=0, initial=0.0), values.min(axis=0, initial=0.0)
    return np.maximum(so_far, np.maximum(high, -low))


def _sums_by(codes: NDArray[np.intp], values: Array, n_codes: int) -> Array:
    """Sums of the rows of values by code, of shape (n_codes, n_columns)."""
    n = len(codes)
    matrix = csc_array((np.ones(n), codes, np.arange(n + 1)), (n_codes, n))
    return np.asarray(matrix @ values)


def dispersion(rows: SourceRows, p: Array, *, without_items: bool) -> float:
    """Variance of the residuals of a source in units of that of independent votes.

    It is below one for half-wins, and above one for rows of a group that agree, or rows
    of large weight.

    Parameters
    ----------
    rows : SourceRows
        Rows of the source; their spans are not used.
    p : ndarray of shape (n,)
        Their fitted probabilities.
    without_items : bool
        Whether an effect on each item is first taken out of the residuals.

    Returns
    -------
    float
        One if the rows have no information.
    """
    n = rows.n_items
    expected, residual = rows.weight * p * (1.0 - p), rows.weight * (rows.y - p)
    total, taken = float(expected.sum()), 0.0
    if not total > 0.0:
        return 1.0
    is_alone = rows.group < 0
    # Of k equal rows, each has this share of what they are together.
    share = 1.0 / rows.count
    group = pd.factorize(rows.group[~is_alone])[0]
    left, right = rows.left[~is_alone], rows.right[~is_alone]
    if without_items:
        system = SymmetricSystem.of(rows.gram(expected)[:n, :n])
        effects = system.solve(rows.sums(residual)[:n])
        residual = residual - expected * rows.differences(effects)
        # The expected decrease of the sum of squares by that fit. Rows of one pair in a
        # group count as one, and what was fitted to the pairs of a group adds up.
        expected_of_unit = expected * share
        pair = np.minimum(left, right) * n + np.maximum(left, right)
        unit = pd.factorize(group * n**2 + pair)[0]
        expected_of_unit[~is_alone] = np.bincount(unit, expected[~is_alone])[unit]
        root, squared = system.inverse_root, rows.gram(expected * expected_of_unit)
        n_alone = np.count_nonzero(is_alone)
        per_group = (n_alone + unit.max(initial=-1) + 1) / (
            n_alone + group.max(initial=-1) + 1
        )
        taken = per_group * float(np.vdot(root, squared[:n, :n] @ root))
    squares = float(np.sum((residual**2 * share)[is_alone]))
    if not is_alone.all():
        # Of rows in a group, sums by item are squared; both items of a row have one.
        values = residual[~is_alone]
        at = np.concatenate([group, group]), np.concatenate([left, right])
        by_item = csr_array((np.concatenate([values, -values]), at))
        squares += 0.5 * float(np.sum(by_item.data**2))
    return squares / max(total - taken, 0.5 * total)
