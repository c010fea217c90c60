"""Finite scores to report for models that the wins bound on one side only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.graph import components, strong_components
from skanchor._numerics.types import Array


@dataclass(frozen=True, slots=True)
class SeparatedScores:
    """Scores of all models, and which of them have no finite maximum.

    Attributes
    ----------
    scores : ndarray of shape (n_models,)
        Scores of the models on a scale, unchanged. The other models have scores in the
        order of the wins, between the scale and the bound.
    scales : list of ndarrays
        Models that share a scale: in each group of models connected by games, the
        largest strong component of several models, if there is one (of several such the
        first of :func:`~skanchor._numerics.graph.strong_components`).
    side : ndarray of shape (n_models,)
        1 where wins bound a score from below alone, -1 from above alone, 0 otherwise.
    """

    scores: Array
    scales: list[NDArray[np.intp]]
    side: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class HeldScores:
    """Scores to report, all within the bound unless their gaps reach beyond it.

    Attributes
    ----------
    values : ndarray of shape (n_models,)
        Scores; those in ``far`` are the bound, with its sign.
    side : ndarray of shape (n_models,)
        1 where a score may be larger than its value, -1 where smaller, 0 otherwise.
    far : ndarray of shape (n_models,)
        Whether a score was set to the bound.
    unbounded : ndarray of shape (n_models,)
        Whether a score has no error: it was set to the bound, or is on no scale.
    """

    values: Array
    side: NDArray[np.intp]
    far: NDArray[np.bool_]
    unbounded: NDArray[np.bool_]


def find_separated_scores(wins: Array, scores: Array, bound: float) -> SeparatedScores:
    """Place the strong components of the wins in the order of the wins.

    At the maximum of the likelihood the distances between components are infinite, so
    that only their order is meaningful. Distances within a component are unchanged.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        (Half) wins of the row model over the column model.
    scores : ndarray of shape (n_models,)
        Scores that sum to zero within each strong component.
    bound : float
        Largest absolute score of a model that is on no scale, provided that the scale
        itself lies within it and leaves space for the other models.

    Returns
    -------
    SeparatedScores
    """
    parts = strong_components(wins)
    if len(parts) == 1 < len(wins):
        return SeparatedScores(scores.copy(), parts, np.zeros(len(wins), dtype=np.intp))
    # beats, (n_parts, n_parts), is an acyclic graph of the components.
    beats = _beats(wins, parts)
    width = np.array([np.ptp(scores[part]) for part in parts])
    result, side = scores.copy(), np.zeros(len(wins), dtype=np.intp)
    scales = []
    # Components that are connected by games are placed together, group by group.
    group = components(beats, "weak")
    for inside in (np.flatnonzero(group == g) for g in np.unique(group)):
        order = _Order.of(beats[np.ix_(inside, inside)], width[inside])
        # Parts are sorted by size. If the first one has a single model, so have all,
        # and the group has no scale.
        first = parts[inside[0]]
        if len(first) > 1:
            scales.append(first)
            centres, sides = order.around(
                scores[first].min(), scores[first].max(), bound
            )
            inside, centres, sides = inside[1:], centres[1:], sides[1:]
        else:
            centres, sides = order.alone(bound)
        for number, centre, direction in zip(inside, centres, sides, strict=True):
            # All scores of a part move together, its midrange to the centre.
            part = parts[number]
            shift = centre - (scores[part].min() + scores[part].max()) / 2.0
            result[part] = scores[part] + shift
            side[part] = direction
    return SeparatedScores(result, scales, side)


def hold_on_bound(wins: Array, placed: SeparatedScores, bound: float) -> HeldScores:
    """Set scores beyond the bound to it, and mark all that have no error.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        (Half) wins of the row model over the column model.
    placed : SeparatedScores
        Scores of the models.
    bound : float
        Largest absolute score.

    Returns
    -------
    HeldScores
    """
    far = _beyond(wins, placed, bound)
    on_scale = np.zeros(len(far), dtype=bool)
    for scale in placed.scales:
        on_scale[scale] = True
    side = np.where(far, np.sign(placed.scores), placed.side).astype(np.intp)
    values = np.where(far, side * bound, placed.scores)
    return HeldScores(values, side, far, far | ~on_scale)


def _beyond(wins: Array, placed: SeparatedScores, bound: float) -> NDArray[np.bool_]:
    """Models on a scale whose scores exceed the bound, where a single gap is too wide.

    Scores beyond the bound are accepted where they add up from gaps between models that
    have met, none of which exceeds twice the bound.
    """
    scores = placed.scores
    far = np.zeros(len(scores), dtype=bool)
    for scale in placed.scales:
        at = scores[scale]
        if np.abs(at).max() <= bound:
            continue
        met = wins[np.ix_(scale, scale)] > 0
        widest = np.abs(at[:, None] - at[None, :]).max(where=met, initial=0.0)
        if widest > 2.0 * bound:
            far[scale] = np.abs(at) > bound
    return far


def _beats(wins: Array, parts: list[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """Whether a model of one part has beaten one of another, (n_parts, n_parts)."""
    member = np.empty(len(wins), dtype=np.intp)
    for number, part in enumerate(parts):
        member[part] = number
    beats = np.zeros((len(parts), len(parts)), dtype=bool)
    winner, loser = np.nonzero(wins > 0)
    beats[member[winner], member[loser]] = True
    np.fill_diagonal(beats, False)
    return beats


@dataclass(frozen=True, slots=True)
class _Order:
    """Strong components in the acyclic order of the wins between them.

    ``below`` and ``above``, of shape (n_parts,), are the lengths of the longest chains
    of wins down and up from each component. A win counts 1, and a component that the
    chain passes adds its width, the range of its scores.
    """

    beats: NDArray[np.bool_]
    width: Array
    below: Array
    above: Array

    @classmethod
    def of(cls, beats: NDArray[np.bool_], width: Array) -> _Order:
        none = np.zeros(len(width))
        return cls(
            beats, width, _climb(beats, width, none), _climb(beats.T, width, none)
        )

    def alone(self, bound: float) -> tuple[Array, NDArray[np.intp]]:
        """Centres between the bounds, and sides, of components without a scale."""
        # Unbounded from above if nobody is above, from below if nobody is below.
        sides = (self.above == 0).astype(np.intp) - (self.below == 0)
        return -bound + 2.0 * bound * self._share(self.below, self.above), sides

    def around(
        self, low: float, high: float, bound: float
    ) -> tuple[Array, NDArray[np.intp]]:
        """Centres and sides where the first component is the scale, [low, high]."""
        # Lengths of the longest chains up and down from the edges of the scale: its own
        # width does not count, and -inf marks components that no chain reaches.
        start = np.full(len(self.width), -np.inf)
        start[0] = 0.0
        width = np.append(0.0, self.width[1:])
        up = _climb(self.beats, width, start)
        down = _climb(self.beats.T, width, start)
        # A component without a chain of wins to or from the scale may be anywhere. It
        # is placed within the scale, by its own chains.
        centre = low + (high - low) * self._share(self.below, self.above)
        # Others lie between the edge of the scale and the bound, above or below.
        for reach, rest, edge, sign in (
            (up, self.above, high, 1.0),
            (down, self.below, low, -1.0),
        ):
            on = np.isfinite(reach)
            distance = max(bound - sign * edge, 1.0)
            share = self._share(np.where(on, reach, 0.0), rest)
            centre = np.where(on, edge + sign * distance * share, centre)
        return centre, np.isfinite(up).astype(np.intp) - np.isfinite(down)

    def _share(self, before: Array, after: Array) -> Array:
        """Share of the longest chain through a component that precedes its centre."""
        whole = before + self.width + after
        return (before + self.width / 2.0) / np.where(whole > 0, whole, 1.0)


def _climb(beats: NDArray[np.bool_], width: Array, start: Array) -> Array:
    """Length of the longest chain up to each component, from those with a start.

    ``start`` is -inf where a chain may not begin.
    """
    # Topological order: a component is ready once all those that it beats are done.
    height, waits = start.copy(), beats.sum(axis=1)
    ready = np.flatnonzero(waits == 0).tolist()
    while ready:
        at = ready.pop()
        over = np.flatnonzero(beats[:, at])
        height[over] = np.maximum(height[over], height[at] + width[at] + 1.0)
        waits[over] -= 1
        ready += over[waits[over] == 0].tolist()
    return height
