"""Which models the comparisons join, and in which directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skanchor._numerics.types import Array

__all__ = [
    "Connectivity",
    "components",
    "count_components",
    "describe_connectivity",
    "strong_components",
]


@dataclass(frozen=True, slots=True)
class Connectivity:
    """How the wins join the models.

    Attributes
    ----------
    components : tuple of tuples of labels
        Groups that no comparison joins; one group means a common scale exists.
    strong_components : tuple of tuples of labels
        Groups within which every model is, through others, both beaten and beating;
        one group means that the likelihood has a finite maximum. In the order of
        :func:`strong_components`.
    never_won, never_lost : tuple of labels
        Models with no win (ties count for both sides) and with no loss.
    n_scales : int
        Scales that there are meant to be: one, or one by context.
    """

    components: tuple[tuple[Any, ...], ...]
    strong_components: tuple[tuple[Any, ...], ...]
    never_won: tuple[Any, ...]
    never_lost: tuple[Any, ...]
    n_scales: int = 1

    @property
    def is_connected(self) -> bool:
        """Whether all models lie on one scale, in each context if there are some."""
        return len(self.components) <= self.n_scales

    @property
    def is_strongly_connected(self) -> bool:
        """Whether the maximum-likelihood scores are finite."""
        return len(self.strong_components) <= 1

    @property
    def is_separated(self) -> bool:
        """Whether some scores within a group are bound on one side only."""
        return len(self.strong_components) > len(self.components)

    def groups(self) -> str:
        """Name the models of the components, a few of each."""
        return "; ".join(
            "{"
            + ", ".join(map(str, part[:5]))
            + (", ..." if len(part) > 5 else "")
            + "}"
            for part in self.components[:5]
        )

    def separation(self) -> str:
        """Say in words why some scores are bound on one side only."""
        named = {"never won": self.never_won[:5], "never lost": self.never_lost[:5]}
        facts = [f"{list(models)} {what}" for what, models in named.items() if models]
        if facts:
            return " and ".join(facts)
        apart = [str(model) for model in self.strong_components[-1][:5]]
        return f"no chain of wins leads from {apart} to another model and back"


_CONNECTIONS: tuple[Literal["weak"], Literal["strong"]] = ("weak", "strong")

_EQUAL = 1e-9
"""Share of all wins by which two sums must differ to count as different."""

_FEW_STEPS = 8
"""Steps that are tried before a graph is searched in earnest."""


def components(
    links: NDArray[np.bool_], connection: Literal["weak", "strong"]
) -> NDArray[np.intp]:
    """Number the component that each node of a graph belongs to, from zero.

    Parameters
    ----------
    links : ndarray of shape (n, n)
        Whether a link leads from the row's node to the column's.
    connection : {"weak", "strong"}
        Whether links serve both ways, or there must be a way back.

    Returns
    -------
    ndarray of shape (n,)
    """
    ways = (links | links.T,) if connection == "weak" else (links, links.T)
    if all(_lead_everywhere(way) for way in ways):
        return np.zeros(len(links), dtype=np.intp)
    found = connected_components(
        csr_array(links.astype(np.int8)), connection=connection
    )
    return np.asarray(found[1], dtype=np.intp)


def _lead_everywhere(links: NDArray[np.bool_]) -> bool:
    """Whether a few steps lead from the first node to all; False says nothing."""
    reached = np.arange(len(links)) == 0
    for _ in range(_FEW_STEPS):
        if reached.all():
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

    Of equally large ones the one with more games among its models comes first, then
    the one with more wins over others less losses to them, so that neither names nor
    rows decide; only then the one that holds the first model.
    """
    return _parts(wins, "strong")


def _parts(
    wins: Array, connection: Literal["weak", "strong"]
) -> list[NDArray[np.intp]]:
    """Models of each component, in the order of ``strong_components``."""
    membership = components(wins > 0, connection)
    order = np.argsort(membership, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(membership[order])) + 1)
    # Sums that another order of the rows rounds otherwise are to be equal.
    step = max(float(wins.sum()), np.finfo(np.float64).tiny) * _EQUAL
    surplus = (wins.sum(axis=1) - wins.sum(axis=0)) / step

    def rank(part: NDArray[np.intp]) -> tuple[float, ...]:
        games = wins[np.ix_(part, part)].sum() / step
        return -len(part), -round(games), -round(surplus[part].sum()), part[0]

    return sorted(parts, key=rank)


def count_components(wins: NDArray[np.number]) -> tuple[int, int]:
    """Count the components of ``wins``, and its strong components."""
    weak, strong = (
        int(components(wins > 0, connection).max(initial=-1)) + 1
        for connection in _CONNECTIONS
    )
    return weak, strong
