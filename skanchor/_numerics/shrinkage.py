"""Shrinkage of a covariance between judges towards equal judges.

With few items a covariance is estimated badly. Each judge's own variance is mixed with
the mean variance, and each pair's own correlation with the common correlation. The
shares of this mixture are those under which the judges best predict the score of each
item left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from skanchor._numerics.item_evidence import FLOOR, ItemEvidence, shown_share
from skanchor._numerics.linalg import eigen_factor
from skanchor._numerics.types import Array

CEILING = 25.0
"""Largest variance, in squared logits; that of separated verdicts has no maximum."""

VARIANCE_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Candidate shares of each judge's own variance."""

MOST_COMMON = 0.95
"""Largest common correlation."""

CORRELATION_SHARES = (0.0, 0.25, 0.5, 0.75, 0.95)
"""Candidate shares of each pair's own correlation. A share of one is excluded, since
the result could be singular."""

CORRELATION_WEIGHT = 2.0
"""Weight of the prior of the share of the own correlation, in observations. The uniform
distribution has the same weight."""

VARIANCE_ITEMS = 8.0
"""Number of free items at which the prior mean of the share of the own variance is one
half. On real tables the standard deviations of judges differ by about a third."""

VARIANCE_WEIGHT = 6.0
"""Weight of the prior of the share of the own variance, in observations. Few items do
not show whether variances differ or only their estimates do, and judge weights by
estimates that differ by chance are worse than equal weights."""


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """Shares of the judges' own variances and correlations in a shrunk covariance.

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
    """Shrink second moments of the deviations towards equal judges.

    Parameters
    ----------
    moments : ndarray of shape (..., n_judges, n_judges)
        Mean of u u' over items.
    shrinkage : Shrinkage
        Shares of the own correlations and variances.

    Returns
    -------
    ndarray of shape (..., n_judges, n_judges)
    """
    return _shrunk(moments, shrinkage.own_correlation, shrinkage.own_variance)


def _shrunk(
    moments: Array, own_correlation: float | Array, own_variance: float | Array
) -> Array:
    """As :func:`shrink`, or for several shares.

    These are arrays whose shapes go with the leading axes of the moments.
    """
    n_judges = moments.shape[-1]
    if n_judges == 1:
        return np.minimum(moments, CEILING)
    variances = np.maximum(np.diagonal(moments, axis1=-2, axis2=-1), FLOOR)
    scale = np.sqrt(variances)
    correlation = moments / (scale[..., :, None] * scale[..., None, :])
    correlation = np.minimum(np.maximum(correlation, -1.0), 1.0)
    # The common correlation is the mean off the diagonal, within [0, MOST_COMMON].
    np.einsum("...ii->...i", correlation)[...] = 0.0
    common = correlation.sum(axis=(-2, -1)) / (n_judges * (n_judges - 1))
    common = np.minimum(np.maximum(common, 0.0), MOST_COMMON)[..., None, None]
    own = np.asarray(own_correlation)[..., None, None]
    correlation = (1.0 - own) * common + own * correlation
    np.einsum("...ii->...i", correlation)[...] = 1.0
    # The ceiling comes after the correlations, which would else be divided by too small
    # a variance.
    variances = np.minimum(variances, CEILING)
    mean = variances.sum(axis=-1, keepdims=True) / n_judges
    share = np.asarray(own_variance)[..., None]
    scale = np.sqrt(share * variances + (1.0 - share) * mean)
    return np.asarray(correlation * scale[..., :, None] * scale[..., None, :])


def choose_shrinkage(
    evidence: ItemEvidence, covariance: Array, sensitivities: Array
) -> Shrinkage:
    """Shares under which the judges best predict the score of an item left out.

    The predictive density of an item's human score given its verdicts is a ratio: the
    density of all data of the item, over that of its verdicts with the score profiled
    out.

    Parameters
    ----------
    evidence : ItemEvidence
        Likelihood of the deviations of each item.
    covariance : ndarray of shape (n_judges, n_judges)
        Present estimate of the covariance.
    sensitivities : ndarray of shape (n_judges,)
        Sensitivity c of each judge.

    Returns
    -------
    Shrinkage
    """
    n_items, n_judges = evidence.linear.shape
    left_out = _moments_without_an_item(evidence, covariance)
    # The prior mean of the share is one half at M + 1 free items, with M judges.
    correlations = _share_prior(
        CORRELATION_SHARES, n_items, n_judges + 1.0, CORRELATION_WEIGHT
    )
    variances = _share_prior(VARIANCE_SHARES, n_items, VARIANCE_ITEMS, VARIANCE_WEIGHT)
    # All pairs of shares at once, for all items: with their axes in front, arrays have
    # the shape (n_correlations, n_variances, n_items, n_judges, n_judges).
    covariances = _shrunk(
        left_out,
        np.array(CORRELATION_SHARES)[:, None, None],
        np.array(VARIANCE_SHARES)[:, None],
    )
    covariances += FLOOR * np.eye(n_judges)
    roots = np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    # A change of an item's score by t changes its logits by c t, as would deviations
    # u = c t. Without that direction, the evidence is that of the judges alone.
    density = evidence.predictive(roots, sensitivities)
    # Log prior of the two shares, plus the log predictive density of all items.
    scores = correlations[:, None] + variances + density.sum(axis=-1)
    first, second = np.unravel_index(scores.argmax(), scores.shape)
    return Shrinkage(CORRELATION_SHARES[first], VARIANCE_SHARES[second])


def _moments_without_an_item(evidence: ItemEvidence, covariance: Array) -> Array:
    """Moments of the deviations without one item, (n_items, n_judges, n_judges).

    For each item one Newton step of the likelihood equation of all other items, from
    the present covariance. An item has the weight of its squared shown share.
    """
    means, spreads = evidence.posterior(eigen_factor(covariance))
    # E[u u' | data] less the prior covariance, by item.
    innovations = means[:, :, None] * means[:, None, :] + spreads - covariance
    weight = shown_share(spreads, covariance) ** 2
    rest = np.maximum(weight.sum() - weight, 1e-3)[:, None, None]
    left_out = covariance + (innovations.sum(axis=0) - innovations) / rest
    # A Newton step may leave the positive definite matrices: raise the eigenvalues.
    values, vectors = np.linalg.eigh(left_out)
    values = np.maximum(values, 1e-3 * np.trace(covariance) / len(covariance))
    return np.asarray((vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1))


def common_shrinkage(n_items: int) -> Shrinkage:
    """One correlation of all pairs, and the expected share of each own variance.

    Parameters
    ----------
    n_items : int
        Number of items.

    Returns
    -------
    Shrinkage
        For judges too many to choose the shares by prediction.
    """
    return Shrinkage(0.0, _mean_share(n_items, VARIANCE_ITEMS))


def _mean_share(n_items: int, half: float) -> float:
    """Prior mean of a share; ``half`` free items make it one half."""
    n_free = max(n_items - 2, 1)
    return n_free / (n_free + half)


def _share_prior(
    shares: tuple[float, ...], n_items: int, half: float, weight: float
) -> Array:
    """Log prior probability of each candidate share.

    The prior is a beta distribution with mean ``n / (n + half)`` and parameters that
    sum to ``weight``; n is the number of items less the two that fix the scale.
    """
    mean = _mean_share(n_items, half)
    # Each candidate gets the probability of the interval of shares nearest to it.
    middles = np.convolve(shares, [0.5, 0.5], mode="valid")
    edges = np.concatenate([[0.0], middles, [1.0]])
    cdf = betainc(weight * mean, weight * (1.0 - mean), edges)
    return np.asarray(np.log(np.diff(cdf) + 1e-300))
