"""Rows of a simulation, their features, and the law of their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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


class Design:
    """Judges, and models that each respond to a prompt by a tanh network.

    Networks are drawn, and one shift of length tau sqrt(5) per new model. ``sizes`` are
    the numbers of judges, historical and new models, and features.
    """

    def __init__(self, rng: Rng, sizes: tuple[int, int, int, int], tau: float):
        self.n_judges, self.n_models, n_new, width = sizes
        n = self.n_models + n_new
        # A uniform direction for each new model; historical models are not shifted.
        shift = rng.normal(size=(n_new, width))
        shift *= tau * np.sqrt(5) / np.linalg.norm(shift, axis=1, keepdims=True)
        self.shift = np.vstack([np.zeros((self.n_models, width)), shift])
        self.hidden = rng.normal(size=(n, N_HIDDEN, N_PROMPT))
        self.offset = rng.normal(0, OFFSET_SD, size=(n, N_HIDDEN))
        self.output = rng.normal(size=(n, width, N_HIDDEN)) / np.sqrt(N_HIDDEN)

    def history(self, rng: Rng, n: int, people: float) -> Rows:
        """Draw comparisons of historical models by people and judges.

        ``people`` is the probability that a row is by people or, an integer, their
        number of rows.
        """
        left, right = _pairs(rng, n, self.n_models)
        if isinstance(people, Integral):
            # Exactly so many rows, at random positions.
            is_human = rng.permutation(n) < people
        else:
            is_human = rng.random(n) < people
        judge = np.where(is_human, HUMAN_CODE, rng.integers(self.n_judges, size=n))
        return self._answered(rng, left, right, judge)

    def arrivals(self, rng: Rng, n: int, met: Array, by_people: bool = False) -> Rows:
        """Draw ``n`` rows of each new model against models that it has met."""
        new = np.repeat(np.arange(self.n_models, len(self.shift)), n)
        opponent = met[rng.integers(len(met), size=new.size)]
        is_left = rng.random(new.size) < 0.5
        left, right = np.where(is_left, [new, opponent], [opponent, new])
        judge = np.full(new.size, HUMAN_CODE)
        if not by_people:
            judge = rng.integers(self.n_judges, size=new.size)
        return self._answered(rng, left, right, judge)

    def _answered(self, rng: Rng, left: Array, right: Array, judge: Array) -> Rows:
        """Rows in which both models of a pair respond to the same prompt."""
        prompts, features = rng.normal(size=(left.size, N_PROMPT)), []
        for items in (left, right):
            # Each row: output @ tanh(hidden @ prompt + offset) + shift, plus noise.
            inner = np.einsum("nhp,np->nh", self.hidden[items], prompts)
            active = np.tanh(inner + self.offset[items])
            mean = np.einsum("nfh,nh->nf", self.output[items], active)
            mean += self.shift[items]
            features.append(mean + rng.normal(0, FEATURE_NOISE, mean.shape))
        return Rows(left, right, judge, *features)


def _pairs(rng: Rng, n: int, n_models: int) -> tuple[Array, Array]:
    """Uniform pairs of distinct models, with uniform sides."""
    left = rng.integers(n_models, size=n)
    # A step of 1 to n_models - 1 around the circle of models never returns to `left`.
    return left, (left + rng.integers(1, n_models, size=n)) % n_models


ResponseBias = Callable[[Any], Array]
BiasMaker = Callable[[Rng, int], ResponseBias]


def linear_bias(coef: Array, x: ArrayLike) -> Array:
    """``psi(x) = x @ coef``; `coef` has shape (n_features,)."""
    return np.asarray(np.asarray(x, dtype=float) @ coef)


def curved_bias(coef: Array, x: ArrayLike) -> Array:
    """``psi(x) = coef @ (sin 2 x1, x2^2 / 2, x1 x3)``; `coef` has shape (n_features,).

    With more than three features, each further three add three such terms.
    """
    x1, x2, x3 = (np.asarray(x, dtype=float)[:, k::3] for k in range(3))
    # (n, n_features / 3, 3): the terms of each three features.
    terms = np.stack([np.sin(2 * x1), x2**2 / 2, x1 * x3], axis=2)
    return np.asarray(terms.reshape(np.shape(x)) @ coef)


FAMILIES: dict[str, Any] = {"linear": linear_bias, "curved": curved_bias}


@dataclass(frozen=True)
class ScaledBias:
    """``psi(x) = scale * shape(x)``."""

    shape: ResponseBias
    scale: float

    def __call__(self, x: ArrayLike) -> Array:
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
    biases: dict[str, ResponseBias] = {}
    width = rows.x_left.shape[1]
    for m, judge in enumerate(judges):
        if isinstance(bias, str):
            shape: ResponseBias = partial(FAMILIES[bias], rng.normal(size=width))
        else:
            shape = bias(rng, width)
        factor = 0.0
        if ratios[m] > 0:
            mine = rows.judge == m
            contrast = shape(rows.x_left[mine]) - shape(rows.x_right[mine])
            size = np.std(contrast) if contrast.size else 0.0
            if not size > 0:
                raise ValueError(
                    f"The bias of {judge!r} cannot be scaled by rho: it does not vary "
                    f"over its {contrast.size} historical rows. Draw more or set rho=0."
                )
            factor = ratios[m] * np.std(delta[mine]) / size
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


def model_numbers(name: str, values: ArrayLike | None, n_models: int) -> Any:
    """Return numbers of historical models, all of them for None, else raise."""
    array = np.asarray(range(n_models) if values is None else values)
    is_whole = array.ndim == 1 and array.size and array.dtype.kind in "iu"
    if not is_whole or not ((array >= 0) & (array < n_models)).all():
        raise ValueError(
            f"{name} must be a list of models, as numbers from 0 to {n_models - 1}, "
            f"got {values!r}."
        )
    return array


def finite_array(name: str, values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return values as a finite float array of a shape, else raise."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite.")
    return array
