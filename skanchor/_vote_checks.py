"""Votes that count, and those that leave scores or a position effect undetermined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons.labels import is_constant
from skanchor._numerics.graph import Connectivity
from skanchor._numerics.order_counts import OrderedFit
from skanchor._typing import Array
from skanchor.exceptions import (
    Advice,
    BattlesError,
    BoundWarning,
    DisconnectedError,
    Remedy,
    SeparationWarning,
)
from skanchor.sample import Sample
from skanchor.warning_log import warn

__all__ = [
    "check_graph",
    "check_order",
    "counted_votes",
    "in_units_of_the_heaviest",
    "slight_ridge",
    "warn_of_bound",
]

LEAST_WEIGHT = 1e-150
"""Weight of a vote, in that of the heaviest, whose square is still a number."""


def check_graph(
    graph: Connectivity, disconnected: str, alpha: float, score_bound: float
) -> None:
    """Refuse, or warn of, votes that leave scores undetermined.

    Parameters
    ----------
    graph : Connectivity
        Who has won against whom.
    disconnected, alpha, score_bound
        As in :class:`skanchor.BTLRegressor`.

    Raises
    ------
    DisconnectedError
        If the votes leave the models in several components that may not be.
    """
    if not graph.is_connected:
        groups = "; ".join(
            "{"
            + ", ".join(map(str, part[:5]))
            + (", ..." if len(part) > 5 else "")
            + "}"
            for part in graph.components[:5]
        )
        where = f" in {graph.n_scales} contexts" if graph.n_scales > 1 else ""
        message = (
            f"The human comparisons leave {len(graph.components)} separate groups "
            f"of models{where}: {groups}. Scores of different groups lie on no common "
            "scale."
        )
        if disconnected == "raise":
            raise DisconnectedError(message, advice=Advice(Remedy.JOIN_GROUPS))
        warn(
            SeparationWarning(
                f"{message} Add comparisons between the groups; each group is "
                "centred on its own."
            )
        )
    if graph.is_separated and alpha == 0.0:
        warn(
            SeparationWarning(
                "Human votes bound some scores on one side only: "
                f"{graph.separation()}. They stand in the order of the wins, at "
                f"most {score_bound} logits out, with infinite standard "
                "errors; the other scores are as without them.",
                advice=Advice(Remedy.BOUND_SCORES),
            )
        )


def check_order(found: OrderedFit) -> None:
    """Refuse a position effect of people that their votes do not determine.

    Parameters
    ----------
    found : OrderedFit
        Scores and the effect.

    Raises
    ------
    BattlesError
        If the display follows from the scores, or settles votes.
    """
    statement = None
    if not found.is_identified:
        statement = (
            "The position effect of people cannot be learned: their votes do not show "
            "models in both orders."
        )
    elif not found.is_finite:
        statement = (
            "The position effect of people has no finite value: the side shown first, "
            "or scores and display together, settle every vote."
        )
    if statement is not None:
        raise BattlesError(statement, advice=Advice(Remedy.SWAP_SIDES))


def slight_ridge(n_votes: float) -> float:
    """A ridge worth advising: as one observation of each score beside these votes.

    Its pull does not grow with the votes. One that does leaves intervals too short.

    Parameters
    ----------
    n_votes : float
        Human votes, or the sum of their weights.

    Returns
    -------
    float
        To one digit, for :class:`skanchor.BTLRegressor`.
    """
    return float(f"{1.0 / max(n_votes, 1.0):.0e}")


def warn_of_bound(models: list[Any], score_bound: float) -> None:
    """Warn of scores that lie on the bound.

    Parameters
    ----------
    models : list of labels
        Whose scores they are, if there are any.
    score_bound : float
        Largest score, in logits.
    """
    if models:
        warn(
            BoundWarning(
                f"Scores of {models[:5]} lie beyond the bound of {score_bound} logits "
                "and are held there; their intervals fail. The other scores are as "
                "without the bound."
            )
        )


def counted_votes(sample: Sample) -> NDArray[np.intp] | slice:
    """Rows that count: human votes of positive weight on historical models.

    Parameters
    ----------
    sample : Sample
        Battles in their roles.

    Returns
    -------
    ndarray of int, or slice
        Row numbers.
    """
    X, weight = sample.X, sample.weight
    if (
        not sample.is_grouped
        and all(map(is_constant, (weight, X.judge, X.involves_new)))
        and len(X)
        and X.judge[0] == -1
        and X.rows.all_known
    ):
        # Nothing tells rows apart, and there is no need to look at each; models
        # against themselves fall on the diagonal of the counts.
        return slice(None)
    votes = X.is_human & ~X.involves_new & (weight > 0)
    return np.flatnonzero(votes & X.is_usable)


def in_units_of_the_heaviest(
    weight: Array, multiplicity: Array | None = None
) -> tuple[Array, float]:
    """Weights of votes over the largest, one number if all are equal; the largest.

    Parameters
    ----------
    weight : ndarray of shape (n_votes,)
        Positive.
    multiplicity : ndarray of shape (n_votes,), optional
        How many votes each stands for, whose weights are summed.

    Returns
    -------
    share : ndarray of shape (n_votes,) or (1,)
    unit : float

    Raises
    ------
    ValueError
        If a weight is too small beside the largest.
    """
    if is_constant(weight):
        weight = weight[:1]
    each = weight if multiplicity is None else weight / multiplicity
    # Squares of tiny or huge weights leave the range of floats.
    unit = each.max() if each.size else 1.0
    share = weight / unit
    lost = int((each < LEAST_WEIGHT * unit).sum())
    if lost:
        raise ValueError(
            f"sample_weight spans too much: {lost} rows weigh less than "
            f"{LEAST_WEIGHT:g} of the heaviest. Rescale it, or set them to zero."
        )
    return share, unit
