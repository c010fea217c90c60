"""The covariance of the item effects, estimated on the historical rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor._items._dispersion import LEAST_DISPERSION, dispersions
from skanchor._items._likelihood import NEAR_MODE, ItemLikelihood
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.item_covariance import (
    ITEM_PRIOR,
    DeviationLikelihood,
    ItemPrior,
    fit_covariance,
    inflation,
)
from skanchor._numerics.linalg import SymmetricSolver, covariance_factor, mix_judges
from skanchor._numerics.machine import available_bytes
from skanchor._numerics.shrinkage import Shrinkage
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample

__all__ = [
    "FEW_HISTORICAL",
    "MIN_HISTORICAL",
    "ItemCovariance",
    "count_historical",
    "estimate_item_covariance",
    "fit_item_covariance",
    "judges_of_arrivals",
]


MIN_HISTORICAL = 2
"""Least number of historical models for item effects."""

FEW_HISTORICAL = 5
"""Number of historical models below which the prior is most of what is known of the
covariance."""

MATRICES = 12
"""Most matrices by all parameters that are in memory at once: ten in this module, and
as many in a fold beside the fit of all rows."""


NO_SLOPE = 1e-3
"""Size of a sensitivity, in that of the largest, up to which it has no sign."""

FAR = 1.0
"""Largest squared Newton decrement, in squared standard errors, of a point that may
replace a mode that was not found."""

MOST_LOST = 2
"""Number of modes not found after which the estimation ends. An expansion about another
point becomes less informative on the covariance with every step."""


@dataclass(frozen=True, eq=False)
class ItemCovariance:
    """Estimated covariance of the deviations.

    Attributes
    ----------
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u, in squared judge logits.
    shrinkage : Shrinkage or None
        Shares of the judges' own variances and correlations in it; None where Sigma_u
        was given.
    inflation : float
        Factor of the item part of a variance that accounts for the estimation of
        Sigma_u.
    df : float
        Degrees of freedom of the item part; infinite where Sigma_u was given.
    free : float
        Degrees of freedom of the moments before shrinkage: the number of historical
        models less two, fewer where features distinguish models, and those of the
        prior.
    slopes : ndarray of shape (n_judges,) or None
        Sensitivities at the estimate; None where Sigma_u was given.
    converged : bool
        Whether the last step changed Sigma_u by less than the tolerance.
    """

    covariance: Array
    shrinkage: Shrinkage | None = None
    inflation: float = 1.0
    df: float = np.inf
    free: float = np.inf
    slopes: Array | None = None
    converged: bool = True

    def for_arrivals(self, X: Comparisons) -> ItemCovariance:
        """The same covariance, with ``inflation`` and ``df`` for these new models.

        Parameters
        ----------
        X : Comparisons
            Rows whose arrivals show which judges see a new model. If no judge does, all
            judges count.

        Returns
        -------
        ItemCovariance
        """
        return self.for_judges(judges_of_arrivals(X))

    def for_judges(self, seen: NDArray[np.bool_]) -> ItemCovariance:
        """As :meth:`for_arrivals`, for new models that these judges see.

        Parameters
        ----------
        seen : ndarray of shape (n_judges,)
            Mask of the judges, as :func:`judges_of_arrivals` returns it.

        Returns
        -------
        ItemCovariance
        """
        if self.slopes is None or self.shrinkage is None:
            return self
        # The covariance was shrunk with judges of negative sensitivity reversed.
        sign = _signs(self.slopes)
        factor, df = inflation(
            self.covariance * np.outer(sign, sign),
            self.shrinkage,
            np.abs(self.slopes),
            seen if seen.any() else np.ones_like(seen),
            self.free,
        )
        return replace(self, inflation=factor, df=df)


def judges_of_arrivals(X: Comparisons) -> NDArray[np.bool_]:
    """Mask of the judges that see a new model.

    Parameters
    ----------
    X : Comparisons
        Rows of which it is decided which models are new.

    Returns
    -------
    ndarray of shape (n_judges,)
    """
    arrivals = X.involves_new & X.is_usable & ~X.is_human
    return np.isin(np.arange(len(X.judges)), X.judge[arrivals])


def estimate_item_covariance(
    sample: Sample,
    calibrator: JudgeCalibrator,
    prior: ItemPrior = ITEM_PRIOR,
) -> ItemCovariance:
    """Estimate Sigma_u from the historical rows by EM with chosen shrinkage.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in of the earlier stages, outcomes, weights, groups.
    calibrator : JudgeCalibrator
        Fitted calibrator. The part of its learners that is linear in coefficients is
        profiled out.
    prior : ItemPrior
        Prior of the covariance.

    Returns
    -------
    ItemCovariance

    Raises
    ------
    BattlesError
        If there are fewer than two historical models, more deviations than the
        memory of this machine holds the information of, or rows too few for an
        estimate.
    """
    # Weights divided by the dispersion make the likelihood that of independent votes.
    # The code of people, -1, is the last entry of ``noise``.
    noise = dispersions(sample, has_deviations=True)
    noise = np.where(noise < LEAST_DISPERSION, 1.0, noise)
    weighed = sample.weighted(sample.weight / noise[sample.X.judge])
    model = ItemLikelihood(weighed, calibrator)
    return fit_item_covariance(model, prior)


def fit_item_covariance(
    model: ItemLikelihood, prior: ItemPrior = ITEM_PRIOR
) -> ItemCovariance:
    """Estimate Sigma_u from a likelihood of the historical rows.

    Parameters
    ----------
    model : ItemLikelihood
        Likelihood of rows whose weights are divided by the dispersion of their source.
    prior : ItemPrior
        Prior of the covariance.

    Returns
    -------
    ItemCovariance

    Raises
    ------
    BattlesError
        As :func:`estimate_item_covariance` does.
    """
    n_historical, n_models = int((~model.X.is_new).sum()), count_historical(model.X)
    _check_models(n_models)
    _check_evidence_memory(model)
    historical_rows = _HistoricalRows(model)
    identity = np.eye(historical_rows.model.n_judges)
    covariance, shrinkage = prior.variance * identity, Shrinkage()
    converged, n_lost = False, 0
    # Each round expands the likelihood about the mode of all parameters under the
    # present covariance, and estimates the covariance from that expansion.
    for step in range(10):
        found = historical_rows.quadratic(covariance)
        if found.is_far:
            break
        n_lost += not found.is_mode
        before = covariance
        # Judges of negative sensitivity dislike what people like. Their deviations are
        # reversed, as the shrinkage assumes a positive common correlation.
        sign = _signs(found.slopes)
        turned, flip = np.outer(sign, sign), np.repeat(sign, n_historical)
        likelihood = DeviationLikelihood(
            found.information * np.outer(flip, flip),
            found.target * flip,
            np.abs(found.slopes),
        )
        try:
            covariance, shrinkage, em_converged = fit_covariance(
                likelihood,
                covariance * turned,
                shrinkage,
                prior,
                choose=step < 3,
            )
        except np.linalg.LinAlgError:
            raise BattlesError(
                "The covariance of the item effects has no estimate: the historical "
                f"rows of {len(sign)} judges say too little of it. Leave out judges "
                "with few rows, or set item_effects to None for the interval without "
                "them."
            ) from None
        covariance *= turned
        change = np.abs(covariance - before).max()
        # A tenth of a variance is far below its sampling error with so few items.
        reliable = em_converged and found.is_mode
        if reliable and change <= 0.1 * max(np.abs(covariance).max(), 1e-3):
            converged = True
            break
        if n_lost == MOST_LOST:
            break
    # Two degrees of freedom are used by the scale of the scores.
    shown = (n_models - 2.0) * historical_rows.free_share(covariance, found)
    return ItemCovariance(
        covariance,
        shrinkage,
        free=shown + prior.df,
        slopes=found.slopes,
        converged=converged,
    ).for_arrivals(historical_rows.model.X)


def count_historical(X: Comparisons) -> int:
    """Number of historical models, each counted once in all contexts.

    The deviations for a model may be the same in all its contexts.
    """
    return len(np.unique(X.rows.items.model[~X.is_new]))


def _check_models(n_historical: int) -> None:
    """Refuse to estimate a covariance from too few models."""
    if n_historical < MIN_HISTORICAL:
        raise BattlesError(
            f"Item effects need at least {MIN_HISTORICAL} historical models to learn "
            f"their covariance, here are {n_historical}; give item_effects an array, "
            "or None for the interval without them."
        )


def _signs(slopes: Array) -> Array:
    """-1 for judges of negative sensitivity, else 1.

    The sign of a sensitivity that is zero up to rounding would turn from one expansion
    to the next.
    """
    return np.where(slopes < -NO_SLOPE * np.abs(slopes).max(initial=0.0), -1.0, 1.0)


def _check_evidence_memory(model: ItemLikelihood) -> None:
    """Refuse item effects that do not fit into memory, before any is allocated."""
    # A double has 8 bytes.
    needed = MATRICES * 8 * model.size**2
    available = available_bytes()
    if needed > available:
        raise BattlesError(
            f"Item effects of {model.n_judges} judges and {model.n_items} models are "
            f"{model.n_judges * model.n_items:,} deviations, whose information takes "
            f"{needed / 1e9:,.1f} GB of memory (matrices of {model.size:,} parameters "
            f"squared); {available / 1e9:,.1f} GB are available. Set item_effects to "
            "None for the interval without them, or rank fewer models at a time: "
            "models of about the same level as the new ones, and the judges that "
            "see them."
        )


@dataclass(frozen=True, slots=True)
class _Quadratic:
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
    """

    information: Array
    target: Array
    slopes: Array
    hessian: Array
    is_mode: bool
    is_far: bool


class _HistoricalRows:
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
        self.identity = np.eye(model.n_judges)
        # Between calls the parameters hold u itself: with L = I, u = v.
        self.parameters = model.start(self.identity)

    def quadratic(self, covariance: Array) -> _Quadratic:
        """Expand the likelihood about its mode under a covariance of u."""
        model = self.model
        # Under the prior with this covariance there is a mode even where verdicts are
        # separated. It is found in v, from the last mode, v = L^-1 u.
        factor = covariance_factor(covariance)
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
        return _Quadratic(
            information,
            target,
            parameters[model.at["sensitivity"]],
            hessian,
            mode.converged,
            is_far,
        )

    def free_share(self, covariance: Array, found: _Quadratic) -> float:
        """Share of the deviations that remain after the bias functions.

        Features that distinguish models explain a part of the deviations. The share is
        the number of deviations shown with biases profiled out, over that without.
        """
        bias = np.zeros(self.model.size, dtype=bool)
        bias[self.model.at["bias"]] = True
        if not bias.any():
            return 1.0
        factor = covariance_factor(covariance)
        without, _ = _profile(found.hessian, self.at_u, self.fixed & ~bias)
        known = _count_shown(without, factor)
        return _count_shown(found.information, factor) / known if known > 0 else 1.0


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
