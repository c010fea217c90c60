"""What a design is, and one draw of it: rows, the truth, and how they are fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Bunch

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.simulation import simulate_battles

Array = NDArray[np.float64]
KEYS = ["model_a", "model_b", "judge"]
SIDES = KEYS[:2]
NEW = "new-model"

PAPER = {
    "historical_fit": "two-step",
    "item_effects": None,
    "disagreement": "ignore",
    "calibrator": JudgeCalibrator(position_effect=False),
}
"""Settings of the paper's method."""

ROW_SHARE = 1.0
"""Share of the rows of a design that are drawn; tests lower it."""


def simulate(
    n_historical: int = 8000,
    n_new: int = 500,
    *,
    n_human: int | None = None,
    **settings: Any,
) -> Bunch:
    """Call ``simulate_battles``, with a share of the rows."""
    if n_human is not None:
        n_human = round(ROW_SHARE * n_human)
    return simulate_battles(
        round(ROW_SHARE * n_historical),
        round(ROW_SHARE * n_new),
        n_human=n_human,
        **settings,
    )


@dataclass
class Case:
    """One draw: rows that designs may change before outcomes are drawn again.

    Attributes
    ----------
    X, y : battles and outcomes
    truth : float or None
        Score that the interval of ``model`` should contain; None where only the
        measures of the design count.
    seed : int
    data : Bunch
        What ``simulate_battles`` drew.
    model : label
    fit, settings : dict
        Arguments of ``fit``, and parameters of the pipeline.
    result_of : callable
        From the fitted pipeline to the result that is measured.
    """

    X: pd.DataFrame
    y: NDArray[Any]
    truth: float | None
    seed: int
    data: Bunch
    model: Any = NEW
    fit: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    result_of: Callable[[Any], Any] = lambda fitted: fitted.result_

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, 11])

    @classmethod
    def drawn(cls, seed: int, features: bool = False, **settings: Any) -> Case:
        """Simulate battles, without their features unless they are wanted."""
        data = simulate(**settings, random_state=seed)
        X = data.X if features else data.X[KEYS].copy()
        new_scores = data.truth.new_scores
        return cls(
            X, np.asarray(data.y), float(new_scores.iloc[-1]), seed, data,
            model=new_scores.index[-1],
        )  # fmt: skip

    @property
    def new_scores(self) -> pd.Series:
        """True scores of the new models."""
        return self.data.truth.new_scores

    @property
    def scores(self) -> pd.Series:
        """True scores of the historical models, then of the new ones."""
        return pd.concat([self.data.truth.scores, self.new_scores])

    @property
    def logits(self) -> Array:
        """True logits of the rows as they were simulated."""
        return np.asarray(self.data.truth.logits)

    @property
    def human(self) -> NDArray[np.bool_]:
        return (self.X["judge"] == "human").to_numpy()

    @property
    def side(self) -> Array:
        """1 where a new model is first, -1 where it is second, 0 without one."""
        first, second = (self.X[side].isin(self.new_scores.index) for side in SIDES)
        return first.to_numpy(float) - second.to_numpy(float)

    @property
    def slope(self) -> Array:
        """Sensitivity of the judge of each row, 1 of people."""
        sensitivities = self.X["judge"].map(self.data.truth.sensitivities)
        return sensitivities.fillna(1.0).to_numpy(float)

    def gaps(self, values: pd.Series | None = None) -> Array:
        """Difference of the first side to the second: true scores, or other values."""
        values = self.scores if values is None else values
        first, second = (self.X[side].map(values) for side in SIDES)
        return (first - second).to_numpy(float)

    def redraw(self, chance: Array, rows: Any = True) -> Case:
        """Draw outcomes of these rows again, of this chance for the first model."""
        fresh = self.rng.random(len(chance)) < chance
        self.y = np.where(rows, fresh, self.y).astype(self.y.dtype)
        return self

    def count_equal_rows(self, weights: str = "frequency") -> Case:
        """Put the number of equal rows in their place, as weights of this kind."""
        table = self.X.assign(y=self.y).groupby([*KEYS, "y"], as_index=False).size()
        self.X, self.y = table[KEYS], table["y"].to_numpy()
        self.fit["sample_weight"] = table["size"].to_numpy()
        self.settings["weights"] = weights
        return self

    def only(self, rows: NDArray[Any]) -> Case:
        """Leave out all other rows."""
        self.X, self.y = self.X.iloc[rows].reset_index(drop=True), self.y[rows]
        return self


@dataclass(frozen=True)
class Design:
    """A design of the registry.

    Attributes
    ----------
    sentence : str
        What is special about it.
    draw : callable
        From a seed to a :class:`Case`.
    settings : mapping
        Parameters of the estimator, beside those of the case.
    measure : callable or None
        From the fitted estimator and the case to further numbers by name, whose means
        are printed.
    estimator : callable
        Makes the estimator from its parameters.
    """

    sentence: str
    draw: Callable[[int], Case]
    settings: Mapping[str, Any] = field(default_factory=dict)
    measure: Callable[[Any, Case], dict[str, float]] | None = None
    estimator: Callable[..., Any] = AnchorPipeline
