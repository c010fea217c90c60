"""Covariance of the item effects from a linearised likelihood.

After scores, sensitivities and biases are profiled out, the likelihood of the
deviations u (judges by items) is Gaussian with a given information matrix. EM finds
their covariance between judges. With few items that covariance is not learned well, so
every M-step shrinks it towards judges that are alike; how far is decided by how well
the judges then predict the score of each item left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from skanchor._numerics.linalg import (
    SymmetricSolver,
    covariance_factor,
    mix_judges,
)

__all__ = [
    "PRIOR_VARIANCE",
    "Structure",
    "fit_covariance",
    "inflation",
    "structured",
]

Array = NDArray[np.float64]

FLOOR = 1e-8
"""Least eigenvalue of the covariance, in squared logits: far below any sampling error,
and enough to keep every item's posterior invertible."""

CEILING = 25.0
"""Largest variance, in squared logits: where verdicts are separated, none is found."""

PRIOR_ITEMS = 0.5
"""Items that the prior of the common variance is worth: log-F with as many degrees of
freedom. Few items under one judge often show no deviation where there is one, and an
interval that believes them holds half the time."""

PRIOR_VARIANCE = 0.09
"""Where that prior is centred, and estimation starts, in squared logits."""

VARIANCE_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Candidate shares of each judge's own variance."""

CORRELATION_SHARES = (0.0, 0.25, 0.5, 0.75, 0.95)
"""Candidate shares of each pair's own correlation; all of it may be singular."""

LONGEST = 16.0
"""Longest extrapolation of two EM steps."""

CORRELATION_WEIGHT = 2.0
"""Observations that the prior of that share is worth, as many as a uniform one."""

VARIANCE_ITEMS = 8.0
"""Items at which half of a judge's own variance is believed: judges of real tables
differ in spread by a third or so."""

VARIANCE_WEIGHT = 6.0
"""Observations that the prior of that share is worth. Few items cannot tell variances
that differ from variances that seem to, and weights that trust the seeming are worse
than equal ones."""

N_DRAWS = 400
"""Draws behind the inflation factor."""


@dataclass(frozen=True, slots=True)
class Structure:
    """How much of the unstructured moments is kept.

    Attributes
    ----------
    correlation : float
        Share of each pair's own correlation; the rest is the common correlation.
    variance : float
        Share of each judge's own variance; the rest is the mean variance.
    """

    correlation: float = 0.5
    variance: float = 0.5


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the data say of each item's deviations, the other items taken as random.

    The likelihood of item i's deviations is ``exp(q'u - u'Qu/2)``.
    """

    precision: Array  # Q, (n_items, n_judges, n_judges)
    linear: Array  # q, (n_items, n_judges)

    def posterior(self, factor: Array) -> tuple[Array, Array]:
        """Means and covariances under the prior N(0, factor factor')."""
        inner = factor.T @ self.precision @ factor
        inner[:, np.arange(len(factor)), np.arange(len(factor))] += 1.0
        spread = factor @ np.linalg.solve(inner, np.broadcast_to(factor.T, inner.shape))
        return np.einsum("imn,in->im", spread, self.linear), spread

    def without(self, direction: Array) -> _Evidence:
        """Forget what the data say along one direction, as if its score were free."""
        pull = self.precision @ direction
        amount = np.maximum(pull @ direction, FLOOR)
        return _Evidence(
            self.precision
            - pull[:, :, None] * pull[:, None, :] / amount[:, None, None],
            self.linear - pull * ((self.linear @ direction) / amount)[:, None],
        )

    def predictive(self, covariances: Array) -> Array:
        """Log density of each item under its own prior, up to a constant."""
        roots = np.linalg.cholesky(covariances + FLOOR * np.eye(covariances.shape[-1]))
        turned = roots.transpose(0, 2, 1)
        inner = turned @ self.precision @ roots
        inner[:, np.arange(roots.shape[1]), np.arange(roots.shape[1])] += 1.0
        q = (turned @ self.linear[:, :, None])[..., 0]
        explained = np.einsum(
            "im,im->i", q, np.linalg.solve(inner, q[..., None])[..., 0]
        )
        return np.asarray(0.5 * (explained - np.linalg.slogdet(inner)[1]))


def structured(moments: Array, structure: Structure) -> Array:
    """Shrink second moments of the deviations towards judges that are alike.

    Parameters
    ----------
    moments : ndarray of shape (..., n_judges, n_judges)
        Mean of u u' over items.
    structure : Structure
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
    kept = structure.correlation
    correlation = np.where(off, (1.0 - kept) * common + kept * correlation, 1.0)
    # Only now, or what is above the ceiling would look correlated.
    variances = np.minimum(variances, CEILING)
    mean = variances.mean(axis=-1, keepdims=True)
    kept = structure.variance
    scale = np.sqrt(kept * variances + (1.0 - kept) * mean)
    return np.asarray(correlation * scale[..., :, None] * scale[..., None, :])


def fit_covariance(
    information: Array,
    target: Array,
    sensitivities: Array,
    covariance: Array,
    structure: Structure,
    *,
    conservative: bool = False,
    choose: bool = True,
    tol: float = 1e-3,
    max_iter: int = 50,
) -> tuple[Array, Structure, bool]:
    """Maximise the marginal likelihood, shrinking inside every M-step.

    Parameters
    ----------
    information : ndarray of shape (n_judges * n_items, n_judges * n_items)
        Information of the deviations, judges first, all else profiled out.
    target : ndarray of shape (n_judges * n_items,)
        Its product with the unpenalised estimate.
    sensitivities : ndarray of shape (n_judges,)
        What each judge's verdicts say per unit of score.
    covariance : ndarray of shape (n_judges, n_judges)
        Where to start.
    structure : Structure
        Where to start with the shares.
    conservative : bool
        Divides by one less than the number of items.
    choose : bool
        Whether to choose the shares, or to keep them.
    tol : float
        Relative change at which the steps stop.
    max_iter : int
        Most EM steps between two updates of the items' evidence.

    Returns
    -------
    covariance : ndarray of shape (n_judges, n_judges)
    structure : Structure
    converged : bool
    """
    n_judges = len(covariance)
    n_items = len(target) // n_judges
    converged = False
    for step in range(30):
        before = covariance
        evidence = _evidence(information, target, covariance, n_items)
        covariance = _em(evidence, covariance, structure, conservative, tol, max_iter)
        if step >= 2:
            # Each item's evidence leans on the covariance of the others, against it:
            # whole steps would go back and forth.
            covariance = (covariance + before) / 2.0
        # Two choices could take turns for ever.
        if choose and n_judges > 1 and step < 5:
            structure = _choose(evidence, covariance, sensitivities)
        change = np.abs(covariance - before).max()
        # A percent of a variance is far below what so few items tell of it.
        if change <= 10 * tol * max(np.abs(covariance).max(), 1e-3):
            converged = True
            break
    return covariance, structure, converged


def _evidence(
    information: Array, target: Array, covariance: Array, n_items: int
) -> _Evidence:
    """Each item's own likelihood, from its posterior with the prior taken out."""
    n_judges = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    scale = np.sqrt(np.maximum(values, FLOOR))
    root, back = vectors * scale, vectors / scale
    inner = mix_judges(information, root, n_items)
    inner[np.diag_indices_from(inner)] += 1.0
    spread = SymmetricSolver.factorise(inner).inverse()
    v = spread @ (root.T @ target.reshape(n_judges, n_items)).ravel()
    shaped = spread.reshape(n_judges, n_items, n_judges, n_items)
    own = np.einsum("mini->imn", shaped)
    own_inverse = np.linalg.inv((own + own.transpose(0, 2, 1)) / 2.0)
    by_item = v.reshape(n_judges, n_items).T
    linear = np.einsum("imn,in->im", own_inverse, by_item) @ back.T
    values, turned = np.linalg.eigh(own_inverse - np.eye(n_judges))
    precision = (turned * np.maximum(values, 0.0)[:, None, :]) @ turned.transpose(
        0, 2, 1
    )
    return _Evidence(back @ precision @ back.T, linear)


def _em(
    evidence: _Evidence,
    covariance: Array,
    structure: Structure,
    conservative: bool,
    tol: float,
    max_iter: int,
) -> Array:
    """EM over the items' own likelihoods, shrinking inside every M-step.

    Every two steps are followed by one along the line through them, as far as their
    shrinkage tells (SQUAREM): plain EM is slow where the covariance is nearly singular.
    """
    for _ in range(max_iter):
        first = _em_step(evidence, covariance, structure, conservative)
        move = first - covariance
        if np.abs(move).max() <= tol * max(np.abs(first).max(), 1e-4):
            return first
        second = _em_step(evidence, first, structure, conservative)
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
    evidence: _Evidence, covariance: Array, structure: Structure, conservative: bool
) -> Array:
    means, spreads = evidence.posterior(covariance_factor(covariance))
    moments = means.T @ means + spreads.sum(axis=0)
    moments /= _divisor(covariance, len(means), conservative)
    # The moments themselves lean to the covariance they were computed with, by what
    # the data do not show; the shares are those of the data's moments.
    shown = float(np.mean(_shown(spreads, covariance)))
    return structured(
        moments,
        Structure(
            _kept(structure.correlation, shown), _kept(structure.variance, shown)
        ),
    )


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


def _shown(spreads: Array, covariance: Array) -> Array:
    """Share of each item's deviations that the data show."""
    return np.asarray(1.0 - np.trace(spreads, axis1=1, axis2=2) / np.trace(covariance))


def _choose(evidence: _Evidence, covariance: Array, sensitivities: Array) -> Structure:
    """Shares under which the judges best predict the score of an item left out.

    The density of an item's human score given its judges is the density of all that is
    known of the item over that of its judges alone, whatever its score.
    """
    n_items, n_judges = evidence.linear.shape
    means, spreads = evidence.posterior(covariance_factor(covariance))
    innovations = means[:, :, None] * means[:, None, :] + spreads - covariance
    # Moments without an item: a Newton step of the likelihood equation, in which an
    # item counts by the squared share of its deviations that the data show.
    weight = _shown(spreads, covariance) ** 2
    rest = np.maximum(weight.sum() - weight, 1e-3)[:, None, None]
    left_out = covariance + (innovations.sum(axis=0) - innovations) / rest
    values, vectors = np.linalg.eigh(left_out)
    values = np.maximum(values, 1e-3 * np.trace(covariance) / n_judges)
    left_out = (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)
    judges_alone = evidence.without(sensitivities)
    # Two judges have one correlation, which is its own mean. A covariance of M judges
    # needs M + 1 items before its own correlations say anything.
    correlations = {1.0: 0.0}
    if n_judges > 2:
        correlations = _share_prior(
            CORRELATION_SHARES, n_items, n_judges + 1.0, CORRELATION_WEIGHT
        )
    variances = _share_prior(VARIANCE_SHARES, n_items, VARIANCE_ITEMS, VARIANCE_WEIGHT)
    best, structure = -np.inf, Structure()
    for share, variance in product(correlations, variances):
        candidate = Structure(share, variance)
        covariances = structured(left_out, candidate)
        score = correlations[share] + variances[variance]
        score += np.sum(
            evidence.predictive(covariances) - judges_alone.predictive(covariances)
        )
        if score > best:
            best, structure = float(score), candidate
    return structure


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


def inflation(
    covariance: Array,
    structure: Structure,
    sensitivities: Array,
    seen: NDArray[np.bool_],
    n_free: float,
) -> tuple[float, float]:
    """What learning the covariance adds to the variance it implies.

    Weights that are best for an estimated covariance look better than they are. Draws
    of that estimate, shrunk in the same way, tell by how much.

    Parameters
    ----------
    covariance : ndarray of shape (n_judges, n_judges)
        Estimated covariance.
    structure : Structure
        Shares kept in the estimate.
    sensitivities : ndarray of shape (n_judges,)
        What each judge's verdicts say per unit of score.
    seen : ndarray of shape (n_judges,)
        Judges that are weighed against each other: those of the new models.
    n_free : float
        Degrees of freedom of the unstructured moments.

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
    # The same draws for every fit, so that the answer depends on the data alone.
    n_draws = round(n_free)
    normal = np.random.default_rng(0).normal(size=(N_DRAWS, n_judges, n_draws))
    draws = covariance_factor(covariance) @ normal
    moments = draws @ draws.transpose(0, 2, 1) / n_draws
    moments += FLOOR * np.eye(n_judges)
    estimates = structured(moments, structure)[:, seen][:, :, seen]
    right = np.broadcast_to(slopes[:, None], (N_DRAWS, len(slopes), 1))
    solved = np.linalg.solve(estimates, right)[..., 0]
    believed = 1.0 / (solved @ slopes)
    weights = solved * believed[:, None]
    true = np.einsum("bm,mn,bn->b", weights, covariance[np.ix_(seen, seen)], weights)
    factor = max(1.0, float(true.mean() / believed.mean()))
    df = 2.0 * believed.mean() ** 2 / believed.var()
    return factor, float(min(df, n_free))
