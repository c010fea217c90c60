"""Where models stand whose scores the wins bound on one side only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.graph import components, strong_components
from skanchor._numerics.types import Array

__all__ = ["SeparatedScores", "beyond", "find_separated_scores"]


@dataclass(frozen=True, slots=True)
class SeparatedScores:
    """Scores of all models, and which of them have no finite maximum.

    Attributes
    ----------
    scores : ndarray of shape (n_models,)
        Scores on a scale as they were; the others in the order of the wins, between
        the scale and the bound.
    scales : list of ndarrays
        Models that share a scale: of each group that games join, the largest strong
        component of several models, if there is one (of several such the first of
        :func:`~skanchor._numerics.graph.strong_components`).
    side : ndarray of shape (n_models,)
        1 where wins bound a score from below alone, -1 from above alone, 0 else.
    """

    scores: Array
    scales: list[NDArray[np.intp]]
    side: NDArray[np.intp]


def find_separated_scores(wins: Array, scores: Array, bound: float) -> SeparatedScores:
    """Place the strong components of the wins beside each other.

    Their distances are infinite in the limit, so that only their order counts; what is
    beaten and beating keeps its distances.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        (Half) wins of the row model over the column model.
    scores : ndarray of shape (n_models,)
        Scores that sum to zero within each strong component.
    bound : float
        Largest score, in size, of a model that is on no scale, if the scales are within
        and the models apart fit in beside them.

    Returns
    -------
    SeparatedScores
    """
    parts = strong_components(wins)
    if len(parts) == 1 < len(wins):
        return SeparatedScores(scores.copy(), parts, np.zeros(len(wins), dtype=np.intp))
    beats = _beats(wins, parts)
    width = np.array([np.ptp(scores[part]) for part in parts])
    result, side = scores.copy(), np.zeros(len(wins), dtype=np.intp)
    scales = []
    group = components(beats, "weak")
    for inside in (np.flatnonzero(group == g) for g in np.unique(group)):
        order = _Order.of(beats[np.ix_(inside, inside)], width[inside])
        # The first part leads. A single model among others carries no scale.
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
            part = parts[number]
            shift = centre - (scores[part].min() + scores[part].max()) / 2.0
            result[part] = scores[part] + shift
            side[part] = direction
    return SeparatedScores(result, scales, side)


def beyond(wins: Array, placed: SeparatedScores, bound: float) -> NDArray[np.bool_]:
    """Models beyond the bound, where votes do not lead there within its reach.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        (Half) wins of the row model over the column model.
    placed : SeparatedScores
        Their scores.
    bound : float
        Largest score, in size.

    Returns
    -------
    ndarray of shape (n_models,)
    """
    scores = placed.scores
    far = np.zeros(len(scores), dtype=bool)
    for scale in placed.scales:
        at = scores[scale]
        if np.abs(at).max() <= bound:
            continue
        met = wins[np.ix_(scale, scale)] > 0
        gaps = np.abs(at[:, None] - at[None, :]).max(where=met, initial=0.0)
        if gaps > 2.0 * bound:
            far[scale] = np.abs(at) > bound
    return far


def _beats(wins: Array, parts: list[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """Whether a model of one part has beaten one of another part."""
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
    """Components of which some beat others, none in a circle.

    ``below`` and ``above`` are the lengths of the longest ways down and up from each:
    a step to the next one is 1, and who is passed adds the width.
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
        """Centres between the bounds, and sides."""
        sides = (self.above == 0).astype(np.intp) - (self.below == 0)
        return -bound + 2.0 * bound * self._share(self.below, self.above), sides

    def around(
        self, low: float, high: float, bound: float
    ) -> tuple[Array, NDArray[np.intp]]:
        """Centres and sides where the first component lies from ``low`` to ``high``."""
        start = np.full(len(self.width), -np.inf)
        start[0] = 0.0
        width = np.append(0.0, self.width[1:])
        up = _climb(self.beats, width, start)
        down = _climb(self.beats.T, width, start)
        # Whom no chain of wins ties to the first may be anywhere.
        centre = low + (high - low) * self._share(self.below, self.above)
        for reach, rest, edge, sign in (
            (up, self.above, high, 1.0),
            (down, self.below, low, -1.0),
        ):
            on = np.isfinite(reach)
            room = max(bound - sign * edge, 1.0)
            share = self._share(np.where(on, reach, 0.0), rest)
            centre = np.where(on, edge + sign * room * share, centre)
        return centre, np.isfinite(up).astype(np.intp) - np.isfinite(down)

    def _share(self, before: Array, after: Array) -> Array:
        """Share of the way that lies before the centres."""
        whole = before + self.width + after
        return (before + self.width / 2.0) / np.where(whole > 0, whole, 1.0)


def _climb(beats: NDArray[np.bool_], width: Array, start: Array) -> Array:
    """Longest way up to each component from those that have a start."""
    height, waits = start.copy(), beats.sum(axis=1)
    ready = np.flatnonzero(waits == 0).tolist()
    while ready:
        at = ready.pop()
        over = np.flatnonzero(beats[:, at])
        height[over] = np.maximum(height[over], height[at] + width[at] + 1.0)
        waits[over] -= 1
        ready += over[waits[over] == 0].tolist()
    return height
