"""Statements of a result, and by how much it is short of their opposite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skanchor._typing import Array
from skanchor.results import AnchorResult

GOALS = ("sign", "interval")
"""What may change."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A difference of two scores, as a result has it.

    Attributes
    ----------
    difference, error : float
        In logits.
    low, high : float
        Limits of its interval.
    """

    difference: float
    error: float
    low: float
    high: float

    @classmethod
    def of(cls, result: AnchorResult, model: Any, opponent: Any, level: float) -> Self:
        """Read it off the contrasts of a result."""
        row = result.contrasts(level).loc[(model, opponent)]
        return cls(
            *(float(row[name]) for name in ("difference", "standard_error")),
            *(float(row[name]) for name in ("low", "high")),
        )

    @property
    def is_known(self) -> bool:
        """Whether the difference has an error that is finite."""
        return bool(np.isfinite(self.difference) and np.isfinite(self.error))

    def near(self, side: float) -> float:
        """Limit next to zero, of the difference times ``side``."""
        return self.low if side > 0 else -self.high


@dataclass(frozen=True, eq=False, slots=True)
class Goal:
    """The opposite of a statement on a new model and another one.

    Attributes
    ----------
    kind : {"sign", "interval"}
        What is to change.
    model, opponent : label
        The models.
    level : float
        Confidence level.
    side : float
        Sign of the difference that it is about.
    gains : bool
        Whether the difference is to become significant, or its sign to be turned;
        otherwise it is to lose its significance.
    """

    kind: str
    model: Any
    opponent: Any
    level: float
    side: float
    gains: bool

    @classmethod
    def of_pair(
        cls, result: AnchorResult, kind: str, model: Any, opponent: Any, level: float
    ) -> Self:
        """The opposite of what a result says of the sign, or the interval."""
        now = Standing.of(result, model, opponent, level)
        side = 1.0 if now.difference >= 0 else -1.0
        gains = kind == "interval" and not now.near(side) > 0
        return cls(kind, model, opponent, level, side, gains)

    def measure(self, result: AnchorResult) -> tuple[Standing, float]:
        """What a result says of the difference, and how much is missing.

        Parameters
        ----------
        result : AnchorResult
            Of any rows.

        Returns
        -------
        standing : Standing
            The difference.
        margin : float
            In logits; negative where the goal is reached. NaN where the result does not
            determine the difference: a fit that breaks is no change of what it says.
        """
        now = Standing.of(result, self.model, self.opponent, self.level)
        if not now.is_known:
            return now, np.nan
        if self.kind == "sign":
            return now, self.side * now.difference
        return now, -now.near(self.side) if self.gains else now.near(self.side)

    def change(self, now: Standing, shift: Array, spread: Array) -> Array:
        """Change of the margin, to first order, by changes of difference and variance.

        Parameters
        ----------
        now : Standing
            From where.
        shift, spread : ndarray of shape (n_units,)
            Changes of the difference and of its variance.

        Returns
        -------
        ndarray of shape (n_units,)
        """
        moved = self.side * shift
        if self.kind == "sign":
            return moved
        moved = moved - self._ratio(now) * spread / (2.0 * now.error)
        return -moved if self.gains else moved

    def reached(self, now: Standing, shift: Array, spread: Array) -> Array:
        """Margin after changes of difference and variance that are added up.

        Parameters
        ----------
        now : Standing
            From where.
        shift, spread : ndarray of shape (n_steps,)
            Changes of the difference and of its variance.

        Returns
        -------
        ndarray of shape (n_steps,)
        """
        difference = self.side * (now.difference + shift)
        if self.kind == "sign":
            return difference
        error = np.sqrt(np.maximum(now.error**2 + spread, 0.0))
        margin = difference - self._ratio(now) * error
        return -margin if self.gains else margin

    def _ratio(self, now: Standing) -> float:
        """Ratio of difference to error where the limit next to zero is zero, about."""
        return (self.side * now.difference - now.near(self.side)) / now.error
