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
"""Best and worst rank of each model, of shape (n_models,)."""


def check_draws(n_draws: Any, level: float) -> int:
    """Number of draws for a level; too few for it are refused."""
    needed = int(np.ceil(round(99.0 / (1.0 - level), 6)))
    if n_draws is None:
        return min(max(DRAWS, needed), MOST_DRAWS)
    return check_whole("n_draws", n_draws, needed)


def pairs_of(rows: Indices, opponents: Indices) -> tuple[Indices, Indices]:
    """Pairs of each model of some with each other model of some."""
    first, second = np.repeat(rows, len(opponents)), np.tile(opponents, len(rows))
    differs = first != second
    return first[differs], second[differs]


@dataclass(frozen=True, eq=False)
class BetterTests:
    """Simultaneous tests of "this model is better than that one".

    Attributes
    ----------
    n_models : int
        Number of models.
    differences : callable
        Difference, standard error and degrees of freedom of pairs of models.
    errors : JointErrors or None
        Draws for Romano and Wolf's procedure; Holm's needs none.
    open_scores : OpenScores or None
        Tests of models without a finite estimate; nothing is proven of them where there
        may be a bias.
    bias : ndarray of shape (n_models, n_models) or None
        Largest bias that may favour the first of two models, in logits. It is taken off
        their difference: with the draws as they are, a larger bias then never proves
        more.
    """

    n_models: int
    differences: Callable[[Indices, Indices], tuple[Array, Array, Array]]
    errors: JointErrors | None
    open_scores: OpenScores | None
    bias: Array | None = None

    def __call__(
        self, better: Indices, worse: Indices, alpha: float
    ) -> NDArray[np.bool_]:
        """Which of these hypotheses are proven, as one family at level alpha."""
        difference, error, df = self.differences(better, worse)
        if self.bias is not None:
            difference = difference - self.bias[better, worse]
        _, p = one_sided_p(difference, error, df)
        if self.open_scores is not None and self.bias is None:
            p = self.open_scores.replaced(p, better, worse)
        if self.errors is None:
            return holm_adjust(p) <= alpha
        errors, is_drawn = self.errors, np.isfinite(error) & (error > 0)
        usable = np.flatnonzero(is_drawn | (p < 1.0))

        def null_p(chosen: Indices, largest: float) -> Array:
            at = usable[chosen]
            return errors.null_p(better[at], worse[at], df[at], is_drawn[at], largest)

        proven = np.zeros(len(p), dtype=bool)
        proven[usable] = romano_wolf_rejects(
            p[usable], null_p, len(errors.ratio), alpha, ~is_drawn[usable]
        )
        return proven

    def insertion(self, pairs: tuple[Indices, Indices], level: float) -> RankSets:
        """Sets of the ranks of models among their opponents, jointly over all pairs.

        Computes eq:simulation-rank-set: better and worse opponents are two families at
        half of the error each.
        """
        first, second = pairs
        half = (1.0 - level) / 2.0
        # An opponent proven better pushes the best rank down by one, one proven worse
        # the worst rank up by one.
        n_better = self._number(first[self(second, first, half)])
        n_worse = self._number(first[self(first, second, half)])
        return 1 + n_better, 1 + self._number(first) - n_worse

    def leaderboard(self, level: float) -> RankSets:
        """Sets of the ranks of all models among each other, jointly.

        "i is better than j" and "j is worse than i" are one hypothesis, so that a
        single family of all ordered pairs serves both ends of every set.
        """
        models = np.arange(self.n_models)
        better, worse = pairs_of(models, models)
        proven = self(better, worse, 1.0 - level)
        n_better, n_worse = self._number(worse[proven]), self._number(better[proven])
        return 1 + n_better, self.n_models - n_worse

    def best(self, tau: int, level: float) -> NDArray[np.bool_]:
        """Models that may be among the best tau, by inversion of tests.

        Only the tau best must be kept, so that each model has a family of its own:
        those better than it, at the tau-th part of the error.
        """
        models = np.arange(self.n_models)
        n_better = [
            self(*pairs_of(models, models[[model]]), (1.0 - level) / tau).sum()
            for model in models
        ]
        return np.array(n_better) < tau

    def _number(self, models: Indices) -> Indices:
        """How often each model occurs."""
        return np.bincount(models, minlength=self.n_models)
