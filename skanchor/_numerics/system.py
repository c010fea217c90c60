"""The Riesz system of all scores: information, targets, and the solved weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skanchor._numerics.information import JudgeBlock, Projection
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.parameters import PEOPLE, Parameters
from skanchor._numerics.sums import Information
from skanchor._typing import Array

__all__ = ["RieszProblem", "RieszSystem"]


@dataclass(frozen=True, eq=False)
class RieszProblem:
    """The system before the judges' blocks are known.

    Attributes
    ----------
    layout : Parameters
        The parameter vector, biases profiled out.
    slopes : ndarray of shape (n_judges,)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root L of the covariance of the item effects, whose standardised
        values v, u = L v, are the last parameters.
    people : JudgeBlock
        Information of the human rows: by item, or as that of a judge where people
        have a bias of their own.
    ridge : float
        Ridge penalty, in shares of the diagonal of the information.
    asked : ndarray of shape (n_span, n_items) or None
        What each target asks of the coefficients of people's bias; None where targets
        are scores alone.
    """

    layout: Parameters
    slopes: Array
    factor: Array | None
    people: JudgeBlock
    ridge: float = 0.0
    asked: Array | None = None

    def solve(self, blocks: Iterable[JudgeBlock | None]) -> RieszSystem:
        """Add the blocks of the judges, and solve eq:direct-riesz-objective-v2.

        Parameters
        ----------
        blocks : iterable of JudgeBlock or None
            One per judge, read once; None where a judge has no rows.

        Returns
        -------
        RieszSystem
        """
        layout = self.layout
        total, identity = layout.no_information(), None
        layout.add_information(total, PEOPLE, self.people.gram, 1.0)
        # People see the scores, and nothing else.
        human, at = np.zeros((layout.size, layout.size)), layout.at["scores"]
        by_item = self.people.gram[: layout.n_items, : layout.n_items]
        human[at, at] = layout.items.T @ by_item @ layout.items
        if self.people.identity is not self.people.gram:
            identity = layout.no_information()
            layout.add_information(identity, PEOPLE, self.people.identity, 1.0)
        projections: list[Projection | None] = []
        for m, block in enumerate(blocks):
            projections.append(None if block is None else block.projection)
            if block is None:
                continue
            if identity is None and block.identity is not block.gram:
                identity = total.copy()
            layout.add_information(total, m, block.gram, self.slopes[m])
            if identity is not None:
                layout.add_information(identity, m, block.identity, self.slopes[m])
        joint = self._with_prior(total)
        found = joint if identity is None else self._with_prior(identity)
        raised = joint
        if self.ridge > 0.0:
            raised = joint + self.ridge * self._diagonal(total, joint)
        solver = SymmetricSolver.factorise(raised)
        targets = np.zeros((layout.size, layout.n_items))
        targets[layout.at["scores"]] = layout.items.T
        people = replace(self.people.projection, inner=self.people.inner)
        if self.asked is not None:
            people = self._ask(people, targets)
        weights = solver.solve(targets)
        return RieszSystem(
            layout,
            self.slopes,
            self.factor,
            joint,
            raised,
            human,
            found.T @ weights - targets,
            weights,
            targets,
            tuple(projections),
            solver,
            people,
        )

    def _ask(self, people: Projection, targets: Array) -> Projection:
        """Ask for people's bias beside the scores: its part is taken off ``targets``.

        With the span's coefficients at their minimum, what is asked of them is asked of
        the scores that move with them.
        """
        layout, block = self.layout, self.people
        assert block.inner is not None and block.coef is not None
        assert self.asked is not None
        by_item = block.coef[:, : layout.n_items].T @ self.asked
        targets[layout.at["scores"]] -= layout.items.T @ by_item
        found = SymmetricSolver.factorise(block.inner).solve(self.asked)
        return replace(people, asked=found)

    def _diagonal(self, total: Array, joint: Array) -> Array:
        """The information's diagonal, that of the scores model by model.

        In the coordinates of the historical scores it would go by the models' order.
        """
        layout, found = self.layout, np.diag(joint.diagonal())
        own, at = total.diagonal()[: layout.n_items], layout.at["scores"]
        found[at, at] = layout.items.T @ (own[:, None] * layout.items)
        return found

    def _with_prior(self, total: Array) -> Array:
        joint = self.layout.reduce_information(total, self.factor)
        if self.factor is not None:
            # The prior of the item effects is one more observation each.
            tail = np.arange(self.layout.size)[self.layout.at["deviation"]]
            joint[tail, tail] += 1.0
        return joint


@dataclass(frozen=True, eq=False)
class RieszSystem:
    """Solved Riesz system of all scores.

    Attributes
    ----------
    layout : Parameters
        The parameter vector.
    slopes : ndarray of shape (n_judges,)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root of the covariance of the item effects.
    information : ndarray of shape (p, p)
        Information J of (new scores, historical coordinates, sensitivities,
        position effects, item effects) after the bias functions.
    raised : ndarray of shape (p, p)
        The same, its diagonal raised by the ridge.
    human_information : ndarray of shape (p, p)
        The human rows' share of it.
    gap : ndarray of shape (p, n_targets)
        ``sum omega a V xi - L``, what the weights leave of the identity.
    weights : ndarray of shape (p, n_targets)
        w = J^-1 L for the targets L, the scores of all items; of ``raised`` for J.
    targets : ndarray of shape (p, n_targets)
        L; where targets ask for people's bias, too, with its part profiled out.
    projections : tuple of Projection or None
        One per judge.
    solver : SymmetricSolver
        Inverse of ``raised``.
    people : Projection
        That of the human rows.
    """

    layout: Parameters
    slopes: Array
    factor: Array | None
    information: Array
    raised: Array
    human_information: Array
    gap: Array
    weights: Array
    targets: Array
    projections: tuple[Projection | None, ...]
    solver: SymmetricSolver
    people: Projection

    @cached_property
    def _by_item(self) -> Array:
        return self.layout.by_item(self.weights, self.factor)

    @property
    def _tail(self) -> Array:
        """Weights of the item effects."""
        return self.weights[self.layout.at["deviation"]]

    def columns(self, m: int) -> Array:
        """Coefficients of a source's columns (items, delta, order) in the weights.

        Parameters
        ----------
        m : int
            Judge, or ``PEOPLE``.

        Returns
        -------
        ndarray of shape (n_items + 2, n_targets)
        """
        slope = 1.0 if m == PEOPLE else float(self.slopes[m])
        return self.layout.local(self._by_item, m, slope)

    def projection(self, m: int) -> Projection | None:
        """What the bias of a source takes from the columns of its rows.

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
            Judge, or ``PEOPLE``, whose columns are the items alone where they have no
            bias.

        Returns
        -------
        ndarray of shape (n_columns, n_targets)
        """
        columns = self.columns(m)
        projection = self.projection(m)
        if m == PEOPLE and self.people.learner is None:
            return columns[: self.layout.n_items]
        return columns if projection is None else projection.extended(columns)

    def gain(self, m: int, known: Information) -> Array:
        """What rows take off the variance of each target, per row more like each.

        The sum of ``w V a^2``, a the Riesz weight: to first order the variance falls by
        a share of it where the rows' number grows by that share.

        Parameters
        ----------
        m : int
            Judge, or ``PEOPLE``.
        known : Information
            Of rows of this source, which need not be among those of the system.

        Returns
        -------
        ndarray of shape (n_targets,)
        """
        columns = self.all_columns(m)
        return np.asarray(np.einsum("ij,ik,kj->j", columns, known.gram, columns))

    def item_covariance(self) -> Array:
        """Variance that the item effects leave in the targets, W_u' R W_u."""
        return np.asarray(self._tail.T @ self._tail)

    def expected_covariance(self) -> Array:
        """Sampling variance of the targets if outcomes are independent votes.

        Returns
        -------
        ndarray of shape (3, n_targets, n_targets)
            What human rows add, judge rows add, and the two share, which is nothing.
        """
        whole = self.weights.T @ self.information @ self.weights
        human = self.weights.T @ self.human_information @ self.weights
        judge = whole - self.item_covariance() - human
        asked = self.people.asked
        if asked is not None and self.people.inner is not None:
            human = human + asked.T @ self.people.inner @ asked
        return np.array([human, judge, np.zeros_like(human)])

    def prior_score(self, deviations: Array | None) -> Array:
        """Correction by the prior's own score, -(R u)' W_u, for each target.

        Parameters
        ----------
        deviations : ndarray of shape (n_judges, n_items) or None
            u, where there are item effects.

        Returns
        -------
        ndarray of shape (n_targets,)
        """
        if self.factor is None or deviations is None:
            return np.zeros(self.layout.n_items)
        v = np.linalg.lstsq(self.factor, deviations, rcond=None)[0].ravel()
        return np.asarray(-(v @ self._tail))

    def lower_bound(self, scores: Array) -> Array:
        """Part of each score's variance that judge rows cannot lower.

        B_l of thm:human-scale-information-limit-v2: judges say nothing about the scale
        of the scores.

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
        # Its columns are orthonormal.
        direction[layout.at["scores"]] = layout.items.T @ scores
        direction[layout.at["sensitivity"]] = -self.slopes
        length = np.linalg.norm(direction)
        if length == 0.0:
            # No score and no sensitivity: there is no scale to be unsure of.
            return np.zeros(self.targets.shape[1])
        direction /= length
        information = direction @ self.human_information @ direction
        return np.asarray((self.targets.T @ direction) ** 2 / information)
