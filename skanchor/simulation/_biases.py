"""Bias functions psi of the judges, scaled to a given size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skanchor.simulation._checks import finite_array
from skanchor.simulation._rows import SimulatedRows

ResponseBias = Callable[[np.ndarray], np.ndarray]
BiasMaker = Callable[[np.random.Generator, int], ResponseBias]


@dataclass(frozen=True)
class LinearResponseBias:
    """``psi(x) = x @ coef``; `coef` has shape (n_features,)."""

    coef: np.ndarray

    def __call__(self, x) -> np.ndarray:
        return np.asarray(x, dtype=float) @ self.coef


@dataclass(frozen=True)
class CurvedResponseBias:
    """``psi(x) = coef @ (sin 2 x1, x2^2 / 2, x1 x3)``; `coef` has shape (3,).

    With more than three features, each further three add three such terms.
    """

    coef: np.ndarray

    def __call__(self, x) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        # From (n, n_features) to (n_features / 3, 3, n): the features in threes.
        terms = [
            term
            for x1, x2, x3 in x.T.reshape(x.shape[1] // 3, 3, len(x))
            for term in (np.sin(2 * x1), x2**2 / 2, x1 * x3)
        ]
        return np.column_stack(terms) @ self.coef


@dataclass(frozen=True)
class ScaledBias:
    """``psi(x) = scale * shape(x)``."""

    shape: Callable[[np.ndarray], np.ndarray]
    scale: float

    def __call__(self, x) -> np.ndarray:
        return self.scale * self.shape(x)


def draw_biases(
    rng: np.random.Generator,
    bias: str | BiasMaker,
    rho: float,
    judges: Sequence[str],
    scores: np.ndarray,
    sensitivities: np.ndarray,
    rows: SimulatedRows,
) -> dict[str, ResponseBias]:
    """Draw one bias function for each judge, of size `rho` over its rows.

    It is scaled so that sd(h_m) = rho sd(c_m delta) over the judge's historical rows.
    """
    maker = _bias_maker(bias)
    biases = {}
    for m, judge in enumerate(judges):
        its_rows = rows.of_judge(m)
        shape = maker(rng, rows.n_features)
        factor = 0.0
        if rho > 0:
            delta = scores[its_rows.left] - scores[its_rows.right]
            spread = _contrast_sd(shape, its_rows, judge)
            factor = rho * abs(sensitivities[m]) * np.std(delta) / spread
        biases[judge] = _times(shape, factor)
    return biases


def given_biases(
    coefs: Sequence[Sequence[float]], judges: Sequence[str], n_features: int
) -> dict[str, ResponseBias]:
    """Linear bias functions with given coefficients, one row for each judge."""
    shape = (len(judges), n_features)
    rows = finite_array("bias_coef", coefs, shape, "a row per judge")
    return {
        judge: LinearResponseBias(coef)
        for judge, coef in zip(judges, rows, strict=True)
    }


def _bias_maker(bias: str | BiasMaker) -> BiasMaker:
    """The user's function, or one that draws N(0, 1) coefficients of a family."""
    if not isinstance(bias, str):
        return bias
    family = LinearResponseBias if bias == "linear" else CurvedResponseBias
    return lambda rng, n_features: family(rng.normal(size=n_features))


def _contrast_sd(shape: ResponseBias, rows: SimulatedRows, judge: str) -> float:
    """Standard deviation of h_m over the judge's rows, before scaling."""
    contrast = shape(rows.x_left) - shape(rows.x_right)
    spread = np.std(contrast) if contrast.size else 0.0
    if not spread > 0:
        raise ValueError(
            f"The bias of {judge!r} cannot be scaled by rho: it does not vary over "
            f"its {contrast.size} historical rows. Increase n_historical, decrease "
            "human_fraction or n_human, or set rho=0."
        )
    return float(spread)


def _times(shape: ResponseBias, factor: float) -> ResponseBias:
    """Multiply a function by a factor, in its coefficients where it has them."""
    if isinstance(shape, LinearResponseBias | CurvedResponseBias):
        return replace(shape, coef=factor * shape.coef)
    return ScaledBias(shape, factor)
