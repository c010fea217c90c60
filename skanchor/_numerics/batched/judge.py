"""Sensitivity and linear bias of one judge, for many sets of weights at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._numerics.batched.solver import newton
from skanchor._numerics.batched.workspace import Workspace
from skanchor._numerics.types import Array, Indices


def fit_judge(
    delta: Array,
    columns: Array,
    weight: Array,
    first: Array,
    start: Array,
    *,
    start_delta: Array | None = None,
    ridge: Array | None = None,
    tol: float,
    work: Workspace | None = None,
) -> tuple[Array, NDArray[np.bool_]]:
    """Sensitivity and linear bias of one judge.

    Solves the judge's part of eq:calibration-estimation-v2 for every replicate:
    minimises the mean logistic loss of the logits ``c delta + columns @ b``, plus half
    the ridge.

    Parameters
    ----------
    delta : ndarray of shape (n_replicates, n_rows)
        Score differences; each replicate has its own scores.
    columns : ndarray of shape (n_rows, n_columns)
        Display order and feature contrasts, the same in all replicates.
    weight, first : ndarray of shape (n_replicates, n_rows)
        Weights, and weights times outcomes.
    start : ndarray of shape (1 + n_columns,)
        Start of c and b.
    start_delta : ndarray of shape (n_rows,), optional
        Score differences at which ``start`` was fitted. Each replicate then starts at
        the minimum of its loss expanded about that fit, to third order.
    ridge : ndarray of shape (n_replicates, n_columns), optional
        Diagonal of the penalty of b.
    tol : float
        Accepted error of the coefficients: of the logit of a row of unit contrast.
    work : Workspace, optional
        Scratch arrays.

    Returns
    -------
    coef : ndarray of shape (n_replicates, 1 + n_columns)
        c, then b.
    converged : ndarray of shape (n_replicates,)
        Whether each replicate converged.
    """
    model = _JudgeLoss(delta, columns, weight, first, ridge, work or Workspace())
    begin = np.tile(start, (len(weight), 1))
    if start_delta is not None:
        begin = model.expanded(start, start_delta)
    return newton(model.equations, begin, tol=tol)


class _JudgeLoss:
    """Loss of :func:`fit_judge`, its gradients and second derivatives.

    Almost all of the time is spent in a few passes over arrays of shape (n_replicates,
    n_rows). They are computed in place, in scratch arrays.
    """

    def __init__(
        self,
        delta: Array,
        columns: Array,
        weight: Array,
        first: Array,
        ridge: Array | None,
        work: Workspace,
    ):
        self.delta, self.columns = delta, columns
        self.weight, self.first = weight, first
        self.ridge, self.work = ridge, work
        # Products of two columns in each row, once for each unordered pair of columns:
        # a matrix product with them gives the upper triangles of all Gram matrices.
        self.upper = np.triu_indices(columns.shape[1])
        self.products = columns[:, self.upper[0]] * columns[:, self.upper[1]]
        self.scale = 1.0 / weight.sum(axis=1)

    def project(self, rows: Array, delta: Array) -> Array:
        """Sums over rows of values ``rows`` times (delta, columns).

        Both arguments have the shape (r, n_rows), the result (r, 1 + n_columns).
        """
        result = np.empty((len(rows), 1 + self.columns.shape[1]))
        result[:, 0] = np.einsum("rn,rn->r", rows, delta)
        result[:, 1:] = rows @ self.columns
        return result

    def gram(self, rows: Array, delta: Array) -> Array:
        """Gram matrices of (delta, columns) with weights ``rows``, which are changed.

        The result has the shape (r, 1 + n_columns, 1 + n_columns).
        """
        n_columns = self.columns.shape[1]
        result = np.empty((len(rows), 1 + n_columns, 1 + n_columns))
        block = np.empty((len(rows), n_columns, n_columns))
        block[:, self.upper[0], self.upper[1]] = half = rows @ self.products
        block[:, self.upper[1], self.upper[0]] = half
        result[:, 1:, 1:] = block
        # The line of delta: sums of weight * delta times (delta, columns).
        rows *= delta
        result[:, 0] = self.project(rows, delta)
        result[:, 1:, 0] = result[:, 0, 1:]
        return result

    def penalised(
        self, left: Array, second: Array, coef: Array, at: Indices | slice
    ) -> tuple[Array, Array]:
        """Turn sums into means, in place, and add the ridge on b."""
        left *= self.scale[at, None]
        second *= self.scale[at, None, None]
        if self.ridge is not None:
            inner = np.arange(1, coef.shape[1])
            left[:, 1:] += self.ridge[at] * coef[:, 1:]
            second[:, inner, inner] += self.ridge[at]
        return left, second

    def equations(self, coef: Array, at: Indices) -> tuple[Array, Array]:
        """Gradients (r, 1 + n_columns) and Hessians of the loss of replicates."""
        whole: Indices | slice = at
        if len(at) == len(self.weight):
            # Usually these are all replicates, and a slice avoids a copy.
            whole = slice(None)
        d, w, f = self.delta[whole], self.weight[whole], self.first[whole]
        p, product, curvature = (self.work.take(name, d.shape) for name in "abc")
        # p starts as minus the logit and becomes the probability in place.
        np.multiply(d, -coef[:, :1], out=p)
        if coef.shape[1] > 1:
            p += np.matmul(-coef[:, 1:], self.columns.T, out=product)
        # 1 / (1 + exp(-eta)); numpy's exp is several times faster than expit.
        with np.errstate(over="ignore"):
            np.exp(p, out=p)
        p += 1.0
        np.reciprocal(p, out=p)
        # ``curvature`` is w p here, so that w (p - y) is the residual, and w p (1 - p)
        # below.
        np.multiply(w, p, out=curvature)
        left = self.project(np.subtract(curvature, f, out=product), d)
        np.subtract(1.0, p, out=p)
        curvature *= p
        return self.penalised(left, self.gram(curvature, d), coef, whole)

    def expanded(self, start: Array, start_delta: Array) -> Array:
        """Minimum of the loss of each replicate, expanded to third order about one fit.

        With p, V, V' the sigmoid and its derivatives at that fit's logits, and v the
        change of a row's logit, the residual is ``y - p - V v - V' v^2 / 2``. The
        coefficients solve the equations to first order in v, then take one step for the
        term of second order. The result has the shape (n_replicates, 1 + n_columns).
        """
        every = slice(None)
        p = expit(start[0] * start_delta + self.columns @ start[1:])
        curve = p * (1.0 - p)
        d, w = self.delta, self.weight
        shift, inner, rest = (self.work.take(name, d.shape) for name in "abc")
        product = self.work.take("d", d.shape)
        # First order. At the old coefficients v is ``shift`` = c (delta - start_delta);
        # ``rest`` is w (p + V v - y), and ``inner`` the weight w V of the Gram matrix.
        np.subtract(d, start_delta, out=shift)
        shift *= start[0]
        np.multiply(w, curve, out=inner)
        np.multiply(inner, shift, out=rest)
        rest += np.multiply(w, p, out=product)
        rest -= self.first
        coef = np.tile(start, (len(w), 1))
        left, second = self.penalised(
            self.project(rest, d), self.gram(inner, d), coef, every
        )
        try:
            inverse = np.linalg.inv(second)
        except np.linalg.LinAlgError:
            return coef
        step = -np.einsum("rpq,rq->rp", inverse, left)
        # Second order. ``shift`` becomes v after that step, then w V' v^2 / 2 with
        # V' = V (1 - 2 p); one more step with the same inverse takes it into account.
        shift += np.multiply(d, step[:, :1], out=product)
        if len(start) > 1:
            shift += np.matmul(step[:, 1:], self.columns.T, out=product)
        shift *= shift
        shift *= w
        shift *= 0.5 * curve * (1.0 - 2.0 * p)
        bend = self.project(shift, d) * self.scale[:, None]
        return coef + step - np.einsum("rpq,rq->rp", inverse, bend)
