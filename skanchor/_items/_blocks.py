"""The likelihood of the deviations, expanded about its mode: by blocks of judges.

For deviations of which all pairs of judges have one correlation, up to the sign of
judges that dislike what people like. Their root ``L = [D a]`` has a column for each
judge and one that all share, so that a judge's parameters appear with those of no other
judge: time and memory grow with the number of judges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._items._expansion import FAR, signs
from skanchor._items._likelihood import NEAR_MODE, ItemLikelihood
from skanchor._numerics.arrow import ArrowSolver
from skanchor._numerics.arrow_information import (
    ArrowSums,
    arrow_information,
    effect_spread,
)
from skanchor._numerics.item_covariance import (
    MOST_STEPS,
    ItemPrior,
    fixed_point,
    shrunk_moments,
)
from skanchor._numerics.item_evidence import FLOOR
from skanchor._numerics.linalg import common_factor
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.shrinkage import MOST_COMMON, Shrinkage
from skanchor._typing import Array

LEAST_COMMON = 1e-6
"""Correlation that stands for none: EM would not leave zero."""

SMALL_CHANGE = 1e-2
"""Relative change of variances and correlation by an EM step that is near the end."""

SHORT_MEMORY = 6
"""Number of past steps that enter an extrapolation."""


class BlockRows:
    """Likelihood of the historical rows, expanded under one covariance after another.

    Parameters
    ----------
    model : ItemLikelihood
        Likelihood of all parameters.
    """

    def __init__(self, model: ItemLikelihood):
        self.rows = ~model.X.involves_new & model.X.is_usable
        self.model = model.for_factor(np.zeros((model.n_judges, model.n_judges + 1)))
        self.free, _ = self.model.masks(joint=True)
        # The bias of people is free in a joint fit alone.
        self.free[self.model.layout.bias[PEOPLE]] = False
        # Between calls all but the tail of the parameters, and u itself.
        self._head: Array | None = None
        self._u: Array | None = None

    def quadratic(self, covariance: Array) -> BlockExpansion:
        """Expand the likelihood about its mode under a covariance of u.

        Parameters
        ----------
        covariance : ndarray of shape (n_judges, n_judges)
            With one correlation of all pairs.

        Returns
        -------
        BlockExpansion
        """
        model, factor = self.model, _factor(covariance)
        parameters = model.start(factor)
        if self._head is not None and self._u is not None:
            parameters[: len(self._head)] = self._head
            model.set_deviations(parameters, factor, self._u)
        mode = model.minimum(parameters, factor, self.rows, self.free, tol=NEAR_MODE)
        is_far = not mode.converged and not mode.decrement <= FAR
        if not is_far:
            parameters[self.free] = mode.coef
        self._head = parameters[: model.at["deviation"].start]
        self._u = model.deviations(parameters, factor)
        low, high = model.bounds
        # Parameters on a bound are held there.
        free = self.free & (low < parameters) & (parameters < high)
        weight = model.lay(np.where(self.rows, model.weight, 0.0))
        eta = model.logits(parameters, factor, weight)
        gradient, sums = model.sums(parameters, factor, weight, eta)
        assert isinstance(sums, ArrowSums)
        # As a function of the free parameters x, the loss is x'H x / 2 - r'x up to a
        # constant, with r = H x0 - g. By item: r = sum_m X_m' G_m X_m x0 - g.
        known = np.where(free, parameters, 0.0)[:, None]
        by_item = model.layout.by_item(known, factor)
        right = -gradient
        slopes = parameters[model.at["sensitivity"]]
        for m in (PEOPLE, *range(model.n_judges)):
            slope = 1.0 if m == PEOPLE else slopes[m]
            local = model.layout.local(by_item, m, slope)[:, 0]
            gram = sums.people if m == PEOPLE else sums.judges[m]
            width = len(local)
            model.layout.add_gradient(right, m, gram[:width, :width] @ local, slope)
        return BlockExpansion(model, sums, right, free, slopes, mode.converged, is_far)


@dataclass(frozen=True, slots=True)
class BlockExpansion:
    """Quadratic expansion of the likelihood of all parameters.

    Attributes
    ----------
    model : ItemLikelihood
        The likelihood.
    sums : ArrowSums
        Gram matrices of all sources at the mode.
    right : ndarray of shape (n,)
        By item, Hessian times parameters less gradient.
    free : ndarray of shape (size,)
        Parameters that the historical rows decide.
    slopes : ndarray of shape (n_judges,)
        Sensitivities at the mode.
    is_mode : bool
        Whether the mode was found.
    is_far : bool
        Whether not even a point near the mode was found.
    """

    model: ItemLikelihood
    sums: ArrowSums
    right: Array
    free: NDArray[np.bool_]
    slopes: Array
    is_mode: bool
    is_far: bool

    def estimate(
        self,
        covariance: Array,
        shrinkage: Shrinkage,
        prior: ItemPrior,
        *,
        choose: bool,
    ) -> tuple[Array, Shrinkage, bool]:
        """Estimate the covariance by EM; the shares of the shrinkage stay as given.

        Parameters
        ----------
        covariance : ndarray of shape (n_judges, n_judges)
            Start.
        shrinkage : Shrinkage
            Shares.
        prior : ItemPrior
            Prior of the covariance.
        choose : bool
            Not used.

        Returns
        -------
        covariance : ndarray of shape (n_judges, n_judges)
        shrinkage : Shrinkage
        converged : bool
        """
        # Judges of negative sensitivity dislike what people like. Their deviations are
        # reversed, as the shrinkage assumes a positive common correlation.
        sign = signs(self.slopes)
        turned = np.outer(sign, sign)

        # The variances and the correlation stand for the covariance.
        def filled(values: Array) -> Array:
            scale = np.sqrt(values[:-1])
            found = values[-1] * np.outer(scale, scale)
            np.fill_diagonal(found, values[:-1])
            return np.asarray(found)

        def short(known: Array) -> Array:
            variances = known.diagonal()
            common = known[0, 1] / np.sqrt(variances[0] * variances[1])
            return np.append(variances, max(float(common), LEAST_COMMON))

        def step(values: Array) -> Array:
            before = filled(values)
            sums, shown = self.moments(before * turned)
            n_items = int((~self.model.X.is_new).sum())
            after = shrunk_moments(
                sums * turned, n_items, shown, before, shrinkage, prior
            )
            return short(after)

        def is_valid(values: Array) -> bool:
            return bool(values[:-1].min() > FLOOR and 0.0 <= values[-1] <= MOST_COMMON)

        values, change, n_steps = short(covariance * turned), np.inf, 0
        # A correlation of zero is a fixed point, too, from which steps lead away: only
        # near the other one are they extrapolated.
        while change > SMALL_CHANGE and n_steps < MOST_STEPS:
            before, values = values, step(values)
            change, n_steps = np.abs(values / before - 1.0).max(), n_steps + 1
        found = fixed_point(step, values, is_valid, SHORT_MEMORY)
        return filled(found) * turned, shrinkage, change <= SMALL_CHANGE

    def moments(self, covariance: Array) -> tuple[Array, float]:
        """Posterior moments of the deviations under a covariance.

        Returns
        -------
        sums : ndarray of shape (n_judges, n_judges)
            Sum of E[u u'] over the historical items.
        shown : float
            Share of the variance of a deviation that the rows remove.
        """
        model, factor = self.model, _factor(covariance)
        old = ~model.X.is_new
        solver = self._solver(factor, self.free)
        parameters = np.zeros(model.size)
        right = model.layout.reduce_gradient(self.right, factor)
        parameters[self.free] = solver.solve(right[self.free])
        means = model.deviations(parameters, factor)[:, old]
        own, root = effect_spread(solver, model.layout, factor)
        own, root = own[:, old], root[:, old]
        spread = own.sum() + np.vdot(root, root)
        both = np.concatenate([means, root.reshape(len(root), -1)], axis=1)
        sums = both @ both.T
        sums[np.diag_indices_from(sums)] += own.sum(axis=1)
        shown = 1.0 - spread / (old.sum() * np.trace(covariance))
        return sums, float(shown)

    def free_share(self, covariance: Array) -> float:
        """Share of the deviations that remain after the bias functions.

        Features that distinguish models explain a part of the deviations. The share is
        the number of deviations shown with biases profiled out, over that without.
        """
        bias = np.zeros(self.model.size, dtype=bool)
        bias[self.model.at["bias"]] = True
        if not bias.any():
            return 1.0
        factor = _factor(covariance)
        known = self._count_shown(factor, self.free & ~bias)
        return self._count_shown(factor, self.free) / known if known > 0 else 1.0

    def _count_shown(self, factor: Array, free: NDArray[np.bool_]) -> float:
        """Number of deviations that the data show: prior less posterior variance."""
        model = self.model
        n, old = model.n_items, ~model.X.is_new
        solver = self._solver(factor, free)
        inverse, root = solver.spread
        of_own = np.einsum("mii->mi", inverse)[:, :n] + np.sum(root[:, :n] ** 2, axis=2)
        of_common = np.sum(solver.schur.root[-n:] ** 2, axis=1)
        left = of_own[:, old].sum() + of_common[old].sum()
        return float((model.n_judges + 1) * old.sum() - left)

    def _solver(self, factor: Array, free: NDArray[np.bool_]) -> ArrowSolver:
        """Penalised information of the free parameters."""
        model, sums = self.model, self.sums
        matrix = arrow_information(
            model.layout, self.slopes, factor, sums.people, sums.judges
        )
        return matrix.plus_diagonal(model.prior(factor)).restricted(free).factorise()


def _factor(covariance: Array) -> Array:
    """Root of a covariance with one correlation of all pairs."""
    found = common_factor(covariance)
    assert found is not None
    return found
