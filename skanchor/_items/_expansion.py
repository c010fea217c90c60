"""The likelihood of the deviations, expanded about its mode: by dense matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._items._likelihood import NEAR_MODE, ItemLikelihood
from skanchor._numerics.item_covariance import (
    DeviationLikelihood,
    ItemPrior,
    fit_covariance,
)
from skanchor._numerics.linalg import SymmetricSolver, eigen_factor, mix_judges
from skanchor._numerics.shrinkage import Shrinkage
from skanchor._typing import Array

NO_SLOPE = 1e-3
"""Size of a sensitivity, in that of the largest, up to which it has no sign."""

FAR = 1.0
"""Largest squared Newton decrement, in squared standard errors, of a point that may
replace a mode that was not found."""


def signs(slopes: Array) -> Array:
    """-1 for judges of negative sensitivity, else 1.

    The sign of a sensitivity that is zero up to rounding would turn from one expansion
    to the next.
    """
    return np.where(slopes < -NO_SLOPE * np.abs(slopes).max(initial=0.0), -1.0, 1.0)


@dataclass(frozen=True, slots=True)
class DenseExpansion:
    """Quadratic expansion of the likelihood of u, all else profiled out.

    Attributes
    ----------
    information : ndarray of shape (n_u, n_u)
        Information on the deviations u of the historical models, n_u = n_judges *
        n_historical.
    target : ndarray of shape (n_u,)
        Information times the unpenalised estimate of u.
    slopes : ndarray of shape (n_judges,)
        Sensitivities at the mode.
    hessian : ndarray of shape (p, p)
        Hessian by all parameters.
    is_mode : bool
        Whether the mode was found.
    is_far : bool
        Whether not even a point near the mode was found. An expansion about a distant
        point has no information on the deviations.
    bias, at_u, fixed : ndarray of shape (p,)
        Masks of the coefficients of biases, of the deviations of historical models, and
        of what is profiled out.
    """

    information: Array
    target: Array
    slopes: Array
    hessian: Array
    is_mode: bool
    is_far: bool
    bias: NDArray[np.bool_]
    at_u: NDArray[np.bool_]
    fixed: NDArray[np.bool_]

    def estimate(
        self,
        covariance: Array,
        shrinkage: Shrinkage,
        prior: ItemPrior,
        *,
        choose: bool,
    ) -> tuple[Array, Shrinkage, bool]:
        """Estimate the covariance; see :func:`fit_covariance`."""
        # Judges of negative sensitivity dislike what people like. Their deviations are
        # reversed, as the shrinkage assumes a positive common correlation.
        sign = signs(self.slopes)
        turned = np.outer(sign, sign)
        flip = np.repeat(sign, len(self.target) // len(sign))
        likelihood = DeviationLikelihood(
            self.information * np.outer(flip, flip),
            self.target * flip,
            np.abs(self.slopes),
        )
        found, shrinkage, converged = fit_covariance(
            likelihood, covariance * turned, shrinkage, prior, choose=choose
        )
        return found * turned, shrinkage, converged

    def free_share(self, covariance: Array) -> float:
        """Share of the deviations that remain after the bias functions.

        Features that distinguish models explain a part of the deviations. The share is
        the number of deviations shown with biases profiled out, over that without.
        """
        if not self.bias.any():
            return 1.0
        factor = eigen_factor(covariance)
        without, _ = _profile(self.hessian, self.at_u, self.fixed & ~self.bias)
        known = _count_shown(without, factor)
        return _count_shown(self.information, factor) / known if known > 0 else 1.0


class DenseRows:
    """Likelihood of the historical rows, expanded under one covariance after another.

    The masks have the shape (size,) and select parameters: ``free`` those that the
    historical rows decide, ``at_u`` the deviations of historical models among them, and
    ``fixed`` the others, which are profiled out.
    """

    def __init__(self, model: ItemLikelihood):
        self.model = model
        self.rows = ~model.X.involves_new & model.X.is_usable
        historical, _ = model.masks()
        self.free = historical.copy()
        n_new = int(model.X.is_new.sum())
        self.free[n_new : model.at["scores"].stop] = True
        self.at_u = np.zeros(model.size, dtype=bool)
        self.at_u[model.at["deviation"]] = historical[model.at["deviation"]]
        self.fixed = self.free & ~self.at_u
        self.bias = np.zeros(model.size, dtype=bool)
        self.bias[model.at["bias"]] = True
        self.identity = np.eye(model.n_judges)
        # Between calls the parameters hold u itself: with L = I, u = v.
        self.parameters = model.start(self.identity)

    def quadratic(self, covariance: Array) -> DenseExpansion:
        """Expand the likelihood about its mode under a covariance of u."""
        model = self.model
        # Under the prior with this covariance there is a mode even where verdicts are
        # separated. It is found in v, from the last mode, v = L^-1 u.
        factor = eigen_factor(covariance)
        parameters = self.parameters.copy()
        model.rescale(parameters, np.asarray(np.linalg.pinv(factor), np.float64))
        mode = model.minimum(parameters, factor, self.rows, self.free, tol=NEAR_MODE)
        is_far = not mode.converged and not mode.decrement <= FAR
        if not is_far:
            parameters[self.free] = mode.coef
        low, high = model.bounds
        inside = (low < parameters) & (parameters < high)
        # Back to u, in which the likelihood is expanded without a prior of u.
        model.rescale(parameters, factor)
        self.parameters = parameters
        weight = model.lay(np.where(self.rows, model.weight, 0.0))
        eta = model.logits(parameters, self.identity, weight)
        gradient, hessian = model.derivatives(parameters, self.identity, weight, eta)
        prior = model.prior(None)
        assert hessian is not None
        hessian[np.diag_indices(model.size)] += prior
        # Parameters on a bound are held there. In the others, x, the penalised loss is
        # (x - x0)'H(x - x0) / 2 + g'(x - x0), with g the gradient at x0. This is
        # x'H x / 2 - r'x up to a constant, with r = H x0 - g.
        known = np.where(self.free & inside, parameters, 0.0)
        right = hessian @ known - gradient - prior * parameters
        fixed = self.fixed & inside
        information, taken = _profile(hessian, self.at_u, fixed)
        target = right[self.at_u] - taken @ right[fixed]
        return DenseExpansion(
            information,
            target,
            parameters[model.at["sensitivity"]],
            hessian,
            mode.converged,
            is_far,
            self.bias,
            self.at_u,
            self.fixed,
        )


def _profile(
    hessian: Array, at: NDArray[np.bool_], fixed: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Information on parameters ``at``, the ``fixed`` ones profiled out.

    Also returns the matrix ``H_af H_ff^-1``, of shape (n_at, n_fixed): its product with
    a gradient by the fixed parameters is subtracted from that by the others.
    """
    cross = hessian[np.ix_(at, fixed)]
    solver = SymmetricSolver.factorise(hessian[np.ix_(fixed, fixed)])
    taken = np.asarray(solver.solve(cross.T).T)
    return hessian[np.ix_(at, at)] - taken @ cross.T, taken


def _count_shown(information: Array, factor: Array) -> float:
    """Number of deviations that the data show, at most the length of u.

    It is the trace of prior less posterior covariance of the standardised deviations v.
    ``information`` is that on u, and u = L v with L the ``factor``.
    """
    posterior = mix_judges(information, factor, len(information) // len(factor))
    posterior.flat[:: len(posterior) + 1] += 1.0
    # The trace of the posterior covariance of v is the squared norm of its root.
    root = SymmetricSolver.factorise(posterior).root
    return len(posterior) - float(np.vdot(root, root))
