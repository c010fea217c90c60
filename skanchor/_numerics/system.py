"""The Riesz system of all scores: information, targets, and the solved weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.arrow import ArrowMatrix, ArrowSolver, Matrix, factorised
from skanchor._numerics.arrow_information import (
    ArrowSums,
    DenseSums,
    arrow_information,
    effect_spread,
)
from skanchor._numerics.blocks import fitted_columns
from skanchor._numerics.information import JudgeBlock, Projection
from skanchor._numerics.joint_information import joint_information
from skanchor._numerics.linalg import SymmetricSolver, has_common_column, standardised
from skanchor._numerics.parameters import PEOPLE, Parameters
from skanchor._numerics.types import Array


@dataclass(frozen=True, eq=False)
class RieszProblem:
    """The Riesz system before the judges' blocks are known.

    Attributes
    ----------
    layout : Parameters
        The parameter vector, biases profiled out.
    slopes : ndarray of shape (..., n_judges)
        Sensitivities; with an axis in front where several folds are solved.
    factor : ndarray of shape (n_judges, n_effects) or None
        Square root L of the covariance of the item effects.
        The last parameters are the standardised effects v, with u = L v.
    people : JudgeBlock
        Information of the human rows: by item, or as that of a judge where people
        have a bias of their own.
    """

    layout: Parameters
    slopes: Array
    factor: Array | None
    people: JudgeBlock

    def solve(self, blocks: Iterable[JudgeBlock | None]) -> RieszSystem:
        """Add the blocks of the judges, and solve eq:direct-riesz-objective-v2.

        Parameters
        ----------
        blocks : iterable of JudgeBlock or None
            One per judge; None where a judge has no rows. Iterated over once.

        Returns
        -------
        RieszSystem
        """
        found = list(blocks)
        joint, human = self._joint(found)
        identity = self._identity(found)
        targets = self._targets()
        solver = factorised(joint)
        return RieszSystem(
            self.layout,
            self.slopes,
            self.factor,
            joint,
            human,
            targets,
            solver.solve(targets),
            tuple(None if one is None else one.projection for one in found),
            self.people.projection,
            bool(np.isfinite(solver.condition)),
            joint if identity is None else identity,
            solver,
        )

    def solve_folds(self, blocks: Iterable[JudgeBlock]) -> RieszSolution:
        """As :meth:`solve`, for several folds side by side.

        Sensitivities and blocks, people's included, have an axis of folds in front.

        Parameters
        ----------
        blocks : iterable of JudgeBlock
            One per judge, each exactly projected.

        Returns
        -------
        RieszSolution
        """
        found = list(blocks)
        joint, human = self._joint(found)
        targets = self._targets()
        weights = np.empty((len(joint), *targets.shape))
        is_full = True
        for fold, solved in enumerate(weights):
            solver = factorised(joint[fold])
            solved[:] = solver.solve(targets)
            is_full = is_full and bool(np.isfinite(solver.condition))
        return RieszSolution(
            self.layout,
            self.slopes,
            self.factor,
            joint,
            human,
            targets,
            weights,
            tuple(one.projection for one in found),
            self.people.projection,
            is_full,
        )

    def _targets(self) -> Array:
        """L, of shape (p, n_items)."""
        layout = self.layout
        targets = np.zeros((layout.size, layout.n_items))
        targets[layout.at["scores"]] = layout.items.T
        return targets

    def _joint(self, blocks: Sequence[JudgeBlock | None]) -> tuple[Matrix, Array]:
        """Information of all parameters, and the votes' share."""
        layout, n = self.layout, self.layout.n_items
        slopes = np.asarray(self.slopes)
        width = fitted_columns(n, 0).size
        grams = np.zeros((*slopes.shape, width, width))
        for m, block in enumerate(blocks):
            if block is not None:
                grams[..., m, :, :] = block.gram
        items, votes = layout.items, self.people.gram[..., :n, :n]
        if self.factor is not None and has_common_column(self.factor):
            blocks_of = arrow_information(layout, slopes, self.factor, votes, grams)
            joint = blocks_of.plus_diagonal(self._prior())
            return joint, items.T @ votes @ items
        return joint_information(
            items, slopes, self.factor, votes, grams, positions=layout.has_positions
        )

    def _prior(self) -> Array:
        """Diagonal of the prior v ~ N(0, I), of shape (p,)."""
        diagonal = np.zeros(self.layout.size)
        diagonal[self.layout.at["deviation"]] = 1.0
        return diagonal

    def _identity(self, blocks: list[JudgeBlock | None]) -> Matrix | None:
        """Matrix of the identity by all parameters; None where it is the information.

        It is the sum of ``weight V (x - D[Gamma]) x'``, which is not symmetric where a
        projection is not exact. :func:`joint_information` takes symmetric blocks only,
        so that the sums are added source by source.
        """
        sources = {PEOPLE: self.people}
        sources |= {m: one for m, one in enumerate(blocks) if one is not None}
        if all(block.identity is block.gram for block in sources.values()):
            return None
        has_blocks = self.factor is not None and has_common_column(self.factor)
        kind = ArrowSums if has_blocks else DenseSums
        sums = kind(self.layout, np.asarray(self.slopes), self.factor)
        for m, block in sources.items():
            sums.add(m, block.identity)
        matrix = sums.matrix()
        if isinstance(matrix, ArrowMatrix):
            return matrix.plus_diagonal(self._prior())
        return matrix + np.diag(self._prior())


@dataclass(frozen=True, eq=False)
class RieszSolution:
    """Weights that solve a Riesz system of all scores, or several side by side.

    Where systems of several folds are solved, arrays whose shape begins with ``...``
    have an axis of folds in front.

    Attributes
    ----------
    layout : Parameters
        The parameter vector.
    slopes : ndarray of shape (..., n_judges)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_effects) or None
        Square root of the covariance of the item effects.
    information : ndarray of shape (..., p, p) or ArrowMatrix
        Information J of (new scores, historical coordinates, sensitivities,
        position effects, item effects) after the bias functions.
    human_information : ndarray of shape (..., n_scores, n_scores)
        Information of the human rows on the scores; they have none on the rest.
    targets : ndarray of shape (p, n_targets)
        L, the scores of all items.
    weights : ndarray of shape (..., p, n_targets)
        w = J^-1 L.
    projections : tuple of Projection or None
        One per judge.
    people : Projection
        That of the human rows.
    is_full : bool
        Whether the rank of ``information`` is full beyond doubt.
    """

    layout: Parameters
    slopes: Array
    factor: Array | None
    information: Matrix
    human_information: Array
    targets: Array
    weights: Array
    projections: tuple[Projection | None, ...]
    people: Projection
    is_full: bool

    @cached_property
    def _reached(self) -> Array:
        """J w: the targets, where the rank is full."""
        if self.is_full:
            return np.broadcast_to(self.targets, self.weights.shape)
        return np.asarray(self.information @ self.weights)

    @property
    def undetermined(self) -> NDArray[np.bool_]:
        """Targets that the information leaves open, of shape (..., n_targets)."""
        if self.is_full:
            lead, n_targets = self.weights.shape[:-2], self.weights.shape[-1]
            return np.zeros((*lead, n_targets), dtype=np.bool_)
        missing = np.abs(self._reached - self.targets)
        return np.asarray(missing.max(axis=-2) > 1e-5)

    @cached_property
    def _by_item(self) -> Array:
        """Weights with one row for each item's score and each deviation u."""
        return self.layout.by_item(self.weights, self.factor)

    @property
    def _tail(self) -> Array:
        """Weights of the item effects."""
        return self.weights[..., self.layout.at["deviation"], :]

    def columns(self, m: int) -> Array:
        """Coefficients of a source's columns (items, delta, order) in the weights.

        Parameters
        ----------
        m : int
            Judge, or ``PEOPLE``.

        Returns
        -------
        ndarray of shape (..., n_items + 2, n_targets)
        """
        slope = 1.0 if m == PEOPLE else self.slopes[..., m]
        return self.layout.local(self._by_item, m, slope)

    def projection(self, m: int) -> Projection | None:
        """Projection of a source's columns on the span of its bias.

        Parameters
        ----------
        m : int
            Judge, or ``PEOPLE``.

        Returns
        -------
        Projection or None
            None where a judge has no rows.
        """
        return self.people if m == PEOPLE else self.projections[m]

    def all_columns(self, m: int) -> Array:
        """Coefficients of all local columns of a source, those of its span included.

        Parameters
        ----------
        m : int
            Judge, or ``PEOPLE``. Without a bias of people their only columns are those
            of the items.

        Returns
        -------
        ndarray of shape (..., n_columns, n_targets)
        """
        if m == PEOPLE and self.people.learner is None:
            return self._by_item[..., : self.layout.n_items, :]
        columns, projection = self.columns(m), self.projection(m)
        return columns if projection is None else projection.extended(columns)

    def judge_columns(self) -> list[Array]:
        """As :meth:`all_columns`, of every judge."""
        columns = self.layout.local_of_judges(self._by_item, self.slopes)
        return [
            own if projection is None else projection.extended(own)
            for own, projection in zip(
                np.moveaxis(columns, -3, 0), self.projections, strict=True
            )
        ]

    def item_covariance(self) -> Array:
        """Variance that the item effects leave in the targets, W_u' R W_u.

        Where items have owners, that of deviations which are alike for all items of
        an owner, but for each target no less than that of deviations by item: nothing
        tells which they are, and the former add up in a mean over items.
        """
        tail, owners = self._tail, self.layout.owners
        by_item = np.swapaxes(tail, -1, -2) @ tail
        if owners is None or self.factor is None:
            return np.asarray(by_item)
        # -R W_u is the exposure of the targets to the deviations.
        owned = np.equal.outer(np.unique(owners), owners).astype(np.float64)
        n_effects = self.factor.shape[1]
        shape = (*tail.shape[:-2], n_effects, len(owners), tail.shape[-1])
        by_owner = owned @ tail.reshape(shape)
        alike = np.einsum("...mot,...mou->...tu", by_owner, by_owner)
        least, most = (np.einsum("...tt->...t", one) for one in (alike, by_item))
        ratio = np.divide(most, least, out=np.ones_like(least), where=least > 0)
        scale = np.sqrt(np.maximum(ratio, 1.0))
        return np.asarray(scale[..., :, None] * alike * scale[..., None, :])

    def own_item_variance(self) -> Array:
        """Variance that the deviations from an item leave in its own score.

        Returns
        -------
        ndarray of shape (..., n_items)
        """
        if self.factor is None:
            return np.zeros((*self.slopes.shape[:-1], self.layout.n_items))
        n = self.layout.n_items
        shape = (*self._tail.shape[:-2], self.factor.shape[1], n, n)
        return np.asarray(np.einsum("...mii->...i", self._tail.reshape(shape) ** 2))

    def item_errors(self) -> Array | None:
        """Errors that each item effect brings into the targets, one at a time.

        Returns
        -------
        ndarray of shape (..., n_judges, n_items, n_targets) or None
            Change of each target by one standard deviation of an effect; the effects
            are made uncorrelated by the symmetric root of their covariance, which does
            not depend on the order or signs of its eigenvectors. Their products over
            judges and items are ``W_u' R W_u``. None without item effects.
        """
        if self.factor is None:
            return None
        if has_common_column(self.factor):
            # With S the symmetric root of L L', S = S^-1 L L' makes S^-1 L v of v.
            values, vectors = np.linalg.eigh(self.factor @ self.factor.T)
            root = np.sqrt(np.maximum(values, 0.0))
            inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
            turn = (vectors * inverse) @ vectors.T @ self.factor
        else:
            # The factor has orthogonal columns L = V D^1/2, so that V turns v = L^-1 u
            # into the coordinates of the symmetric root, V D^1/2 V'.
            length = np.sqrt(np.einsum("ij,ij->j", self.factor, self.factor))
            turn = np.divide(
                self.factor, length, out=np.zeros_like(self.factor), where=length > 0
            )
        shape = (self.factor.shape[1], self.layout.n_items, self.targets.shape[-1])
        tail = self._tail.reshape(*self._tail.shape[:-2], *shape)
        return np.asarray(np.einsum("ij,...jkt->...ikt", turn, tail))

    def expected_covariance(self) -> Array:
        """Sampling variance of the targets if outcomes are independent votes.

        Returns
        -------
        ndarray of shape (..., 3, n_targets, n_targets)
            What human rows add, judge rows add, and the two share, which is nothing.
        """
        whole = np.swapaxes(self.weights, -1, -2) @ self._reached
        scores, tail = self.weights[..., self.layout.at["scores"], :], self._tail
        human = np.swapaxes(scores, -1, -2) @ self.human_information @ scores
        judge = whole - np.swapaxes(tail, -1, -2) @ tail - human
        return np.stack([human, judge, np.zeros_like(human)], axis=-3)

    def prior_score(self, deviations: Array | None) -> Array:
        """Correction by the prior's own score, -(R u)' W_u, for each target.

        Parameters
        ----------
        deviations : ndarray of shape (..., n_judges, n_items) or None
            u, where there are item effects.

        Returns
        -------
        ndarray of shape (..., n_targets)
        """
        if self.factor is None or deviations is None:
            return np.zeros((*self.slopes.shape[:-1], self.layout.n_items))
        v = standardised(self.factor, deviations)
        v = v.reshape(*v.shape[:-2], 1, -1)
        return np.asarray(-(v @ self._tail)[..., 0, :])


@dataclass(frozen=True, eq=False)
class RieszSystem(RieszSolution):
    """Solved Riesz system of all scores: one solution, and what it was solved by.

    Attributes
    ----------
    identity : ndarray of shape (p, p) or ArrowMatrix
        What the identity holds of the parameters; the information, but for biases that
        are not at their minimum.
    solver : SymmetricSolver or ArrowSolver
        Inverse of ``information``.
    """

    identity: Matrix
    solver: SymmetricSolver | ArrowSolver

    @property
    def gap(self) -> Array:
        """``sum omega a V xi - L``, what the weights leave of the identity."""
        return np.asarray(self.identity.T @ self.weights - self.targets)

    def deviation_variances(self) -> Array:
        """Variances of the item effects given the rows, (n_judges, n_items).

        They are the diagonal of ``L J^-1 L'`` by judge and item.
        """
        factor, layout = self.factor, self.layout
        assert factor is not None
        if isinstance(self.solver, ArrowSolver):
            own, root = effect_spread(self.solver, layout, factor)
            return np.asarray(own + np.sum(root**2, axis=2))
        # Rows of a root of the inverse that belong to the standardised effects v.
        root = self.solver.root[layout.at["deviation"]]
        by_effect = root.reshape(factor.shape[1], layout.n_items, -1)
        return np.asarray(
            np.sum(np.einsum("mn,nir->mir", factor, by_effect) ** 2, axis=2)
        )

    def lower_bound(self, scores: Array) -> Array:
        """Lower bound of each target's variance, however many judge rows there are.

        ``B_l = (l'v0)^2 / (v0' J_H v0)`` of thm:human-scale-information-limit-v2, with
        v0 the direction of the scale of the scores, on which judge rows carry no
        information.

        Parameters
        ----------
        scores : ndarray of shape (n_items,)
            Scores at which the system was set up, in logits.

        Returns
        -------
        ndarray of shape (n_targets,)
        """
        layout = self.layout
        direction = np.zeros(layout.size)
        # The selectors have orthonormal columns, so that S' scores are the free scores.
        # B_l does not depend on the length of the direction.
        direction[layout.at["scores"]] = layout.items.T @ scores
        if not direction.any():
            # If all scores are zero, a change of scale does not change them.
            return np.zeros(self.targets.shape[1])
        own = direction[layout.at["scores"]]
        information = float(own @ self.human_information @ own)
        moved = (self.targets.T @ direction) ** 2
        if information > 0.0:
            return np.asarray(moved / information)
        # Without human information on the scale, the bound is infinite for targets that
        # depend on the scale, and zero for the others.
        return np.where(moved > 0.0, np.inf, 0.0)
