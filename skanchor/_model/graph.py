"""Graph of comparisons: sums by pair of models, components, and who beat whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from skanchor._typing import Array

Connection = Literal["weak", "strong"]

_EQUAL = 1e-9
"""Share of all wins by which two sums must differ to count as different."""


def pair_sums(
    left: NDArray[np.intp], right: NDArray[np.intp], values: NDArray[Any], size: int
) -> Array:
    """Sum ``values`` by ordered pair into a (size, size) matrix."""
    sums = np.bincount(left * size + right, values, size * size)
    return sums.reshape(size, size).astype(np.float64, copy=False)


def laplacian(pair_weight: Array) -> Array:
    """Sum of weight (e_a - e_b)(e_a - e_b)' over ordered pairs (a, b)."""
    result: Array = -(pair_weight + pair_weight.T)
    # Each diagonal entry is such that its row sums to zero.
    result.flat[:: len(result) + 1] -= result.sum(axis=1)
    return result


def components(links: NDArray[np.bool_], connection: Connection) -> NDArray[np.intp]:
    """Number the component of each node of a graph, from zero.

    Parameters
    ----------
    links : ndarray of shape (n, n)
        Whether a link leads from the row's node to the column's.
    connection : {"weak", "strong"}
        "weak" takes links in both directions; "strong" requires a path to and fro.

    Returns
    -------
    ndarray of shape (n,)
    """
    _, number = connected_components(links, connection=connection)
    return np.asarray(number, dtype=np.intp)


def sorted_components(wins: Array, connection: Connection) -> list[NDArray[np.intp]]:
    """Models of each component of ``wins``, the largest first.

    Components of equal size are sorted by the games among their models, then by their
    wins over other models less losses to them, so that the order depends neither on
    names nor on the order of rows. Remaining ties go by the first model.
    """
    if not len(wins):
        return []
    number = components(wins > 0, connection)
    order = np.argsort(number, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
    # Sums are compared in multiples of this step, so that rounding, which depends on
    # the order of the rows, does not decide.
    step = max(float(wins.sum()), np.finfo(np.float64).tiny) * _EQUAL
    surplus = (wins.sum(axis=1) - wins.sum(axis=0)) / step

    def rank(part: NDArray[np.intp]) -> tuple[float, ...]:
        games = wins[np.ix_(part, part)].sum() / step
        return -len(part), -round(games), -round(surplus[part].sum()), part[0]

    return sorted(parts, key=rank)


def in_braces(parts: Sequence[Any]) -> str:
    """Text that lists some models of the first of several sequences of models."""
    return "; ".join(
        "{" + ", ".join(map(str, part[:5])) + (", ..." if len(part) > 5 else "") + "}"
        for part in parts[:5]
    )


@dataclass(frozen=True, slots=True)
class Connectivity:
    """Connectivity of the graph of wins.

    Attributes
    ----------
    components : tuple of tuples of labels
        Groups between which there is no comparison; a single group means that a common
        scale exists.
    strong_components : tuple of tuples of labels
        Groups within which a chain of wins leads from every model to every other one; a
        single group means that the likelihood has a finite maximum. The largest comes
        first.
    never_won, never_lost : tuple of labels
        Models with no win (ties count for both sides) and with no loss.
    n_scales : int
        Expected number of scales: one, or one for each context.
    """

    components: tuple[tuple[Any, ...], ...]
    strong_components: tuple[tuple[Any, ...], ...]
    never_won: tuple[Any, ...]
    never_lost: tuple[Any, ...]
    n_scales: int = 1

    @classmethod
    def of(cls, wins: Array, labels: NDArray[Any], n_scales: int = 1) -> Connectivity:
        """Describe the graph of ``wins[i, j]``, the (half) wins of i over j."""

        def named(connection: Connection) -> tuple[tuple[Any, ...], ...]:
            parts = sorted_components(wins, connection)
            return tuple(tuple(labels[part].tolist()) for part in parts)

        never_won, never_lost = (
            tuple(labels[wins.sum(axis=axis) == 0].tolist()) for axis in (1, 0)
        )
        return cls(named("weak"), named("strong"), never_won, never_lost, n_scales)

    @property
    def is_connected(self) -> bool:
        """Whether all models lie on one scale, or on one scale in each context."""
        return len(self.components) <= self.n_scales

    @property
    def is_separated(self) -> bool:
        """Whether some scores within a component are bounded on one side only."""
        return len(self.strong_components) > len(self.components)

    @property
    def one_sided(self) -> tuple[Any, ...]:
        """Models that show why some scores are bounded on one side only."""
        return (*self.never_won, *self.never_lost) or self.strong_components[-1]

    def separation(self) -> str:
        """Text that explains why some scores are bounded on one side only."""
        named = {"never won": self.never_won[:5], "never lost": self.never_lost[:5]}
        facts = [f"{list(models)} {what}" for what, models in named.items() if models]
        if facts:
            return " and ".join(facts)
        apart = [str(model) for model in self.strong_components[-1][:5]]
        return f"no chain of wins leads from {apart} to another model and back"
