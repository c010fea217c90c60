"""The likelihood of rows no longer in memory, from sums about a point and a sample.

The loss of a judge's rows is a convex function of few *local coefficients* (one for
each item, the position effect, the coefficients of the bias). Near the point at which
the sums were taken, score and Gram matrix give its quadratic expansion; a sample of
the rows gives an estimate of the remainder. Votes are stored as counts by cell, so that
their loss is exact everywhere. The map from parameters to local coefficients is exact,
too, so that few passes over the rows are needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skanchor._items import ItemLikelihood
from skanchor._judges import JudgeCalibrator
from skanchor._model.graph import laplacian, pair_sums
from skanchor._model.link import log_loss_terms, sigmoid
from skanchor._numerics.arrow_information import (
    ArrowSums,
    DenseSums,
    information_sums,
)
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.sample import Sample
from skanchor.streaming._local_columns import with_delta
from skanchor.streaming._sums import StreamedRows


@dataclass(frozen=True, slots=True)
class VoteCells:
    """Votes of a training set (or of a fold), summed by pair, outcome and fold.

    Attributes
    ----------
    left, right : ndarray of shape (n_cells,)
        Codes of the two models.
    y, weight : ndarray of shape (n_cells,)
        Outcome, and sum of the weights.
    square, n : ndarray of shape (n_cells,)
        Sum of the squared weights, and number of votes.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    y: Array
    weight: Array
    square: Array
    n: Array

    def logits(self, scores: Array) -> Array:
        """Score difference of each cell, of shape (n_cells,)."""
        return np.asarray(scores.take(self.left) - scores.take(self.right))


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Likelihood of a judge's training rows: sums about a point, and a sample of rows.

    It is the surrogate likelihood of Jordan, Lee and Yang (2019): the quadratic
    expansion of the loss of all rows, plus the remainder of that expansion over the
    sampled rows.

    Attributes
    ----------
    theta : ndarray of shape (n_local,)
        The point: local coefficients at which the sums were taken.
    score : ndarray of shape (n_local,)
        Sum of ``w eps x``.
    gram : ndarray of shape (n_local, n_local)
        Sum of ``w V x x'``.
    ridge : ndarray of shape (n_span,)
        Ridge penalty of the bias coefficients.
    rows : Rows
        The sampled rows.
    weight : ndarray of shape (n_rows,)
        Their weights, which add up to that of all training rows.
    informative : ndarray of shape (n_local,)
        Zero for a column without a coefficient (the display order of a judge without a
        position effect), else one.
    """

    theta: Array
    score: Array
    gram: Array
    ridge: Array
    rows: StreamedRows
    weight: Array
    informative: Array

    def over(self, noise: float) -> Surrogate:
        """The same likelihood with all weights divided by a dispersion."""
        names = ("score", "gram", "ridge", "weight")
        return replace(self, **{name: getattr(self, name) / noise for name in names})

    def near(self, theta: Array) -> tuple[Array, Array]:
        """Score and Gram matrix at other local coefficients.

        Returns
        -------
        score : ndarray of shape (n_local,)
            Sum of ``w eps x``.
        gram : ndarray of shape (n_local, n_local)
            Sum of ``w V x x'``.
        """
        move = theta - self.theta
        if not move.any():
            return self.score, self.gram
        # Over the sampled rows: ``known`` is their Gram matrix at the point, ``now``
        # that at theta, and ``rest`` the change of their score beyond the linear one.
        # The outcomes cancel in it: (y - after) - (y - before) = before - after.
        before, known = self._at_point
        after = sigmoid(self.rows.logits(theta))
        some = self.rows.together(self._n_items)
        now = some.grams(self.weight * after * (1.0 - after))[0]
        rest = some.scores(self.weight * (before - after))[0] + known @ move
        both = np.outer(self.informative, self.informative)
        score = self.score - self.gram @ move + self.informative * rest
        return score, self.gram + both * (now - known)

    def loss(self, theta: Array) -> float:
        """Loss at other local coefficients, less the loss at the point."""
        move = theta - self.theta
        # The quadratic expansion, from the sums over all rows.
        found = float(0.5 * move @ self.gram @ move - self.score @ move)
        if not move.any():
            return found
        # Its remainder over the sampled rows: the change of their loss, less its
        # expansion to second order in the change of the logits.
        y, (p, _) = self.rows.y, self._at_point
        first, last = (self.rows.logits(at) for at in (self.theta, theta))
        change = last - first
        rest = log_loss_terms(y, last) - log_loss_terms(y, first)
        rest -= (p - y) * change + 0.5 * p * (1.0 - p) * change**2
        return found + float(self.weight @ rest)

    @property
    def _n_items(self) -> int:
        return len(self.theta) - self.rows.columns.shape[1]

    @cached_property
    def _at_point(self) -> tuple[Array, Array]:
        """Probabilities of the sampled rows at the point, and their Gram matrix."""
        p = sigmoid(self.rows.logits(self.theta))
        some = self.rows.together(self._n_items)
        return p, some.grams(self.weight * p * (1.0 - p))[0]


@dataclass(frozen=True, slots=True)
class Surrogates:
    """Likelihoods of all training rows of a view: votes exactly, verdicts expanded."""

    votes: VoteCells
    judges: tuple[Surrogate, ...]

    def over(self, noise: Array) -> Surrogates:
        """The same rows with weights divided by the dispersion of each source.

        ``noise`` has shape (n_judges + 1,), people last.
        """
        votes = replace(self.votes, weight=self.votes.weight / noise[PEOPLE])
        judges = zip(self.judges, noise[:-1].tolist(), strict=True)
        return Surrogates(votes, tuple(own.over(by) for own, by in judges))


class ExpandedLikelihood(ItemLikelihood):
    """The likelihood of all parameters, from expansions instead of rows.

    The base class minimises it. Its "logits" are here the logits of the cells of votes,
    followed by the local coefficients of each judge.

    Parameters
    ----------
    sample : Sample
        A few rows, which carry the starting values of the parameters.
    calibrator : JudgeCalibrator
        Fitted calibrator.
    surrogates : Surrogates
        The likelihoods of the votes and of each judge's rows.
    has_deviations : bool
        As in :class:`skanchor._items.ItemLikelihood`.
    """

    def __init__(
        self,
        sample: Sample,
        calibrator: JudgeCalibrator,
        surrogates: Surrogates,
        *,
        has_deviations: bool = True,
    ):
        super().__init__(sample, calibrator, has_deviations=has_deviations)
        self.surrogates = surrogates
        for m, own in enumerate(surrogates.judges):
            self.ridge[self.layout.bias[m]] = own.ridge

    def local(self, parameters: Array, factor: Array) -> list[Array]:
        """Local coefficients of each judge: items, display order and span."""
        scores = self.items @ parameters[self.at["scores"]]
        slopes = parameters[self.at["sensitivity"]]
        # c_m theta_i + u_{m,i} for judge m and item i, of shape (n_judges, n_items):
        # a row's c_m delta + u_{m,a} - u_{m,b} is the difference of two of these.
        by_item = slopes[:, None] * scores + self.deviations(parameters, factor)
        found = []
        for m in range(self.n_judges):
            position = np.zeros(1)
            if self.layout.has_positions:
                position = parameters[self.at["position"]][m : m + 1]
            bias = parameters[self.layout.bias[m]]
            found.append(np.concatenate([by_item[m], position, bias]))
        return found

    def logits(self, parameters: Array, factor: Array, weight: Array) -> Array:
        """Logits of the votes, then the local coefficients of the judges."""
        scores = self.items @ parameters[self.at["scores"]]
        local = self.local(parameters, factor)
        return np.concatenate([self.surrogates.votes.logits(scores), *local])

    def _parts(self, eta: Array) -> tuple[Array, list[Array]]:
        """Logits of the votes, and the local coefficients of each judge."""
        sizes = [
            len(self.surrogates.votes.y),
            *(len(m.theta) for m in self.surrogates.judges),
        ]
        votes, *local = np.split(eta, np.cumsum(sizes)[:-1])
        return votes, local

    def sums(
        self,
        parameters: Array,
        factor: Array,
        weight: Array,
        eta: Array,
        *,
        curved: bool = True,
    ) -> tuple[Array, ArrowSums | DenseSums | None]:
        """Gradient and Hessian by item, as the base class computes them from rows.

        ``weight`` is not used: the weights are those of the expansions.
        """
        layout, n, votes = self.layout, self.n_items, self.surrogates.votes
        gradient = layout.no_gradient()
        mixed = factor if layout.has_deviations else None
        scores = self.items @ parameters[self.at["scores"]]
        slopes = parameters[self.at["sensitivity"]]
        hessian = information_sums(layout, slopes, mixed) if curved else None
        of_votes, local = self._parts(eta)
        # Votes: gradient sum w (p - y) z and Hessian sum w V z z', z = e_a - e_b.
        p = sigmoid(of_votes)
        residual = votes.weight * (p - votes.y)
        gradient[:n] += np.bincount(votes.left, residual, n)
        gradient[:n] -= np.bincount(votes.right, residual, n)
        if hessian is not None:
            curvature = votes.weight * p * (1.0 - p)
            pairs = pair_sums(votes.left, votes.right, curvature, n)
            hessian.add(PEOPLE, laplacian(pairs))
        for m, (own, theta) in enumerate(
            zip(self.surrogates.judges, local, strict=True)
        ):
            # Judge m: its score and Gram matrix by the fitted columns, to which the
            # score difference belongs; the layout applies the chain rule through
            # c_m delta. The gradient of the loss is minus the score.
            change = with_delta(n, len(theta) - n, scores)
            score, seen = own.near(theta)
            slope = -(change.T @ score)
            layout.add_gradient(gradient, m, slope, slopes[m])
            if hessian is not None:
                hessian.add(m, change.T @ seen @ change)
        return gradient, hessian

    def loss(self, eta: Array, weight: Array) -> float:
        """Loss, from the logits of the votes and the local coefficients.

        ``weight`` is not used: the weights are those of the expansions.
        """
        votes = self.surrogates.votes
        of_votes, local = self._parts(eta)
        total = float(votes.weight @ log_loss_terms(votes.y, of_votes))
        for own, theta in zip(self.surrogates.judges, local, strict=True):
            total += own.loss(theta)
        return total
