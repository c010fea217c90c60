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
    PRIOR_VARIANCE,
    DeviationLikelihood,
    fit_covariance,
    inflation,
)
from skanchor._numerics.linalg import SymmetricSolver, covariance_factor, mix_judges
from skanchor._numerics.memory import available_bytes
from skanchor._numerics.shrinkage import Shrinkage
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample

__all__ = [
    "MIN_HISTORICAL",
    "ItemCovariance",
    "estimate_item_covariance",
    "fit_item_covariance",
    "judges_of_arrivals",
]


MIN_HISTORICAL = 5
"""Historical models below which the covariance of the deviations is not estimated."""

MATRICES = 12
"""Matrices over all parameters that are alive at once, at most: ten here, and as many
in a fold beside the fit of all rows."""


FAR = 1.0
"""Squared Newton decrement, in squared standard errors, of the farthest point that may
stand for a mode."""

MOST_LOST = 2
"""Modes that are not found, after which no further one is looked for: what is expanded
about another point says less of the covariance with every step."""


@dataclass(frozen=True, eq=False)
class ItemCovariance:
    """Estimated covariance of the deviations.

    Attributes
    ----------
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u, in squared judge logits.
    shrinkage : Shrinkage or None
        Shares of the judges' own variances and correlations kept in it; None where
        it was given.
    inflation : float
        Factor of the item part of a variance, for Sigma_u being estimated.
    df : float
        Degrees of freedom of the item part; infinite where Sigma_u was given.
    free : float
        Models' worth of deviations that it was learned from: two less than there are,
        and fewer where features tell models apart.
    slopes : ndarray of shape (n_judges,) or None
        Sensitivities beside which it was estimated.
    converged : bool
        Whether the last step changed it by less than the tolerance.
    """

    covariance: Array
    shrinkage: Shrinkage | None = None
    inflation: float = 1.0
    df: float = np.inf
    free: float = np.inf
    slopes: Array | None = None
    converged: bool = True

    def for_arrivals(self, X: Comparisons) -> ItemCovariance:
        """The same covariance, with what its estimation costs these new models.

        Parameters
        ----------
        X : Comparisons
            Rows of the arrivals, which tell the judges that see a new model; all of
            them count where there is none.

        Returns
        -------
        ItemCovariance
            With ``inflation`` and ``df``.
        """
        return self.for_judges(judges_of_arrivals(X))

    def for_judges(self, seen: NDArray[np.bool_]) -> ItemCovariance:
        """As :meth:`for_arrivals`, of arrivals that these judges see.

        Parameters
        ----------
        seen : ndarray of shape (n_judges,)
            As :func:`judges_of_arrivals` tells them.

        Returns
        -------
        ItemCovariance
        """
        if self.slopes is None or self.shrinkage is None:
            return self
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
    """Judges that see a new model.

    Parameters
    ----------
    X : Comparisons
        Rows in their roles.

    Returns
    -------
    ndarray of shape (n_judges,)
    """
    arrivals = X.involves_new & X.is_usable & ~X.is_human
    return np.isin(np.arange(len(X.judges)), X.judge[arrivals])


def estimate_item_covariance(
    sample: Sample,
    calibrator: JudgeCalibrator,
    *,
    conservative: bool = False,
) -> ItemCovariance:
    """Estimate Sigma_u from the historical rows by EM with chosen shrinkage.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in of the earlier stages, outcomes, weights, groups.
    calibrator : JudgeCalibrator
        Fitted. What of its learners is linear in coefficients is profiled out.
    conservative : bool
        Divides by one less than the number of historical models, which keeps the
        covariance away from zero.

    Returns
    -------
    ItemCovariance

    Raises
    ------
    BattlesError
        If there are fewer than five historical models, more deviations than the
        memory of this machine holds the information of, or rows too few for an
        estimate.
    """
    noise = dispersions(sample, has_deviations=True)
    noise = np.where(noise < LEAST_DISPERSION, 1.0, noise)
    weighed = sample.weighted(sample.weight / noise[sample.X.judge])
    model = ItemLikelihood(weighed, calibrator)
    return fit_item_covariance(model, conservative=conservative)


def fit_item_covariance(
    model: ItemLikelihood, *, conservative: bool = False
) -> ItemCovariance:
    """Estimate Sigma_u from a likelihood of the historical rows.

    Parameters
    ----------
    model : ItemLikelihood
        Of rows whose weights are divided by the dispersion of their source.
    conservative : bool
        As in :func:`estimate_item_covariance`.

    Returns
    -------
    ItemCovariance

    Raises
    ------
    BattlesError
        As :func:`estimate_item_covariance` does.
    """
    n_historical, n_models = int((~model.X.is_new).sum()), _count_historical(model.X)
    _check_models(n_models)
    _check_memory(model)
    known = _HistoricalRows(model)
    identity = np.eye(known.model.n_judges)
    covariance, shrinkage = PRIOR_VARIANCE * identity, Shrinkage()
    converged, n_lost = False, 0
    for step in range(10):
        found = known.quadratic(covariance)
        if found.is_far:
            break
        n_lost += not found.is_mode
        before = covariance
        # Judges that dislike what people like are turned round, as the shrinkage
        # takes judges to deviate alike.
        sign = _signs(found.slopes)
        turned, flip = np.outer(sign, sign), np.repeat(sign, n_historical)
        likelihood = DeviationLikelihood(
            found.information * np.outer(flip, flip),
            found.target * flip,
            np.abs(found.slopes),
        )
        try:
            covariance, shrinkage, settled = fit_covariance(
                likelihood,
                covariance * turned,
                shrinkage,
                conservative=conservative,
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
        settled = settled and found.is_mode
        if settled and change <= 0.1 * max(np.abs(covariance).max(), 1e-3):
            converged = True
            break
        if n_lost == MOST_LOST:
            break
    n_free = (n_models - 2.0) * known.free_share(covariance, found)
    return ItemCovariance(
        covariance,
        shrinkage,
        free=n_free,
        slopes=found.slopes,
        converged=converged,
    ).for_arrivals(known.model.X)


def _count_historical(X: Comparisons) -> int:
    """Historical models, each once: they may deviate alike in all contexts."""
    return len(np.unique(X.rows.items.model[~X.is_new]))


def _check_models(n_historical: int) -> None:
    """Refuse to learn a covariance from too few models."""
    if n_historical < MIN_HISTORICAL:
        raise BattlesError(
            f"Item effects need at least {MIN_HISTORICAL} historical models to learn "
            f"their covariance, here are {n_historical}; give item_effects an array, "
            "or None for the interval without them."
        )


def _signs(slopes: Array) -> Array:
    """-1 for judges that dislike what people like, else 1."""
    return np.where(slopes < 0, -1.0, 1.0)


def _check_memory(model: ItemLikelihood) -> None:
    """Refuse item effects that memory does not hold, before any of it is taken."""
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
    """The likelihood of the deviations u about its mode, all else profiled out.

    Attributes
    ----------
    information : ndarray of shape (n_u, n_u)
        Information on the deviations of the historical models.
    target : ndarray of shape (n_u,)
        Information times the mode.
    slopes : ndarray of shape (n_judges,)
        Sensitivities at the mode.
    hessian : ndarray of shape (p, p)
        Of all parameters.
    is_mode : bool
        Whether the mode was found.
    is_far : bool
        Whether no point near it was found either. What is expanded about another one
        says nothing of the deviations.
    """

    information: Array
    target: Array
    slopes: Array
    hessian: Array
    is_mode: bool
    is_far: bool


class _HistoricalRows:
    """The likelihood of the historical rows, under one covariance after another."""

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
        self.parameters = model.start(self.identity)

    def quadratic(self, covariance: Array) -> _Quadratic:
        """Expand the likelihood about its mode under a covariance of u."""
        model = self.model
        # The mode under the current covariance exists where votes are separated too.
        factor = covariance_factor(covariance)
        parameters = self.parameters.copy()
        model.rescale(parameters, np.asarray(np.linalg.pinv(factor), np.float64))
        mode = model.minimum(parameters, factor, self.rows, self.free, tol=NEAR_MODE)
        is_far = not mode.converged and not mode.decrement <= FAR
        if not is_far:
            parameters[self.free] = mode.coef
        low, high = model.bounds
        inside = (low < parameters) & (parameters < high)
        model.rescale(parameters, factor)
        self.parameters = parameters
        weight = model.lay(np.where(self.rows, model.weight, 0.0))
        eta = model.logits(parameters, self.identity, weight)
        gradient, hessian = model.derivatives(parameters, self.identity, weight, eta)
        prior = model.prior(None)
        assert hessian is not None
        hessian[np.diag_indices(model.size)] += prior
        # What lies on a bound stays there, whatever the deviations.
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
        """Share of the deviations that features which tell models apart leave."""
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
    """Information on parameters ``at`` with ``fixed`` ones profiled out.

    The second array is what a gradient by the fixed ones takes from theirs.
    """
    cross = hessian[np.ix_(at, fixed)]
    solver = SymmetricSolver.factorise(hessian[np.ix_(fixed, fixed)])
    taken = np.asarray(solver.solve(cross.T).T)
    return hessian[np.ix_(at, at)] - taken @ cross.T, taken


def _count_shown(information: Array, factor: Array) -> float:
    """How many of the deviations the data show beside their prior."""
    posterior = mix_judges(information, factor, len(information) // len(factor))
    posterior.flat[:: len(posterior) + 1] += 1.0
    # The trace of the posterior covariance is what they do not show.
    root = SymmetricSolver.factorise(posterior).root
    return len(posterior) - float(np.vdot(root, root))
