"""Many contrasts tested at once: Holm's step-down, and Romano and Wolf's by draws."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from skanchor._machine import limited_threads, threads_for
from skanchor._typing import Array
from skanchor.results.intervals import t_distribution, t_quantile

BLOCK = 1 << 18
"""Numbers that are computed at a time: few enough to stay in the cache."""

_KEPT = 100
"""Most models of which the standard normal draws are kept."""


def holm_adjust(p: Array) -> Array:
    """Holm's step-down adjusted p-values of one family."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * (len(p) - np.arange(len(p)))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def is_significant(p_adjusted: Array | float, level: float) -> NDArray[np.bool_]:
    """Whether adjusted p-values are at most the error rate that a level leaves.

    Parameters
    ----------
    p_adjusted : ndarray or float
        Adjusted p-values; NaN decides nothing.
    level : float
        Confidence level in (0, 1).

    Returns
    -------
    ndarray of bool
    """
    # Rounded, because 1 - 0.95 is slightly more than 0.05 in floating point, and
    # 1 - 0.9 slightly less than 0.1.
    return np.asarray(p_adjusted) <= round(1 - level, 12)


def romano_wolf_rejects(
    p: Array,
    null_p: Callable[[NDArray[np.intp], float], Array],
    n_draws: int,
    alpha: float,
    is_undrawn: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which hypotheses of one family Romano and Wolf's step-down rejects.

    Parameters
    ----------
    p : ndarray of shape (n_hypotheses,)
        P-values of the data.
    null_p : callable
        Gives, for some of the hypotheses and a bound, an array of shape (n_some,
        n_draws): p-values drawn from their joint law where no hypothesis is false;
        those above the bound may be any number above it.
    n_draws : int
        Number of draws.
    alpha : float
        Level of the family.
    is_undrawn : ndarray of shape (n_hypotheses,)
        Hypotheses whose joint law with the others is unknown; ``null_p`` gives one for
        them. They count as in Holm's procedure: each that is left adds p to the share
        of the draws.

    Returns
    -------
    ndarray of bool
        At each step, by increasing p, the adjusted p-value is the share of draws in
        which the least p-value of the hypotheses left is as small. It lies between p
        and Holm's value but for the error of the draws, and is kept there.
    """
    order = np.argsort(p, kind="stable")
    ordered = p[order]
    holm = ordered * np.arange(len(p), 0, -1)
    undrawn = ordered * np.cumsum(is_undrawn[order][::-1])[::-1]
    # Nothing needs draws before Holm's first failure, nor where p exceeds alpha.
    done, end = _first(holm > alpha), int(np.searchsorted(ordered, alpha, "right"))
    bound = 0.0
    while done < end:
        # Small p-values are found at little cost. The step-down mostly ends at a few
        # times the level that Holm's leaves; else it goes on from a larger bound.
        bound = max(8.0 * bound, 4.0 * alpha / (len(p) - done), ordered[done])
        stop = min(int(np.searchsorted(ordered, bound, "right")), end)
        smaller = np.empty(stop - done)
        least = np.ones(n_draws)
        size = max(1, BLOCK // n_draws)
        # From the largest p down, so that one minimum serves all steps.
        for high in range(len(p), stop, -size):
            block = null_p(order[max(high - size, stop) : high], bound)
            np.minimum(block.min(axis=0), least, out=least)
        for high in range(stop, done, -size):
            low = max(high - size, done)
            block = null_p(order[low:high], bound)[::-1]
            np.minimum(block[0], least, out=block[0])
            np.minimum.accumulate(block, axis=0, out=block)
            least = block[-1]
            smaller[low - done : high - done] = (
                block[::-1] <= ordered[low:high, None]
            ).sum(axis=1)
        share = (1 + smaller) / (1 + n_draws) + undrawn[done:stop]
        share = np.maximum(share, ordered[done:stop])
        failed = _first(np.minimum(share, holm[done:stop]) > alpha)
        done += failed
        if done < stop:
            break
    rejected = np.zeros(len(p), dtype=bool)
    rejected[order[:done]] = True
    return rejected


def _first(mask: NDArray[np.bool_]) -> int:
    """Place of the first that is true, their number where none is."""
    return int(np.argmax(mask)) if mask.any() else len(mask)


@dataclass(frozen=True, eq=False)
class JointErrors:
    """Draws from the joint law of the errors of all scores.

    Attributes
    ----------
    covariance, items : ndarray of shape (n_models, n_models)
        Covariance of the scores, and the part of it that comes from item effects.
    sampling_errors, item_errors : ndarray of shape (n_models, n_draws)
        Errors of the scores: those of the sampling, and those from item effects.
    ratio : ndarray of shape (n_draws,)
        Estimated over true variance of the item effects; one draw for all scores,
        which share the estimate.
    """

    covariance: Array
    items: Array
    sampling_errors: Array
    item_errors: Array
    ratio: Array

    @cached_property
    def errors(self) -> Array:
        """Errors of the scores, of shape (n_models, n_draws)."""
        return self.sampling_errors + self.item_errors

    @classmethod
    def draw(
        cls,
        covariance: Array,
        items: Array,
        item_df: float,
        scores: Array,
        n_draws: int,
    ) -> JointErrors:
        """Draw with a fixed seed, so that a result is a function of the data.

        Parameters
        ----------
        covariance : ndarray of shape (n_models, n_models)
            Covariance of the scores.
        items : ndarray of shape (n_models, n_models)
            Part of it that comes from item effects.
        item_df : float
            Degrees of freedom of that part; below one they are taken for one.
        scores : ndarray of shape (n_models,)
            Estimates, by which the draws are dealt.
        n_draws : int
            Number of draws.

        Returns
        -------
        JointErrors
            The same for each model, however the models are listed.
        """
        # Of many models, the draws would take much memory for as long as Python runs.
        make = _noise if len(covariance) <= _KEPT else _noise.__wrapped__
        noise, state = make(len(covariance), n_draws)
        # Dealt by rank, draws do not depend on how models are listed.
        order = np.lexsort((np.diagonal(covariance), scores))
        ratio = np.ones(n_draws)
        if np.isfinite(item_df):
            # As in `satterthwaite`, at least one; a table may leave none.
            df = max(item_df, 1.0)
            ratio = deepcopy(state).chisquare(df, n_draws) / df
        with limited_threads(threads_for(len(covariance))):
            sampling_errors, item_errors = (
                _symmetric_root(part)[:, order] @ draws
                for part, draws in zip((covariance - items, items), noise, strict=True)
            )
        return cls(covariance, items, sampling_errors, item_errors, ratio)

    def null_p(
        self,
        better: NDArray[np.intp],
        worse: NDArray[np.intp],
        df: Array,
        is_drawn: NDArray[np.bool_] | bool = True,
        largest: float = 1.0,
    ) -> Array:
        """P-values of "better exceeds worse" where all scores are equal.

        Parameters
        ----------
        better, worse : ndarray of shape (n_hypotheses,)
            The models that each hypothesis compares.
        df : ndarray of shape (n_hypotheses,)
            Degrees of freedom of their contrast.
        is_drawn : ndarray of shape (n_hypotheses,), default=True
            Whether the contrast has an error; without one all p-values are one.
        largest : float, default=1.0
            P-values above it are of no interest and may be given as one.

        Returns
        -------
        ndarray of shape (n_hypotheses, n_draws)
            P-values.
        """
        total, items = (
            _contrast(c, better, worse) for c in (self.covariance, self.items)
        )
        sampling = np.maximum(total - items, 0.0)
        difference = self.errors[better] - self.errors[worse]
        p = np.ones(difference.shape)
        # Few p-values are small, and only theirs need the t law, which is slow. The
        # rest is sifted, first by the least standard error of all draws.
        quantile = np.full(len(df), -np.inf)
        if largest < 0.5:
            quantile = t_quantile(1.0 - 2.0 * largest, df)
        smallest_error = np.sqrt(sampling + items * self.ratio.min())
        with np.errstate(invalid="ignore"):
            smallest = np.where(is_drawn, quantile * smallest_error, np.inf)
        at = np.flatnonzero(difference > smallest[:, None])
        row, draw = np.divmod(at, difference.shape[1])
        error = np.sqrt(sampling[row] + items[row] * self.ratio[draw])
        z = difference.ravel()[at] / error
        small = z >= quantile[row]
        at, row, z = at[small], row[small], z[small]
        p.ravel()[at] = t_distribution(df[row], -z)
        return p

    def posterior(self, scores: Array) -> Array:
        """Draws of the true scores given the estimates, under a flat prior.

        Parameters
        ----------
        scores : ndarray of shape (n_models,)
            Estimates.

        Returns
        -------
        ndarray of shape (n_models, n_draws)
            Errors from item effects are scaled as their estimated variance may be off.
        """
        return (
            scores[:, None]
            + self.sampling_errors
            + self.item_errors / np.sqrt(self.ratio)
        )


def _contrast(
    covariance: Array, first: NDArray[np.intp], second: NDArray[np.intp]
) -> Array:
    """Variances of the differences of pairs."""
    diagonal = np.diagonal(covariance)
    return np.maximum(
        diagonal[first] + diagonal[second] - 2.0 * covariance[first, second], 0.0
    )


@lru_cache(maxsize=1)
def _noise(n_models: int, n_draws: int) -> tuple[Array, np.random.Generator]:
    """Standard normal draws, and the generator after them.

    Models that are left out in turn are tested with the same draws.
    """
    rng = np.random.default_rng(0)
    return rng.standard_normal((2, n_models, n_draws)), rng


def _symmetric_root(covariance: Array) -> Array:
    """Root that permutes with the models, unlike a triangular one."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
