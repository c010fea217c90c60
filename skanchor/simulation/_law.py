"""Distribution of the outcomes: scores, sensitivities, biases and item effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from skanchor.simulation._biases import ResponseBias
from skanchor.simulation._checks import finite_array
from skanchor.simulation._rows import Labels, SimulatedRows


@dataclass(frozen=True)
class Law:
    """Parameters of all comparisons; items and judges are indexed by their codes."""

    scores: np.ndarray  # (n_items,)
    sensitivities: np.ndarray  # (n_judges,)
    biases: dict[str, ResponseBias]
    item_effects: np.ndarray  # (n_items, n_judges)

    def logits(self, rows: SimulatedRows) -> np.ndarray:
        """Log-odds that the left side wins, of shape (n_rows,).

        Human rows follow eq:human-model-new, judge rows eq:hist-surrogate-model-new and
        eq:arrival-surrogate-model-new with item effects.
        """
        # delta on human rows, which stay so; judges' rows are changed below to
        # c_m delta + psi_m(x) - psi_m(x') + u_m,left - u_m,right.
        eta = self.scores[rows.left] - self.scores[rows.right]
        for m, psi in enumerate(self.biases.values()):
            mine = rows.judge == m
            u = self.item_effects[:, m]
            eta[mine] *= self.sensitivities[m]
            eta[mine] += psi(rows.x_left[mine]) - psi(rows.x_right[mine])
            eta[mine] += u[rows.left[mine]] - u[rows.right[mine]]
        return eta


def draw_outcomes(rng: np.random.Generator, logits: np.ndarray) -> np.ndarray:
    """Bernoulli outcomes, 1 where the left side wins."""
    return (rng.random(logits.size) < expit(logits)).astype(int)


def draw_scores(
    rng: np.random.Generator,
    labels: Labels,
    scores: Sequence[float] | None,
    new_score: float | Sequence[float],
) -> np.ndarray:
    """Scores of all items, historical ones (of mean zero) first: shape (n_items,)."""
    n_models, n_new = len(labels.historical), len(labels.new)
    drawn = rng.normal(size=n_models) if scores is None else scores
    old = finite_array("scores", drawn, (n_models,), "one per historical model")
    given = [new_score] * n_new if np.ndim(new_score) == 0 else new_score
    new = finite_array("new_score", given, (n_new,), "one per new model")
    return np.concatenate([old - old.mean(), new])


def draw_sensitivities(
    rng: np.random.Generator, n_judges: int, sensitivities: Sequence[float] | None
) -> np.ndarray:
    """Sensitivities of the judges: the given ones, or draws from U(0.5, 2)."""
    drawn = (
        rng.uniform(0.5, 2.0, size=n_judges) if sensitivities is None else sensitivities
    )
    return finite_array("sensitivities", drawn, (n_judges,), "one per judge")


def draw_item_effects(
    rng: np.random.Generator, labels: Labels, item_sd: float, item_corr: float
) -> np.ndarray:
    """Item effects u of shape (n_items, n_judges), equicorrelated between judges."""
    n_items, n_judges = len(labels.items), len(labels.judges)
    unit = rng.normal(size=(n_items, n_judges))
    # Multiply by the symmetric root of (1 - r) I + r 11', in closed form. A numerical
    # decomposition would not do: eigenvectors of equal eigenvalues are arbitrary, so
    # the draws would depend on the machine.
    own = np.sqrt(1.0 - item_corr)
    common = np.sqrt(max(1.0 + (n_judges - 1) * item_corr, 0.0))
    return item_sd * (own * unit + (common - own) * unit.mean(axis=1, keepdims=True))
