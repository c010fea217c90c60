"""The Riesz system of all scores: information, targets, and the solved weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skanchor._numerics.information import JudgeBlock, Projection
from skanchor._numerics.linalg import SymmetricSolver, standardised
from skanchor._numerics.parameters import PEOPLE, Parameters
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array

__all__ = ["RieszProblem", "RieszSystem", "diagonal_by_model", "joint_information"]


def joint_information(
    items: Array,
    slopes: Array,
    factor: Array | None,
    people: Array,
    grams: Array,
    *,
    positions: bool,
) -> tuple[Array, Array]:
    """Information of all parameters, of one system or of several at once.

    Several systems, such as those of all folds, lie along leading axes.

    Parameters
    ----------
    items : ndarray of shape (n_items, n_scores)
        Selector of each item's score.
    slopes : ndarray of shape (..., n_judges)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root L of the covariance of the item effects.
    people : ndarray of shape (..., n_items, n_items)
        Information of the votes, by item.
    grams : ndarray of shape (..., n_judges, n_items + 2, n_items + 2)
        Information of each judge by item, delta and order, biases profiled out.
    positions : bool
        Whether judges have position effects.

    Returns
    -------
    joint : ndarray of shape (..., p, p)
        Of (scores, sensitivities, position effects, standardised item effects), the
        prior of the item effects included.
    human : ndarray of shape (..., n_scores, n_scores)
        The part of the scores' block that comes from the votes.
    """
    lead, n_judges, (n, n_scores) = slopes.shape[:-1], slopes.shape[-1], items.shape
    # Kind 0 is the sensitivity, whose column is delta, and kind 1 the position effect,
    # whose column is the order. Parameters of a kind lie judge after judge.
    kinds = range(1 + positions)
    n_head = n_scores + n_judges * len(kinds)
    size = n_head + (0 if factor is None else n_judges * n)
    total = np.empty((*lead, size, size))
    c, each = slopes[..., None, None], np.arange(n_judges)
    of_items = grams[..., :n, :n]
    # Scores by scores: a row of judge m has the gradient c_m S'(e_a - e_b).
    human = items.T @ people @ items
    seen = (c**2 * of_items).sum(axis=-3)
    total[..., :n_scores, :n_scores] = human + items.T @ seen @ items
    block = total[..., n_scores:n_head, n_scores:n_head]
    block[...] = 0.0
    # cross[k], of shape (..., n_judges, n_items): products of the item columns with the
    # column of kind k.
    cross = [grams[..., :n, n + k] for k in kinds]
    places = [slice(n_scores + k * n_judges, n_scores + (k + 1) * n_judges)
              for k in kinds]  # fmt: skip
    for k in kinds:
        # Scores by the parameters of kind k, (..., n_scores, n_judges).
        shared = items.T @ np.swapaxes(slopes[..., None] * cross[k], -1, -2)
        total[..., :n_scores, places[k]] = shared
        total[..., places[k], :n_scores] = np.swapaxes(shared, -1, -2)
        for j in kinds:
            # Judges have no rows in common, so that only entries of one judge with
            # itself differ from zero.
            own = grams[..., n + k, n + j]
            block[..., k * n_judges + each, j * n_judges + each] = own
    if factor is None:
        return total, human
    # The item effects come last, in standardised form: u_m = sum over a of L[m, a] v_a,
    # so that v of "judge" a enters the logits of every judge m with L[m, a]. With the
    # scores this gives sum over m of L[m, a] c_m G_m S, G_m the item block of judge m.
    mixed = factor.T @ (c * of_items).reshape(*lead, n_judges, -1)
    mixed = mixed.reshape(*lead, n_judges * n, n) @ items
    total[..., n_head:, :n_scores] = mixed
    total[..., :n_scores, n_head:] = np.swapaxes(mixed, -1, -2)
    for k in kinds:
        # v by kind k: axes (a, item, m), flattened to (a and item, m).
        shared = np.swapaxes(cross[k], -1, -2)[..., None, :, :] * factor.T[:, None, :]
        shared = shared.reshape(*lead, n_judges * n, n_judges)
        total[..., n_head:, places[k]] = shared
        total[..., places[k], n_head:] = np.swapaxes(shared, -1, -2)
    # v by v: sum over m of L[m, a] L[m, b] G_m, with axes (a, b, item, item).
    pairs = (factor[:, :, None] * factor[:, None, :]).reshape(n_judges, -1)
    both = pairs.T @ of_items.reshape(*lead, n_judges, -1)
    both = both.reshape(*lead, n_judges, n_judges, n, n)
    tail = total[..., n_head:, n_head:]
    # Splitting the two last axes gives a view with axes (a, item, b, item), and the
    # assignment writes into ``total``.
    tail.reshape(*lead, n_judges, n, n_judges, n)[...] = np.swapaxes(both, -3, -2)
    # The prior v ~ N(0, I).
    np.einsum("...ii->...i", tail)[...] += 1.0
    return total, human


def diagonal_by_model(
    items: Array, slopes: Array, people: Array, grams: Array, joint: Array
) -> Array:
    """Diagonal of the information, by item for the scores, as a matrix for a ridge.

    The diagonal in the coordinates of the historical scores would depend on the order
    of the models. Here the diagonal D by item becomes the block S' D S of the scores.

    Parameters
    ----------
    items, slopes, people, grams
        As in :func:`joint_information`.
    joint : ndarray of shape (..., p, p)
        The first array that it returns.

    Returns
    -------
    ndarray of shape (..., p, p)
    """
    n, n_scores = items.shape
    by_judge = np.einsum("...ii->...i", grams[..., :n, :n])
    own = np.einsum("...ii->...i", people)
    own = own + (slopes[..., None] ** 2 * by_judge).sum(axis=-2)
    found = np.zeros_like(joint)
    np.einsum("...ii->...i", found)[...] = np.einsum("...ii->...i", joint)
    found[..., :n_scores, :n_scores] = items.T @ (own[..., None] * items)
    return found


@dataclass(frozen=True, eq=False)
class RieszProblem:
    """The Riesz system before the judges' blocks are known.

    Attributes
    ----------
    layout : Parameters
        The parameter vector, biases profiled out.
    slopes : ndarray of shape (n_judges,)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root L of the covariance of the item effects, with orthogonal columns.
        The last parameters are the standardised effects v, with u = L v.
    people : JudgeBlock
        Information of the human rows: by item, or as that of a judge where people
        have a bias of their own.
    ridge : float
        Ridge penalty, as a share of the diagonal of the information.
    asked : ndarray of shape (n_span, n_items) or None
        Part of each target in the coefficients of people's bias; None where targets are
        scores alone.
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
            One per judge; None where a judge has no rows. Iterated over once.

        Returns
        -------
        RieszSystem
        """
        layout, found = self.layout, list(blocks)
        projections = tuple(None if one is None else one.projection for one in found)
        joint, raised, seen = self._joint(
            self.people.gram, [None if one is None else one.gram for one in found]
        )
        # Human rows carry information on the scores alone.
        human, at = np.zeros((layout.size, layout.size)), layout.at["scores"]
        human[at, at] = seen
        identity = self._identity(found)
        identity = joint if identity is None else identity
        solver = SymmetricSolver.factorise(raised)
        # Column i of L is the selector S_i of item i's score.
        targets = np.zeros((layout.size, layout.n_items))
        targets[layout.at["scores"]] = layout.items.T
        people = replace(self.people.projection, inner=self.people.inner)
        if self.asked is not None:
            people = self._ask(people, targets)
        return RieszSystem(
            layout,
            self.slopes,
            self.factor,
            joint,
            raised,
            human,
            identity,
            targets,
            projections,
            solver,
            people,
        )

    def _ask(self, people: Projection, targets: Array) -> Projection:
        """Profile the bias coefficients of people out of targets that include them.

        Changes ``targets`` in place, and returns the projection with what the weights
        then hold of the span's columns.
        """
        layout, block = self.layout, self.people
        assert block.inner is not None and block.coef is not None
        assert self.asked is not None
        # Block elimination: with J_sb J_bb^-1 = coef', the targets of the scores lose
        # coef' asked, and the weights of the span gain J_bb^-1 asked.
        by_item = block.coef[:, : layout.n_items].T @ self.asked
        targets[layout.at["scores"]] -= layout.items.T @ by_item
        found = SymmetricSolver.factorise(block.inner).solve(self.asked)
        return replace(people, asked=found)

    def _joint(
        self, people: Array, grams: list[Array | None]
    ) -> tuple[Array, Array, Array]:
        """Information of all parameters, with and without ridge, and of the votes.

        Returns the information, the same plus the ridge, and the votes' part of the
        scores' block.
        """
        layout, n = self.layout, self.layout.n_items
        # A judge without rows has zero information.
        every = np.zeros((layout.n_judges, n + 2, n + 2))
        for own, gram in zip(every, grams, strict=True):
            if gram is not None:
                own[:] = gram
        blocks = layout.items, np.asarray(self.slopes), people[:n, :n], every
        items, slopes, votes, _ = blocks
        joint, human = joint_information(
            items, slopes, self.factor, votes, every, positions=layout.has_positions
        )
        raised = joint
        if self.ridge > 0.0:
            raised = joint + self.ridge * diagonal_by_model(*blocks, joint)
        return joint, raised, human

    def _identity(self, blocks: list[JudgeBlock | None]) -> Array | None:
        """Matrix of the identity by all parameters; None where it is the information.

        It is the sum of ``weight V (x - D[Gamma]) x'``, which is not symmetric where a
        projection is not exact. :func:`joint_information` takes symmetric blocks only,
        so that the sums are added source by source.
        """
        sources = [(PEOPLE, 1.0, self.people)]
        sources += [
            (m, float(self.slopes[m]), block)
            for m, block in enumerate(blocks)
            if block is not None
        ]
        if all(block.identity is block.gram for _, _, block in sources):
            return None
        total = self.layout.no_information()
        for m, slope, block in sources:
            self.layout.add_information(total, m, block.identity, slope)
        joint = self.layout.reduce_information(total, self.factor)
        if self.factor is not None:
            # The prior v ~ N(0, I) adds one to the information of each.
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
        position effects, item effects), the bias functions profiled out.
    raised : ndarray of shape (p, p)
        J plus the ridge.
    human_information : ndarray of shape (p, p)
        The part of J that comes from human rows.
    identity : ndarray of shape (p, p)
        Transposed matrix of the balance ``sum omega a V xi``, which is ``identity' w``
        for weights w. It equals J where the projections on the biases are exact.
    targets : ndarray of shape (p, n_targets)
        L, the scores of all items. Where targets include people's bias, its part is
        profiled out.
    projections : tuple of Projection or None
        One per judge; None where a judge has no rows.
    solver : SymmetricSolver
        Inverse of ``raised``.
    people : Projection
        Projection of the human rows.
    """

    layout: Parameters
    slopes: Array
    factor: Array | None
    information: Array
    raised: Array
    human_information: Array
    identity: Array
    targets: Array
    projections: tuple[Projection | None, ...]
    solver: SymmetricSolver
    people: Projection

    @cached_property
    def weights(self) -> Array:
        """w = J^-1 L with ``raised`` for J, of shape (p, n_targets)."""
        return self.solver.solve(self.targets)

    @property
    def gap(self) -> Array:
        """Imbalance ``sum omega a V xi - L`` of the weights, (p, n_targets)."""
        return np.asarray(self.identity.T @ self.weights - self.targets)

    @cached_property
    def _by_item(self) -> Array:
        """Weights with one row for each item's score and each deviation u."""
        return self.layout.by_item(self.weights, self.factor)

    @property
    def _tail(self) -> Array:
        """Weights of the standardised item effects, (n_judges * n_items, n_targets)."""
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
        ndarray of shape (n_columns, n_targets)
        """
        columns = self.columns(m)
        projection = self.projection(m)
        if m == PEOPLE and self.people.learner is None:
            return columns[: self.layout.n_items]
        return columns if projection is None else projection.extended(columns)

    def gain(self, m: int, known: SourceSums) -> Array:
        """Decrease of each target's variance by more rows, ``sum w V a^2``.

        a is the Riesz weight of a row. To first order, a share s more of such rows
        lowers the variance by s times this sum.

        Parameters
        ----------
        m : int
            Judge, or ``PEOPLE``.
        known : SourceSums
            Information of rows of this source, which need not be rows of the system.

        Returns
        -------
        ndarray of shape (n_targets,)
        """
        assert known.information is not None
        # With a = x'k, k a column of ``columns``, the sum is k' (sum w V x x') k.
        columns = self.all_columns(m)
        return np.asarray(np.einsum("ij,ik,kj->j", columns, known.information, columns))

    def item_covariance(self) -> Array:
        """Item part of the covariance of the targets, W_u' R W_u.

        Where items have owners (a model in several contexts), deviations may be common
        to all items of an owner or independent between items, and the data do not show
        which. Common deviations add up in a mean over items. The result is therefore
        the covariance under common deviations, with each target's variance raised to
        that under independent ones where the latter is larger.

        Returns
        -------
        ndarray of shape (n_targets, n_targets)
        """
        tail, owners = self._tail, self.layout.owners
        # In the standardised effects R is the identity.
        by_item = tail.T @ tail
        if owners is None or not len(tail):
            return np.asarray(by_item)
        # -R W_u is the exposure of the targets to the deviations. Exposures to the same
        # deviation, those of an owner's items, are summed before they are squared.
        owned = np.equal.outer(np.unique(owners), owners).astype(np.float64)
        by_judge = tail.reshape(self.layout.n_judges, len(owners), -1)
        alike = np.einsum("mot,mou->tu", owned @ by_judge, owned @ by_judge)
        least, most = alike.diagonal(), by_item.diagonal()
        # Scaling both sides keeps the matrix positive semi-definite.
        ratio = np.divide(most, least, out=np.ones(len(least)), where=least > 0)
        scale = np.sqrt(np.maximum(ratio, 1.0))
        return np.asarray(scale[:, None] * alike * scale)

    def expected_covariance(self) -> Array:
        """Sampling variance of the targets if outcomes are independent votes.

        Returns
        -------
        ndarray of shape (3, n_targets, n_targets)
            V_H, V_J and C_HJ: the parts of human rows, of judge rows, and their
            covariance, which is zero.
        """
        whole = self.weights.T @ self.information @ self.weights
        human = self.weights.T @ self.human_information @ self.weights
        # ``information`` includes the prior of the item effects, which is no vote.
        judge = whole - self._tail.T @ self._tail - human
        asked = self.people.asked
        if asked is not None and self.people.inner is not None:
            human = human + asked.T @ self.people.inner @ asked
        return np.array([human, judge, np.zeros_like(human)])

    def prior_score(self, deviations: Array | None) -> Array:
        """Correction by the prior's own score, -(R u)' W_u, for each target.

        Parameters
        ----------
        deviations : ndarray of shape (n_judges, n_items) or None
            Item effects u; None where there are none.

        Returns
        -------
        ndarray of shape (n_targets,)
        """
        if self.factor is None or deviations is None:
            return np.zeros(self.layout.n_items)
        v = standardised(self.factor, deviations).ravel()
        return np.asarray(-(v @ self._tail))

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
        information = float(direction @ self.human_information @ direction)
        moved = (self.targets.T @ direction) ** 2
        if information > 0.0:
            return np.asarray(moved / information)
        # Without human information on the scale, the bound is infinite for targets that
        # depend on the scale, and zero for the others.
        return np.where(moved > 0.0, np.inf, 0.0)
