"""Joint likelihood of people's and judges' rows, fitted to many sets of weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.batched.linear_rows import LinearRows
from skanchor._numerics.batched.solver import LONGEST_PARAMETER_STEP, newton
from skanchor._numerics.newton import Curvature, Tolerance, minimise
from skanchor._numerics.parameters import Parameters
from skanchor._numerics.types import Array, Indices


@dataclass(frozen=True, eq=False)
class JointModel:
    """Likelihood of human and judge rows together, with linear biases.

    Human rows follow eq:human-model-new, judge rows eq:hist-surrogate-model-new and
    eq:arrival-surrogate-model-new, with the display order as a further column.

    Attributes
    ----------
    layout : Parameters
        The parameter vector, without deviations.
    human : LinearRows or None
        Human rows; their only columns are the incidence of the models.
    judges : list of LinearRows
        Rows of each judge: incidence, then its own columns.
    unit_scale : bool
        Whether the mean sensitivity is fixed at one. Without human rows the scale of
        the scores is not identified.
    """

    layout: Parameters
    human: LinearRows | None
    judges: list[LinearRows]
    unit_scale: bool = False

    @property
    def selectors(self) -> Array:
        """Matrix S of the models' scores by the free scores, (n_models, n_scores)."""
        return self.layout.items

    def parts(self) -> list[Indices]:
        """Indices of each judge's parameters: sensitivity, then own coefficients."""
        return [self.layout.of_judge(m) for m in range(len(self.judges))]

    def gradient_map(self, values: Array, part: Indices) -> Array:
        """Derivative of the coefficients of a judge's columns by the parameters.

        The coefficients are ``(c S s, b)``: c times the models' scores, then the own
        coefficients b.

        Parameters
        ----------
        values : ndarray of shape (r, n_parameters)
            Parameters.
        part : ndarray of shape (n_part,)
            Indices of the judge's parameters.

        Returns
        -------
        ndarray of shape (r, n_columns, n_parameters)
        """
        n_models, n_scores = self.selectors.shape
        n_own = len(part) - 1
        result = np.zeros((len(values), n_models + n_own, values.shape[1]))
        slope = values[:, part[0], None, None]
        # By s: c S. By c: the scores S s. By b: the identity.
        result[:, :n_models, :n_scores] = slope * self.selectors
        result[:, :n_models, part[0]] = values[:, :n_scores] @ self.selectors.T
        own = np.arange(n_own)
        result[:, n_models + own, part[1:]] = 1.0
        return result

    def loss(self, values: Array) -> float:
        """Mean loss of the first replicate, plus the penalty that fixes the scale."""
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
            slopes = [part[0] for part in self.parts()]
            loss += 0.5 * (values[slopes].mean() - 1.0) ** 2
        return float(loss)

    def climb(self, start: Array, *, tol: float) -> tuple[Array, bool]:
        """Maximise the likelihood of the first replicate, from any start.

        Takes Newton steps where the loss is convex, and steps with the information
        (Fisher scoring) where it is not, as the sensitivities multiply the scores. Each
        step is halved until the loss falls.

        Parameters
        ----------
        start : ndarray of shape (n_parameters,)
            Start of the parameters.
        tol : float
            Accepted error of the parameters.

        Returns
        -------
        values : ndarray of shape (n_parameters,)
        converged : bool
        """
        tolerance = Tolerance(change=float(np.sqrt(tol)))
        found = minimise(_OneReplicate(self), start, tolerance)
        return found.coef, found.converged

    def equations(
        self, values: Array, at: Indices, *, observed: bool = True
    ) -> tuple[Array, Array]:
        """Gradient and Hessian of the mean loss (minus the log likelihood).

        ``values`` has the shape (r, n_parameters), and ``at`` the indices of these
        replicates. With ``observed=False`` the Hessian is replaced by its expectation,
        the information.
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
            slope, own = values[:, part[:1]], values[:, part[1:]]
            first, information = rows.moments(np.hstack([slope * theta, own]), at)
            # Chain rule: derivatives by the coefficients of the columns become those by
            # the parameters.
            chain = self.gradient_map(values, part)
            score += np.einsum("rqp,rq->rp", chain, first)
            second += chain.transpose(0, 2, 1) @ information @ chain
            if observed:
                # The coefficients c S s have the second derivative S by c and s, which
                # the residuals multiply; its expectation is zero.
                mixed = first[:, :n_models] @ self.selectors
                second[:, free, part[0]] -= mixed
                second[:, part[0], free] -= mixed
            total = total + rows.weight[at].sum(axis=1)
        total = np.maximum(total, 1e-300)
        left, second = -score / total[:, None], second / total[:, None, None]
        if self.unit_scale:
            # The likelihood is flat along the scale, so that any penalty fixes it: here
            # half the square of (mean sensitivity - 1).
            slopes = np.array([part[0] for part in self.parts()])
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
            Start of the parameters in every replicate.
        n_replicates : int
            Number of replicates.
        tol : float
            Accepted error of the parameters.

        Returns
        -------
        values : ndarray of shape (n_replicates, n_parameters)
            Fitted parameters.
        converged : ndarray of shape (n_replicates,)
            Whether each replicate converged.
        """
        return newton(self.equations, np.tile(start, (n_replicates, 1)), tol=tol)


@dataclass(frozen=True, eq=False)
class _OneReplicate:
    """The mean loss of the first replicate, for :func:`minimise`."""

    model: JointModel

    def at(self, coef: Array, since: _At | None = None) -> _At:
        change = np.inf if since is None else np.abs(coef - since.coef).max(initial=0.0)
        return _At(self.model, coef, float(change))

    def step(self, point: _At, gradient: Array, curvature: Curvature) -> Array:
        # Scale and scores can be flat together: the shortest step that will do.
        step = -np.linalg.pinv(curvature.hessian, hermitian=True) @ gradient
        return np.asarray(
            step * min(1.0, LONGEST_PARAMETER_STEP / max(np.abs(step).max(), 1e-300))
        )

    def diverges(self, point: _At, decrement: float) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class _At:
    """Parameters of the first replicate, and the loss about them."""

    model: JointModel
    coef: Array
    change: float
    is_cut: bool = False

    def _equations(self, *, observed: bool) -> tuple[Array, Array]:
        only = np.zeros(1, dtype=np.intp)
        left, second = self.model.equations(self.coef[None], only, observed=observed)
        return left[0], second[0]

    @cached_property
    def _observed(self) -> tuple[Array, Array]:
        return self._equations(observed=True)

    def gradient(self) -> Array:
        return self._observed[0]

    def loss(self) -> float:
        return self.model.loss(self.coef)

    def hessian(self) -> Array:
        second = self._observed[1]
        if np.linalg.eigvalsh(second)[0] <= 0:
            # Sensitivities multiply scores, so that the loss need not be convex; the
            # information is.
            second = self._equations(observed=False)[1]
        return second
