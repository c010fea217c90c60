"""Bradley-Terry-Luce scores of people's votes, by maximum likelihood.

Votes are summed by pair of models and outcome, so that a Newton step costs as much for
a hundred votes as for millions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._model.graph import components, laplacian, pair_sums, sorted_components
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.sources import sigmoid
from skanchor._typing import Array

_STEP = 1 << 16
"""Rows that are counted at a time: few enough for the cache."""

_LONGEST_STEP = 20.0
"""Largest change of the logit of a pair by one Newton step."""

_SAFE_STEP = 0.5
"""Change of the logits up to which a step needs no look at the loss."""

_ARMIJO = 1e-4
"""Share of the decrease promised by the gradient that a step must reach."""


@dataclass(frozen=True, eq=False, slots=True)
class VoteCells:
    """Votes summed by ordered pair of models and outcome.

    Attributes
    ----------
    left, right : ndarray of shape (n_cells,)
        Codes of the models.
    y : ndarray of shape (n_cells,)
        Preference for the left model, in [0, 1].
    weight, square : ndarray of shape (n_cells,)
        Sums of the weights of the votes, and of their squares.
    n_models : int
        Number of models.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    y: Array
    weight: Array
    square: Array
    n_models: int

    @classmethod
    def of(
        cls,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        y: Array,
        weight: Array,
        square: Array,
        n_models: int,
    ) -> VoteCells:
        """Sum rows.

        Parameters
        ----------
        left, right, y : ndarray of shape (n_rows,)
            Models, and preferences for the left one.
        weight, square : ndarray of shape (n_rows,) or (1,)
            Sums of the weights of the votes that a row stands for, and of their
            squares; one number where all are equal.
        n_models : int
            Number of models.
        """
        n_cells = 3 * n_models**2
        sums, n_votes = np.zeros((2, n_cells)), np.zeros(n_cells, dtype=np.intp)
        are_equal = weight.size == square.size == 1
        weight, square, _ = np.broadcast_arrays(weight, square, y)
        step = max(_STEP, n_cells)
        for start in range(0, len(y), step):
            rows = slice(start, start + step)
            twice = 2.0 * y[rows]
            cell = twice.astype(np.intp)
            if (cell != twice).any():
                # Of graded outcomes hardly two are equal: a row is a cell.
                return cls(left, right, y, weight, square, n_models)
            cell += 3 * (n_models * left[rows] + right[rows])
            if are_equal:
                n_votes += np.bincount(cell, minlength=n_cells)
            else:
                sums[0] += np.bincount(cell, weight[rows], n_cells)
                sums[1] += np.bincount(cell, square[rows], n_cells)
        if are_equal:
            sums = np.outer([weight[0], square[0]], n_votes)
        at = np.flatnonzero(sums[0])
        pair, outcome = np.divmod(at, 3)
        left, right = np.divmod(pair, n_models)
        weight, square = sums[:, at]
        return cls(left, right, outcome / 2.0, weight, square, n_models)

    def among(self, models: NDArray[np.intp]) -> VoteCells:
        """The same cells, of which the models are numbered among fewer."""
        number = np.full(self.n_models, -1)
        number[models] = np.arange(len(models))
        # A model that has met itself alone is none of them.
        used = (number[self.left] >= 0) & (number[self.right] >= 0)
        columns = (self.y[used], self.weight[used], self.square[used])
        left, right = number[self.left[used]], number[self.right[used]]
        return VoteCells(left, right, *columns, n_models=len(models))

    def table(self, values: Array) -> Array:
        """Sums of values of the cells by ordered pair of different models."""
        sums = pair_sums(self.left, self.right, values, self.n_models)
        np.fill_diagonal(sums, 0.0)
        return sums

    @property
    def wins(self) -> Array:
        """(Half) wins of the row model over the column model, from both orders."""
        # Wins and losses are summed apart, so that no digits of the fewer are lost.
        lost = self.table(self.weight * (1.0 - self.y))
        return self.table(self.weight * self.y) + lost.T


def solve_for_scores(
    information: Array, ridge: float, right: Array
) -> tuple[Array, bool]:
    """Solve a system of scores, whose matrix is a Laplacian, or one plus a ridge.

    Without a ridge only differences of scores are determined, and the score of the
    model with most information is fixed at zero. The matrix of the others is scaled to
    unit diagonal, so that no digits of a model with light votes are lost.

    Parameters
    ----------
    information : ndarray of shape (n_models, n_models)
        Information of each ordered pair.
    ridge : float
        What is added to the diagonal.
    right : ndarray of shape (n_models,) or (n_models, k)
        Right-hand sides, of sum zero.

    Returns
    -------
    scores : ndarray of the same shape
        Their level is any.
    is_certain : bool
        Whether all differences of scores are determined in floating point.
    """
    matrix, free = laplacian(information), np.arange(len(information))
    if ridge:
        # A slight ridge hardly curves the direction in which all scores move together,
        # in which nothing is solved for: it gets the mean curvature.
        matrix.flat[:: len(matrix) + 1] += ridge
        matrix += np.trace(matrix) / len(matrix) ** 2
    else:
        free = np.delete(free, np.argmax(matrix.diagonal()))
    system, scores = (
        SymmetricSystem.of(matrix[np.ix_(free, free)]),
        np.zeros_like(right),
    )
    scores[free] = system.solve(right[free])
    return scores, system.rank == len(free)


@dataclass(frozen=True, eq=False, slots=True)
class BTLFit:
    """Scores of all models, and which of them have no finite maximum.

    Attributes
    ----------
    scores : ndarray of shape (n_models,)
        Scores of largest likelihood; those that the wins leave without a limit follow
        the order of the wins, between their scale and the bound.
    scales : list of ndarrays
        Models whose scores are compared. In each group of models connected by games
        this is the largest strong component of several models, if there is one; with a
        ridge it is the group.
    is_far : ndarray of shape (n_models,)
        Whether a score on a scale lies beyond the bound.
    converged : bool
        Whether Newton's method converged.
    n_iter : int
        Most Newton steps that a component took.
    """

    scores: Array
    scales: list[NDArray[np.intp]]
    is_far: NDArray[np.bool_]
    converged: bool
    n_iter: int

    @property
    def scale(self) -> NDArray[np.intp]:
        """Number of the scale of each model; -1 without one."""
        scale = np.full(len(self.scores), -1)
        for number, at in enumerate(self.scales):
            scale[at] = number
        return scale


def fit_btl(
    wins: Array,
    *,
    alpha: float,
    bound: float,
    start: Array | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> BTLFit:
    """Fit zero-sum scores to a win matrix (eq:human-estimation-v2).

    Without a ridge the maximum is finite only within a strong component of the wins
    (Ford's condition). Differences between components are infinite, and games between
    them carry no further information, so that each component is fitted by itself.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        (Half) wins of the row model over the column model.
    alpha : float
        Ridge: adds ``alpha / 2`` times the squared norm of the scores to the mean loss.
    bound : float
        Largest size of a score.
    start : ndarray of shape (n_models,), optional
        Start of the scores, zero by default.
    tol : float
        Largest change of a pair's logit by the last step.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    BTLFit
    """
    n_models, ridge = len(wins), alpha * wins.sum()
    scores, converged, n_iter = np.zeros(n_models), True, 1
    parts = sorted_components(wins, "weak" if alpha else "strong")
    for part in parts:
        # A model by itself has no games: its score is zero.
        if len(part) == 1:
            continue
        first = np.zeros(len(part)) if start is None else start[part]
        scores[part], is_settled, n_steps = _newton(
            wins[np.ix_(part, part)], ridge, first - first.mean(), tol, max_iter
        )
        converged, n_iter = converged and is_settled, max(n_iter, n_steps)
    scales, is_far = parts, np.zeros(n_models, dtype=bool)
    if len(parts) > 1 and not alpha:
        scores, scales = in_order_of_wins(wins, parts, scores, bound)
    for scale in scales:
        # Scores beyond the bound are accepted where they add up from gaps between
        # models that have met, none of which exceeds twice the bound.
        at, met = scores[scale], wins[np.ix_(scale, scale)] > 0
        widest = np.abs(at[:, None] - at).max(where=met, initial=0.0)
        is_far[scale] = (np.abs(at) > bound) & (widest > 2.0 * bound)
    return BTLFit(scores, scales, is_far, converged, n_iter)


def _newton(
    wins: Array, ridge: float, scores: Array, tol: float, max_iter: int
) -> tuple[Array, bool, int]:
    """Scores of sum zero of a component, whether they converged, and steps taken.

    The last step is short in every logit, and not only in the loss, to which a light
    vote adds next to nothing.
    """
    ridge, wins = ridge / wins.sum(), wins / wins.sum()
    met = wins > 0

    def loss(scores: Array) -> float:
        # losses[i, j] = log(1 + exp(s_j - s_i)), the loss of a win of i over j.
        losses = np.logaddexp(0.0, scores - scores[:, None])
        return float((wins * losses).sum() + 0.5 * ridge * scores @ scores)

    for n_iter in range(1, max_iter + 1):
        # Probability that the row's model wins against the column's.
        p = sigmoid(scores[:, None] - scores)
        # Expected less observed wins of the row model, (wins + wins') p - wins, without
        # its cancellation; p' is 1 - p.
        gradient = (wins.T * p - wins * p.T).sum(axis=1) + ridge * scores
        step = -solve_for_scores(wins * (p * p.T), ridge, gradient)[0]
        step -= step.mean()
        longest = np.abs(step[:, None] - step).max(where=met, initial=0.0)
        share = min(1.0, _LONGEST_STEP / max(longest, tol))
        if longest > _SAFE_STEP:
            before, slope = loss(scores), float(gradient @ step)
            # Differences of the loss below rounding are not compared.
            before += 1e-14 * (1.0 + before)
            while loss(scores + share * step) > before + _ARMIJO * share * slope:
                share /= 2.0
        scores = scores + share * step
        if longest <= tol:
            return scores - scores.mean(), True, n_iter
    return scores - scores.mean(), False, max_iter


# ----------------------------------------------------- scores that wins do not limit
def in_order_of_wins(
    wins: Array, parts: list[NDArray[np.intp]], scores: Array, bound: float
) -> tuple[Array, list[NDArray[np.intp]]]:
    """Scores of strong components in the order of the wins, and the scales.

    At the maximum of the likelihood the distances between components are infinite, so
    that only their order is meaningful. Distances within a component are unchanged. A
    component lies on the longest chain of wins through it, where a win counts one and a
    component its width. Chains lead from the scale to the bound; without a scale, from
    bound to bound.
    """
    scores, scales = scores.copy(), []
    part_of = np.empty(len(wins), dtype=np.intp)
    for number, part in enumerate(parts):
        part_of[part] = number
    # Whether a model of one part has beaten one of another: a graph without a cycle.
    beats = np.zeros((len(parts), len(parts)), dtype=bool)
    winner, loser = np.nonzero(wins)
    beats[part_of[winner], part_of[loser]] = True
    np.fill_diagonal(beats, False)
    # Components that are connected by games are ordered together.
    group = components(beats, "weak")
    for number in range(int(group.max()) + 1):
        inside = np.flatnonzero(group == number)
        links, low, high = beats[np.ix_(inside, inside)], -bound, bound
        width = np.array([np.ptp(scores[parts[index]]) for index in inside])
        start, scale = np.zeros(len(inside)), parts[inside[0]]
        # Parts are sorted by size. If the first one has a single model, so have all,
        # and the group has no scale.
        if len(scale) > 1:
            scales.append(scale)
            low, high = scores[scale].min(), scores[scale].max()
        below, above = (_longest(graph, width, start) for graph in (links, links.T))
        # A component without a chain of wins to or from the scale may be anywhere. It
        # is put within the scale, by its chains.
        centre = low + (high - low) * _share(below, width, above)
        if len(scale) > 1:
            # Chains up and down from the edges of the scale, whose width does not
            # count. Other components lie between the edge of the scale and the bound.
            start[1:], inner = -np.inf, np.append(0.0, width[1:])
            for edge, sign in ((high, 1.0), (low, -1.0)):
                upwards, beyond = (links, above) if sign > 0 else (links.T, below)
                chain = _longest(upwards, inner, start)
                is_linked = np.isfinite(chain)
                share = _share(np.where(is_linked, chain, 0.0), width, beyond)
                distance = max(bound - sign * edge, 1.0)
                centre = np.where(is_linked, edge + sign * distance * share, centre)
            centre[0] = (low + high) / 2.0
        for index, middle in zip(inside, centre, strict=True):
            # Scores of a part move together, their midrange to the centre.
            at = scores[parts[index]]
            scores[parts[index]] += middle - (at.min() + at.max()) / 2.0
    return scores, scales


def _longest(beats: NDArray[np.bool_], width: Array, start: Array) -> Array:
    """Length of the longest chain up to each component, from those with a start.

    ``start`` is -inf where a chain may not begin.
    """
    height = start
    for _ in range(len(start)):
        through = np.where(beats, height + width + 1.0, -np.inf)
        higher = np.maximum(start, through.max(axis=1))
        if np.array_equal(higher, height):
            break
        height = higher
    return height


def _share(before: Array, width: Array, after: Array) -> Array:
    """Share of the longest chain through a component that precedes its centre."""
    whole = before + width + after
    return np.asarray((before + width / 2.0) / np.where(whole > 0, whole, 1.0))
