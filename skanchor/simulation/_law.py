"""Distribution of the outcomes: biases of judges, item effects, and logits of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skanchor.simulation._rows import Array, Rng, Rows

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
