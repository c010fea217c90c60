"""Information of a judge's rows once its bias function is profiled out.

The joint system needs the weighted Gram matrix of a judge's local columns (items,
delta, order) after projection on the contrasts of its bias learner: one small block for
each judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skanchor._numerics.linalg import RANK_TOLERANCE, solve_symmetric
from skanchor._numerics.sums import ItemRows, SourceSums
from skanchor._numerics.types import Array


@dataclass(frozen=True, slots=True)
class Projection:
    """Projection of the columns of one judge's rows on contrasts of its bias learner.

    Attributes
    ----------
    learner : BiasLearner or None
        Learner of the projection; None where there are no features.
    coef : ndarray of shape (..., n_span, n_items + 2) or None
        Projection on the learner's span, for learners that have one.
    left : ndarray of shape (..., n_items + 2)
        Information on each column that it leaves.
    inner : ndarray of shape (..., n_span, n_span) or None
        Information on the coefficients of the span, for learners that have one.
    """

    learner: Any
    coef: Array | None
    left: Array
    inner: Array | None = None

    def correction(self, pairs: Any, columns: Array) -> Array | float:
        """Part D[gamma] of the Riesz weights of rows, of shape (n, n_targets).

        gamma is as in eq:direct-riesz-objective-v2; ``columns``, of shape (n_items + 2,
        n_targets), are the coefficients of the items, delta and the order.
        """
        if self.learner is None:
            return 0.0
        if self.coef is not None:
            # Computed transposed, so that each target is contiguous in memory, as the
            # sums over rows need it.
            taken: Array = self._of_span(columns).T @ self.learner.span(pairs).T
            return np.negative(taken, out=taken).T
        return np.asarray(self.learner.contrast(pairs) @ columns)

    def extended(self, columns: Array) -> Array:
        """Coefficients of all local columns, those of the span included.

        Parameters
        ----------
        columns : ndarray of shape (..., n_items + 2, n_targets)
            Coefficients of the items, delta and the order.

        Returns
        -------
        ndarray of shape (..., n_items + 2 + n_span, n_targets)
        """
        if self.coef is None:
            return columns
        return np.concatenate([columns, self._of_span(columns)], axis=-2)

    def _of_span(self, columns: Array) -> Array:
        """Coefficients of the span's columns, of shape (n_span, n_targets)."""
        assert self.coef is not None
        return np.asarray(-self.coef @ columns)


@dataclass(frozen=True, slots=True)
class JudgeBlock:
    """Projected information of one judge.

    A row has the columns ``x = (e_a - e_b, delta, order)`` and the derivative V of the
    sigmoid at its logit. D[Gamma] is the part of x that contrasts of the bias learner
    explain.

    Attributes
    ----------
    gram : ndarray of shape (..., n_items + 2, n_items + 2)
        Sum of ``weight V (x - D[Gamma]) (x - D[Gamma])'`` over the judge's rows, and
        the ridge of Gamma where it has one: the judge's part of the quadratic form of
        eq:direct-riesz-objective-v2.
    identity : ndarray of shape (..., n_items + 2, n_items + 2)
        Sum of ``weight V (x - D[Gamma]) x'``; equal to ``gram`` where the projection is
        exact.
    learner : BiasLearner or None
        As in :class:`Projection`.
    coef : ndarray of shape (..., n_span, n_items + 2) or None
        As in :class:`Projection`.
    inner : ndarray of shape (..., n_span, n_span) or None
        Information on the span's own coefficients, where there is one.
    """

    gram: Array
    identity: Array
    learner: Any
    coef: Array | None
    inner: Array | None = None

    @property
    def projection(self) -> Projection:
        """What is kept once the system is solved."""
        left = np.einsum("...ii->...i", self.gram).copy()
        return Projection(self.learner, self.coef, left, self.inner)

    def __getitem__(self, part: Any) -> JudgeBlock:
        """The block of one fold, or of several; the first axis is that of folds."""
        coef = None if self.coef is None else self.coef[part]
        inner = None if self.inner is None else self.inner[part]
        gram = self.gram[part]
        is_exact = self.identity is self.gram
        identity = gram if is_exact else self.identity[part]
        return JudgeBlock(gram, identity, self.learner, coef, inner)


def judge_block(
    known: SourceSums, learner: Any = None, ridge: Array | None = None
) -> JudgeBlock:
    """Project one judge's information on the span of its learner.

    The judge's part of the quadratic form of eq:direct-riesz-objective-v2, with the
    bias coefficients gamma already at their minimum.

    Parameters
    ----------
    known : SourceSums
        Of the judge's rows, by item, delta, order and span; with axes in front, such
        as one of folds, the block has them, too.
    learner : BiasLearner, optional
        Learner of the span; None where there are no features.
    ridge : ndarray of shape (..., n_span), optional
        Its ridge penalty, beside the mean curvature.

    Returns
    -------
    JudgeBlock
    """
    gram = known.information
    assert gram is not None
    if learner is None:
        return JudgeBlock(gram, gram, None, None)
    penalty: Array | float = 0.0
    if ridge is not None:
        assert known.curvature is not None
        penalty = known.curvature[..., None] * ridge
    projected, coef, inner = profile_span(gram, known.blocks["span"].start, penalty)
    return JudgeBlock(projected, projected, learner, coef, inner)


def profile_span(
    gram: Array, n_head: int, penalty: Array | float = 0.0
) -> tuple[Array, Array, Array]:
    """Profile the coefficients of a span out of Gram matrices over local columns.

    Parameters
    ----------
    gram : ndarray of shape (..., n_columns, n_columns)
        Information of rows; the columns of the span come last.
    n_head : int
        Number of columns before the span's.
    penalty : ndarray of shape (..., n_span), default=0.0
        Ridge penalty of the span's coefficients.

    Returns
    -------
    projected : ndarray of shape (..., n_head, n_head)
        Information that is left once the span's coefficients are at their optimum.
    coef : ndarray of shape (..., n_span, n_head)
        Projection of the other columns on the span.
    inner : ndarray of shape (..., n_span, n_span)
        Information on the span's coefficients, penalty included.
    """
    head, tail = slice(n_head), slice(n_head, None)
    if gram.shape[-1] == n_head:
        none = np.empty((*gram.shape[:-2], 0, 0))
        return gram, np.empty((*gram.shape[:-2], 0, n_head)), none
    inner = gram[..., tail, tail].copy()
    np.einsum("...ii->...i", inner)[...] += penalty
    coef = solve_symmetric(inner, gram[..., tail, head])
    # The Schur complement of the span.
    projected = gram[..., head, head] - gram[..., head, tail] @ coef
    _clear_explained(projected, gram[..., head, head])
    return projected, coef, inner


def _clear_explained(projected: Array, gram: Array) -> None:
    """Set to zero, in place, what projection leaves of columns that a span explains.

    That is rounding, which a solver free of units would take for information. Both
    arguments are Gram matrices of shape (..., n, n), after and before projection.
    """
    # Diagonals: what is left of each column, and what there was before.
    left, whole = (np.einsum("...ii->...i", each) for each in (projected, gram))
    explained = left < RANK_TOLERANCE * whole
    if explained.any():
        # The rows and columns of explained columns.
        projected[explained[..., None] | explained[..., None, :]] = 0.0


def gradient_columns(cut: ItemRows, delta: Array) -> Array:
    """A judge's columns (items, delta, order), dense, of shape (n, n_items + 2)."""
    return np.hstack([cut.incidence.toarray(), delta[:, None], cut.order[:, None]])


def fitted_block(
    columns: Array, fitted: Array, weight: Array, learner: Any
) -> JudgeBlock:
    """Aggregate one judge's rows after a fitted projection.

    The counterpart of :func:`judge_block` for learners without a fixed span, such as
    networks and trees.

    Parameters
    ----------
    columns : ndarray of shape (n, n_items + 2)
        The judge's gradient columns.
    fitted : ndarray of shape (n, n_items + 2)
        Their projections on contrasts, out of fold for learners that can overfit.
    weight : ndarray of shape (n,)
        Row weight times ``V``.
    learner : object
        Its ``contrast`` gives the projections of any row.

    Returns
    -------
    JudgeBlock
    """
    # Out-of-fold projections are not orthogonal to the rest, so that the identity,
    # sum w V (x - D) x', differs from the Gram matrix of x - D.
    rest = columns - fitted
    weighted = rest * weight[:, None]
    return JudgeBlock(weighted.T @ rest, weighted.T @ columns, learner, None)
