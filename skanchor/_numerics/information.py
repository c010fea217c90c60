"""Information that a judge's rows hold once its bias function is profiled out.

The logit of a judge row has derivatives by the items' scores (``e_a - e_b``), by the
sensitivity (the score difference delta) and by the position effect (the display
order). Of these columns the joint system needs the weighted Gram matrix after
projection on the contrasts of the bias learner: one small block for each judge. It is
written for items, not for free parameters, so that it serves any parametrisation of
the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.linalg import Columns, SymmetricSolver
from skanchor._typing import Array

__all__ = [
    "ItemRows",
    "JudgeBlock",
    "fitted_block",
    "gradient_columns",
    "judge_block",
    "local_gram",
    "selectors",
]


class ItemRows(Protocol):
    """Rows of one judge, each a comparison of two items."""

    @property
    def left(self) -> NDArray[np.intp]:
        """Code of the first item of each row."""

    @property
    def right(self) -> NDArray[np.intp]:
        """Code of the second item of each row."""

    @property
    def order(self) -> Array:
        """Display order of each row: 1, -1, or 0 where unknown."""

    @property
    def n_models(self) -> int:
        """Number of items."""

    @property
    def pairs(self) -> Any:
        """Features of the rows, as the bias learner takes them."""

    @property
    def incidence(self) -> csr_array:
        """Matrix of shape (n, n_items): 1 at the first item, -1 at the second."""

    def item_sums(self, values: Array, factor: Array) -> Array:
        """Sum of ``factor * values`` over each item's rows, minus where second."""


@dataclass(frozen=True, slots=True)
class JudgeBlock:
    """Projected information of one judge.

    A row has the columns ``x = (e_a - e_b, delta, order)`` and the derivative V of the
    sigmoid at its logit. D[Gamma] is the part of x that contrasts of the bias learner
    explain.

    Attributes
    ----------
    gram : ndarray of shape (n_items + 2, n_items + 2)
        Sum of ``weight V (x - D[Gamma]) (x - D[Gamma])'`` over the judge's rows, and
        the ridge of Gamma where it has one: the judge's part of the quadratic form of
        eq:direct-riesz-objective-v2.
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

    def correction(self, pairs: Any, columns: Array) -> Array | float:
        """What the bias takes from the weights of rows, of shape (n, n_targets).

        D[gamma] of eq:direct-riesz-objective-v2, where the coefficients of the items,
        delta and the order are ``columns``, of shape (n_items + 2, n_targets).
        """
        if self.learner is None:
            return 0.0
        if self.coef is not None:
            return np.asarray(self.learner.span(pairs) @ (self.coef @ columns))
        return np.asarray(self.learner.contrast(pairs) @ columns)


def selectors(is_new: NDArray[np.bool_], basis: Array) -> Array:
    """Scores of all items from the free ones, as a matrix.

    The free scores are those of the new models, then the coordinates of the historical
    ones in ``basis``, whose columns sum to zero.

    Parameters
    ----------
    is_new : ndarray of shape (n_items,)
        Which items are new models.
    basis : ndarray of shape (n_historical, n_historical - 1)
        Basis of the scores of the historical models.

    Returns
    -------
    ndarray of shape (n_items, n_new + n_historical - 1)
        Unit vectors for new models, rows of the basis for the others.
    """
    n_new = int(is_new.sum())
    rows = np.zeros((len(is_new), n_new + basis.shape[1]))
    rows[np.flatnonzero(is_new), np.arange(n_new)] = 1.0
    rows[~is_new, n_new:] = basis
    return rows


def local_gram(cut: ItemRows, extra: Array | Columns, weight: Array) -> Array:
    """Weighted Gram matrix of a judge's columns, in one pass over its rows.

    Parameters
    ----------
    cut : ItemRows
        The judge's rows.
    extra : ndarray or Columns of shape (n, n_extra)
        Columns beside those of the items.
    weight : ndarray of shape (n,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_items + n_extra, n_items + n_extra)
    """
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
    cut: ItemRows,
    delta: Array,
    weight: Array,
    learner: Any,
    historical: Array | None = None,
) -> JudgeBlock:
    """Aggregate one judge's rows, projected on the span of its learner.

    The judge's part of the quadratic form of eq:direct-riesz-objective-v2, with the
    bias coefficients gamma already at their minimum.

    Parameters
    ----------
    cut : ItemRows
        The judge's rows.
    delta : ndarray of shape (n,)
        Score differences.
    weight : ndarray of shape (n,)
        Row weight times ``V``, the derivative of the sigmoid at the logit.
    learner : BiasLearner or None
        Learner with a span, whose feature map is fitted; None where there are no
        features.
    historical : ndarray of shape (n,), optional
        The same weight, zero but for historical rows, on which a ridge is scaled; None
        takes all rows.

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
    ridge = learner.ridge(cut.pairs, weight if historical is None else historical)
    inner[np.diag_indices(len(inner))] += weight.sum() * ridge
    coef = SymmetricSolver.factorise(inner).solve(gram[tail, head])
    projected = gram[head, head] - gram[head, tail] @ coef
    return JudgeBlock(projected, projected, learner, coef)


def gradient_columns(cut: ItemRows, delta: Array) -> Array:
    """A judge's columns (items, delta, order), dense, of shape (n, n_items + 2)."""
    return np.hstack([cut.incidence.toarray(), delta[:, None], cut.order[:, None]])


def fitted_block(
    columns: Array, fitted: Array, weight: Array, learner: Any
) -> JudgeBlock:
    """Aggregate one judge's rows after a fitted projection.

    As :func:`judge_block`, for learners whose functions span no finite set of columns.

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
