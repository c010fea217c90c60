"""The Riesz weights solved anew with some rows gone, at the plug-in of all rows.

A score without the rows of S is, to an error of second order, the score of all rows
plus ``[sum over the others of a eps + prior score] - [the same sum with all rows]``,
where a are the weights that are solved without S. The plug-in stays: the score is
orthogonal to it, while the weights, which grow as rows go, must not stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.base import clone

from skanchor._crossfit.influence import influence_of, residuals
from skanchor._model.link import sigmoid
from skanchor._riesz import RieszDebiaser
from skanchor._typing import Array
from skanchor.fragility._units import Queue, Units
from skanchor.results import AnchorResult
from skanchor.warning_log import WarningLog


@dataclass(frozen=True, eq=False)
class Resolved:
    """Weights that were solved without some rows.

    Attributes
    ----------
    debiaser : RieszDebiaser
        Solved.
    units : Units
        What may be dropped.
    gone : Queue
        What was dropped.
    total : ndarray of shape (n_models,)
        Correction, that by the prior of the item effects included.
    sampling, items : ndarray of shape (n_models, n_models)
        Parts of the covariance of the scores.
    undetermined : bool
        Whether a score is left open.
    """

    debiaser: RieszDebiaser
    units: Units
    gone: Queue
    total: Array
    sampling: Array
    items: Array
    undetermined: bool

    @classmethod
    def of(
        cls, debiaser: RieszDebiaser, units: Units, gone: Queue, inflation: float
    ) -> Self:
        """Solve without the units of a queue.

        Parameters
        ----------
        debiaser : RieszDebiaser
            As it was fitted on all rows.
        units : Units
            What may be dropped.
        gone : Queue
            What is dropped.
        inflation : float
            Factor of the item part.

        Returns
        -------
        Resolved
        """
        sample = units.changed(gone)
        solved = debiaser
        if len(gone):
            with WarningLog():
                # A clone of the bias of people would have to be fitted anew.
                known = debiaser.human_bias
                solved = clone(debiaser).set_params(human_bias=known)
                solved.fit_sample(sample)
        weights = solved.solution_.weights
        influence = influence_of(weights, solved.rows(sample), 0)
        return cls(
            solved,
            units,
            gone,
            influence.total + weights.prior_score,
            influence.parts.sum(axis=0),
            inflation * weights.item_covariance,
            bool(solved.undetermined_.any()),
        )

    def effects(self, first: int, second: int) -> tuple[Array, Array]:
        """What one more copy of each unit does to a difference of two scores.

        Parameters
        ----------
        first, second : int
            Places of the models.

        Returns
        -------
        shift : ndarray of shape (n_units,)
            Change of the difference, ``-a eps``.
        spread : ndarray of shape (n_units,)
            Change of its sampling variance: ``2 V a^2 - (a eps)^2`` where rows are
            independent.
        """
        units, sample = self.units, self.units.changed(self.gone)
        X, size = sample.X, len(units.copies)
        rows = np.flatnonzero((units.unit >= 0) & (sample.weight > 0))
        influence, weight = np.zeros(len(sample)), np.zeros(len(sample))
        solved = self.debiaser.solution_.weights
        for part in self.debiaser.rows(sample):
            local = solved.local(part.source)
            a = part.products(local[:, [first]] - local[:, [second]])[:, 0]
            weight[part.rows] = a
            influence[part.rows] = a * residuals(solved, part)
        unit = units.unit[rows]
        left = np.maximum(units.copies - units.counts(self.gone), 1)
        p = sigmoid(np.where(np.isfinite(X.logits()), X.logits(), 0.0))
        number = sample.multiplicity
        squares = (sample.weight * weight) ** 2 * p * (1.0 - p)
        if number is not None:
            squares = squares / number
        total = np.bincount(unit, influence[rows], size) / left
        known = np.bincount(unit, squares[rows], size) / left
        if sample.groups is None:
            return -total, 2.0 * known - total**2
        # Errors are by group, of which a unit is a part, or the whole.
        by_group = np.bincount(sample.groups, influence)
        group = np.zeros(size, dtype=np.intp)
        group[unit] = sample.groups[rows]
        return -total, 2.0 * known + total**2 - 2.0 * total * by_group[group]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit, and what it is to be without some rows.

    Attributes
    ----------
    result : AnchorResult
        As reported.
    debiaser : RieszDebiaser
        Of all rows.
    units : Units
        What may be dropped.
    inflation : float
        Factor of the item part of a variance.
    scale : ndarray of shape (n_models,)
        Factor of the errors of each model, where judges disagree.
    base : Resolved
        With no row dropped.
    """

    result: AnchorResult
    debiaser: RieszDebiaser
    units: Units
    inflation: float
    scale: Array
    base: Resolved

    @classmethod
    def of(
        cls,
        result: AnchorResult,
        debiaser: RieszDebiaser,
        units: Units,
        inflation: float,
    ) -> Self:
        """Solve with all rows, from where differences are taken."""
        assert result.diagnostics is not None
        scale = result.diagnostics.arrivals.scale
        base = Resolved.of(debiaser, units, Queue.empty(), inflation)
        return cls(result, debiaser, units, inflation, scale, base)

    def without(self, gone: Queue) -> Resolved:
        """Weights without some units."""
        return Resolved.of(self.debiaser, self.units, gone, self.inflation)

    def predicted(self, found: Resolved) -> AnchorResult:
        """What the result would be, by weights that were solved anew."""
        result, base = self.result, self.base
        models = self.units.sample.X.models
        place = np.flatnonzero(np.isin(result.models, models))
        square, n_models = np.outer(self.scale, self.scale), len(result.models)
        estimates = result.estimates.copy()
        estimates[:, place] += found.total - base.total
        item_change = square * (found.items - base.items)
        change = square * (found.sampling - base.sampling) + item_change
        # Models that were left out have no part in either.
        items = result.item_covariances
        spread = np.zeros((2, n_models, n_models))
        rows, columns = np.ix_(place, place)
        spread[:, rows, columns] = change, item_change
        return replace(
            result,
            estimates=estimates,
            covariances=result.covariances + spread[0],
            item_covariances=None if items is None else items + spread[1],
        )

    def effects(
        self, found: Resolved, model: object, opponent: object
    ) -> tuple[Array, Array]:
        """What one more copy of each unit does to a difference, as it is reported.

        Parameters
        ----------
        found : Resolved
            From where.
        model, opponent : label
            The models.

        Returns
        -------
        shift, spread : ndarray of shape (n_units,)
            Changes of the difference and of its variance.
        """
        labels = self.units.sample.X.models.tolist()
        first, second = labels.index(model), labels.index(opponent)
        contrast = np.zeros(len(labels))
        contrast[first], contrast[second] = 1.0, -1.0
        shift, spread = found.effects(first, second)
        # Errors are longer where judges disagree.
        own = self.base.sampling + self.base.items
        scaled = np.outer(self.scale, self.scale) * own
        factor = (contrast @ scaled @ contrast) / (contrast @ own @ contrast)
        return shift, factor * spread
