"""Weights of a fit that are solved again without some of its rows.

A score without the rows of S is, to an error of second order, the score of all rows
plus ``[sum over the others of a eps + prior score] - [the same sum with all rows]``,
where a are the weights that are solved without S. The plug-in stays: the score is
orthogonal to it, while the weights, which grow as rows go, must not stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skanchor._model.influence import influence_of, residuals
from skanchor._model.solution import Solution
from skanchor._model.sources import SourceRows, variance_of
from skanchor._typing import Array, Indices
from skanchor.readouts._units import Units

if TYPE_CHECKING:
    from skanchor import AnchorResult

NOTHING: Indices = np.zeros(0, dtype=np.intp)
"""No dropped unit."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Weights that were solved without some units.

    Attributes
    ----------
    solution : Solution
        The system without them.
    rows : list of SourceRows
        All rows; those that are gone have no weight.
    gone : ndarray of shape (n_gone,)
        What was dropped.
    total : ndarray of shape (n_models,)
        Correction, that by the prior of the item effects included.
    sampling, items : ndarray of shape (n_models, n_models)
        Parts of the covariance of the scores.
    """

    solution: Solution
    rows: list[SourceRows]
    gone: Indices
    total: Array
    sampling: Array
    items: Array


@dataclass(frozen=True, eq=False)
class Dropping:
    """A fit, and what it is to be without some units.

    Attributes
    ----------
    result : AnchorResult
        As reported.
    solution : Solution
        Of all rows.
    rows : sequence of SourceRows
        All rows, with the columns of the weights.
    units : Units
        What may be dropped.
    """

    result: AnchorResult
    solution: Solution
    rows: Sequence[SourceRows]
    units: Units

    @cached_property
    def base(self) -> Solved:
        """With all rows, from where differences are taken."""
        return self.solve(NOTHING)

    @property
    def scale(self) -> Array:
        """Factor of the errors of each model, where judges disagree."""
        assert self.result.diagnostics is not None
        return self.result.diagnostics.arrivals.scale

    def solve(self, gone: Indices) -> Solved:
        """Weights without some units, at the plug-in of all rows."""
        stays = np.ones(len(self.units.sample), dtype=bool)
        stays[self.units.rows(gone)] = False
        rows = [replace(one, weight=one.weight * stays[one.rows]) for one in self.rows]
        solution = Solution.of(self.solution.fit, rows, self.solution.prior)
        weights, items = solution.weights, self.result.fitted.items
        if self.units.sample.groups is None:
            total, sampling = np.zeros((2, 1))
            for part in rows:
                score, outer = part.scores(residuals(weights, part))
                local = weights.local(part.source)
                total = total + score @ local
                sampling = sampling + local.T @ outer @ local
        else:
            influence = influence_of(weights, rows, 0)
            total, sampling = influence.total, influence.parts.sum(axis=0)
        inflation = 1.0 if items is None else items.inflation
        of_items = inflation * weights.item_covariance
        total = total + weights.prior_score
        return Solved(solution, rows, gone, total, sampling, of_items)

    def predicted(self, solved: Solved) -> AnchorResult | None:
        """What the result would be; None where a score is left open."""
        result, base = self.result, self.base
        if solved.solution.weights.undetermined.any():
            return None
        place = np.flatnonzero(np.isin(result.models, self.units.sample.X.models))
        # Models that were left out have no part in the changes.
        at, square = np.ix_(place, place), np.outer(self.scale, self.scale)
        estimates, of_items = result.estimates.copy(), result.item_covariances
        estimates[:, place] += solved.total - base.total
        items, sampling = np.zeros((2, *square.shape))
        items[at] = solved.items - base.items
        sampling[at] = solved.sampling - base.sampling
        return replace(
            result,
            estimates=estimates,
            covariances=result.covariances + square * (sampling + items),
            item_covariances=None if of_items is None else of_items + square * items,
        )

    def effects(self, solved: Solved, model: Any, opponent: Any) -> tuple[Array, Array]:
        """What each unit that goes does to a difference, as it is reported.

        Returns
        -------
        shift, spread : ndarray of shape (n_units,)
            Changes of the difference, ``-a eps``, and of its variance,
            ``2 V a^2 - (a eps)^2`` where rows are independent.
        """
        units, sample, size = self.units, self.units.sample, self.units.allowed
        models = sample.X.models.tolist()
        contrast = np.zeros(len(models))
        contrast[[models.index(model), models.index(opponent)]] = 1.0, -1.0
        weights = solved.solution.weights
        influence, square = np.zeros((2, len(sample)))
        for part in solved.rows:
            a = part.products((weights.local(part.source) @ contrast)[:, None])[:, 0]
            influence[part.rows] = a * residuals(weights, part)
            variance = variance_of(weights.fit.probabilities(part))
            square[part.rows] = (part.weight * a) ** 2 * variance / part.count
        rows = np.flatnonzero(units.unit >= 0)
        unit = units.unit[rows]
        total = np.bincount(unit, influence[rows], size).astype(np.float64)
        spread = 2.0 * np.bincount(unit, square[rows], size) - total**2
        if sample.groups is not None:
            # Errors are by group, of which a unit is a part, or the whole.
            by_group = np.bincount(sample.groups, influence)
            group = np.zeros(size, dtype=np.intp)
            group[unit] = sample.groups[rows]
            spread += 2.0 * total * (total - by_group[group])
        # Errors are longer where judges disagree.
        own, scaled = self.base.sampling + self.base.items, self.scale * contrast
        return -total, spread * (scaled @ own @ scaled) / (contrast @ own @ contrast)
