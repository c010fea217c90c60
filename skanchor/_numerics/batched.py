"""The same small fit for many sets of row weights at once.

Arrays have a leading axis of replicates, one for each set of weights. Every fit is
Newton's method from a common start; the replicates that have converged drop out, and
those that do not converge are reported, not repaired: a caller refits them one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = [
    "JointModel",
    "LinearRows",
    "Workspace",
    "fit_judge",
    "fit_scores_on_cells",
    "newton",
]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

_CHUNK = 4096
"""Rows that are summed at a time."""

_LONGEST_STEP = 2.0
"""Steps beyond this many logits say separation, not distance."""


class Workspace:
    """Arrays that are used again and again.

    A fresh array of some hundred kilobytes costs several times the arithmetic that
    fills it, since the memory comes from the system page by page. Every thread has its
    own.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def take(
        self, name: str, shape: tuple[int, ...], dtype: Any = np.float64
    ) -> NDArray[Any]:
        """An array of the given shape, with whatever its last user left in it."""
        size = int(np.prod(shape))
        known: dict[str, NDArray[Any]] = self._local.__dict__
        flat = known.get(name)
        if flat is None or flat.size < size:
            flat = known[name] = np.empty(size, dtype=dtype)
        return flat[:size].reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Workspace, ()


def newton(
    equations: Callable[[Array, Rows], tuple[Array, Array]],
    start: Array,
    *,
    tol: float,
    max_iter: int = 20,
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve a system of equations for every replicate.

    Parameters
    ----------
    equations : callable
        From parameters of shape (r, n_parameters) and the numbers of these replicates
        to the left sides, of shape (r, n_parameters), and their Jacobians.
    start : ndarray of shape (n_replicates, n_parameters)
        First parameters.
    tol : float
        Accepted error of the parameters; a Newton step squares the error, so that the
        last step may be as long as the root of it.
    max_iter : int
        Most steps.

    Returns
    -------
    parameters : ndarray of shape (n_replicates, n_parameters)
    converged : ndarray of shape (n_replicates,)
    """
    values = np.array(start, dtype=np.float64)
    active = np.arange(len(values))
    converged = np.zeros(len(values), dtype=bool)
    for _ in range(max_iter):
        left, jacobian = equations(values[active], active)
        try:
            step = -np.linalg.solve(jacobian, left[..., None])[..., 0]
        except np.linalg.LinAlgError:
            step = -(np.linalg.pinv(jacobian) @ left[..., None])[..., 0]
            # Where the rank is short, the least solution depends on the units.
            short = np.linalg.matrix_rank(jacobian) < jacobian.shape[-1]
            step[short] = np.nan
        size = np.abs(step).max(axis=1, initial=0.0)
        good = np.isfinite(size)
        active, step, size = active[good], step[good], size[good]
        step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(size, 1e-300))[:, None]
        values[active] += step
        settled = size <= np.sqrt(tol)
        converged[active[settled]] = True
        active = active[~settled]
        if not len(active):
            break
    return values, converged


def fit_scores_on_cells(
    incidence: Array,
    weight: Array,
    first: Array,
    start: Array,
    *,
    slope: Array | None = None,
    alpha: float = 0.0,
    tol: float,
) -> tuple[Array, NDArray[np.bool_]]:
    """Zero-sum BTL scores from cells of alike comparisons.

    Parameters
    ----------
    incidence : ndarray of shape (n_cells, n_models)
        +1 at the first model, -1 at the second.
    weight, first : ndarray of shape (n_replicates, n_cells)
        Sum of weights, and of weights times outcomes.
    start : ndarray of shape (n_models,)
        First scores.
    slope : ndarray of shape (n_replicates, n_cells), optional
        Factor of the score difference in the logit, one by default.
    alpha : float
        Ridge: half the squared norm of the scores beside the mean loss.
    tol : float
        Accepted error of the scores.

    Returns
    -------
    scores : ndarray of shape (n_replicates, n_models)
    converged : ndarray of shape (n_replicates,)
        False also where some model cannot be both beaten and beating.
    """
    n_models = incidence.shape[1]
    outer = (incidence[:, :, None] * incidence[:, None, :]).reshape(len(incidence), -1)
    total = weight.sum(axis=1, keepdims=True)
    weight, first = weight / total, first / total
    # A constant added to all scores changes nothing: any positive curvature will do.
    level = np.full((n_models, n_models), 1.0 / n_models**2) + alpha * np.eye(n_models)

    def equations(scores: Array, at: Rows) -> tuple[Array, Array]:
        """Gradient and second derivative of the mean loss."""
        factor = 1.0 if slope is None else slope[at]
        p = expit(factor * (scores @ incidence.T))
        left = -(factor * (first[at] - weight[at] * p)) @ incidence + alpha * scores
        curvature = (factor * factor * weight[at] * p * (1.0 - p)) @ outer
        return left, curvature.reshape(-1, n_models, n_models) + level

    values, converged = newton(equations, np.tile(start, (len(weight), 1)), tol=tol)
    return values - values.mean(axis=1, keepdims=True), converged


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

    Minimises the mean logistic loss of ``c delta + columns @ b`` plus half the ridge.

    Parameters
    ----------
    delta : ndarray of shape (n_replicates, n_rows)
        Score differences, which differ between replicates.
    columns : ndarray of shape (n_rows, n_columns)
        Display order and feature contrasts, which do not.
    weight, first : ndarray of shape (n_replicates, n_rows)
        Weights, and weights times outcomes.
    start : ndarray of shape (1 + n_columns,)
        First c and b.
    start_delta : ndarray of shape (n_rows,), optional
        Score differences at which ``start`` was fitted: the first step then comes from
        the loss expanded about that one fit, to third order.
    ridge : ndarray of shape (n_replicates, n_columns), optional
        Diagonal of the penalty of b.
    tol : float
        Accepted error of the logits of a row of unit contrast.
    work : Workspace, optional
        Arrays to use again.

    Returns
    -------
    coef : ndarray of shape (n_replicates, 1 + n_columns)
    converged : ndarray of shape (n_replicates,)
    """
    model = _JudgeLoss(delta, columns, weight, first, ridge, work or Workspace())
    begin = np.tile(start, (len(weight), 1))
    if start_delta is not None:
        begin = model.expanded(start, start_delta)
    return newton(model.equations, begin, tol=tol)


class _JudgeLoss:
    """Loss of :func:`fit_judge`, its gradients and second derivatives.

    Almost all of the time goes into a few passes over (n_replicates, n_rows) arrays;
    hence the work in place.
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
        self.delta, self.columns, self.weight, self.first = (
            delta,
            columns,
            weight,
            first,
        )
        self.ridge, self.work = ridge, work
        self.upper = np.triu_indices(columns.shape[1])
        self.products = columns[:, self.upper[0]] * columns[:, self.upper[1]]
        self.scale = 1.0 / weight.sum(axis=1)

    def project(self, rows: Array, delta: Array) -> Array:
        """Sums of rows times (delta, columns), of shape (r, 1 + n_columns)."""
        result = np.empty((len(rows), 1 + self.columns.shape[1]))
        result[:, 0] = np.einsum("rn,rn->r", rows, delta)
        result[:, 1:] = rows @ self.columns
        return result

    def gram(self, rows: Array, delta: Array) -> Array:
        """Sums of rows times products of (delta, columns); changes ``rows``."""
        n_columns = self.columns.shape[1]
        result = np.empty((len(rows), 1 + n_columns, 1 + n_columns))
        block = np.empty((len(rows), n_columns, n_columns))
        block[:, self.upper[0], self.upper[1]] = half = rows @ self.products
        block[:, self.upper[1], self.upper[0]] = half
        result[:, 1:, 1:] = block
        rows *= delta
        result[:, 0] = self.project(rows, delta)
        result[:, 1:, 0] = result[:, 0, 1:]
        return result

    def penalised(
        self, left: Array, second: Array, coef: Array, at: Rows | slice
    ) -> tuple[Array, Array]:
        """Means of the sums, with the ridge."""
        left *= self.scale[at, None]
        second *= self.scale[at, None, None]
        if self.ridge is not None:
            inner = np.arange(1, coef.shape[1])
            left[:, 1:] += self.ridge[at] * coef[:, 1:]
            second[:, inner, inner] += self.ridge[at]
        return left, second

    def equations(self, coef: Array, at: Rows) -> tuple[Array, Array]:
        """Gradient and second derivative of the loss of some replicates."""
        whole: Rows | slice = at
        if len(at) == len(self.weight):
            # All replicates, most often: then there is nothing to copy.
            whole = slice(None)
        d, w, f = self.delta[whole], self.weight[whole], self.first[whole]
        p, product, curvature = (self.work.take(name, d.shape) for name in "abc")
        np.multiply(d, -coef[:, :1], out=p)
        if coef.shape[1] > 1:
            p += np.matmul(-coef[:, 1:], self.columns.T, out=product)
        # 1 / (1 + exp(-eta)); numpy's exp is several times faster than expit.
        with np.errstate(over="ignore"):
            np.exp(p, out=p)
        p += 1.0
        np.reciprocal(p, out=p)
        np.multiply(w, p, out=curvature)
        left = self.project(np.subtract(curvature, f, out=product), d)
        np.subtract(1.0, p, out=p)
        curvature *= p
        return self.penalised(left, self.gram(curvature, d), coef, whole)

    def expanded(self, start: Array, start_delta: Array) -> Array:
        """Minimum of the loss expanded to third order about one fit.

        With p, V, V' the sigmoid and its derivatives at that fit's logits, and v the
        change of a row's logit, the residual is ``y - p - V v - V' v^2 / 2``. The
        coefficients solve the equations to first order in v, then take one step for the
        second.
        """
        every = slice(None)
        p = expit(start[0] * start_delta + self.columns @ start[1:])
        curve = p * (1.0 - p)
        d, w = self.delta, self.weight
        shift, inner, rest = (self.work.take(name, d.shape) for name in "abc")
        product = self.work.take("d", d.shape)
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
        shift += np.multiply(d, step[:, :1], out=product)
        if len(start) > 1:
            shift += np.matmul(step[:, 1:], self.columns.T, out=product)
        shift *= shift
        shift *= w
        shift *= 0.5 * curve * (1.0 - 2.0 * p)
        bend = self.project(shift, d) * self.scale[:, None]
        return coef + step - np.einsum("rpq,rq->rp", inverse, bend)


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Rows of one source whose logits are linear in columns that never change.

    Attributes
    ----------
    incidence : ndarray of shape (n_rows, n_models)
        +1 at the first model, -1 at the second. Rows of the same pair should lie side
        by side.
    own : ndarray of shape (n_rows, n_own)
        Further columns: display order and feature contrasts.
    weight, first : ndarray of shape (n_replicates, n_rows)
        Weights, and weights times outcomes.
    ridge : ndarray of shape (n_replicates, n_models + n_own) or None
        Diagonal of a quadratic penalty beside the summed loss.
    work : Workspace
        Arrays to use again.
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

    def moments(self, coef: Array, at: Rows) -> tuple[Array, Array]:
        """Score vectors and information matrices at given coefficients.

        Parameters
        ----------
        coef : ndarray of shape (r, n_models + n_own)
            Coefficients of the columns.
        at : ndarray of shape (r,)
            Numbers of the replicates.

        Returns
        -------
        score : ndarray of shape (r, n_models + n_own)
        information : ndarray of shape (r, n_models + n_own, n_models + n_own)
        """
        n_models, n_columns = self.incidence.shape[1], self.n_columns
        items, rest = slice(0, n_models), slice(n_models, n_columns)
        score = np.zeros((len(at), n_columns))
        information = np.zeros((len(at), n_columns, n_columns))
        which: Rows | slice = slice(None) if len(at) == len(self.weight) else at
        for begin in range(0, len(self.own), _CHUNK):
            rows = slice(begin, begin + _CHUNK)
            incidence, own = self.incidence[rows], self.own[rows]
            weight, first = self.weight[which, rows], self.first[which, rows]
            p, product, curvature = (
                self.work.take(name, weight.shape) for name in "abc"
            )
            np.matmul(-coef[:, items], incidence.T, out=p)
            p += np.matmul(-coef[:, rest], own.T, out=product)
            with np.errstate(over="ignore"):
                np.exp(p, out=p)
            p += 1.0
            np.reciprocal(p, out=p)
            np.multiply(weight, p, out=curvature)
            residual = np.subtract(first, curvature, out=product)
            score[:, items] += residual @ incidence
            score[:, rest] += residual @ own
            np.subtract(1.0, p, out=p)
            curvature *= p
            # Sums over rows of a pair first: there are few pairs, and many columns.
            change = (incidence[1:] != incidence[:-1]).any(axis=1)
            starts = np.flatnonzero(np.append(True, change))
            pairs = incidence[starts]
            outer = (pairs[:, :, None] * pairs[:, None, :]).reshape(len(pairs), -1)
            information[:, items, items] += (
                np.add.reduceat(curvature, starts, axis=1) @ outer
            ).reshape(-1, n_models, n_models)
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


@dataclass(frozen=True, eq=False)
class JointModel:
    """Likelihood of human and judge rows together, in the linear class.

    The parameters are the free scores, then for each judge its sensitivity and the
    coefficients of its own columns.

    Attributes
    ----------
    selectors : ndarray of shape (n_models, n_scores)
        Scores of the models from the free ones.
    human : LinearRows or None
        Human rows, whose columns are the incidence of the models.
    judges : list of LinearRows
        Rows of each judge: incidence, then its own columns.
    unit_scale : bool
        Whether the mean sensitivity is held at one, for want of human rows.
    """

    selectors: Array
    human: LinearRows | None
    judges: list[LinearRows]
    unit_scale: bool = False

    def parts(self) -> list[slice]:
        """Parameters of each judge: its sensitivity, then its own coefficients."""
        begin = self.selectors.shape[1]
        result = []
        for rows in self.judges:
            end = begin + 1 + rows.own.shape[1]
            result.append(slice(begin, end))
            begin = end
        return result

    def gradient_map(self, values: Array, part: slice) -> Array:
        """Derivative of a judge's column coefficients by the parameters.

        Parameters
        ----------
        values : ndarray of shape (r, n_parameters)
            Parameters.
        part : slice
            The judge's parameters.

        Returns
        -------
        ndarray of shape (r, n_columns, n_parameters)
        """
        n_models, n_scores = self.selectors.shape
        n_own = part.stop - part.start - 1
        result = np.zeros((len(values), n_models + n_own, values.shape[1]))
        slope = values[:, part.start, None, None]
        result[:, :n_models, :n_scores] = slope * self.selectors
        result[:, :n_models, part.start] = values[:, :n_scores] @ self.selectors.T
        own = np.arange(n_own)
        result[:, n_models + own, part.start + 1 + own] = 1.0
        return result

    def loss(self, values: Array) -> float:
        """Mean loss of the first replicate, up to the pull of the scale."""
        n_scores = self.selectors.shape[1]
        theta = self.selectors @ values[:n_scores]
        parts = [] if self.human is None else [(self.human, theta)]
        for rows, part in zip(self.judges, self.parts(), strict=True):
            own = values[part]
            parts.append((rows, np.append(own[0] * theta, own[1:])))
        loss = total = 0.0
        for rows, coef in parts:
            eta = rows.logits(coef)
            weight, first = rows.weight[0], rows.first[0]
            loss += weight @ np.logaddexp(0.0, eta) - first @ eta
            total += weight.sum()
            if rows.ridge is not None:
                loss += 0.5 * rows.ridge[0] @ coef**2
        loss /= max(total, 1e-300)
        if self.unit_scale:
            slopes = [part.start for part in self.parts()]
            loss += 0.5 * (values[slopes].mean() - 1.0) ** 2
        return float(loss)

    def climb(
        self, start: Array, *, tol: float, max_iter: int = 100
    ) -> tuple[Array, bool]:
        """Maximise the likelihood of the first replicate from afar.

        Newton steps where the loss is convex, steps with the information where it is
        not (the sensitivities multiply the scores), each halved until the loss falls.

        Parameters
        ----------
        start : ndarray of shape (n_parameters,)
            First parameters.
        tol : float
            Accepted error of the parameters.
        max_iter : int
            Most steps.

        Returns
        -------
        values : ndarray of shape (n_parameters,)
        converged : bool
        """
        only = np.zeros(1, dtype=np.intp)
        values, loss = start, self.loss(start)
        for _ in range(max_iter):
            left, second = self.equations(values[None], only)
            if np.linalg.eigvalsh(second[0])[0] <= 0:
                left, second = self.equations(values[None], only, observed=False)
            step = -np.linalg.pinv(second[0], hermitian=True) @ left[0]
            length = min(1.0, _LONGEST_STEP / max(np.abs(step).max(), 1e-300))
            while length > 1e-8:
                trial = values + length * step
                trial_loss = self.loss(trial)
                if trial_loss <= loss + 1e-14 * (1.0 + abs(loss)):
                    break
                length /= 2.0
            values, loss = trial, trial_loss
            if length * np.abs(step).max() <= np.sqrt(tol):
                return values, True
        return values, False

    def equations(
        self, values: Array, at: Rows, *, observed: bool = True
    ) -> tuple[Array, Array]:
        """Minus score vector, and minus second derivative, of the log likelihood.

        With ``observed=False`` its expectation, the information, takes the place of the
        second derivative.
        """
        n_models, n_scores = self.selectors.shape
        score = np.zeros_like(values)
        second = np.zeros((*values.shape, values.shape[1]))
        theta = values[:, :n_scores] @ self.selectors.T
        free = slice(0, n_scores)
        total = 0.0
        if self.human is not None:
            first, information = self.human.moments(theta, at)
            score[:, free] += first @ self.selectors
            second[:, free, free] += self.selectors.T @ information @ self.selectors
            total = total + self.human.weight[at].sum(axis=1)
        for rows, part in zip(self.judges, self.parts(), strict=True):
            slope, own = values[:, [part.start]], values[:, part.start + 1 : part.stop]
            first, information = rows.moments(np.hstack([slope * theta, own]), at)
            turn = self.gradient_map(values, part)
            score += np.einsum("rqp,rq->rp", turn, first)
            second += turn.transpose(0, 2, 1) @ information @ turn
            if observed:
                # The sensitivity multiplies the scores.
                mixed = first[:, :n_models] @ self.selectors
                second[:, free, part.start] -= mixed
                second[:, part.start, free] -= mixed
            total = total + rows.weight[at].sum(axis=1)
        total = np.maximum(total, 1e-300)
        left, second = -score / total[:, None], second / total[:, None, None]
        if self.unit_scale:
            # The likelihood is flat along the scale, so that any pull fixes it.
            slopes = np.array([part.start for part in self.parts()])
            left[:, slopes] += (values[:, slopes].mean(axis=1, keepdims=True) - 1.0) / (
                len(slopes)
            )
            second[:, slopes[:, None], slopes] += 1.0 / len(slopes) ** 2
        return left, second

    def fit(
        self, start: Array, n_replicates: int, *, tol: float
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Maximise the likelihood of every replicate.

        Parameters
        ----------
        start : ndarray of shape (n_parameters,)
            First parameters.
        n_replicates : int
            Number of replicates.
        tol : float
            Accepted error of the parameters.

        Returns
        -------
        values : ndarray of shape (n_replicates, n_parameters)
        converged : ndarray of shape (n_replicates,)
        """
        return newton(self.equations, np.tile(start, (n_replicates, 1)), tol=tol)
