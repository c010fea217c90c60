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

__all__ = ["JudgeBlock", "judge_block", "local_gram", "selectors"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgeBlock:
    """Projected information of one judge.

    Attributes
    ----------
    gram : ndarray of shape (n_items + 2, n_items + 2)
        Sum of ``weight V (x - D[Gamma]) (x - D[Gamma])'`` over the judge's rows, with
        ``x = (e_a - e_b, delta, order)``.
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
    cut: JudgeRows,
    delta: Array,
    weight: Array,
    learner: Any,
) -> JudgeBlock:
    """Aggregate one judge's rows.

    Parameters
    ----------
    cut : JudgeRows
        The judge's rows.
    delta : ndarray of shape (n,)
        Score differences.
    weight : ndarray of shape (n,)
        Row weight times ``V``, the derivative of the sigmoid at the logit.
    learner : BiasLearner or None
        Unfitted learner with the squared loss; None where there are no features.

    Returns
    -------
    JudgeBlock
    """
    n_items = cut.n_models
    if learner is not None and not hasattr(learner, "span"):
        extra = np.column_stack([delta, cut.order])
        return _fitted_block(cut, extra, weight, learner)
    blocks = [delta[:, None], cut.order[:, None]]
    if learner is not None:
        learner.fit_span(cut.pairs, weight)
        blocks.append(learner.span(cut.pairs))
    gram = local_gram(cut, Columns(*blocks), weight)
    if learner is None:
        return JudgeBlock(gram, gram, None, None)
    head, tail = slice(n_items + 2), slice(n_items + 2, None)
    inner = gram[tail, tail].copy()
    inner[np.diag_indices(len(inner))] += weight.sum() * learner.ridge(
        cut.pairs, weight
    )
    coef = SymmetricSolver.factorise(inner).solve(gram[tail, head])
    projected = gram[head, head] - gram[head, tail] @ coef
    return JudgeBlock(projected, projected, learner, coef)


def _fitted_block(
    cut: JudgeRows, extra: Array, weight: Array, learner: Any
) -> JudgeBlock:
    used = weight > 0
    columns = np.hstack([cut.incidence.toarray(), extra])[used]
    pairs = cut.pairs[np.flatnonzero(used)]
    learner.fit(pairs, columns, weight[used])
    rest = columns - learner.contrast(pairs)
    weighted = rest * weight[used, None]
    return JudgeBlock(weighted.T @ rest, weighted.T @ columns, learner, None)
