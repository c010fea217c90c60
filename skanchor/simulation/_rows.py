"""Rows of a simulation: pairs of models, judges, and features of the responses."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
import pandas as pd

Rng = np.random.Generator
Array = np.ndarray

HUMAN = "human"
HUMAN_CODE = -1

N_PROMPT, N_HIDDEN = 2, 5
FEATURE_NOISE = 0.3

OFFSET_SD = 0.5
"""Standard deviation of the offsets of hidden units.

It decides how much models differ in mean features, and so how large the errors of
methods without features are. Its value reproduces their published errors.
"""


class Rows(NamedTuple):
    """Comparisons as codes of items (new models last) and judges, and features."""

    left: Array  # (n,)
    right: Array  # (n,)
    judge: Array  # (n,), HUMAN_CODE for people
    x_left: Array  # (n, n_features)
    x_right: Array  # (n, n_features)

    def table(self, items: list[str], judges: list[str]) -> pd.DataFrame:
        """Return the rows as a battles table."""
        names = np.asarray(items, dtype=object)
        # The code of people is -1, so that it reads the last label.
        raters = np.asarray([*judges, HUMAN], dtype=object)
        columns = {"model_a": names[self.left], "model_b": names[self.right]}
        columns["judge"] = raters[self.judge]
        for side, x in (("a", self.x_left), ("b", self.x_right)):
            columns |= {f"x{k + 1}_{side}": x[:, k] for k in range(x.shape[1])}
        return pd.DataFrame(columns)


def joined(*parts: Rows) -> Rows:
    """Rows of all parts, one part after the other."""
    return Rows(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class Design:
    """Judges, and models that each respond to a prompt by a tanh network."""

    n_models: int
    n_judges: int
    hidden: Array  # (n_items, N_HIDDEN, N_PROMPT)
    offset: Array  # (n_items, N_HIDDEN)
    output: Array  # (n_items, n_features, N_HIDDEN)
    shift: Array  # (n_new, n_features)

    @classmethod
    def draw(cls, rng: Rng, sizes: tuple[int, int, int, int], tau: float) -> Design:
        """Draw the networks, and one shift of length tau sqrt(5) per new model.

        ``sizes`` are the numbers of judges, historical and new models, and features.
        """
        n_judges, n_models, n_new, width = sizes
        n = n_models + n_new
        # A uniform direction for each new model; historical models are not shifted.
        direction = rng.normal(size=(n_new, width))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return cls(
            n_models,
            n_judges,
            hidden=rng.normal(size=(n, N_HIDDEN, N_PROMPT)),
            offset=rng.normal(0, OFFSET_SD, size=(n, N_HIDDEN)),
            output=rng.normal(size=(n, width, N_HIDDEN)) / np.sqrt(N_HIDDEN),
            shift=tau * np.sqrt(5) * direction,
        )

    def history(self, rng: Rng, n: int, people: float, pairs: Array | None) -> Rows:
        """Draw comparisons of historical models by people and judges.

        ``people`` is the probability that a row is by people or, an integer, their
        number of rows; they vote on these pairs, or on all.
        """
        left, right = _pairs(rng, n, self.n_models)
        if isinstance(people, Integral):
            # Exactly so many rows, at random positions.
            is_human = rng.permutation(n) < people
        else:
            is_human = rng.random(n) < people
        judge = np.where(is_human, HUMAN_CODE, rng.integers(self.n_judges, size=n))
        if pairs is not None:
            drawn = pairs[rng.integers(len(pairs), size=is_human.sum())]
            # Sides at random, as in all other rows.
            left[is_human], right[is_human] = rng.permuted(drawn, axis=1).T
        return self._answered(rng, left, right, judge)

    def arrivals(self, rng: Rng, n: int, met: Array, by_people: bool = False) -> Rows:
        """Draw ``n`` rows of each new model against models that it has met."""
        new = np.repeat(self.n_models + np.arange(len(self.shift)), n)
        opponent = met[rng.integers(len(met), size=new.size)]
        is_left = rng.random(new.size) < 0.5
        left, right = np.where(is_left, [new, opponent], [opponent, new])
        judge = np.full(new.size, HUMAN_CODE)
        if not by_people:
            judge = rng.integers(self.n_judges, size=new.size)
        return self._answered(rng, left, right, judge)

    def among_new(self, rng: Rng, n_votes: int, n_verdicts: int) -> Rows:
        """Draw comparisons of new models with each other, those by people first."""
        n = n_votes + n_verdicts
        left, right = np.zeros((2, 0), dtype=np.intp)
        if n:
            left, right = self.n_models + np.array(_pairs(rng, n, len(self.shift)))
        judge = rng.integers(self.n_judges, size=n)
        judge[:n_votes] = HUMAN_CODE
        return self._answered(rng, left, right, judge)

    def _answered(self, rng: Rng, left: Array, right: Array, judge: Array) -> Rows:
        """Rows in which both models of a pair respond to the same prompt."""
        prompts, features = rng.normal(size=(left.size, N_PROMPT)), []
        for items in (left, right):
            # Each row: output @ tanh(hidden @ prompt + offset) + shift, plus noise.
            inner = np.einsum("nhp,np->nh", self.hidden[items], prompts)
            active = np.tanh(inner + self.offset[items])
            mean = np.einsum("nfh,nh->nf", self.output[items], active)
            is_new = items >= self.n_models
            mean[is_new] += self.shift[items[is_new] - self.n_models]
            features.append(mean + rng.normal(0, FEATURE_NOISE, mean.shape))
        return Rows(left, right, judge, *features)


def _pairs(rng: Rng, n: int, n_models: int) -> tuple[Array, Array]:
    """Uniform pairs of distinct models, with uniform sides."""
    left = rng.integers(n_models, size=n)
    # A step of 1 to n_models - 1 around the circle of models never returns to `left`.
    return left, (left + rng.integers(1, n_models, size=n)) % n_models
