"""Covariance of the item effects between judges, from a linearised likelihood.

After scores, sensitivities and biases are profiled out, the likelihood of the
deviations u (judges by items) is Gaussian with a given information matrix. EM
estimates their covariance between judges. Every M-step shrinks it towards one in which
all judges have the same variance and all pairs of judges the same correlation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.item_evidence import (
    FLOOR,
    ItemEvidence,
    joint_posterior,
)
from skanchor._numerics.linalg import MANY_JUDGES, eigen_factor
from skanchor._numerics.shrinkage import (
    CEILING,
    MOST_COMMON,
    Shrinkage,
    choose_shrinkage,
    shrink,
)
from skanchor._numerics.types import Array

PRIOR_WEIGHT = 0.25
"""Weight of the prior of the common variance in the estimate, in items for each degree
of freedom of the prior: a log-F prior with half an item where it has two. With few
items and one judge the estimate without a prior is often zero although there are
deviations, and intervals that use it cover half the time. More weight makes intervals
longer where there are no deviations."""

PRIOR_CORRELATION, PRIOR_PAIRS, FEW_PAIRS = 0.3, 1.0, 4
"""Centre of the prior of the correlation between judges, its weight in items, and the
number of items from which on this weight fades. On real tables these correlations lie
between -.5 and .6. Two or three items show none; of ten the rows tell enough, and a
prior would only make intervals longer where judges deviate independently."""

LONGEST = 16.0
"""Longest extrapolation of two EM steps, in multiples of their length."""

FIXED_POINT = 1e-12
"""Relative change of the covariance by an EM step, up to which it is a fixed point."""

MOST_ROUNDS = 30
"""Largest number of updates of the items' evidence. With many judges and few rows the
choices of the shrinkage may alternate without end."""

MOST_STEPS, MEMORY = 100, 16
"""Largest number of steps towards the fixed point, and how many past steps enter the
extrapolation of one."""

N_DRAWS = 400
"""Monte Carlo draws behind the inflation factor."""


@dataclass(frozen=True, slots=True)
class ItemPrior:
    """What is known of the deviations before any row is seen.

    With few items it is most of what is known, and the t law of an interval has its
    degrees of freedom beside those of the items.

    Attributes
    ----------
    sd : float
        Centre of the standard deviation of a deviation, in judge logits. On three real
        tables of six judges it was .12 to 1.0, in the geometric mean .24.
    df : float
        Degrees of freedom of what is known of the variance. With two of them the
        logarithm of the standard deviation has one of .64, which is near that of .75
        between the three tables.
    has_common_correlation : bool
        Whether all pairs of judges have one correlation, but for its sign, so that the
        covariance of hundreds of judges takes no longer than their fit.
    """

    sd: float = 0.3
    df: float = 2.0
    has_common_correlation: bool = False

    @property
    def variance(self) -> float:
        """Centre of the variance, in squared judge logits."""
        return self.sd**2

    def start(self, n_judges: int) -> Array:
        """Covariance that an estimate starts from, (n_judges, n_judges).

        With one correlation of all pairs it has that of the prior. Otherwise it is
        diagonal.
        """
        found = self.variance * np.eye(n_judges)
        if self.has_common_correlation:
            rest = self.variance * PRIOR_CORRELATION
            found = found * (1.0 - PRIOR_CORRELATION) + rest
        return found

    def moments(self, sums: Array, n_items: int, covariance: Array) -> Array:
        """Mean second moments of the deviations, with the prior in them.

        Parameters
        ----------
        sums : ndarray of shape (n_judges, n_judges)
            Sum of E[u u'] over the items.
        n_items : int
            Number of items.
        covariance : ndarray of shape (n_judges, n_judges)
            Present estimate of the covariance.

        Returns
        -------
        ndarray of shape (n_judges, n_judges)
        """
        n_judges = len(sums)
        ratio = float(covariance.trace()) / (n_judges * self.variance)
        # Twice the derivative of the log-F log density by the logarithm of the
        # variance. It is zero at ratio 1, where the prior does not change the estimate.
        pull = PRIOR_WEIGHT * self.df * (1.0 - ratio) / (1.0 + ratio)
        mean = sums / (n_items - pull / n_judges)
        # Equal judges of the prior correlation weigh as much as PRIOR_PAIRS items.
        level = mean.trace() / n_judges
        equal = np.full_like(mean, PRIOR_CORRELATION * level)
        equal.flat[:: n_judges + 1] = level
        share = PRIOR_PAIRS / (n_items + PRIOR_PAIRS)
        share *= min(1.0, (FEW_PAIRS / n_items) ** 2)
        return np.asarray(mean + share * (equal - mean))


ITEM_PRIOR = ItemPrior()
"""The default prior."""


@dataclass(frozen=True, slots=True)
class DeviationLikelihood:
    """Gaussian likelihood of the deviations of all items under all judges.

    Attributes
    ----------
    information : ndarray of shape (n_judges * n_items, n_judges * n_items)
        Information on u, all items of the first judge, then those of the second and so
        on; all other parameters are profiled out.
    target : ndarray of shape (n_judges * n_items,)
        Product of the information with the unpenalised estimate of u.
    sensitivities : ndarray of shape (n_judges,)
        Sensitivity c of each judge.
    """

    information: Array
    target: Array
    sensitivities: Array

    def evidence(self, covariance: Array) -> ItemEvidence:
        """Likelihood of each item, the others integrated out under a covariance."""
        return ItemEvidence.of(self.information, self.target, covariance)

    def posterior(self, covariance: Array) -> tuple[Array, Array]:
        """Posterior of each item, all items under one covariance."""
        return joint_posterior(self.information, self.target, covariance)


def fit_covariance(
    likelihood: DeviationLikelihood,
    covariance: Array,
    shrinkage: Shrinkage,
    prior: ItemPrior = ITEM_PRIOR,
    *,
    choose: bool = True,
    tol: float = 1e-3,
    max_iter: int = 3,
) -> tuple[Array, Shrinkage, bool]:
    """Estimate the covariance of the deviations between judges, Sigma_u.

    EM for the marginal likelihood, with the moments shrunk in every M-step.

    Parameters
    ----------
    likelihood : DeviationLikelihood
        Likelihood of the verdicts as a function of the deviations.
    covariance : ndarray of shape (n_judges, n_judges)
        Start of the covariance.
    shrinkage : Shrinkage
        Start of the shrinkage.
    prior : ItemPrior
        Prior of the covariance.
    choose : bool
        Whether to choose the shares of the shrinkage; otherwise they stay as given.
    tol : float
        Relative change of the covariance at which the extrapolated EM steps stop; the
        updates of the evidence stop at ten times as much.
    max_iter : int
        Most extrapolated EM steps between two updates of the items' evidence. Few are
        best: with more judges than items, many steps under outdated evidence lead away
        from the fixed point.

    Returns
    -------
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u, in squared logits.
    shrinkage : Shrinkage
        Shares that were chosen.
    converged : bool
        Whether the updates of the evidence met the tolerance.
    """
    n_judges = len(covariance)
    converged = False
    for step in range(MOST_ROUNDS):
        before = covariance
        evidence = likelihood.evidence(covariance)
        covariance = _em(evidence, covariance, shrinkage, prior, tol, max_iter)
        if step >= 2:
            # A larger covariance of the other items changes an item's evidence so that
            # its own estimate becomes smaller. Full steps would oscillate; half steps
            # converge.
            covariance = (covariance + before) / 2.0
        # Two choices of the shares could alternate for ever, so they end after 5 steps.
        if choose and n_judges > 1 and step < 5:
            shrinkage = choose_shrinkage(evidence, covariance, likelihood.sensitivities)
        change = np.abs(covariance - before).max()
        # A percent of a variance is far below its sampling error with so few items.
        if change <= 10 * tol * max(np.abs(covariance).max(), 1e-3):
            converged = True
            break
    return (
        _settled_covariance(likelihood, covariance, shrinkage, prior),
        shrinkage,
        converged,
    )


def _settled_covariance(
    likelihood: DeviationLikelihood,
    covariance: Array,
    shrinkage: Shrinkage,
    prior: ItemPrior,
) -> Array:
    """Fixed point of the EM step near ``covariance``."""
    # A symmetric matrix is represented by its lower triangle.
    at = np.tril_indices(len(covariance))
    place = np.zeros(covariance.shape, dtype=np.intp)
    place[at] = place.T[at] = np.arange(len(at[0]))

    def filled(values: Array) -> Array:
        return values[place]

    def step(values: Array) -> Array:
        before = filled(values)
        found = likelihood.posterior(before)
        return np.asarray(_m_step(*found, before, shrinkage, prior)[at])

    def is_valid(values: Array) -> bool:
        return bool(np.linalg.eigvalsh(filled(values))[0] > FLOOR)

    return filled(fixed_point(step, covariance[at], is_valid))


def fixed_point(
    step: Callable[[Array], Array],
    start: Array,
    is_valid: Callable[[Array], bool],
    memory: int = MEMORY,
) -> Array:
    """Fixed point of a step near ``start``, by Anderson acceleration.

    EM that stops at a tolerance ends somewhere within it, where exactly depends on
    rounding and so on the order of the rows. The fixed point does not.

    Parameters
    ----------
    step : callable
        Maps an array of shape (n,) to the next one.
    start : ndarray of shape (n,)
        Where it begins.
    is_valid : callable
        Whether a point may be stepped from; an extrapolation that may not is not used.
    memory : int
        Number of past steps that enter an extrapolation.

    Returns
    -------
    ndarray of shape (n,)
        Where a step changed least.
    """
    values = best = start
    least = np.inf
    points: list[Array] = []
    residuals: list[Array] = []
    for _ in range(MOST_STEPS):
        after = step(values)
        residual = after - values
        change = np.abs(residual).max() / max(np.abs(after).max(), 1e-4)
        if change < least:
            best, least = after, change
        if change <= FIXED_POINT:
            break
        points = [*points[1 - memory :], after]
        residuals = [*residuals[1 - memory :], residual]
        values = after
        if len(points) > 1:
            # Affine combination of the last points with the smallest residual. The
            # columns of ``differences``, of shape (n, n_past), are past residuals less
            # the present one.
            differences = np.array(residuals[:-1]).T - residual[:, None]
            mixture = np.linalg.lstsq(differences, -residual, rcond=1e-10)[0]
            ahead = after + (np.array(points[:-1]).T - after[:, None]) @ mixture
            if is_valid(ahead):
                values = ahead
    return best


def _em(
    evidence: ItemEvidence,
    covariance: Array,
    shrinkage: Shrinkage,
    prior: ItemPrior,
    tol: float,
    max_iter: int,
) -> Array:
    """EM steps under fixed evidence, extrapolated in pairs (SQUAREM).

    Two steps give a direction and its change. The extrapolation is the longer the less
    the two steps differ, since plain EM is slow where the covariance is nearly
    singular.
    """
    for _ in range(max_iter):
        first = _em_step(evidence, covariance, shrinkage, prior)
        move = first - covariance
        if np.abs(move).max() <= tol * max(np.abs(first).max(), 1e-4):
            return first
        second = _em_step(evidence, first, shrinkage, prior)
        bend = second - 2.0 * first + covariance
        ratio = np.linalg.norm(move) / max(float(np.linalg.norm(bend)), 1e-300)
        length = min(max(1.0, float(ratio)), LONGEST)
        # A length of 1 is the second step itself. Longer ones are shortened until the
        # result is positive definite.
        while length > 1.0:
            ahead = covariance + 2.0 * length * move + length**2 * bend
            if np.linalg.eigvalsh(ahead)[0] > FLOOR:
                break
            length = (length + 1.0) / 2.0 if length > 1.1 else 1.0
        covariance = second if length == 1.0 else ahead
    return covariance


def _em_step(
    evidence: ItemEvidence, covariance: Array, shrinkage: Shrinkage, prior: ItemPrior
) -> Array:
    """One EM step: the posterior second moments of the deviations, shrunk."""
    means, spreads = evidence.posterior(eigen_factor(covariance))
    return _m_step(means, spreads, covariance, shrinkage, prior)


def _m_step(
    means: Array,
    spreads: Array,
    covariance: Array,
    shrinkage: Shrinkage,
    prior: ItemPrior,
) -> Array:
    """The step from a posterior of each item under a covariance."""
    n_items, spread = len(means), spreads.sum(axis=0)
    # Summed over items, this is E[u u'] given the data.
    sums = means.T @ means + spread
    shown = 1.0 - float(spread.trace() / (n_items * covariance.trace()))
    return shrunk_moments(sums, n_items, shown, covariance, shrinkage, prior)


def shrunk_moments(
    sums: Array,
    n_items: int,
    shown: float,
    covariance: Array,
    shrinkage: Shrinkage,
    prior: ItemPrior,
) -> Array:
    """M-step: covariance of the deviations from their posterior moments.

    Parameters
    ----------
    sums : ndarray of shape (n_judges, n_judges)
        Sum of E[u u'] over the items.
    n_items : int
        Number of items.
    shown : float
        Share of the variance of a deviation that the rows remove.
    covariance : ndarray of shape (n_judges, n_judges)
        Under which the moments were computed.
    shrinkage : Shrinkage
        Shares, of the moments of the data.
    prior : ItemPrior
        Prior of the covariance.

    Returns
    -------
    ndarray of shape (n_judges, n_judges)
    """
    # Posterior moments are partly those of the prior, which is shrunk already. The
    # shares are meant for the moments of the data, and so are adjusted.
    adjusted = Shrinkage(
        _adjusted(shrinkage.own_correlation, shown),
        _adjusted(shrinkage.own_variance, shown),
    )
    return shrink(prior.moments(sums, n_items, covariance), adjusted)


def _adjusted(share: float, shown: float) -> float:
    """Share to apply to posterior moments so that ``share`` applies to the data's.

    Posterior moments are about ``shown d + (1 - shown) c``, with d the moments of the
    data and c the prior covariance. The result k is such that the fixed point of
    ``c = k (shown d + (1 - shown) c)`` is ``c = share d``.
    """
    return share / (shown + share * (1.0 - shown)) if share > 0.0 else 0.0


def inflation(
    covariance: Array,
    shrinkage: Shrinkage,
    sensitivities: Array,
    seen: NDArray[np.bool_],
    n_free: float,
) -> tuple[float, float]:
    """Factor by which estimating the covariance raises the variance it implies.

    Weights that are optimal for an estimated covariance have a larger variance than
    that estimate says. A simulation of the estimate, shrunk in the same way, gives the
    ratio.

    Parameters
    ----------
    covariance : ndarray of shape (n_judges, n_judges)
        Estimated covariance.
    shrinkage : Shrinkage
        Shares used in the estimate.
    sensitivities : ndarray of shape (n_judges,)
        Sensitivity c of each judge.
    seen : ndarray of shape (n_judges,)
        Mask of the judges that see a new model, and so are weighted against each other.
    n_free : float
        Degrees of freedom of the moments before shrinkage.

    Returns
    -------
    factor : float
        Mean true variance of the weighted deviations over its mean estimate, at least
        one.
    df : float
        Degrees of freedom of that estimate, at most ``n_free``.
    """
    n_judges = len(covariance)
    slopes = sensitivities[seen]
    if n_judges == 1 or n_free < 1 or not np.any(slopes):
        return 1.0, n_free
    # Judges are sorted by sensitivity and variance, so that the draws of a judge do not
    # depend on its name or position.
    order = np.lexsort((covariance.diagonal(), sensitivities))
    covariance = covariance[np.ix_(order, order)]
    slopes, seen = sensitivities[order][seen[order]], seen[order]
    # The seed is fixed, so that the result depends on the data alone.
    n_draws = round(n_free)
    make = _normal if n_judges < MANY_JUDGES else _normal.__wrapped__
    normal = make(n_judges, n_draws)
    # Cholesky and not eigenvectors: those of equal eigenvalues are arbitrary.
    root = np.linalg.cholesky(covariance + FLOOR * np.eye(n_judges))
    # Each draw b has n_draws deviations per judge, whose second moments are shrunk as
    # in the estimate: ``estimates`` has the shape (N_DRAWS, n_seen, n_seen).
    draws = root @ normal
    if shrinkage.own_correlation == 0.0 and n_judges >= MANY_JUDGES:
        estimated, weights = _weights_of_common(draws, shrinkage, slopes, seen)
        return _of_draws(estimated, weights, covariance[np.ix_(seen, seen)], n_free)
    moments = draws @ draws.transpose(0, 2, 1) / n_draws
    moments += FLOOR * np.eye(n_judges)
    estimates = shrink(moments, shrinkage)[:, seen][:, :, seen]
    # Generalised least squares of a score t from verdicts c t + u with the drawn
    # covariance C: the weights are C^-1 c / (c' C^-1 c), the variance 1 / (c' C^-1 c).
    right = np.broadcast_to(slopes[:, None], (N_DRAWS, len(slopes), 1))
    solved = np.linalg.solve(estimates, right)[..., 0]
    estimated = 1.0 / (solved @ slopes)
    weights = solved * estimated[:, None]
    return _of_draws(estimated, weights, covariance[np.ix_(seen, seen)], n_free)


@lru_cache(maxsize=1)
def _normal(n_judges: int, n_draws: int) -> Array:
    """Standard normal draws; models that are left out in turn have the same."""
    return np.random.default_rng(0).normal(size=(N_DRAWS, n_judges, n_draws))


def _of_draws(
    estimated: Array, weights: Array, covariance: Array, n_free: float
) -> tuple[float, float]:
    """Factor and degrees of freedom from drawn estimates, (n_draws,), and weights."""
    # Variance of the same weights under the covariance that was drawn from.
    true = np.einsum("bm,mn,bn->b", weights, covariance, weights, optimize=True)
    factor = max(1.0, float(true.mean() / estimated.mean()))
    # Satterthwaite: a variance estimate with df degrees of freedom has the squared
    # coefficient of variation 2 / df.
    df = 2.0 * estimated.mean() ** 2 / estimated.var()
    return factor, float(min(df, n_free))


def _weights_of_common(
    draws: Array, shrinkage: Shrinkage, slopes: Array, seen: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Variance of a score and weights of the judges, by estimates of one correlation.

    What :func:`shrink` makes of the moments of ``draws``, of shape (n_draws, n_judges,
    n), without a matrix for each draw. The results have the shapes (n_draws,) and
    (n_draws, n_seen).
    """
    _, n_judges, n = draws.shape
    squares = np.einsum("bmi,bmi->bm", draws, draws) / n
    variances = squares + FLOOR
    unit = draws / np.sqrt(variances)[:, :, None]
    # The sum of all correlations off the diagonal.
    off = np.sum(unit.sum(axis=1) ** 2, axis=1) / n - np.sum(
        squares / variances, axis=1
    )
    common = np.clip(off / (n_judges * (n_judges - 1)), 0.0, MOST_COMMON)[:, None]
    variances = np.minimum(variances, CEILING)
    share, mean = shrinkage.own_variance, variances.mean(axis=1, keepdims=True)
    scale = np.sqrt(share * variances + (1.0 - share) * mean)[:, seen]
    # C = (1 - r) D D + r d d': C^-1 c by the Sherman-Morrison formula.
    c = slopes / ((1.0 - common) * scale**2)
    d = 1.0 / ((1.0 - common) * scale)
    among = 1.0 + common * np.sum(d * scale, axis=1, keepdims=True)
    solved = c - common * d * np.sum(c * scale, axis=1, keepdims=True) / among
    estimated = 1.0 / (solved @ slopes)
    return estimated, solved * estimated[:, None]
