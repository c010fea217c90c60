"""Rows of a simulation: pairs of models, judges, and features of the responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skanchor.simulation._checks import model_numbers
from skanchor.simulation._responses import N_PROMPT, Responders

HUMAN = "human"
HUMAN_CODE = -1

Pairs = tuple[np.ndarray, np.ndarray]

_NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Labels:
    """Names of the models and of the judges."""

    historical: list[str]
    new: list[str]
    judges: list[str]

    @classmethod
    def numbered(cls, n_models: int, n_new_models: int, n_judges: int) -> Labels:
        """Labels with kind and number; a single new model has no number."""
        new = [f"new-model-{g + 1}" for g in range(n_new_models)]
        return cls(
            [f"model-{i + 1:02d}" for i in range(n_models)],
            ["new-model"] if n_new_models == 1 else new,
            [f"judge-{m + 1}" for m in range(n_judges)],
        )

    @property
    def items(self) -> list[str]:
        """All models, in the order of their codes."""
        return [*self.historical, *self.new]


@dataclass(frozen=True)
class SimulatedRows:
    """Comparisons as item codes (new models last), judge codes and features."""

    left: np.ndarray  # (n,)
    right: np.ndarray  # (n,)
    judge: np.ndarray  # (n,), HUMAN_CODE for a human
    x_left: np.ndarray  # (n, n_features)
    x_right: np.ndarray  # (n, n_features)

    @classmethod
    def answered(
        cls,
        rng: np.random.Generator,
        pairs: Pairs,
        judge: np.ndarray,
        responders: Responders,
    ) -> SimulatedRows:
        """Rows in which both models of a pair respond to the same prompt."""
        left, right = pairs
        prompts = rng.normal(size=(left.size, N_PROMPT))
        x_left = responders.respond(rng, left, prompts)
        x_right = responders.respond(rng, right, prompts)
        return cls(left, right, judge, x_left, x_right)

    @classmethod
    def joined(cls, parts: Sequence[SimulatedRows]) -> SimulatedRows:
        """Rows of all parts, one part after the other."""
        by_column = zip(*(part._columns for part in parts), strict=True)
        return cls(*map(np.concatenate, by_column))

    @property
    def _columns(self) -> list[np.ndarray]:
        """The attributes, in order; all have a value for each row."""
        return [getattr(self, column.name) for column in fields(self)]

    @property
    def n_features(self) -> int:
        """Number of features of a response."""
        return self.x_left.shape[1]

    def of_judge(self, code: int) -> SimulatedRows:
        """Rows of one judge."""
        mine = self.judge == code
        return SimulatedRows(*(column[mine] for column in self._columns))

    def table(self, labels: Labels) -> pd.DataFrame:
        """Return the rows as a battles table."""
        items = np.asarray(labels.items, dtype=object)
        # The human code is -1, so that it reads the last label.
        judges = np.asarray([*labels.judges, HUMAN], dtype=object)
        columns = {
            "model_a": items[self.left],
            "model_b": items[self.right],
            "judge": judges[self.judge],
        }
        features = range(self.n_features)
        columns |= {f"x{k + 1}_a": self.x_left[:, k] for k in features}
        columns |= {f"x{k + 1}_b": self.x_right[:, k] for k in features}
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Graph:
    """Which historical models people compare, and which ones new models meet."""

    human_pairs: np.ndarray | None  # (n_pairs, 2); None for all pairs
    opponents: np.ndarray  # (n_opponents,)

    @classmethod
    def of(
        cls, human_pairs: ArrayLike | None, opponents: ArrayLike | None, n_models: int
    ) -> Graph:
        """Check the pairs and the opponents; None stands for all."""
        if opponents is None:
            meets = np.arange(n_models)
        else:
            meets = model_numbers("opponents", opponents, n_models)
            if meets.ndim != 1:
                raise ValueError(f"opponents must be a list, got shape {meets.shape}.")
        if human_pairs is None:
            return cls(None, meets)
        pairs = model_numbers("human_pairs", human_pairs, n_models)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError(
                "human_pairs must have two different models in each row, as in "
                "[(0, 1), (1, 2)]."
            )
        return cls(pairs, meets)


def historical_rows(
    rng: np.random.Generator,
    n: int,
    labels: Labels,
    responders: Responders,
    human_fraction: float,
    n_human: int | None,
    graph: Graph,
) -> SimulatedRows:
    """Draw comparisons of historical models by people and judges."""
    left, right = _historical_pairs(rng, n, len(labels.historical))
    judge = _historical_judges(rng, n, len(labels.judges), human_fraction, n_human)
    if graph.human_pairs is not None:
        voted = judge == HUMAN_CODE
        drawn = graph.human_pairs[
            rng.integers(len(graph.human_pairs), size=voted.sum())
        ]
        # Sides at random, as in all other rows.
        left[voted], right[voted] = rng.permuted(drawn, axis=1).T
    pairs = left, right
    return SimulatedRows.answered(rng, pairs, judge, responders)


def arrival_rows(
    rng: np.random.Generator,
    n: int,
    labels: Labels,
    responders: Responders,
    graph: Graph,
    *,
    human: bool = False,
) -> SimulatedRows:
    """Draw `n` comparisons of each new model, all by judges or all by people."""
    pairs = _arrival_pairs(rng, n, labels, graph.opponents)
    size = pairs[0].size
    if human:
        judge = np.full(size, HUMAN_CODE)
    else:
        judge = rng.integers(len(labels.judges), size=size)
    return SimulatedRows.answered(rng, pairs, judge, responders)


def rows_among_new(
    rng: np.random.Generator,
    n_votes: int,
    n_verdicts: int,
    labels: Labels,
    responders: Responders,
) -> SimulatedRows:
    """Draw comparisons of new models with each other, those by people first."""
    n = n_votes + n_verdicts
    left, right = _historical_pairs(rng, n, len(labels.new)) if n else 2 * (_NO_ROWS,)
    judge = rng.integers(len(labels.judges), size=n)
    judge[:n_votes] = HUMAN_CODE
    pairs = len(labels.historical) + left, len(labels.historical) + right
    return SimulatedRows.answered(rng, pairs, judge, responders)


def _historical_pairs(rng: np.random.Generator, n: int, n_models: int) -> Pairs:
    """Uniform pairs of distinct models, with uniform sides."""
    left = rng.integers(n_models, size=n)
    # A step of 1 to n_models - 1 around the circle of models never returns to `left`.
    return left, (left + rng.integers(1, n_models, size=n)) % n_models


def _arrival_pairs(
    rng: np.random.Generator, n: int, labels: Labels, opponents: np.ndarray
) -> Pairs:
    """`n` rows per new model against uniform opponents, uniform sides."""
    new = np.repeat(len(labels.historical) + np.arange(len(labels.new)), n)
    opponent = opponents[rng.integers(len(opponents), size=new.size)]
    new_is_left = rng.random(new.size) < 0.5
    left = np.where(new_is_left, new, opponent)
    return left, np.where(new_is_left, opponent, new)


def _historical_judges(
    rng: np.random.Generator,
    n: int,
    n_judges: int,
    human_fraction: float,
    n_human: int | None,
) -> np.ndarray:
    """Judge codes: humans by probability or by number, and uniformly drawn judges."""
    if n_human is None:
        is_human = rng.random(n) < human_fraction
    else:
        # Exactly n_human rows, at random positions.
        is_human = rng.permutation(n) < n_human
    return np.where(is_human, HUMAN_CODE, rng.integers(n_judges, size=n))
