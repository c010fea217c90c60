"""Riesz weights of all scores, by one linear system, and the influence of rows.

The weights solve eq:direct-riesz-objective-v2; influence is summed by groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.linalg import SymmetricSystem, positive_part, with_eigenvalues
from skanchor._model.sources import SourceRows, variance_of
from skanchor._typing import Array

NO_DISPERSION = 1e-10
"""Dispersion below which the residuals of a source are rounding."""

_MISSED = 1e-5
"""Part of a target that weights miss, from which the rows leave it undetermined."""


@dataclass(frozen=True, eq=False)
class RieszWeights:
    """Weights W with (J + R) W = L, for the information J and the prior R.

    Attributes
    ----------
    fit : Fit
        Where the information was taken.
    values : ndarray of shape (size, n_items)
        W; the weight of a row of source m is its local columns times T_m W.
    undetermined : ndarray of shape (n_items,)
        Scores that the rows leave open.
    """

    fit: Fit
    values: Array
    undetermined: NDArray[np.bool_]

    def local(self, source: int) -> Array:
        """What the local columns of a source's rows are multiplied with."""
        return self.fit.local_weights(source, self.values)

    def expected_parts(self, grams: Iterable[tuple[int, Array]]) -> Array:
        """Parts of the sampling covariance if outcomes were independent votes.

        Returns
        -------
        ndarray of shape (3, n_items, n_items)
            Of people's rows, of judges' rows, and of both together, which is zero.
        """
        n_items = self.values.shape[1]
        parts = np.zeros((3, n_items, n_items))
        for source, gram in grams:
            local = self.local(source)
            parts[0 if source == PEOPLE else 1] += local.T @ gram @ local
        return parts

    @property
    def of_item_effects(self) -> Array:
        """Weights of the item effects, (n_effects, n_items)."""
        return np.asarray(self.values[self.fit.layout.item_effects])

    @property
    def prior_score(self) -> Array:
        """Correction by the prior's own score, -(R u)' W_u, of shape (n_items,)."""
        at = self.fit.layout.item_effects
        slope = self.fit.precision[at, at] @ self.fit.x[at]
        return np.asarray(-slope @ self.of_item_effects)

    @property
    def item_covariance(self) -> Array:
        """Covariance that the item effects leave in the scores, W_u' R W_u."""
        at, weights = self.fit.layout.item_effects, self.of_item_effects
        return np.asarray(weights.T @ self.fit.precision[at, at] @ weights)


@dataclass(frozen=True, eq=False)
class Information:
    """Information of all parameters with their prior, J + R, factorised once.

    Attributes
    ----------
    fit : Fit
        Where it was taken.
    at : ndarray of shape (n_estimated,)
        Parameters that rows decide.
    matrix : ndarray of shape (n_estimated, n_estimated)
        J + R of these, with the zero of the scores fixed.
    system : SymmetricSystem
        Its factor.
    grams : dict of int to ndarray of shape (n_columns, n_columns)
        By source, sum of ``weight V`` times products of the local columns of its rows.
    crosses : dict of int to ndarray of shape (n_columns, n_columns)
        The same products of the columns in the logit with those of the weights, which
        differ where functions of the features are taken off the latter.
    prior : ndarray of shape (size, size)
        R, the precision of the prior of the item effects, and ridges of spans.
    """

    fit: Fit
    at: NDArray[np.intp]
    matrix: Array
    system: SymmetricSystem
    grams: dict[int, Array]
    crosses: dict[int, Array]
    prior: Array

    @classmethod
    def of(cls, fit: Fit, grams: Iterable[tuple[int, Array]], prior: Array) -> Self:
        """Add up sources and their sums, of which a source may have several."""
        totals: dict[int, Array] = {}
        for source, gram in grams:
            totals[source] = totals[source] + gram if source in totals else gram
        whole = fit.centred(fit.information(totals.items())) + prior
        at = np.flatnonzero(fit.layout.estimated)
        matrix = whole[at[:, None], at]
        return cls(fit, at, matrix, SymmetricSystem.of(matrix), totals, totals, prior)

    @classmethod
    def of_rows(cls, fit: Fit, sources: Sequence[SourceRows], prior: Array) -> Self:
        """Add up the information of rows, which have the columns of the weights."""
        grams: list[tuple[int, Array]] = []
        crosses: dict[int, Array] = {}
        for rows in sources:
            values = rows.weight * variance_of(fit.probabilities(rows))
            grams.append((rows.source, rows.gram(values)))
            crosses[rows.source] = crosses.get(rows.source, 0.0) + rows.cross(values)
        return replace(cls.of(fit, grams, prior), crosses=crosses)

    def solve(self, right: Array) -> Array:
        """Solve for right-hand sides, (size, k); zero where rows say nothing."""
        solution = np.zeros_like(right)
        solution[self.at] = self.system.solve(right[self.at])
        return solution

    def variances(self, chosen: slice) -> Array:
        """Diagonal of the inverse at some parameters."""
        spread = np.zeros(self.layout.size)
        spread[self.at] = np.sum(self.system.inverse_root**2, axis=1)
        return spread[chosen]

    @cached_property
    def weights(self) -> RieszWeights:
        """Riesz weights of all scores."""
        targets = self.layout.targets
        values = self.solve(targets)
        # Targets are of scores alone: other columns have units of their own.
        scores = self.at < self.layout.n_items
        reached = self.matrix[scores] @ values[self.at]
        missed = np.abs(reached - targets[self.at[scores]]).max(axis=0)
        return RieszWeights(self.fit, values, missed > _MISSED)

    @property
    def layout(self) -> Layout:
        """Where each parameter lies."""
        return self.fit.layout

    def beside_span(self, source: int) -> Array:
        """Information on items and display order that a source's span leaves.

        Returns
        -------
        ndarray of shape (n_items + 1, n_items + 1)
            Zero for a source without rows.
        """
        head, at = self.layout.n_items + 1, self.layout.span(source)
        size = head + at.stop - at.start
        gram = self.grams.get(source, np.zeros((size, size)))
        cross = gram[:head, head:]
        inner = SymmetricSystem.of(gram[head:, head:] + self.prior[at, at])
        return np.asarray(gram[:head, :head] - cross @ inner.solve(cross.T))

    # -------------------------------------------------------------- single parameters
    @property
    def sensitivity_errors(self) -> Array:
        """Standard error of the sensitivity of each judge; inf without information."""
        variances = self.variances(self.layout.sensitivities)[1:]
        return np.where(variances > 0.0, np.sqrt(variances), np.inf)

    @property
    def item_effect_variances(self) -> Array:
        """Variances of the item effects given the rows, (n_judges, n_items)."""
        variances = self.variances(self.layout.item_effects)
        by_model = variances.reshape(-1, self.layout.n_models)
        return np.asarray(by_model[:, self.layout.model])

    @property
    def scale_error(self) -> float:
        """Standard error of the log of the scale of the historical scores.

        It is ``(l' J^-1 l)^(1/2)`` for ``l = theta / |theta|^2``; NaN where all scores
        are zero.
        """
        theta = np.where(self.layout.is_new, 0.0, self.fit.scores)
        square = float(theta @ theta)
        if not square > 0.0:
            return np.nan
        direction = np.zeros((self.layout.size, 1))
        direction[self.layout.scores, 0] = theta / square
        return float((direction * self.solve(direction)).sum()) ** 0.5

    @property
    def lower_bound(self) -> Array:
        """Lower bound of each score's variance, however many judge rows there are.

        ``B_l = (l'v0)^2 / (v0' J_H v0)`` of thm:human-scale-information-limit-v2, with
        v0 the direction of the scale of the scores, on which judge rows carry no
        information.
        """
        n, scores = self.layout.n_items, self.fit.scores
        moved = scores**2
        information = float(scores @ self.beside_span(PEOPLE)[:n, :n] @ scores)
        if information > 0.0:
            return np.asarray(moved / information)
        # Without votes on the scale nothing bounds what depends on it.
        return np.where(moved > 0.0, np.inf, 0.0)

    # ------------------------------------------------------------------- item effects
    @cached_property
    def item_errors(self) -> Array:
        """Errors that each item effect brings into the scores, one at a time.

        Effects of a model are made uncorrelated by the symmetric root of their
        precision.

        Returns
        -------
        ndarray of shape (n_judges, n_models, n_items)
            Products of them, summed over judges and models, are the covariance that
            item effects leave. Without item effects there are no judges.
        """
        layout, at = self.layout, self.layout.item_effects
        shape = at.stop - at.start, layout.n_models, layout.n_items
        tail = self.weights.of_item_effects.reshape(shape[0] // shape[1], *shape[1:])
        # All models have the same precision: that of the first one tells it.
        precision = self.fit.precision[at, at][:: layout.n_models, :: layout.n_models]
        root = with_eigenvalues(
            precision, lambda values: np.sqrt(np.maximum(values, 0.0))
        )
        return np.einsum("ml,lit->mit", root, tail)

    @property
    def own_item_variance(self) -> Array:
        """Variance that the effects on a model leave in its own score, (n_items,)."""
        of_model = self.item_errors[
            :, self.layout.model, np.arange(self.layout.n_items)
        ]
        return np.asarray(np.sum(of_model**2, axis=0))

    def exposures(self) -> Array:
        """Change of each score by a favour of each source for each item.

        Returns
        -------
        ndarray of shape (n_sources, n_items, n_items)
            ``sum a V (1{left = i} - 1{right = i})`` over the rows of a source, first by
            the item i and last by score.
        """
        n = self.layout.n_items
        exposures = np.zeros((self.layout.n_sources, n, n))
        for source, cross in self.crosses.items():
            exposures[source] = cross[:n] @ self.weights.local(source)
        return exposures

    @property
    def gap(self) -> Array:
        """``sum a V xi + R w - L``, what the weights leave of the identity."""
        layout, values = self.layout, self.weights.values
        reached = np.zeros_like(values)
        for source, cross in self.crosses.items():
            local = self.fit.chain(source, cross @ self.weights.local(source))
            reached[layout.parameters_of[source]] += local
        gap = reached + self.prior @ values - layout.targets
        return np.asarray(gap[self.at])


# ----------------------------------------------------------------------- influence
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
