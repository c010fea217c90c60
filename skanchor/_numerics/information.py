"""Information of the judges after their bias functions, in item coordinates.

A judge row has gradient columns for the items (``e_a - e_b``), the score difference
and the display order; all that the joint system needs of a judge is the weighted Gram
matrix of these columns after projection on the contrasts of its bias learner. The
columns are written for items, not for free parameters, so that one block serves any
parametrisation of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.linalg import Columns, SymmetricSolver
from skanchor.comparisons import FeaturePairs, JudgeRows

__all__ = [
    "JudgeBlock",
    "fitted_block",
    "gradient_columns",
    "judge_block",
    "local_gram",
    "selectors",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgeBlock:
    """Projected information of one judge.

    Attributes
    ----------
    gram : ndarray of shape (n_items + 2, n_items + 2)
        Sum of ``weight V (x - D[Gamma]) (x - D[Gamma])'`` over the judge's rows, with
        ``x = (e_a - e_b, delta, order)``, and the ridge of Gamma where it has one.
    identity : ndarray of shape (n_items + 2, n_items + 2)
        Sum of ``weight V (x - D[Gamma]) x'``; equal to ``gram`` where the projection is
        exact.
    learner : BiasLearner or None
        Learner of the projection; None where there are no features.
    coef : ndarray of shape (n_columns, n_items + 2) or None
        Projection on the learner's span, for learners that have one.
    """

    gram: Array
    identity: Array
    learner: Any
    coef: Array | None

    def correction(self, pairs: FeaturePairs, columns: Array) -> Array | float:
        """D[gamma] of rows, for weights ``columns`` of shape (n_items + 2, T)."""
        if self.learner is None:
            return 0.0
        if self.coef is not None:
            return np.asarray(self.learner.span(pairs) @ (self.coef @ columns))
        return np.asarray(self.learner.contrast(pairs) @ columns)


def selectors(is_new: NDArray[np.bool_], basis: Array) -> Array:
    """Selector rows of the items: unit vectors of new models, rows of the basis."""
    n_new = int(is_new.sum())
    rows = np.zeros((len(is_new), n_new + basis.shape[1]))
    rows[np.flatnonzero(is_new), np.arange(n_new)] = 1.0
    rows[~is_new, n_new:] = basis
    return rows


def local_gram(cut: JudgeRows, extra: Array | Columns, weight: Array) -> Array:
    """Weighted Gram matrix of a judge's columns (items, extra), in one pass."""
    n_items = cut.n_models
    root = np.sqrt(weight)
    scaled = Columns.of(extra).scaled(root)
    gram = np.empty((n_items + scaled.shape[1],) * 2)
    gram[:n_items, :n_items] = laplacian(
        pair_sums(cut.left, cut.right, weight, n_items)
    )
    gram[:n_items, n_items:] = cut.item_sums(scaled, root)
    gram[n_items:, :n_items] = gram[:n_items, n_items:].T
    gram[n_items:, n_items:] = scaled.T @ scaled
    return gram


def judge_block(
    cut: JudgeRows, delta: Array, weight: Array, learner: Any
) -> JudgeBlock:
    """Aggregate one judge's rows, projected on the span of its learner.

    Parameters
    ----------
    cut : JudgeRows
        The judge's rows.
    delta : ndarray of shape (n,)
        Score differences.
    weight : ndarray of shape (n,)
        Row weight times ``V``, the derivative of the sigmoid at the logit.
    learner : BiasLearner or None
        Learner with a span, whose feature map is fitted; None where there are no
        features.

    Returns
    -------
    JudgeBlock
    """
    n_items = cut.n_models
    blocks = [delta[:, None], cut.order[:, None]]
    if learner is None:
        gram = local_gram(cut, Columns(*blocks), weight)
        return JudgeBlock(gram, gram, None, None)
    span = learner.span(cut.pairs)
    gram = local_gram(cut, Columns(*blocks, span), weight)
    head, tail = slice(n_items + 2), slice(n_items + 2, None)
    inner = gram[tail, tail].copy()
    inner[np.diag_indices(len(inner))] += weight.sum() * learner.ridge(
        cut.pairs, weight
    )
    coef = SymmetricSolver.factorise(inner).solve(gram[tail, head])
    projected = gram[head, head] - gram[head, tail] @ coef
    return JudgeBlock(projected, projected, learner, coef)


def gradient_columns(cut: JudgeRows, delta: Array) -> Array:
    """A judge's columns (items, delta, order), dense, of shape (n, n_items + 2)."""
    return np.hstack([cut.incidence.toarray(), delta[:, None], cut.order[:, None]])


def fitted_block(
    columns: Array, fitted: Array, weight: Array, learner: Any
) -> JudgeBlock:
    """Aggregate one judge's rows after a fitted projection.

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
    rest = columns - fitted
    weighted = rest * weight[:, None]
    return JudgeBlock(weighted.T @ rest, weighted.T @ columns, learner, None)
