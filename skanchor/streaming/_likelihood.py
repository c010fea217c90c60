"""The likelihood of rows that are gone, from sums about a point and a sample of them.

Of a judge's rows, the loss is a function of few local coefficients, and convex in them:
near where the sums were taken, score and Gram matrix say nearly all of it, and what is
left a sample tells. Votes are counts, and their loss is exact everywhere. What the
parameters mean to the local coefficients is exact, too, so that one pass over the rows
carries a fit far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skanchor._items import ItemLikelihood
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.logistic import log_loss_terms, sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.sample import Sample
from skanchor.streaming._sums import StreamedRows, with_delta

__all__ = ["ExpandedLikelihood", "Surrogate", "Surrogates", "VoteCells"]


@dataclass(frozen=True, slots=True)
class VoteCells:
    """Votes by pair, outcome and fold, in a training set.

    Attributes
    ----------
    left, right : ndarray of shape (n_cells,)
        Models.
    y, weight : ndarray of shape (n_cells,)
        Outcome, and summed weight.
    square, n : ndarray of shape (n_cells,)
        Summed squared weights, and number of votes.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    y: Array
    weight: Array
    square: Array
    n: Array

    def logits(self, scores: Array) -> Array:
        """Score differences."""
        return np.asarray(scores.take(self.left) - scores.take(self.right))


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Sums over training rows of a judge about a point, and some of these rows.

    What the expansion about the point leaves out is taken from the sampled rows, as a
    surrogate likelihood does (Jordan, Lee and Yang 2019).

    Attributes
    ----------
    theta : ndarray of shape (n_local,)
        Local coefficients at which the sums were taken.
    score : ndarray of shape (n_local,)
        Sum of ``w eps x``.
    gram : ndarray of shape (n_local, n_local)
        Sum of ``w V x x'``.
    ridge : ndarray of shape (n_span,)
        Ridge penalty of the bias coefficients.
    rows : Rows
        Sampled.
    weight : ndarray of shape (n_rows,)
        Their weights, which add up to that of all training rows.
    informative : ndarray of shape (n_local,)
        Zero for a column that says nothing, else one.
    """

    theta: Array
    score: Array
    gram: Array
    ridge: Array
    rows: StreamedRows
    weight: Array
    informative: Array

    def over(self, noise: float) -> Surrogate:
        """The same rows with weights divided by a number."""
        names = ("score", "gram", "ridge", "weight")
        return replace(self, **{name: getattr(self, name) / noise for name in names})

    def near(self, theta: Array) -> tuple[Array, Array]:
        """Score and Gram matrix at other local coefficients."""
        move = theta - self.theta
        if not move.any():
            return self.score, self.gram
        before, known = self._at_point
        after = sigmoid(self.rows.logits(theta))
        some = self.rows.together(self._n_items)
        now = some.grams(self.weight * after * (1.0 - after))[0]
        rest = some.scores(self.weight * (before - after))[0] + known @ move
        both = np.outer(self.informative, self.informative)
        score = self.score - self.gram @ move + self.informative * rest
        return score, self.gram + both * (now - known)

    def loss(self, theta: Array) -> float:
        """Loss, less that at the point."""
        move = theta - self.theta
        found = float(0.5 * move @ self.gram @ move - self.score @ move)
        if not move.any():
            return found
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
        """What is expected of sampled rows at the point, and their Gram matrix."""
        p = sigmoid(self.rows.logits(self.theta))
        some = self.rows.together(self._n_items)
        return p, some.grams(self.weight * p * (1.0 - p))[0]


@dataclass(frozen=True, slots=True)
class Surrogates:
    """All training rows of a view: votes as they are, verdicts by sums near a point."""

    votes: VoteCells
    judges: tuple[Surrogate, ...]

    def over(self, noise: Array) -> Surrogates:
        """The same rows with weights divided by a number for each source."""
        votes = replace(self.votes, weight=self.votes.weight / noise[PEOPLE])
        judges = zip(self.judges, noise[:-1].tolist(), strict=True)
        return Surrogates(votes, tuple(own.over(by) for own, by in judges))


class ExpandedLikelihood(ItemLikelihood):
    """The likelihood of all parameters, from expansions in place of rows.

    Parameters
    ----------
    sample : Sample
        A few rows, which carry the parameters to start from.
    calibrator : JudgeCalibrator
        Fitted.
    surrogates : Nearby
        What stands for the rows.
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

    def derivatives(
        self,
        parameters: Array,
        factor: Array,
        weight: Array,
        eta: Array,
        *,
        curved: bool = True,
    ) -> tuple[Array, Array | None]:
        """As those of rows; the weights are those of the expansion."""
        layout, n, votes = self.layout, self.n_items, self.surrogates.votes
        gradient = layout.no_gradient()
        hessian = layout.no_information() if curved else None
        scores = self.items @ parameters[self.at["scores"]]
        slopes = parameters[self.at["sensitivity"]]
        of_votes, local = self._parts(eta)
        p = sigmoid(of_votes)
        residual = votes.weight * (p - votes.y)
        gradient[:n] += np.bincount(votes.left, residual, n)
        gradient[:n] -= np.bincount(votes.right, residual, n)
        if hessian is not None:
            curvature = votes.weight * p * (1.0 - p)
            pairs = pair_sums(votes.left, votes.right, curvature, n)
            hessian[:n, :n] += laplacian(pairs)
        for m, (own, theta) in enumerate(
            zip(self.surrogates.judges, local, strict=True)
        ):
            change = with_delta(n, len(theta) - n, scores)
            score, seen = own.near(theta)
            slope = -(change.T @ score)
            layout.add_gradient(gradient, m, slope, slopes[m])
            if hessian is not None:
                gram = change.T @ seen @ change
                layout.add_information(hessian, m, gram, slopes[m])
        mixed = factor if layout.has_deviations else None
        reduced = layout.reduce_gradient(gradient, mixed)
        if hessian is None:
            return reduced, None
        return reduced, layout.reduce_information(hessian, mixed)

    def loss(self, eta: Array, weight: Array) -> float:
        """Loss, from the logits of votes and the local coefficients."""
        votes = self.surrogates.votes
        of_votes, local = self._parts(eta)
        total = float(votes.weight @ log_loss_terms(votes.y, of_votes))
        for own, theta in zip(self.surrogates.judges, local, strict=True):
            total += own.loss(theta)
        return total
