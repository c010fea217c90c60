"""Checks of votes that leave scores undetermined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._model.btl_errors import ScoreErrors
from skanchor._model.graph import Connectivity, in_braces
from skanchor.exceptions import (
    BattlesError,
    BoundWarning,
    DataWarning,
    DisconnectedError,
    SeparationWarning,
)
from skanchor.sample import Sample
from skanchor.warning_log import warn


def check_any_votes(sample: Sample, disconnected: str) -> None:
    """Refuse votes of which none compares two historical models.

    Parameters
    ----------
    sample : Sample
        Battles in their roles.
    disconnected : str
        With ``"warn"``, votes that all compare a model with itself are accepted.

    Raises
    ------
    BattlesError
        If there is no vote.
    """
    X = sample.X
    votes = X.is_human & ~X.involves_new & (sample.weight > 0) & (X.left >= 0)
    if disconnected != "warn" or not votes.any():
        raise BattlesError(
            "No human row compares two historical models; human rows carry the "
            "label 'human' in column 'judge'."
        )


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
        where = f" in {graph.n_scales} contexts" if graph.n_scales > 1 else ""
        message = (
            f"The human comparisons leave {len(graph.components)} separate groups "
            f"of models{where}: {in_braces(graph.components)}. Scores of different "
            "groups lie on no common scale."
        )
        if disconnected == "raise":
            raise DisconnectedError(
                message + " Add comparisons between the groups, drop one, or set "
                "disconnected='warn'."
            )
        warn(
            SeparationWarning(
                f"{message} Add comparisons between the groups; each group is "
                "centred on its own.",
                code="separate-groups",
                subject=[model for part in graph.components for model in part],
            )
        )
    if graph.is_separated and alpha == 0.0:
        warn(
            SeparationWarning(
                "Human votes bound some scores on one side only: "
                f"{graph.separation()}. These scores follow the order of the wins, at "
                f"most {score_bound} logits from zero, and have infinite standard "
                "errors. They do not change the other scores. Add comparisons or set "
                "alpha > 0.",
                code="separated-scores",
                subject=graph.one_sided,
            )
        )


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
                "without the bound.",
                code="scores-at-bound",
                subject=models,
            )
        )


def warn_of_light_votes(models: list[Any]) -> None:
    """Warn of scores that floating point does not determine."""
    if models:
        warn(
            DataWarning(
                "Groups of models are joined by human rows only that weigh next to "
                f"nothing beside the others, so the scores of {len(models)} "
                "models have no standard errors. Set the weights of these rows to "
                "zero, or add human rows between the groups.",
                code="votes-too-light",
                subject=tuple(models),
            )
        )


def warn_of_lost_residuals(n_groups: int) -> None:
    """Warn of residuals that cancel within groups."""
    warn(
        DataWarning(
            f"Residuals of human rows cancel within their {n_groups} groups, "
            "and leave differences of models without an error. The "
            "errors are those that independent votes would have.",
            code="residuals-cancel",
        )
    )


def warn_of_silence(errors: ScoreErrors, models: NDArray[Any]) -> None:
    """Warn of models whose outcomes are what their scores predict."""
    is_silent = np.asarray(errors.is_silent.any(axis=1))
    if not is_silent.any():
        return
    where, what, names = "", "The errors are", []
    if not is_silent[errors.fit.scale >= 0].all():
        names = models[is_silent].tolist()
        where = f" where models {names[:5]} hang on each other"
        what = "Errors there are"
    warn(
        DataWarning(
            f"Human rows show no noise{where}: every outcome is what the scores "
            f"predict. {what} those that independent votes would have.",
            code="no-noise",
            subject=names,
        )
    )
