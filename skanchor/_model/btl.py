"""Bradley-Terry-Luce scores of people's votes, by maximum likelihood, and their errors.

Votes are summed by pair of models and outcome, so that a Newton step costs as much for
a hundred votes as for millions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import Fit, Layout
from skanchor._model.graph import components, laplacian, pair_sums, sorted_components
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.riesz import RieszWeights, influence_of
from skanchor._model.sources import SourceRows, sigmoid
from skanchor._typing import Array

_STEP = 1 << 16
"""Rows that are counted at a time: few enough for the cache."""

_LONGEST_STEP = 20.0
"""Largest change of the logit of a pair by one Newton step."""

_SAFE_STEP = 0.5
"""Change of the logits up to which a step needs no look at the loss."""

_ARMIJO = 1e-4
"""Share of the decrease promised by the gradient that a step must reach."""

LEAST_NOISE = 1e-26
"""Variance of outcomes, relative to that of votes, below which it is rounding."""

_CANCELLED = 1e-12
"""Variance of a contrast, in that of independent votes, below which it is rounding."""

_LOST = 1e-9
"""Share of a variance that rounding may reach."""


def count_votes(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    y: Array,
    weight: Array,
    square: Array,
    n_models: int,
) -> tuple[NDArray[np.intp], SourceRows]:
    """Sum votes by ordered pair of different models and outcome.

    Parameters
    ----------
    left, right, y : ndarray of shape (n_rows,)
        Models, and preferences for the left one.
    weight, square : ndarray of shape (n_rows,) or (1,)
        Sums of the weights of the votes that a row stands for, and of their squares;
        one number where all are equal.
    n_models : int
        Number of models.

    Returns
    -------
    present : ndarray of shape (n_present,)
        Models with a vote.
    votes : SourceRows
        Sums of votes on these, each in place of as many votes of equal weight as have
        its sums. Of graded outcomes hardly two are equal: a row is a sum.
    """
    n_cells = 3 * n_models**2
    sums, are_equal = np.zeros((2, n_cells)), weight.size == square.size == 1
    weight, square, _ = np.broadcast_arrays(weight, square, y)
    step = max(_STEP, n_cells)
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        twice = 2.0 * y[rows]
        cell = twice.astype(np.intp)
        if (cell != twice).any():
            break
        cell += 3 * (n_models * left[rows] + right[rows])
        # Equal weights are counted, which takes less than adding them up.
        sums[0] += np.bincount(cell, None if are_equal else weight[rows], n_cells)
        if not are_equal:
            sums[1] += np.bincount(cell, square[rows], n_cells)
    else:
        if are_equal and len(y):
            sums = np.outer([weight[0], square[0]], sums[0])
        at = np.flatnonzero(sums[0])
        pair, outcome = np.divmod(at, 3)
        left, right = np.divmod(pair, n_models)
        y, (weight, square) = outcome / 2.0, sums[:, at]
    used = (left != right) & (weight > 0)
    present, sides = np.unique(np.stack([left[used], right[used]]), return_inverse=True)
    y, weight, square = y[used], weight[used], square[used]
    (left, right), size = sides.reshape(2, -1), len(present)
    count = weight**2 / square
    return present, SourceRows.apart(left, right, y, weight, size, count=count)


def wins_of(votes: SourceRows) -> Array:
    """(Half) wins of the row model over the column model, from both orders."""
    left, right, n = votes.left, votes.right, votes.n_items
    # Wins and losses are summed apart, so that no digits of the fewer are lost.
    lost = pair_sums(right, left, votes.weight * (1.0 - votes.y), n)
    return pair_sums(left, right, votes.weight * votes.y, n) + lost


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
    system = SymmetricSystem.of(matrix[np.ix_(free, free)])
    scores = np.zeros_like(right)
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


# ----------------------------------------------------------------------------- errors
@dataclass(frozen=True, eq=False, slots=True)
class ScoreErrors:
    """Covariances of the scores of a fit.

    Between models on different scales there is no information, and games against a
    model that is on none say nothing of the others.

    Attributes
    ----------
    fit : BTLFit
        Scores.
    inverse : ndarray of shape (n_models, n_models)
        Inverse information; zero between scales. It is not that of centred scores: a
        light model would move their mean, and add its large variance to all others.
    is_uncertain : ndarray of shape (n_models,)
        Models on scales whose differences floating point does not determine.
    noise, expected : ndarray of shape (n_models, n_models)
        Squared residuals of the votes of each ordered pair, and their expectation for
        independent votes.
    is_silent : ndarray of shape (n_models, n_models)
        Pairs without noise that connect models which no noisy pairs connect. Their
        outcomes equal the predictions up to rounding, so that contrasts between such
        models have no estimate of their error but that of independent votes.
    """

    fit: BTLFit
    inverse: Array
    is_uncertain: NDArray[np.bool_]
    noise: Array
    expected: Array
    is_silent: NDArray[np.bool_]

    @classmethod
    def of(cls, votes: SourceRows, fit: BTLFit, alpha: float) -> ScoreErrors:
        """Factorise the information of the votes, with the ridge of :func:`fit_btl`."""
        left, right, scale, n = votes.left, votes.right, fit.scale, votes.n_items
        counts = (scale[:, None] == scale) & (scale >= 0)
        # For rare events both p and 1 - p must have their digits.
        p = sigmoid(fit.scores[:, None] - fit.scores)
        residual = votes.y * p[right, left] - (1.0 - votes.y) * p[left, right]
        square, variance = votes.weight**2 / votes.count, p * p.T
        noise = counts * pair_sums(left, right, square * residual**2, n)
        expected = counts * variance * pair_sums(left, right, square, n)
        weight = pair_sums(left, right, votes.weight, n)
        inverse, is_uncertain = np.zeros_like(weight), np.zeros(n, dtype=bool)
        for at in fit.scales:
            box, ridge = np.ix_(at, at), alpha * weight.sum()
            information = (weight * variance)[box]
            inverse[box], is_certain = solve_for_scores(
                information, ridge, np.eye(len(at))
            )
            is_uncertain[at] = not is_certain
        either, wanted = noise + noise.T, expected + expected.T
        part = components(either > LEAST_NOISE * wanted, "weak")
        is_silent = (wanted > 0) & (part[:, None] != part)
        return cls(fit, inverse, is_uncertain, noise, expected, is_silent)

    def fisher(self) -> Array:
        """Inverse information."""
        return self._centred(self._centred(self.inverse).T)

    def of_votes(self) -> Array:
        """Sandwich of independent votes."""
        return self._of_pairs(np.where(self.is_silent, self.expected, self.noise))

    def of_groups(self, rows: SourceRows) -> tuple[Array, bool]:
        """Sandwich of votes that depend on each other within groups, and by rater.

        Parameters
        ----------
        rows : SourceRows
            The votes one by one, in the same unit of the weights.

        Returns
        -------
        covariance : ndarray of shape (n_models, n_models)
        is_lost : bool
            Whether residuals cancel within groups and leave a score, or the difference
            of two models that met, without an error. The covariance is then that of
            independent votes.
        """
        n, scale = rows.n_items, self.fit.scale
        rows = rows[(scale[rows.left] >= 0) & (scale[rows.left] == scale[rows.right])]
        nowhere = np.zeros(n, dtype=np.intp)
        start = Fit.start(Layout(nowhere > 0, nowhere, np.arange(n), (0,), (False,)))
        start.x[:n] = self.fit.scores
        values = np.zeros((len(start.x), n))
        values[:n] = self._centred(self.inverse)
        weights = RieszWeights(start, values, self.is_uncertain)
        influence = influence_of(weights, [rows], int(rows.rater.max(initial=-1)) + 1)
        by_group, independent = influence.parts[0], self._of_pairs(self.expected)
        by_rater = influence.covariance_parts()[0] - by_group
        if (rows.group < 0).all():
            return self.of_votes() + by_rater, False
        if self.is_silent.any():
            by_group += self._of_pairs(np.where(self.is_silent, self.expected, 0.0))

        def contrasts(matrix: Array) -> Array:
            # Var(s_i - s_j) = C_ii + C_jj - 2 C_ij.
            variance = matrix.diagonal()
            return np.asarray(variance[:, None] + variance - 2.0 * matrix)

        gaps = contrasts(by_group) <= _CANCELLED * contrasts(independent)
        variance, wanted = by_group.diagonal(), independent.diagonal()
        is_zero = (variance <= _CANCELLED * wanted) & (wanted > 0)
        is_lost = bool(gaps[self.expected > 0].any() or is_zero.any())
        return (independent if is_lost else by_group) + by_rater, is_lost

    def _of_pairs(self, noise: Array) -> Array:
        """Sandwich of the noise that the independent votes of each pair add."""
        meat, size = laplacian(noise), np.abs(self.inverse)
        result = self._centred(self._centred(self.inverse @ meat @ self.inverse).T)
        # The rounding error of the product A M A is at most that of |A| |M| |A|.
        error = np.finfo(float).eps * ((size @ np.abs(meat)) * size).sum(axis=1)
        if (error <= _LOST * result.diagonal()).all():
            return result
        # Where light votes alone join groups of models, their digits are lost in the
        # sums by model beside heavy votes within the groups.
        result, local = np.zeros_like(result), self._centred(self.inverse)
        for left, root in enumerate(np.sqrt(noise + noise.T)):
            right = left + 1 + np.flatnonzero(root[left + 1 :])
            moved = root[right, None] * (local[left] - local[right])
            result += moved.T @ moved
        return result

    def _centred(self, columns: Array) -> Array:
        """Columns of each row that are centred on their scales."""
        columns = columns.copy()
        for at in self.fit.scales:
            columns[:, at] -= columns[:, at].mean(axis=1, keepdims=True)
        return columns
