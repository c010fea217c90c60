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


class Design:
    """Judges, and models that each respond to a prompt by a tanh network.

    Parameters
    ----------
    rng : Generator
        Stream of the networks, and of the shifts of new models.
    n_judges, n_models, n_new, n_features : int
        Numbers of judges, historical models, new models, and features of a response.
    tau : float
        The features of a new model are shifted by ``tau sqrt(5)``.
    """

    def __init__(
        self,
        rng: Rng,
        n_judges: int,
        n_models: int,
        n_new: int,
        n_features: int,
        tau: float,
    ):
        self.n_judges, self.n_models, n_items = n_judges, n_models, n_models + n_new
        # A uniform direction for each new model; historical models are not shifted.
        direction = rng.normal(size=(n_new, n_features))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        # Shapes (n_new, n_features), then n_items of (N_HIDDEN, N_PROMPT), (N_HIDDEN,)
        # and (n_features, N_HIDDEN).
        self.shift = tau * np.sqrt(5) * direction
        self.hidden = rng.normal(size=(n_items, N_HIDDEN, N_PROMPT))
        self.offset = rng.normal(0, OFFSET_SD, size=(n_items, N_HIDDEN))
        size = n_items, n_features, N_HIDDEN
        self.output = rng.normal(size=size) / np.sqrt(N_HIDDEN)

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


Features = Callable[[Array], Array]
BiasMaker = Callable[[Rng, int], Features]


@dataclass(frozen=True)
class ResponseBias:
    """``psi(x) = terms(x) @ coef``, or ``coef terms(x)`` if `coef` is a number."""

    terms: Features
    coef: Any  # (n_terms,)

    def __call__(self, x) -> Array:
        return np.dot(self.terms(np.asarray(x, dtype=float)), self.coef)


def curved_terms(x: Array) -> Array:
    """``(sin 2 x1, x2^2 / 2, x1 x3)``, once for every three features."""
    x1, x2, x3 = (x[:, k::3] for k in range(3))
    # (n, n_features / 3, 3): the terms of each three features.
    return np.stack([np.sin(2 * x1), x2**2 / 2, x1 * x3], axis=2).reshape(x.shape)


TERMS: dict[str, Features] = {"linear": np.asarray, "curved": curved_terms}


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
    biases, width = {}, rows.x_left.shape[1]
    for m, judge in enumerate(judges):
        if isinstance(bias, str):
            psi = ResponseBias(TERMS[bias], rng.normal(size=width))
        else:
            psi = ResponseBias(bias(rng, width), 1.0)
        factor = 0.0
        if ratios[m] > 0:
            mine = rows.judge == m
            contrast = psi(rows.x_left[mine]) - psi(rows.x_right[mine])
            size = np.std(contrast) if contrast.size else 0.0
            if not size > 0:
                raise ValueError(
                    f"The bias of {judge!r} cannot be scaled by rho: it does not vary "
                    f"over its {contrast.size} historical rows. Increase n_historical, "
                    "decrease human_fraction or n_human, or set rho=0."
                )
            factor = ratios[m] * np.std(delta[mine]) / size
        biases[judge] = replace(psi, coef=factor * psi.coef)
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
    name: str, values: ArrayLike, n_models: int, n_columns: int | None = None
) -> Array:
    """Return numbers of historical models as integers, else raise.

    They are a list or, with two columns, pairs of different models.
    """
    array, shape = np.asarray(values), () if n_columns is None else (n_columns,)
    is_whole = array.dtype.kind in "iu" and array.shape[1:] == shape and array.size
    is_known = is_whole and ((array >= 0) & (array < n_models)).all()
    if not is_known or (shape and (array[:, 0] == array[:, 1]).any()):
        what = "pairs of different models" if shape else "models"
        raise ValueError(
            f"{name} must be a list of {what}, as numbers from 0 to {n_models - 1}, "
            f"got {values!r}."
        )
    return array.astype(np.intp)


def finite_array(
    name: str, values: ArrayLike, shape: tuple[int, ...], why: str
) -> np.ndarray:
    """Return values as a finite float array of a shape, else raise."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be finite, {why}: shape {shape}, got {values!r}."
        )
    return array
