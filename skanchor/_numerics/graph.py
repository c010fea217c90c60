"""Connectivity of the graph of comparisons: components and strong components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skanchor._numerics.types import Array


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
        single group means that the likelihood has a finite maximum. In the order of
        :func:`strong_components`.
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

    @property
    def is_connected(self) -> bool:
        """Whether all models lie on one scale, or on one scale in each context."""
        return len(self.components) <= self.n_scales

    @property
    def is_strongly_connected(self) -> bool:
        """Whether the maximum-likelihood scores are finite."""
        return len(self.strong_components) <= 1

    @property
    def is_separated(self) -> bool:
        """Whether some scores within a component are bounded on one side only."""
        return len(self.strong_components) > len(self.components)

    def groups(self) -> str:
        """Text that lists some models of the first components."""
        return in_braces(self.components)

    @property
    def one_sided(self) -> tuple[Any, ...]:
        """Models that show why some scores are bounded on one side only."""
        never = (*self.never_won, *self.never_lost)
        return never or self.strong_components[-1]

    def separation(self) -> str:
        """Text that explains why some scores are bounded on one side only."""
        named = {"never won": self.never_won[:5], "never lost": self.never_lost[:5]}
        facts = [f"{list(models)} {what}" for what, models in named.items() if models]
        if facts:
            return " and ".join(facts)
        apart = [str(model) for model in self.strong_components[-1][:5]]
        return f"no chain of wins leads from {apart} to another model and back"


def in_braces(parts: Sequence[Any]) -> str:
    """Text that lists some models of the first of several sequences of models."""
    return "; ".join(
        "{" + ", ".join(map(str, part[:5])) + (", ..." if len(part) > 5 else "") + "}"
        for part in parts[:5]
    )


_CONNECTIONS: tuple[Literal["weak"], Literal["strong"]] = ("weak", "strong")

_EQUAL = 1e-9
"""Share of all wins by which two sums must differ to count as different."""

_FEW_STEPS = 8
"""Steps of a fast search that is tried before the full one."""


def components(
    links: NDArray[np.bool_], connection: Literal["weak", "strong"]
) -> NDArray[np.intp]:
    """Number the component that each node of a graph belongs to, from zero.

    Parameters
    ----------
    links : ndarray of shape (n, n)
        Whether a link leads from the row's node to the column's.
    connection : {"weak", "strong"}
        "weak" takes links in both directions; "strong" requires a path to and fro.

    Returns
    -------
    ndarray of shape (n,)
        Number of each node's component.
    """
    # Most graphs have one component, beside nodes without a link. It is strong if its
    # first node leads to all others by the links, and by the reversed links.
    either = links | links.T
    linked = np.asarray(either.any(axis=0))
    ways = (either,) if connection == "weak" else (links, links.T)
    if all(_lead_everywhere(way, linked) for way in ways):
        first = ~linked
        first[np.argmax(linked)] = True
        number = np.cumsum(first) - 1
        number[linked] = number[np.argmax(linked)]
        return number
    found = connected_components(
        csr_array(links.astype(np.int8)), connection=connection
    )
    return np.asarray(found[1], dtype=np.intp)


def _lead_everywhere(links: NDArray[np.bool_], linked: NDArray[np.bool_]) -> bool:
    """Whether few steps lead from the first linked node to all; False is no answer."""
    reached = linked & (np.cumsum(linked) == 1)
    for _ in range(_FEW_STEPS):
        if np.array_equal(reached, linked):
            return True
        reached = reached | links[reached].any(axis=0)
    return False


def describe_connectivity(
    wins: Array, labels: NDArray[Any], n_scales: int = 1
) -> Connectivity:
    """Describe the graph of ``wins[i, j]``, the (half) wins of i over j."""
    joined, strong = (
        tuple(tuple(labels[part].tolist()) for part in _parts(wins, connection))
        for connection in _CONNECTIONS
    )
    return Connectivity(
        joined,
        strong,
        tuple(labels[wins.sum(axis=1) == 0].tolist()),
        tuple(labels[wins.sum(axis=0) == 0].tolist()),
        n_scales,
    )


def strong_components(wins: Array) -> list[NDArray[np.intp]]:
    """Models of each strong component of ``wins``, largest first.

    Components of equal size are sorted by the games among their models, then by their
    wins over other models less losses to them. The order then depends neither on names
    nor on the order of rows. Remaining ties go by the first model.
    """
    return _parts(wins, "strong")


def _parts(
    wins: Array, connection: Literal["weak", "strong"]
) -> list[NDArray[np.intp]]:
    """Models of each component, in the order of ``strong_components``."""
    # Models sorted by component, cut where the number of the component changes.
    membership = components(wins > 0, connection)
    if not membership.any():
        return [np.arange(len(membership))]
    order = np.argsort(membership, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(membership[order])) + 1)
    # Sums are compared in multiples of this step, so that rounding, which depends on
    # the order of the rows, does not decide.
    step = max(float(wins.sum()), np.finfo(np.float64).tiny) * _EQUAL
    surplus = (wins.sum(axis=1) - wins.sum(axis=0)) / step

    def rank(part: NDArray[np.intp]) -> tuple[float, ...]:
        games = wins[np.ix_(part, part)].sum() / step
        return -len(part), -round(games), -round(surplus[part].sum()), part[0]

    return sorted(parts, key=rank)


def count_components(wins: NDArray[np.number]) -> tuple[int, int]:
    """Numbers of components and of strong components of ``wins``."""
    weak, strong = (
        int(components(wins > 0, connection).max(initial=-1)) + 1
        for connection in _CONNECTIONS
    )
    return weak, strong
