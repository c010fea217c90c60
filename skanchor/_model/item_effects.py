"""Item effects: how judges deviate from models, and their covariance between judges.

The effects ``u_i`` of all judges on model i are ``N(0, Sigma)``, with the same Sigma
for all models. It is estimated from the historical rows by one expectation-
maximisation: the mode of all parameters under the present Sigma, the posterior moments
of the effects there (Laplace), and a Sigma that is pulled to the prior and shrunk
towards equal judges. All parameters beside the effects are in the information, so that
the estimate is that of restricted maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import Fit
from skanchor._typing import Array
from skanchor.exceptions import BattlesError

MOST_EFFECTS = 2_000
"""Most item effects, judges times models: time grows with the cube of their number."""

FEW_MODELS = 5
"""Number of historical models below which the prior is most of the evidence."""

PRIOR_WEIGHT = 0.25
"""Weight of the prior of the variance, in models for each degree of freedom."""

PRIOR_CORRELATION = 0.3
"""Correlation between judges where rows show none. On real tables it is -.5 to .6."""

COMMON_CORRELATION, COMMON_VARIANCE = 0.5, 3.0
"""Weight of what judges have in common, in models: of the mean correlation for each
pair of judges, and of the mean variance. Pairs are many where judges are, and weights
of judges are then soon wrong by more than a mean correlation is. On real tables with
few judges correlations and variances differ."""

MOST_COMMON = 0.95
"""Largest common correlation that estimates are shrunk to."""

LEAST, LARGEST = 1e-8, 25.0
"""Limits of variances, in squared logits: the one is far below any sampling error, the
other bounds the variance of separated verdicts, which has no maximum."""

SMALLEST_VARIANCE, NO_VARIANCE = 1e-8, 1e-12
"""Share of the largest eigenvalue of a covariance that the smallest has at least, so
that the covariance has an inverse; and the same where all effects are zero, in squared
logits."""

NO_SLOPE = 1e-3
"""Size of a sensitivity, in that of the largest, up to which it has no sign."""

N_DRAWS = 400
"""Monte Carlo draws behind the inflation factor."""


# --------------------------------------------------------------------- prior and result
@dataclass(frozen=True)
class ItemPrior:
    """Prior of the size of item effects, a log-F law of their variance.

    Attributes
    ----------
    sd : float
        Centre of the standard deviation, in logits of the judge.
    df : float
        Degrees of freedom.
    """

    sd: float = 0.3
    df: float = 2.0

    def covariance(self, n_judges: int) -> Array:
        """Covariance between judges before any row is seen."""
        equal = np.full((n_judges, n_judges), PRIOR_CORRELATION)
        np.fill_diagonal(equal, 1.0)
        return np.asarray(self.sd**2 * equal)

    def variances(self, sums: Array, n_models: int, n_judges: float) -> Array:
        """Variance of each judge that is most likely under prior and moments.

        Parameters
        ----------
        sums : ndarray of shape (n_judges,)
            Sum of E[u^2] over the models.
        n_models : int
            Number of models.
        n_judges : float
            Number of judges that share the weight of the prior, where those that
            deviate alike count as one.

        Returns
        -------
        ndarray of shape (n_judges,)
        """
        # For r the variance in units of the prior's, and s the same of the mean
        # moment, the derivative of the log density by log r vanishes where
        # n (r - s) / r + w (r - 1) / (r + 1) = 0. This has one positive root, which
        # goes to one as the weight w of the prior grows.
        n, weight = float(n_models), PRIOR_WEIGHT * self.df / n_judges
        s = sums / (n * self.sd**2)
        half = (n * (1.0 - s) - weight) / 2.0
        root = np.sqrt(half**2 + (n + weight) * n * s)
        ratio = (root - half) / (n + weight)
        return np.clip(self.sd**2 * ratio, LEAST, LARGEST)


ITEM_PRIOR = ItemPrior()
"""The default."""


@dataclass(frozen=True, eq=False)
class ItemCovariance:
    """Covariance of the item effects between judges.

    Attributes
    ----------
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma, in squared logits; every pair of judges has its covariance.
    slopes : ndarray of shape (n_judges,)
        Sensitivities at the estimate.
    n_models : int
        Number of historical models.
    free : float
        Degrees of freedom of the moments: the number of historical models less two,
        which the scale of the scores takes, fewer where features tell models apart, and
        those of the prior.
    inflation : float
        Factor of the item part of a variance that accounts for the estimation of Sigma.
    df : float
        Degrees of freedom of the item part.
    converged : bool
        Whether the last step met the tolerance.
    """

    covariance: Annotated[Array, "judges judges"]
    slopes: Annotated[Array, "judges"]
    n_models: int
    free: float
    inflation: float = 1.0
    df: float = np.inf
    converged: bool = True

    def for_judges(self, seen: NDArray[np.bool_]) -> ItemCovariance:
        """The same covariance, with what its estimation adds for these judges.

        Weights of judges that are best for an estimate have a larger variance than the
        estimate says. Estimates are drawn and shrunk as Sigma was.

        Parameters
        ----------
        seen : ndarray of shape (n_judges,)
            Judges that compare a new model; if none does, all count.

        Returns
        -------
        ItemCovariance
            With ``inflation``, at least one, and ``df``, at most ``free``.
        """
        turn, slopes = signs_of(self.slopes), np.abs(self.slopes)
        seen = seen if seen.any() else np.ones_like(seen)
        if len(slopes) == 1 or self.free < 1.0 or not slopes[seen].any():
            return replace(self, inflation=1.0, df=self.free)
        # Sorted, so that the draws of a judge depend neither on its name nor its code.
        order = np.lexsort((self.covariance.diagonal(), slopes))
        sigma = (self.covariance * np.outer(turn, turn))[order[:, None], order]
        slopes, seen = slopes[order][seen[order]], seen[order]
        n, normal = round(self.free), np.random.default_rng(0).normal
        draws = np.linalg.cholesky(sigma) @ normal(size=(N_DRAWS, len(sigma), n))
        moments = draws @ draws.transpose(0, 2, 1) / n
        scale = np.sqrt(np.maximum(np.einsum("...ii->...i", moments), LEAST))
        correlation = moments / (scale[..., :, None] * scale[..., None, :])
        estimates = shrunk(scale**2, correlation, self.n_models)[:, seen][:, :, seen]
        # Generalised least squares of a score t from verdicts c t + u: the weights are
        # C^-1 c / (c' C^-1 c), and their variance is 1 / (c' C^-1 c).
        right = np.broadcast_to(slopes[:, None], (*estimates.shape[:2], 1))
        solved = np.linalg.solve(estimates, right)[..., 0]
        implied = 1.0 / (solved @ slopes)
        weights = solved * implied[:, None]
        true = np.sum((weights @ sigma[seen][:, seen]) * weights, axis=1)
        inflation = max(1.0, float(true.mean() / implied.mean()))
        # A variance with df degrees of freedom has the squared variation 2 / df.
        df = 2.0 * implied.mean() ** 2 / implied.var()
        return replace(self, inflation=inflation, df=float(min(df, self.free)))


# -------------------------------------------------------------------------- parameters
def with_item_effects(fit: Fit, sigma: Array) -> Fit:
    """The same parameters beside item effects, zero if they are new, of this Sigma.

    Parameters
    ----------
    fit : Fit
        With item effects or without.
    sigma : ndarray of shape (n_judges, n_judges)
        Positive definite.

    Returns
    -------
    Fit
    """
    layout = fit.layout
    if not layout.has_item_effects:
        check_number(layout.n_sources - 1, layout.n_models)
        layout = replace(layout, has_item_effects=True)
    # Item effects are the last parameters.
    at, start = layout.item_effects, layout.item_effects.start
    x, precision = np.zeros(layout.size), np.zeros((layout.size, layout.size))
    x[: len(fit.x)] = fit.x
    precision[:start, :start] = fit.precision[:start, :start]
    precision[at, at] = precision_of(sigma, layout.n_models)
    return Fit(layout, x, precision, fit.converged)


def precision_of(sigma: Array, n_models: int) -> Array:
    """Precision of all item effects of this covariance, by judge and model."""
    whole = np.kron(inverse_of(sigma), np.eye(n_models))
    return np.asarray(whole, dtype=np.float64)


def inverse_of(sigma: Array) -> Array:
    """Inverse of a covariance between judges, however small some effects are."""
    values, vectors = np.linalg.eigh(sigma)
    least = max(SMALLEST_VARIANCE * values.max(initial=0.0), NO_VARIANCE)
    return np.asarray((vectors / np.maximum(values, least)) @ vectors.T)


def check_number(n_judges: int, n_models: int) -> None:
    """Refuse more item effects than are fitted in a reasonable time."""
    n_effects = n_judges * n_models
    if n_effects > MOST_EFFECTS:
        raise BattlesError(
            f"{n_judges:,} judges and {n_models:,} models have {n_effects:,} item "
            f"effects; at most {MOST_EFFECTS:,} are fitted. Pool judges with few "
            "verdicts under one name, rank fewer models at a time, or set "
            "item_effects to none for intervals without item effects, which are too "
            "short if judges deviate."
        )


# -------------------------------------------------------------------------- estimation
def count_independent(correlation: Array) -> float:
    """Number of judges without correlation that say as much of one variance."""
    n = len(correlation)
    off = correlation[~np.eye(n, dtype=bool)]
    mean = float(np.clip(off.mean(), 0.0, 1.0)) if n > 1 else 0.0
    return n / (1.0 + (n - 1.0) * mean)


def shrunk(
    variances: Array, correlation: Array, n_models: int, shown: float = 1.0
) -> Array:
    """Covariance of judges, shrunk towards one in which all are alike.

    Correlations are shrunk towards their mean, variances towards theirs. The prior of
    the correlation enters where few models show none.

    Parameters
    ----------
    variances : ndarray of shape (..., n_judges)
        Estimates of the variances.
    correlation : ndarray of shape (..., n_judges, n_judges)
        Estimates of the correlations.
    n_models : int
        Number of models that they are from.
    shown : float
        Share of the variance of an effect that rows remove. The rest of the moments is
        of a covariance that is shrunk already.

    Returns
    -------
    ndarray of shape (..., n_judges, n_judges)
    """
    n_judges = variances.shape[-1]
    if n_judges == 1:
        return np.asarray(variances[..., None])
    off = ~np.eye(n_judges, dtype=bool)
    if n_models < FEW_MODELS:
        # The prior weighs as much as one model.
        share = 1.0 / (n_models + 1.0)
        correlation = correlation + share * (PRIOR_CORRELATION - correlation)
    mean = np.clip(correlation[..., off].mean(axis=-1), 0.0, MOST_COMMON)
    weight = shown * COMMON_CORRELATION * n_judges * (n_judges - 1.0) / 2.0
    alike = mean[..., None, None]
    correlation = (n_models * correlation + weight * alike) / (n_models + weight)
    # Sizes are shrunk by ratios, so that a large one does not raise all others.
    share = shown * COMMON_VARIANCE / (n_models + shown * COMMON_VARIANCE)
    alike = variances.mean(axis=-1, keepdims=True)
    scale = np.sqrt(variances * (alike / variances) ** share)
    single = np.where(off, correlation, 1.0)
    return np.asarray(single * scale[..., :, None] * scale[..., None, :])


# ----------------------------------------------------------------------------- numerics
def signs_of(slopes: Array) -> Array:
    """-1 for judges of negative sensitivity, else 1."""
    # The sign of a sensitivity that is zero up to rounding would turn at random.
    return np.where(slopes < -NO_SLOPE * np.abs(slopes).max(initial=0.0), -1.0, 1.0)
