"""Shrinkage of a covariance between judges towards judges that are alike.

With few items a covariance is not learned well. Each judge's own variance is mixed with
the mean variance, each pair's own correlation with the common correlation; how far is
decided by how well the judges then predict the score of each item left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import betainc

from skanchor._numerics.item_evidence import FLOOR, ItemEvidence, shown_share
from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.types import Array

__all__ = ["Shrinkage", "choose_shrinkage", "shrink"]


CEILING = 25.0
"""Largest variance, in squared logits: where verdicts are separated, none is found."""

VARIANCE_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Candidate shares of each judge's own variance."""

CORRELATION_SHARES = (0.0, 0.25, 0.5, 0.75, 0.95)
"""Candidate shares of each pair's own correlation; all of it may be singular."""

CORRELATION_WEIGHT = 2.0
"""Observations that the prior of the share of the own correlation is worth, as many as
a uniform one."""

VARIANCE_ITEMS = 8.0
"""Items at which half of a judge's own variance is believed: judges of real tables
differ in spread by a third or so."""

VARIANCE_WEIGHT = 6.0
"""Observations that the prior of the share of the own variance is worth. Few items
cannot tell variances that differ from variances that seem to, and weights that trust
the seeming are worse than equal ones."""


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """How much of the judges' own variances and correlations is kept.

    Attributes
    ----------
    own_correlation : float
        Share of each pair's own correlation; the rest is the common correlation.
    own_variance : float
        Share of each judge's own variance; the rest is the mean variance.
    """

    own_correlation: float = 0.5
    own_variance: float = 0.5


def shrink(moments: Array, shrinkage: Shrinkage) -> Array:
    """Shrink second moments of the deviations towards judges that are alike.

    Parameters
    ----------
    moments : ndarray of shape (..., n_judges, n_judges)
        Mean of u u' over items.
    shrinkage : Shrinkage
        Shares that are kept.

    Returns
    -------
    ndarray of shape (..., n_judges, n_judges)
    """
    n_judges = moments.shape[-1]
    if n_judges == 1:
        return np.minimum(moments, CEILING)
    variances = np.maximum(np.diagonal(moments, axis1=-2, axis2=-1), FLOOR)
    scale = np.sqrt(variances)
    correlation = moments / (scale[..., :, None] * scale[..., None, :])
    correlation = np.clip(correlation, -1.0, 1.0)
    off = ~np.eye(n_judges, dtype=bool)
    common = np.clip(correlation[..., off].mean(axis=-1), 0.0, 0.95)[..., None, None]
    kept = shrinkage.own_correlation
    correlation = np.where(off, (1.0 - kept) * common + kept * correlation, 1.0)
    # Only now, or what is above the ceiling would look correlated.
    variances = np.minimum(variances, CEILING)
    mean = variances.mean(axis=-1, keepdims=True)
    kept = shrinkage.own_variance
    scale = np.sqrt(kept * variances + (1.0 - kept) * mean)
    return np.asarray(correlation * scale[..., :, None] * scale[..., None, :])


def choose_shrinkage(
    evidence: ItemEvidence, covariance: Array, sensitivities: Array
) -> Shrinkage:
    """Shares under which the judges best predict the score of an item left out.

    The density of an item's human score given its judges is the density of all that is
    known of the item over that of its judges alone, whatever its score.

    Parameters
    ----------
    evidence : ItemEvidence
        What is known of each item.
    covariance : ndarray of shape (n_judges, n_judges)
        Present estimate of the covariance.
    sensitivities : ndarray of shape (n_judges,)
        What each judge's verdicts say per unit of score.

    Returns
    -------
    Shrinkage
    """
    n_items, n_judges = evidence.linear.shape
    left_out = _moments_without_an_item(evidence, covariance)
    judges_alone = evidence.without(sensitivities)
    # Two judges have one correlation, which is its own mean. A covariance of M judges
    # needs M + 1 items before its own correlations say anything.
    correlations = {1.0: 0.0}
    if n_judges > 2:
        correlations = _share_prior(
            CORRELATION_SHARES, n_items, n_judges + 1.0, CORRELATION_WEIGHT
        )
    variances = _share_prior(VARIANCE_SHARES, n_items, VARIANCE_ITEMS, VARIANCE_WEIGHT)
    best, shrinkage = -np.inf, Shrinkage()
    for share, variance in product(correlations, variances):
        candidate = Shrinkage(share, variance)
        covariances = shrink(left_out, candidate)
        score = correlations[share] + variances[variance]
        score += np.sum(
            evidence.predictive(covariances) - judges_alone.predictive(covariances)
        )
        if score > best:
            best, shrinkage = float(score), candidate
    return shrinkage


def _moments_without_an_item(evidence: ItemEvidence, covariance: Array) -> Array:
    """Second moments of the deviations of all items but one, for each item.

    A Newton step of the likelihood equation from the present covariance, in which an
    item counts by the squared share of its deviations that the data show.
    """
    means, spreads = evidence.posterior(covariance_factor(covariance))
    innovations = means[:, :, None] * means[:, None, :] + spreads - covariance
    weight = shown_share(spreads, covariance) ** 2
    rest = np.maximum(weight.sum() - weight, 1e-3)[:, None, None]
    left_out = covariance + (innovations.sum(axis=0) - innovations) / rest
    values, vectors = np.linalg.eigh(left_out)
    values = np.maximum(values, 1e-3 * np.trace(covariance) / len(covariance))
    return np.asarray((vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1))


def _share_prior(
    shares: tuple[float, ...], n_items: int, half: float, weight: float
) -> dict[float, float]:
    """Log probability of each share to keep, before any look at the data.

    A share is believed to be near ``n / (n + half)``, with the weight of so many
    observations; n is the number of items less the two that fix the scale.
    """
    n_free = max(n_items - 2, 1)
    mean = n_free / (n_free + half)
    middles = np.convolve(shares, [0.5, 0.5], mode="valid")
    edges = np.concatenate([[0.0], middles, [1.0]])
    cdf = betainc(weight * mean, weight * (1.0 - mean), edges)
    return dict(zip(shares, np.log(np.diff(cdf) + 1e-300).tolist(), strict=True))
