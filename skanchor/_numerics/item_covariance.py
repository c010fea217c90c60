"""Covariance of the item effects between judges, from a linearised likelihood.

After scores, sensitivities and biases are profiled out, the likelihood of the
deviations u (judges by items) is Gaussian with a given information matrix. EM finds
their covariance between judges, shrinking it in every M-step towards judges that are
alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.item_evidence import FLOOR, ItemEvidence, shown_share
from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.shrinkage import Shrinkage, choose_shrinkage, shrink
from skanchor._numerics.types import Array

__all__ = [
    "MOST_ROUNDS",
    "MOST_STEPS",
    "PRIOR_ITEMS",
    "PRIOR_VARIANCE",
    "DeviationLikelihood",
    "fit_covariance",
    "inflation",
]


PRIOR_ITEMS = 0.5
"""Items that the prior of the common variance is worth: log-F with as many degrees of
freedom. Few items under one judge often show no deviation where there is one, and an
interval that believes them holds half the time."""

PRIOR_VARIANCE = 0.09
"""Where that prior is centred, and estimation starts, in squared logits."""

LONGEST = 16.0
"""Longest extrapolation of two EM steps."""

SETTLED = 1e-12
"""Relative change of the covariance by an EM step at its fixed point."""

MOST_ROUNDS = 30
"""Most updates of the items' evidence. Where judges are many and their rows few, the
choices may take turns for as long as one lets them."""

MOST_STEPS, MEMORY = 100, 16
"""Steps towards the fixed point, at most, and how many of them a step looks back on."""

N_DRAWS = 400
"""Monte Carlo draws behind the inflation factor."""


@dataclass(frozen=True, slots=True)
class DeviationLikelihood:
    """Gaussian likelihood of the deviations of all items under all judges.

    Attributes
    ----------
    information : ndarray of shape (n_judges * n_items, n_judges * n_items)
        Information of the deviations, judges first, all else profiled out.
    target : ndarray of shape (n_judges * n_items,)
        Its product with the unpenalised estimate.
    sensitivities : ndarray of shape (n_judges,)
        What each judge's verdicts say per unit of score.
    """

    information: Array
    target: Array
    sensitivities: Array

    def evidence(self, covariance: Array) -> ItemEvidence:
        """What is known of each item, the others having this covariance."""
        return ItemEvidence.of(self.information, self.target, covariance)


def fit_covariance(
    likelihood: DeviationLikelihood,
    covariance: Array,
    shrinkage: Shrinkage,
    *,
    conservative: bool = False,
    choose: bool = True,
    tol: float = 1e-3,
    max_iter: int = 3,
) -> tuple[Array, Shrinkage, bool]:
    """Covariance of the deviations between judges, of highest marginal likelihood.

    By EM, with the moments shrunk inside every M-step.

    Parameters
    ----------
    likelihood : DeviationLikelihood
        Likelihood of the verdicts as a function of the deviations.
    covariance : ndarray of shape (n_judges, n_judges)
        Where to start.
    shrinkage : Shrinkage
        Where to start with the shares.
    conservative : bool
        Divides by one less than the number of items.
    choose : bool
        Whether to choose the shares, or to keep them.
    tol : float
        Relative change at which the steps that choose the shares stop.
    max_iter : int
        Most extrapolated EM steps between two updates of the items' evidence. Few:
        with more judges than items, steps that go on under evidence that is out of
        date end where the fixed point is no longer near.

    Returns
    -------
    covariance : ndarray of shape (n_judges, n_judges)
    shrinkage : Shrinkage
    converged : bool
    """
    n_judges = len(covariance)
    converged = False
    for step in range(MOST_ROUNDS):
        before = covariance
        evidence = likelihood.evidence(covariance)
        covariance = _em(evidence, covariance, shrinkage, conservative, tol, max_iter)
        if step >= 2:
            # Each item's evidence leans on the covariance of the others, against it:
            # whole steps would go back and forth.
            covariance = (covariance + before) / 2.0
        # Two choices could take turns for ever.
        if choose and n_judges > 1 and step < 5:
            shrinkage = choose_shrinkage(evidence, covariance, likelihood.sensitivities)
        change = np.abs(covariance - before).max()
        # A percent of a variance is far below its sampling error with so few items.
        if change <= 10 * tol * max(np.abs(covariance).max(), 1e-3):
            converged = True
            break
    return (
        _settled(likelihood, covariance, shrinkage, conservative),
        shrinkage,
        converged,
    )


def _settled(
    likelihood: DeviationLikelihood,
    covariance: Array,
    shrinkage: Shrinkage,
    conservative: bool,
) -> Array:
    """Fixed point of EM steps from nearby, by Anderson's acceleration.

    EM that stops at a tolerance ends anywhere within it, and rounding, as of another
    order of the rows, decides where. The fixed point itself is the same for all.
    """
    at = np.tril_indices(len(covariance))
    best, least = covariance, np.inf
    points: list[Array] = []
    residuals: list[Array] = []
    for _ in range(MOST_STEPS):
        after = _em_step(
            likelihood.evidence(covariance), covariance, shrinkage, conservative
        )
        residual = (after - covariance)[at]
        change = np.abs(residual).max() / max(np.abs(after).max(), 1e-4)
        if change < least:
            best, least = after, change
        if change <= SETTLED:
            break
        points = [*points[1 - MEMORY :], after[at]]
        residuals = [*residuals[1 - MEMORY :], residual]
        covariance = after
        if len(points) > 1:
            # Of all mixtures of the last steps, the one whose residual is least.
            spread = np.array(residuals[:-1]).T - residual[:, None]
            mixture = np.linalg.lstsq(spread, -residual, rcond=1e-10)[0]
            ahead = np.zeros_like(after)
            ahead[at] = (
                after[at] + (np.array(points[:-1]).T - after[at][:, None]) @ mixture
            )
            ahead += np.tril(ahead, -1).T
            if np.linalg.eigvalsh(ahead)[0] > FLOOR:
                covariance = ahead
    return best


def _em(
    evidence: ItemEvidence,
    covariance: Array,
    shrinkage: Shrinkage,
    conservative: bool,
    tol: float,
    max_iter: int,
) -> Array:
    """EM over the items' own likelihoods, shrinking inside every M-step.

    Every two steps are followed by one along the line through them, the further the
    less the two differ (SQUAREM): plain EM is slow where the covariance is nearly
    singular.
    """
    for _ in range(max_iter):
        first = _em_step(evidence, covariance, shrinkage, conservative)
        move = first - covariance
        if np.abs(move).max() <= tol * max(np.abs(first).max(), 1e-4):
            return first
        second = _em_step(evidence, first, shrinkage, conservative)
        bend = second - 2.0 * first + covariance
        ratio = np.linalg.norm(move) / max(float(np.linalg.norm(bend)), 1e-300)
        length = min(max(1.0, float(ratio)), LONGEST)
        while length > 1.0:
            ahead = covariance + 2.0 * length * move + length**2 * bend
            if np.linalg.eigvalsh(ahead)[0] > FLOOR:
                break
            length = (length + 1.0) / 2.0 if length > 1.1 else 1.0
        covariance = second if length == 1.0 else ahead
    return covariance


def _em_step(
    evidence: ItemEvidence, covariance: Array, shrinkage: Shrinkage, conservative: bool
) -> Array:
    """One EM step: the posterior second moments of the deviations, shrunk."""
    means, spreads = evidence.posterior(covariance_factor(covariance))
    moments = means.T @ means + spreads.sum(axis=0)
    moments /= _divisor(covariance, len(means), conservative)
    # The moments themselves lean to the covariance they were computed with, by what
    # the data do not show; the shares are those of the data's moments.
    shown = float(np.mean(shown_share(spreads, covariance)))
    leaning = Shrinkage(
        _kept(shrinkage.own_correlation, shown), _kept(shrinkage.own_variance, shown)
    )
    return shrink(moments, leaning)


def _divisor(covariance: Array, n_items: int, conservative: bool) -> float:
    """Items that the sum of squares is divided by, for the prior of the variance."""
    if conservative:
        return n_items - 1.0
    ratio = np.trace(covariance) / (len(covariance) * PRIOR_VARIANCE)
    # The derivative of the log-F density by the logarithm of the variance.
    pull = PRIOR_ITEMS * (1.0 - ratio) / (1.0 + ratio)
    return float(n_items - pull / len(covariance))


def _kept(share: float, shown: float) -> float:
    """Share to keep of leaning moments, for ``share`` of the data's own."""
    return share / (shown + share * (1.0 - shown)) if share > 0.0 else 0.0


def inflation(
    covariance: Array,
    shrinkage: Shrinkage,
    sensitivities: Array,
    seen: NDArray[np.bool_],
    n_free: float,
) -> tuple[float, float]:
    """What learning the covariance adds to the variance it implies.

    Weights that are best for an estimated covariance look better than they are. By how
    much, a simulation of that estimate, shrunk in the same way, shows.

    Parameters
    ----------
    covariance : ndarray of shape (n_judges, n_judges)
        Estimated covariance.
    shrinkage : Shrinkage
        Shares kept in the estimate.
    sensitivities : ndarray of shape (n_judges,)
        What each judge's verdicts say per unit of score.
    seen : ndarray of shape (n_judges,)
        Judges that are weighed against each other: those of the new models.
    n_free : float
        Degrees of freedom of the unshrunk moments.

    Returns
    -------
    factor : float
        Ratio of the variance of the weighted deviations to its estimate, at least one.
    df : float
        Degrees of freedom of that estimate, at most ``n_free``.
    """
    n_judges = len(covariance)
    slopes = sensitivities[seen]
    if n_judges == 1 or n_free < 1 or not np.any(slopes):
        return 1.0, n_free
    # Judges in an order of their own, so that the draws do not go by their names.
    order = np.lexsort((covariance.diagonal(), sensitivities))
    covariance = covariance[np.ix_(order, order)]
    slopes, seen = sensitivities[order][seen[order]], seen[order]
    # The same draws for every fit, so that the answer depends on the data alone.
    n_draws = round(n_free)
    normal = np.random.default_rng(0).normal(size=(N_DRAWS, n_judges, n_draws))
    # Eigenvectors of a covariance of judges that are alike are anything.
    root = np.linalg.cholesky(covariance + FLOOR * np.eye(n_judges))
    draws = root @ normal
    moments = draws @ draws.transpose(0, 2, 1) / n_draws
    moments += FLOOR * np.eye(n_judges)
    estimates = shrink(moments, shrinkage)[:, seen][:, :, seen]
    right = np.broadcast_to(slopes[:, None], (N_DRAWS, len(slopes), 1))
    solved = np.linalg.solve(estimates, right)[..., 0]
    believed = 1.0 / (solved @ slopes)
    weights = solved * believed[:, None]
    true = np.einsum("bm,mn,bn->b", weights, covariance[np.ix_(seen, seen)], weights)
    factor = max(1.0, float(true.mean() / believed.mean()))
    df = 2.0 * believed.mean() ** 2 / believed.var()
    return factor, float(min(df, n_free))
