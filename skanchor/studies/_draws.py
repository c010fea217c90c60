"""One draw of a cell: battles, their truth, and the tables that methods are given."""

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

from skanchor._btl import BTLRegressor
from skanchor._typing import Array
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

    Examples
    --------
    >>> from skanchor.simulation import simulate_battles
    >>> from skanchor.studies import Drawn
    >>> drawn = Drawn(simulate_battles(200, 200, random_state=3), seed=3)
    >>> drawn.apart
    False
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
        """Battles and outcomes of some rows."""
        return self.data.X[mask].reset_index(drop=True), self.data.y[mask]

    def with_votes(self, models: list[str]) -> tuple[pd.DataFrame, NDArray[Any]]:
        """The historical rows by people, and the extra votes on some new models."""
        X, y = self.rows(self.is_history & (self.data.X["judge"] == "human").to_numpy())
        extra = self.data.extra_X
        own = extra[["model_a", "model_b"]].isin(models).any(axis=1).to_numpy()
        X = pd.concat([X, extra[own]], ignore_index=True)
        return X, np.append(y, self.data.extra_y[own])

    @cached_property
    def human_scores(self) -> pd.Series:
        """Scores of the historical models by the historical votes alone."""
        return BTLRegressor().fit(*self.rows(self.is_history)).scores_

    @cached_property
    def true_ranks(self) -> pd.Series:
        """True insertion rank of each new model."""
        truth = self.data.truth
        ranks = {
            model: insertion_rank(score, truth.scores)
            for model, score in truth.new_scores.items()
        }
        return pd.Series(ranks)

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
        p = expit(delta.to_numpy(float))
        return truth.new_scores**2 / np.sum(p * (1.0 - p) * delta.to_numpy(float) ** 2)


def draw_battles(settings: Mapping[str, Any], seed: int) -> Drawn:
    """Draw battles by arguments of ``simulate_battles``.

    Parameters
    ----------
    settings : mapping
        The arguments.
    seed : int
        Seed of the draw.

    Returns
    -------
    Drawn
        The draw, whose new models are analysed together.

    Examples
    --------
    >>> from skanchor.studies import draw_battles
    >>> drawn = draw_battles({"n_historical": 1000, "n_new": 200}, seed=3)
    >>> drawn.seed, (drawn.data.X["judge"] == "human").sum()
    (3, np.int64(294))
    """
    return Drawn(simulate_battles(**settings, random_state=seed), seed)


def draw_variance(settings: Mapping[str, Any], seed: int) -> Drawn:
    """Draw battles with a number of verdicts, 70 % of them historical.

    Parameters
    ----------
    settings : mapping
        ``n_human`` and ``n_judge``.
    seed : int
        Seed of the draw.

    Returns
    -------
    Drawn
    """
    n_human, n_judge = settings["n_human"], settings["n_judge"]
    n_old = round(0.7 * n_judge)
    data = simulate_battles(
        n_human + n_old, n_judge - n_old, n_human=n_human, random_state=seed
    )
    return Drawn(data, seed)


def draw_insertion(settings: Mapping[str, Any], seed: int) -> Drawn:
    """Draw equally spaced models, and a new one at each midpoint between neighbours.

    Sensitivities and bias coefficients do not depend on the gap: they are those of the
    same seed with scores from N(0, 1).

    Parameters
    ----------
    settings : mapping
        ``gap`` between neighbours, in logits, and ``n_models``.
    seed : int
        Seed of the draw.

    Returns
    -------
    Drawn
        The draw, whose new models are analysed separately with the same history.
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


def draw_omitted(settings: Mapping[str, Any], seed: int) -> Drawn:
    """Draw the design of insertion with judges that like length, which no column has.

    Parameters
    ----------
    settings : mapping
        Those of :func:`draw_insertion`; ``preference``, judge logits per unit of
        length; and ``longer``, by how many units responses of new models are longer.
        Lengths vary from response to response by a standard deviation of one.
    seed : int
        Seed of the draw.

    Returns
    -------
    Drawn
    """
    drawn = draw_insertion(settings, seed)
    data, rng = drawn.data, np.random.default_rng([seed, 1])
    X = data.X
    is_new = [
        X[side].isin(drawn.new_models).to_numpy() for side in ("model_a", "model_b")
    ]
    first, second = (
        settings["longer"] * new + rng.normal(size=len(X)) for new in is_new
    )
    liked = settings["preference"] * (first - second)
    logits: Array = data.truth.logits + np.where(X["judge"] == "human", 0.0, liked)
    y = (rng.random(len(X)) < expit(logits)).astype(int)
    return Drawn(Bunch(**{**data, "y": y}), seed, apart=True)
