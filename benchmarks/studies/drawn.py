"""One draw of a cell: battles, their truth, and the tables that methods get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import Bunch

from skanchor import BTLRegressor
from skanchor.metrics import insertion_rank
from skanchor.simulation import simulate_battles


@dataclass(frozen=True)
class Drawn:
    """Simulated battles of one draw.

    Attributes
    ----------
    data : Bunch
        Result of :func:`skanchor.simulation.simulate_battles`.
    seed : int
        Seed of the draw, also of the folds and resamples of the methods.
    apart : bool
        Whether each new model is analysed separately, with the same history.
    """

    data: Bunch
    seed: int
    apart: bool = False

    @property
    def new_models(self) -> list[str]:
        """Labels of the new models."""
        return list(self.data.truth.new_models)

    @cached_property
    def rows_with(self) -> dict[str, NDArray[np.bool_]]:
        """By new model, the mask of its rows."""
        sides = self.data.X[["model_a", "model_b"]]
        return {
            model: (sides == model).to_numpy().any(axis=1) for model in self.new_models
        }

    @cached_property
    def is_history(self) -> NDArray[np.bool_]:
        """Mask of the rows without a new model."""
        return ~np.logical_or.reduce(list(self.rows_with.values()))

    def rows(self, mask: NDArray[np.bool_]) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Battles and outcomes of the rows of a mask."""
        return self.data.X[mask].reset_index(drop=True), self.data.y[mask]

    def with_votes(self, models: list[str]) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Historical rows by people, and the extra votes on these new models."""
        X, y = self.rows(self.is_history & (self.data.X["judge"] == "human").to_numpy())
        extra = self.data.extra_X
        on_models = extra[["model_a", "model_b"]].isin(models).any(axis=1).to_numpy()
        X = pd.concat([X, extra[on_models]], ignore_index=True)
        return X, np.append(y, self.data.extra_y[on_models])

    @cached_property
    def human_scores(self) -> pd.Series:
        """Scores of the historical models by the historical votes alone."""
        return BTLRegressor().fit(*self.rows(self.is_history)).scores_

    @cached_property
    def true_ranks(self) -> pd.Series:
        """True insertion rank of each new model."""
        truth = self.data.truth
        return truth.new_scores.map(lambda score: insertion_rank(score, truth.scores))

    @cached_property
    def lower_bounds(self) -> pd.Series:
        """Part of the variance that judges cannot lower, from the true scores.

        ``B_l = (l'v0)^2 / (n_H v0' J_H v0)`` with ``v0 = s0 / |s0|``. For the score t
        of a new model ``l'v0 = t / |s0|``, and a vote between scores that differ by
        delta adds ``V (delta / |s0|)^2`` to the denominator, so that |s0| cancels.
        """
        truth, X = self.data.truth, self.data.X
        votes = X[self.is_history & (X["judge"] == "human").to_numpy()]
        delta = votes["model_a"].map(truth.scores) - votes["model_b"].map(truth.scores)
        delta = delta.to_numpy(float)
        p = expit(delta)
        return truth.new_scores**2 / np.sum(p * (1.0 - p) * delta**2)


def draw_battles(settings: Mapping[str, Any], seed: int) -> Drawn:
    """Draw battles by arguments of ``simulate_battles``."""
    return Drawn(simulate_battles(**settings, random_state=seed), seed)


def draw_variance(settings: Mapping[str, Any], seed: int) -> Drawn:
    """Draw ``n_human`` votes and ``n_judge`` verdicts, 70 % of them historical."""
    n_human, n_judge = settings["n_human"], settings["n_judge"]
    n_old = round(0.7 * n_judge)
    data = simulate_battles(
        n_human + n_old, n_judge - n_old, n_human=n_human, random_state=seed
    )
    return Drawn(data, seed)


def draw_insertion(settings: Mapping[str, Any], seed: int) -> Drawn:
    """Draw models at equal gaps, and a new one at each midpoint between neighbours.

    Sensitivities and bias coefficients do not depend on the gap: they are those of the
    same seed with scores from N(0, 1). New models are analysed one by one.
    """
    n_models = settings["n_models"]
    scores = settings["gap"] * (np.arange(n_models) - (n_models - 1) / 2.0)
    # The coefficients are scaled by the contrasts of the whole history, so that it is
    # drawn here, too, without arrivals.
    truth = simulate_battles(n_new=1, n_models=n_models, random_state=seed).truth
    data = simulate_battles(
        n_models=n_models,
        n_new_models=n_models - 1,
        new_score=(scores[1:] + scores[:-1]) / 2.0,
        scores=scores,
        bias_coef=truth.bias_coef.to_numpy(),
        random_state=seed,
    )
    return Drawn(data, seed, apart=True)
