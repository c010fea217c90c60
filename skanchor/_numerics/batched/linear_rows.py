"""Score vectors and information of rows with logits linear in fixed columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from skanchor._numerics.batched.workspace import Workspace
from skanchor._numerics.types import Array, Indices

_CHUNK = 4096
"""Rows that are summed at a time."""


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Rows of one source whose logits are linear in fixed columns.

    The columns are those of ``incidence``, then those of ``own``.

    Attributes
    ----------
    incidence : ndarray of shape (n_rows, n_models)
        +1 at the first model, -1 at the second. Rows of the same pair should be
        adjacent, which makes sums by pair fast.
    own : ndarray of shape (n_rows, n_own)
        Further columns: display order and feature contrasts.
    weight, first : ndarray of shape (n_replicates, n_rows)
        Weights, and weights times outcomes.
    ridge : ndarray of shape (n_replicates, n_models + n_own) or None
        Diagonal of a quadratic penalty, which is added to the summed loss.
    work : Workspace
        Scratch arrays.
    """

    incidence: Array
    own: Array
    weight: Array
    first: Array
    ridge: Array | None = None
    work: Workspace = field(default_factory=Workspace)

    @property
    def n_columns(self) -> int:
        """Number of all columns."""
        return self.incidence.shape[1] + self.own.shape[1]

    def logits(self, coef: Array) -> Array:
        """Logits of the rows, of shape (n_rows,), for one set of coefficients."""
        n_models = self.incidence.shape[1]
        return self.incidence @ coef[:n_models] + self.own @ coef[n_models:]

    def moments(self, coef: Array, at: Indices) -> tuple[Array, Array]:
        """Score vectors and information matrices at given coefficients.

        Parameters
        ----------
        coef : ndarray of shape (r, n_models + n_own)
            Coefficients of the columns.
        at : ndarray of shape (r,)
            Indices of the replicates.

        Returns
        -------
        score : ndarray of shape (r, n_models + n_own)
            Sum of ``w (y - p) x``, less the derivative of the penalty.
        information : ndarray of shape (r, n_models + n_own, n_models + n_own)
            Sum of ``w p (1 - p) x x'``, plus the penalty.
        """
        n_models, n_columns = self.incidence.shape[1], self.n_columns
        items, rest = slice(0, n_models), slice(n_models, n_columns)
        score = np.zeros((len(at), n_columns))
        information = np.zeros((len(at), n_columns, n_columns))
        which: Indices | slice = slice(None) if len(at) == len(self.weight) else at
        for begin in range(0, len(self.own), _CHUNK):
            rows = slice(begin, begin + _CHUNK)
            incidence, own = self.incidence[rows], self.own[rows]
            weight, first = self.weight[which, rows], self.first[which, rows]
            p, product, curvature = (
                self.work.take(name, weight.shape) for name in "abc"
            )
            # p starts as minus the logit, (r, n_chunk), and becomes the probability
            # 1 / (1 + exp(-eta)) in place.
            np.matmul(-coef[:, items], incidence.T, out=p)
            p += np.matmul(-coef[:, rest], own.T, out=product)
            with np.errstate(over="ignore"):
                np.exp(p, out=p)
            p += 1.0
            np.reciprocal(p, out=p)
            # ``curvature`` is w p here, and w p (1 - p) below.
            np.multiply(weight, p, out=curvature)
            residual = np.subtract(first, curvature, out=product)
            score[:, items] += residual @ incidence
            score[:, rest] += residual @ own
            np.subtract(1.0, p, out=p)
            curvature *= p
            # Weights are first summed over adjacent rows with the same pair. There are
            # far fewer pairs than rows, and products of item columns are numerous.
            change = (incidence[1:] != incidence[:-1]).any(axis=1)
            starts = np.flatnonzero(np.append(True, change))
            pairs = incidence[starts]
            outer = (pairs[:, :, None] * pairs[:, None, :]).reshape(len(pairs), -1)
            information[:, items, items] += (
                np.add.reduceat(curvature, starts, axis=1) @ outer
            ).reshape(-1, n_models, n_models)
            # Own columns: with the item columns (again by pair), and with each other.
            for j in range(own.shape[1]):
                column = np.multiply(curvature, own[:, j], out=product)
                mixed = np.add.reduceat(column, starts, axis=1) @ pairs
                information[:, items, n_models + j] += mixed
                information[:, n_models + j, items] += mixed
                information[:, rest, n_models + j] += column @ own
        if self.ridge is not None:
            diagonal = np.arange(n_columns)
            score -= self.ridge[at] * coef
            information[:, diagonal, diagonal] += self.ridge[at]
        return score, information
