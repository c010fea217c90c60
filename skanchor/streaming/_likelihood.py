"""The likelihood of rows that are gone, by their expansion about a point.

Of a judge's rows, the loss is a function of few local coefficients, and convex in them:
near where the sums were taken, score and Gram matrix say all of it. Votes are counts,
and their loss is exact everywhere. What the parameters mean to the local coefficients
is exact, too, so that one pass over the rows carries a fit far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.logistic import log_loss_terms, sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.items import ItemLikelihood
from skanchor.judges import JudgeCalibrator
from skanchor.sample import Sample
from skanchor.streaming._sums import with_delta

__all__ = ["ExpandedLikelihood", "Expansion", "Nearby", "VoteCells"]


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


@dataclass(frozen=True, slots=True)
class Expansion:
    """Sums over training rows of a judge, at a point.

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
    """

    theta: Array
    score: Array
    gram: Array
    ridge: Array

    def over(self, noise: float) -> Expansion:
        """The same rows with weights divided by a number."""
        return replace(
            self,
            score=self.score / noise,
            gram=self.gram / noise,
            ridge=self.ridge / noise,
        )


@dataclass(frozen=True, slots=True)
class Nearby:
    """All training rows of a view: votes as they are, verdicts by their expansion."""

    votes: VoteCells
    judges: tuple[Expansion, ...]

    def over(self, noise: Array) -> Nearby:
        """The same rows with weights divided by a number for each source."""
        votes = replace(self.votes, weight=self.votes.weight / noise[PEOPLE])
        judges = zip(self.judges, noise[:-1].tolist(), strict=True)
        return Nearby(votes, tuple(own.over(by) for own, by in judges))


class ExpandedLikelihood(ItemLikelihood):
    """The likelihood of all parameters, from expansions in place of rows.

    Parameters
    ----------
    sample : Sample
        A few rows, which carry the parameters to start from.
    calibrator : JudgeCalibrator
        Fitted.
    nearby : Nearby
        What stands for the rows.
    deviating : bool
        As in :class:`skanchor.items.ItemLikelihood`.
    """

    def __init__(
        self,
        sample: Sample,
        calibrator: JudgeCalibrator,
        nearby: Nearby,
        *,
        deviating: bool = True,
    ):
        super().__init__(sample, calibrator, deviating=deviating)
        self.nearby = nearby
        for m, own in enumerate(nearby.judges):
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

    def derivatives(
        self, parameters: Array, factor: Array, weight: Array, *, curved: bool = True
    ) -> tuple[Array, Array, Array | None]:
        """As those of rows; in place of logits, what :meth:`loss` takes.

        The weights are those of the expansion.
        """
        layout, n, votes = self.layout, self.n_items, self.nearby.votes
        gradient = layout.no_gradient()
        hessian = layout.no_information() if curved else None
        scores = self.items @ parameters[self.at["scores"]]
        slopes = parameters[self.at["sensitivity"]]
        eta = votes.logits(scores)
        p = sigmoid(eta)
        residual = votes.weight * (p - votes.y)
        gradient[:n] += np.bincount(votes.left, residual, n)
        gradient[:n] -= np.bincount(votes.right, residual, n)
        if hessian is not None:
            curvature = votes.weight * p * (1.0 - p)
            pairs = pair_sums(votes.left, votes.right, curvature, n)
            hessian[:n, :n] += laplacian(pairs)
        moves = [eta]
        local = self.local(parameters, factor)
        for m, (own, theta) in enumerate(zip(self.nearby.judges, local, strict=True)):
            move = theta - own.theta
            moves.append(move)
            change = with_delta(n, len(theta) - n, scores)
            slope = change.T @ (own.gram @ move - own.score)
            layout.add_gradient(gradient, m, slope, slopes[m])
            if hessian is not None:
                gram = change.T @ own.gram @ change
                layout.add_information(hessian, m, gram, slopes[m])
        mixed = factor if layout.has_deviations else None
        reduced = layout.reduce_gradient(gradient, mixed)
        found = np.concatenate(moves)
        if hessian is None:
            return found, reduced, None
        return found, reduced, layout.reduce_information(hessian, mixed)

    def loss(self, eta: Array, weight: Array) -> float:
        """Loss, from the logits of votes and the moves of local coefficients."""
        votes = self.nearby.votes
        stop = len(votes.y)
        total = float(votes.weight @ log_loss_terms(votes.y, eta[:stop]))
        for own in self.nearby.judges:
            start, stop = stop, stop + len(own.theta)
            move = eta[start:stop]
            total += float(0.5 * move @ own.gram @ move - own.score @ move)
        return total
