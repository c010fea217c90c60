"""Human votes: those that count, their sums by pair of models, and what they lack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._battles import is_constant
from skanchor._model.btl import VoteCells
from skanchor._model.btl_errors import ScoreErrors
from skanchor._model.graph import Connectivity, in_braces
from skanchor._model.influence import group_matrix
from skanchor._model.one_sided import OpenRows
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.exceptions import (
    BattlesError,
    BoundWarning,
    ConvergenceWarning,
    DataWarning,
    DisconnectedError,
    SeparationWarning,
    SkanchorWarning,
)
from skanchor.warning_log import warn_of

LEAST_WEIGHT = 1e-150
"""Weight of a vote, in that of the heaviest, whose square is still a number."""


@dataclass(frozen=True, slots=True)
class HumanVotes:
    """Votes of a sample that count, and their sums over the models that have any.

    Attributes
    ----------
    sample : Sample
        Battles in their roles.
    rows : ndarray of int, or slice
        Numbers of the rows that are votes and count.
    weight : ndarray of shape (n_votes,) or (1,)
        Weight of one of the votes that each row stands for, in units of the heaviest;
        one number if all are equal.
    unit : float
        Weight of the heaviest.
    present : ndarray of shape (n_present,)
        Models with a vote, by their place in the vocabulary of the sample.
    cells : VoteCells
        Sums by pair of these models and outcome.
    """

    sample: Sample
    rows: NDArray[np.intp] | slice
    weight: Array
    unit: float
    present: NDArray[np.intp]
    cells: VoteCells

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Add up the votes of a sample.

        Raises
        ------
        ValueError
            If a weight is too small beside the largest.
        """
        X, rows = sample.X, _counted_votes(sample)
        weight, number = sample.weight[rows], sample.multiplicity
        if is_constant(weight):
            weight = weight[:1]
        count = np.ones(1) if number is None else number[rows]
        weight = weight / count
        # Squares of tiny or huge weights leave the range of floats.
        unit = float(weight.max(initial=0.0)) or 1.0
        weight = weight / unit
        n_lost = int((weight < LEAST_WEIGHT).sum())
        if n_lost:
            raise ValueError(
                f"sample_weight spans too much: {n_lost} rows weigh less than "
                f"{LEAST_WEIGHT:g} of the heaviest. Rescale it, or set them to zero."
            )
        sides = X.left[rows], X.right[rows], sample.y[rows]
        cells = VoteCells.of(*sides, weight * count, count, len(X.models))
        present = cells.models
        return cls(sample, rows, weight, unit, present, cells.among(present))

    def _sides(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Codes of the models of each vote, among those that have any; else -1."""
        X, place = self.sample.X, np.full(len(self.sample.X.models), -1)
        place[self.present] = np.arange(len(self.present))
        return place[X.left[self.rows]], place[X.right[self.rows]]

    def totals(self, codes: NDArray[np.intp], errors: ScoreErrors) -> csr_array:
        """Derivative of the log likelihood of the votes of a group, by model.

        ``codes`` are those of the group of each vote, -1 without one.
        """
        y = self.sample.y[self.rows]
        vectors = errors.score_vectors(*self._sides(), y, self.weight)
        return csr_array(group_matrix(codes) @ vectors)

    def open_rows(
        self, is_open: NDArray[np.bool_], dispersion: float, styles: Array | None
    ) -> OpenRows | None:
        """Votes on models without a finite estimate; None where all have one.

        ``dispersion`` is that of :meth:`OpenRows.of`, ``styles`` people's bias in each
        row.
        """
        cells = self.cells
        if not is_open.any():
            return None
        if styles is None:
            votes = cells.left, cells.right, cells.y, cells.weight
            return OpenRows.of(is_open, votes, cells.square, dispersion)
        # The style of a vote is its own.
        left, right = self._sides()
        weight, count = self.sample.weight[self.rows], self.sample.multiplicity
        square = weight**2 / (1.0 if count is None else count[self.rows])
        votes = left, right, self.sample.y[self.rows], weight
        return OpenRows.of(is_open, votes, square, dispersion, offset=styles[self.rows])


def _counted_votes(sample: Sample) -> NDArray[np.intp] | slice:
    """Rows that count: human votes of positive weight on historical models."""
    X, weight = sample.X, sample.weight
    if (
        not sample.is_grouped
        and all(map(is_constant, (weight, X.judge, X.involves_new)))
        and len(X)
        and X.judge[0] == -1
        and X.left.min() >= 0
        and X.right.min() >= 0
    ):
        # Nothing tells rows apart, and there is no need to look at each; models
        # against themselves do not enter the sums.
        return slice(None)
    votes = X.is_human & ~X.involves_new & (weight > 0)
    return np.flatnonzero(votes & X.is_usable)


# ------------------------------------------------------------- what is wrong with votes
SENTENCES: dict[str, tuple[type[SkanchorWarning], str]] = {
    "separate-groups": (
        SeparationWarning,
        "{message} Add comparisons between the groups; each group is centred on its "
        "own.",
    ),
    "separated-scores": (
        SeparationWarning,
        "Human votes bound some scores on one side only: {why}. These scores follow "
        "the order of the wins, at most {bound} logits from zero, and have infinite "
        "standard errors. They do not change the other scores. Add comparisons or set "
        "alpha > 0.",
    ),
    "only-self-comparisons": (
        SeparationWarning,
        "Every human row compares a model with itself: no model has a score.",
    ),
    "scores-at-bound": (
        BoundWarning,
        "Scores of {some} lie beyond the bound of {bound} logits and are held there; "
        "their intervals fail. The other scores are as without the bound.",
    ),
    "scores-not-converged": (
        ConvergenceWarning,
        "BTL scores did not converge in {n_iter} steps.",
    ),
    "votes-too-light": (
        DataWarning,
        "Groups of models are joined by human rows only that weigh next to nothing "
        "beside the others, so the scores of {number} models have no standard errors. "
        "Set the weights of these rows to zero, or add human rows between the groups.",
    ),
    "residuals-cancel": (
        DataWarning,
        "Residuals of human rows cancel within their {n_groups} groups, and leave "
        "differences of models without an error. The errors are those that independent "
        "votes would have.",
    ),
    "no-noise": (
        DataWarning,
        "Human rows show no noise{where}: every outcome is what the scores predict. "
        "The errors there are those that independent votes would have.",
    ),
}
"""Category and sentence of each warning of votes, by code."""


def check_any_votes(sample: Sample, disconnected: str) -> None:
    """Refuse votes of which none compares two historical models.

    With ``disconnected="warn"``, votes that all compare a model with itself will do.
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

    ``disconnected``, ``alpha`` and ``score_bound`` are those of
    :class:`skanchor.BTLRegressor`.
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
                "disconnected to warn."
            )
        models = [model for part in graph.components for model in part]
        warn_of(SENTENCES, "separate-groups", models, message=message)
    if graph.is_separated and alpha == 0.0:
        facts: dict[str, Any] = {"why": graph.separation(), "bound": score_bound}
        warn_of(SENTENCES, "separated-scores", graph.one_sided, **facts)


def warn_of_silence(errors: ScoreErrors, models: NDArray[Any]) -> None:
    """Warn of models whose outcomes are what their scores predict."""
    is_silent = np.asarray(errors.is_silent.any(axis=1))
    if is_silent.any():
        where, names = "", []
        if not is_silent[errors.fit.scale >= 0].all():
            names = models[is_silent].tolist()
            where = f" where models {names[:5]} hang on each other"
        warn_of(SENTENCES, "no-noise", names, where=where)
