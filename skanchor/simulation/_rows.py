"""Rows of a simulation, their features, and the law of their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

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


ResponseBias = Callable[[Array], Array]
BiasMaker = Callable[[Rng, int], ResponseBias]


@dataclass(frozen=True)
class LinearResponseBias:
    """``psi(x) = x @ coef``; `coef` has shape (n_features,)."""

    coef: Array

    def __call__(self, x) -> Array:
        return np.asarray(x, dtype=float) @ self.coef


@dataclass(frozen=True)
class CurvedResponseBias:
    """``psi(x) = coef @ (sin 2 x1, x2^2 / 2, x1 x3)``; `coef` has shape (3,).

    With more than three features, each further three add three such terms.
    """

    coef: Array

    def __call__(self, x) -> Array:
        x1, x2, x3 = (np.asarray(x, dtype=float)[:, k::3] for k in range(3))
        # (n, n_features / 3, 3): the terms of each three features.
        terms = np.stack([np.sin(2 * x1), x2**2 / 2, x1 * x3], axis=2)
        return terms.reshape(np.shape(x)) @ self.coef


@dataclass(frozen=True)
class ScaledBias:
    """``psi(x) = scale * shape(x)``."""

    shape: ResponseBias
    scale: float

    def __call__(self, x) -> Array:
        return self.scale * self.shape(x)


def draw_biases(
    rng: Rng,
    bias: str | BiasMaker,
    judges: Sequence[str],
    rows: Rows,
    delta: Array,
    ratios: Array,
) -> dict[str, ResponseBias]:
    """Draw a bias function for each judge.

    Over the rows of judge m its contrast has the standard deviation ``ratios[m]
    sd(delta)``, where ``delta`` are their score differences.
    """
    family: dict[str, BiasMaker] = {
        "linear": lambda rng, size: LinearResponseBias(rng.normal(size=size)),
        "curved": lambda rng, size: CurvedResponseBias(rng.normal(size=size)),
    }
    maker = family[bias] if isinstance(bias, str) else bias
    biases: dict[str, ResponseBias] = {}
    for m, judge in enumerate(judges):
        shape, factor = maker(rng, rows.x_left.shape[1]), 0.0
        if ratios[m] > 0:
            mine = rows.judge == m
            contrast = shape(rows.x_left[mine]) - shape(rows.x_right[mine])
            size = np.std(contrast) if contrast.size else 0.0
            if not size > 0:
                raise ValueError(
                    f"The bias of {judge!r} cannot be scaled by rho: it does not vary "
                    f"over its {contrast.size} historical rows. Increase n_historical, "
                    "decrease human_fraction or n_human, or set rho=0."
                )
            factor = ratios[m] * np.std(delta[mine]) / size
        if isinstance(shape, LinearResponseBias | CurvedResponseBias):
            biases[judge] = replace(shape, coef=factor * shape.coef)
        else:
            biases[judge] = ScaledBias(shape, factor)
    return biases


def draw_item_effects(
    rng: Rng, shape: tuple[int, int], item_sd: float, item_corr: float
) -> Array:
    """Item effects u of shape (n_items, n_judges), equicorrelated between judges."""
    unit = rng.normal(size=shape)
    # Multiply by the symmetric root of (1 - r) I + r 11', in closed form. A numerical
    # decomposition would not do: eigenvectors of equal eigenvalues are arbitrary, so
    # the draws would depend on the machine.
    single = np.sqrt(1.0 - item_corr)
    common = np.sqrt(max(1.0 + (shape[1] - 1) * item_corr, 0.0))
    mean = unit.mean(axis=1, keepdims=True)
    return item_sd * (single * unit + (common - single) * mean)


def logits_of(
    rows: Rows,
    scores: Array,
    sensitivities: Array,
    biases: Mapping[str, ResponseBias],
    item_effects: Array,
) -> Array:
    """Log-odds that the left side wins, of shape (n_rows,).

    Human rows follow eq:human-model-new, judge rows eq:hist-surrogate-model-new and
    eq:arrival-surrogate-model-new with item effects.
    """
    # delta on human rows, which stay so; judges' rows are changed below to
    # c_m delta + psi_m(x) - psi_m(x') + u_m,left - u_m,right.
    eta = scores[rows.left] - scores[rows.right]
    for m, psi in enumerate(biases.values()):
        mine, u = rows.judge == m, item_effects[:, m]
        eta[mine] *= sensitivities[m]
        eta[mine] += psi(rows.x_left[mine]) - psi(rows.x_right[mine])
        eta[mine] += u[rows.left[mine]] - u[rows.right[mine]]
    return eta


def model_numbers(
    name: str, values: ArrayLike | None, n_models: int, n_columns: int = 1
) -> Any:
    """Return numbers of historical models as integers, else raise.

    They are a list, all models for None, or with two columns pairs of different
    models, None for all pairs.
    """
    if values is None:
        return np.arange(n_models) if n_columns == 1 else None
    array = np.asarray(values)
    shape, is_whole = (() if n_columns == 1 else (2,)), array.dtype.kind in "iu"
    is_known = is_whole and array.size and ((array >= 0) & (array < n_models)).all()
    if not is_known or array.shape[1:] != shape:
        what = "a list" if n_columns == 1 else "a list of pairs"
        raise ValueError(
            f"{name} must be {what} of models, as numbers from 0 to {n_models - 1}, "
            f"got {values!r}."
        )
    if n_columns == 2 and (array[:, 0] == array[:, 1]).any():
        raise ValueError(f"{name} must have two different models in each row.")
    return array.astype(np.intp)


def finite_array(
    name: str, values: ArrayLike, shape: tuple[int, ...], why: str
) -> np.ndarray:
    """Return values as a finite float array of a shape, else raise."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}: {why}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite.")
    return array
