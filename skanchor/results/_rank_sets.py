"""Ranks from tests of which model is better: sets, and who may be best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._checks import check_whole
from skanchor._model.one_sided import OpenScores
from skanchor._typing import Array, Indices
from skanchor.results.adjustment import JointErrors, holm_adjust, romano_wolf_rejects
from skanchor.results.intervals import one_sided_p

DRAWS = 9_999
"""Draws of the errors, where no number is given and the level needs no more."""

MOST_DRAWS = 99_999
"""Most draws that a level is given unasked: Holm's bound serves beyond."""

RankSets = tuple[Indices, Indices]
"""Best and worst rank of each model."""


def check_draws(n_draws: Any, level: float) -> int:
    """Number of draws for a level; too few for it are refused."""
    needed = int(np.ceil(round(99.0 / (1.0 - level), 6)))
    if n_draws is None:
        return min(max(DRAWS, needed), MOST_DRAWS)
    return check_whole("n_draws", n_draws, needed)


@dataclass(frozen=True, eq=False)
class BetterTests:
    """Simultaneous tests of "this model is better than that one".

    Attributes
    ----------
    pairs : callable
        Difference, standard error and degrees of freedom of pairs of models.
    errors : JointErrors or None
        Draws for Romano and Wolf's procedure; Holm's needs none.
    bias : ndarray of shape (n_models, n_models) or None
        Largest bias that may favour the first of two models, in logits. It is taken off
        their difference: with the draws as they are, a larger bias then never proves
        more.
    open_scores : OpenScores or None
        Tests of models without a finite estimate; nothing is proven of them where there
        may be a bias.
    """

    pairs: Callable[[Indices, Indices], tuple[Array, Array, Array]]
    errors: JointErrors | None
    bias: Array | None = None
    open_scores: OpenScores | None = None

    def __call__(
        self, better: Indices, worse: Indices, alpha: float
    ) -> NDArray[np.bool_]:
        """Which of these hypotheses are proven, as one family at level alpha."""
        difference, error, df = self.pairs(better, worse)
        if self.bias is not None:
            difference = difference - self.bias[better, worse]
        _, p = one_sided_p(difference, error, df)
        is_drawn = np.isfinite(error) & (error > 0)
        if self.open_scores is not None and self.bias is None:
            p = self.open_scores.replaced(p, better, worse)
        if self.errors is None:
            return holm_adjust(p) <= alpha
        errors, usable = self.errors, np.flatnonzero(is_drawn | (p < 1.0))
        proven = np.zeros(len(p), dtype=bool)

        def null_p(chosen: Indices, largest: float) -> Array:
            at = usable[chosen]
            null = np.ones((len(at), n_draws))
            rows = is_drawn[at]
            drawn = at[rows]
            null[rows] = errors.null_p(better[drawn], worse[drawn], df[drawn], largest)
            return null

        n_draws = len(errors.ratio)
        proven[usable] = romano_wolf_rejects(
            p[usable], null_p, n_draws, alpha, ~is_drawn[usable]
        )
        return proven


def insertion_sets(
    tests: BetterTests, rows: Indices, opponents: Indices, level: float
) -> RankSets:
    """Sets of the ranks of some models among others, jointly over all of them.

    Parameters
    ----------
    tests : BetterTests
        The tests.
    rows : ndarray of shape (n_rows,)
        The models to rank.
    opponents : ndarray of shape (n_rows, n_opponents)
        The models that each is ranked among.
    level : float
        Confidence level; better and worse opponents are two families at half of it.

    Returns
    -------
    low, high : ndarray of shape (n_rows,)
        Best and worst rank (eq:simulation-rank-set).
    """
    # All pairs of a model and its opponents, flat. An opponent proven better pushes the
    # best rank down by one, one proven worse the worst rank up by one.
    these = np.repeat(rows, opponents.shape[1])
    half = (1.0 - level) / 2.0
    loses = tests(opponents.ravel(), these, half).reshape(opponents.shape)
    wins = tests(these, opponents.ravel(), half).reshape(opponents.shape)
    return 1 + loses.sum(axis=1), 1 + opponents.shape[1] - wins.sum(axis=1)


def board_sets(tests: BetterTests, n_models: int, level: float) -> RankSets:
    """Sets of the ranks of all models among each other, jointly.

    "i is better than j" and "j is worse than i" are one hypothesis, so that a single
    family of all ordered pairs serves both ends of every set.
    """
    better, worse = np.nonzero(~np.eye(n_models, dtype=bool))
    proven = np.zeros((n_models, n_models), dtype=bool)
    proven[better, worse] = tests(better, worse, 1.0 - level)
    # proven[i, j]: i is better than j. Column sums count the better models of j.
    return 1 + proven.sum(axis=0), n_models - proven.sum(axis=1)


def best_candidates(
    tests: BetterTests, n_models: int, tau: int, level: float
) -> NDArray[np.bool_]:
    """Models that may be among the best tau, by inversion of tests.

    Only the tau best must be kept, so that each model has a family of its own: those
    better than it, at the tau-th part of the error.
    """
    models = np.arange(n_models)
    alpha = (1.0 - level) / tau
    beaten_by = [
        tests(others, np.full(n_models - 1, model), alpha).sum()
        for model in models
        for others in [np.delete(models, model)]
    ]
    return np.array(beaten_by) < tau
