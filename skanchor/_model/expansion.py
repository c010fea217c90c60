"""Sums over rows about a point, which stand for the rows of a source near it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._model.link import sigmoid
from skanchor._model.sources import SourceRows
from skanchor._typing import Array


@dataclass(frozen=True, eq=False)
class ExpandedRows:
    """Quadratic expansion of the loss of historical rows about their coefficients.

    The logit of a row is linear in the coefficients of the local columns, so that the
    chain rule from there to the parameters, and with it the product of sensitivity and
    score, stays exact. Rows are summed in blocks, those that one fold holds out. Blocks
    take the place of rows, and are weighed as rows are.

    Attributes
    ----------
    source : int
        ``PEOPLE``, or the code of the judge.
    n_items : int
        Number of items.
    at : ndarray of shape (n_columns,)
        Coefficients of the local columns at the point.
    gram : ndarray of shape (n_blocks, n_columns, n_columns)
        Information of the rows of each block there.
    score : ndarray of shape (n_blocks, n_columns)
        Their scores.
    total : ndarray of shape (n_blocks,)
        Their summed weights.
    weight : ndarray of shape (n_blocks,)
        Weights of the blocks.
    """

    source: int
    n_items: int
    at: Array
    gram: Array
    score: Array
    total: Array
    weight: Array

    is_new = False

    @classmethod
    def of(
        cls, rows: SourceRows, at: Array, block: NDArray[np.integer], n_blocks: int
    ) -> Self:
        """Sum rows about a point.

        Parameters
        ----------
        rows : SourceRows
            Historical rows of one source.
        at : ndarray of shape (n_columns,)
            As the attribute.
        block : ndarray of shape (n,)
            Block of each row.
        n_blocks : int
            Number of blocks.

        Returns
        -------
        ExpandedRows
        """
        size, parts = len(at), rows.in_blocks(block, n_blocks)
        gram, score = np.zeros((n_blocks, size, size)), np.zeros((n_blocks, size))
        for number, part in enumerate(parts):
            p = sigmoid(part.logits(at))
            gram[number] = part.information(part.weight, p)
            score[number] = part.sums(part.weight * (part.y - p))
        total = np.array([part.weight.sum() for part in parts])
        return cls(rows.source, rows.n_items, at, gram, score, total, np.ones(n_blocks))

    def __add__(self, other: ExpandedRows) -> ExpandedRows:
        return replace(
            self,
            gram=self.gram + other.gram,
            score=self.score + other.score,
            total=self.total + other.total,
        )

    def training(self, number: int) -> Array:
        """Weights of the blocks but one, which then stand for all rows.

        Parameters
        ----------
        number : int
            Block of the rows that are held out.

        Returns
        -------
        ndarray of shape (n_blocks,)
        """
        left = self.total.sum() - self.total[number]
        if not left > 0.0:
            raise ValueError(
                f"Fold {number}: a training set keeps no row of "
                f"{f'judge number {self.source}' if self.source else 'people'}; use "
                "fewer folds or add rows."
            )
        weight = np.full(len(self.total), self.total.sum() / left)
        weight[number] = 0.0
        return weight

    def distance(self, coefficients: Array) -> float:
        """Squared distance from the point, in squared standard errors of all rows."""
        moved = coefficients - self.at
        return float(moved @ self.gram.sum(axis=0) @ moved)

    @property
    def curvature_of_rows(self) -> float:
        """Summed weight times variance of the outcomes of all rows."""
        # The trace of a Laplacian is twice the sum of its weights.
        n = self.n_items
        return float(np.trace(self.gram.sum(axis=0)[:n, :n])) / 2.0

    def logits(self, coefficients: Array) -> Array:
        """Distance from the point, on which all that follows depends."""
        return np.asarray(coefficients - self.at)

    def loss(self, weight: Array, logits: Array) -> float:
        """Loss less that at the point."""
        by_block = self.gram @ logits @ logits / 2.0 - self.score @ logits
        return float(weight @ by_block)

    def slope(self, weight: Array, logits: Array) -> Array:
        """Derivative of the loss by the coefficients, (n_columns,)."""
        return np.asarray(weight @ (self.gram @ logits - self.score))

    def curvature(self, weight: Array, logits: Array) -> Array:
        """Second derivative of the loss, (n_columns, n_columns)."""
        return np.tensordot(weight, self.gram, axes=1)

    def information(self, weight: Array, probability: Array) -> Array:
        """Information of the rows, which is taken at the point."""
        return self.curvature(weight, probability)
