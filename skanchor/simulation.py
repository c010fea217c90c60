"""Battles with known human scores, judge sensitivities and judge biases.

The design is the one of the simulation study of the ANCHOR paper (its Section 5),
with the choices that its supplement would settle made here and documented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

__all__ = ["simulate_battles"]

HUMAN = "human"
_N_PROMPT = 2
_N_HIDDEN = 5
_FEATURE_NOISE = 0.3
# The offsets set how far models differ in mean features, hence how badly a method
# without features does; 0.5 was chosen to match METHOD.md, Section 6, for those.
_OFFSET_SD = 0.5
_HUMAN_CODE = -1

BiasMaker = Callable[[np.random.Generator, int], Callable[[np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class LinearResponseBias:
    """``psi(x) = x @ coef``; `coef` has shape (n_features,)."""

    coef: np.ndarray

    def __call__(self, x) -> np.ndarray:
        return np.asarray(x, dtype=float) @ self.coef


@dataclass(frozen=True)
class CurvedResponseBias:
    """``psi(x) = coef @ (sin 2 x1, x2^2 / 2, x1 x3)``; `coef` has shape (3,).

    More features come in threes, of which every one adds three such terms.
    """

    coef: np.ndarray

    def __call__(self, x) -> np.ndarray:
        x = np.asarray(x, dtype=float)
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


@dataclass(frozen=True)
class _Rows:
    """Comparisons as item codes (new models last), judge codes and features."""

    left: np.ndarray  # (n,)
    right: np.ndarray  # (n,)
    judge: np.ndarray  # (n,), _HUMAN_CODE for a human
    x_left: np.ndarray  # (n, n_features)
    x_right: np.ndarray  # (n, n_features)


@dataclass(frozen=True)
class _Responders:
    """One tanh network per item, from a prompt to the features of its response."""

    hidden: np.ndarray  # (n_items, _N_HIDDEN, _N_PROMPT)
    offset: np.ndarray  # (n_items, _N_HIDDEN)
    output: np.ndarray  # (n_items, n_features, _N_HIDDEN)
    shift: np.ndarray  # (n_items, n_features), zero for historical models

    def respond(self, rng, items, prompts) -> np.ndarray:
        inner = np.einsum("nhp,np->nh", self.hidden[items], prompts)
        active = np.tanh(inner + self.offset[items])
        mean = np.einsum("nfh,nh->nf", self.output[items], active) + self.shift[items]
        return mean + rng.normal(0, _FEATURE_NOISE, mean.shape)


def _make_responders(
    rng, n_historical_models, n_new_models, tau, n_features
) -> _Responders:
    """Draw the networks, and one shift of length tau sqrt(5) per new model."""
    n = n_historical_models + n_new_models
    shift = np.zeros((n, n_features))
    direction = rng.normal(size=(n_new_models, n_features))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    shift[n_historical_models:] = tau * np.sqrt(5) * direction
    return _Responders(
        hidden=rng.normal(size=(n, _N_HIDDEN, _N_PROMPT)),
        offset=rng.normal(0, _OFFSET_SD, size=(n, _N_HIDDEN)),
        output=rng.normal(size=(n, n_features, _N_HIDDEN)) / np.sqrt(_N_HIDDEN),
        shift=shift,
    )


def _historical_pairs(rng, n, n_models) -> tuple[np.ndarray, np.ndarray]:
    """Uniform pairs of distinct models, uniform sides."""
    left = rng.integers(n_models, size=n)
    return left, (left + rng.integers(1, n_models, size=n)) % n_models


def _arrival_pairs(rng, n, n_models, n_new_models) -> tuple[np.ndarray, np.ndarray]:
    """`n` rows per new model against uniform historical models, uniform sides."""
    new = np.repeat(n_models + np.arange(n_new_models), n)
    opponent = rng.integers(n_models, size=new.size)
    new_is_left = rng.random(new.size) < 0.5
    left = np.where(new_is_left, new, opponent)
    return left, np.where(new_is_left, opponent, new)


def _historical_judges(rng, n, n_judges, human_fraction, n_human) -> np.ndarray:
    if n_human is None:
        is_human = rng.random(n) < human_fraction
    else:
        is_human = rng.permutation(n) < n_human
    return np.where(is_human, _HUMAN_CODE, rng.integers(n_judges, size=n))


def _make_rows(rng, pairs, judge, responders) -> _Rows:
    """Both sides answer one prompt of their own row."""
    left, right = pairs
    prompts = rng.normal(size=(left.size, _N_PROMPT))
    x_left = responders.respond(rng, left, prompts)
    x_right = responders.respond(rng, right, prompts)
    return _Rows(left, right, judge, x_left, x_right)


def _bias_maker(bias: str | BiasMaker) -> BiasMaker:
    if not isinstance(bias, str):
        return bias
    family = LinearResponseBias if bias == "linear" else CurvedResponseBias
    return lambda rng, n_features: family(rng.normal(size=n_features))


def _scale_bias(shape, rho, sensitivity, delta, rows, judge):
    """Scale `shape` so that sd(h_m) = rho * sd(c_m delta) over the judge's `rows`."""
    if rho == 0:
        factor = 0.0
    else:
        contrast = shape(rows.x_left) - shape(rows.x_right)
        spread = np.std(contrast) if contrast.size else 0.0
        if not spread > 0:
            raise ValueError(
                f"The bias of {judge!r} cannot be scaled by rho: it does not vary over "
                f"its {contrast.size} historical rows. Increase n_historical, decrease "
                "human_fraction or n_human, or set rho=0."
            )
        factor = rho * abs(sensitivity) * np.std(delta) / spread
    if hasattr(shape, "coef"):
        return replace(shape, coef=factor * shape.coef)
    return ScaledBias(shape, factor)


def _draw_biases(rng, bias, rho, sensitivities, scores, rows, judges) -> dict:
    maker = _bias_maker(bias)
    delta = scores[rows.left] - scores[rows.right]
    biases = {}
    for m, judge in enumerate(judges):
        mine = rows.judge == m
        its_rows = replace(rows, x_left=rows.x_left[mine], x_right=rows.x_right[mine])
        shape = maker(rng, rows.x_left.shape[1])
        biases[judge] = _scale_bias(
            shape, rho, sensitivities[m], delta[mine], its_rows, judge
        )
    return biases


def _draw_item_effects(rng, n_items, n_judges, item_sd, item_corr) -> np.ndarray:
    """Deviations u of shape (n_items, n_judges), equicorrelated between judges."""
    covariance = np.full((n_judges, n_judges), item_corr)
    np.fill_diagonal(covariance, 1.0)
    mean = np.zeros(n_judges)
    unit = rng.multivariate_normal(mean, covariance, size=n_items, method="eigh")
    return item_sd * unit


def _logits(rows, scores, sensitivities, biases, item_effects) -> np.ndarray:
    """Log-odds that the left side wins: METHOD.md Section 1, with Section 8's u."""
    eta = scores[rows.left] - scores[rows.right]
    for m, psi in enumerate(biases.values()):
        mine = rows.judge == m
        u = item_effects[:, m]
        eta[mine] *= sensitivities[m]
        eta[mine] += psi(rows.x_left[mine]) - psi(rows.x_right[mine])
        eta[mine] += u[rows.left[mine]] - u[rows.right[mine]]
    return eta


def _battles(rows: list[_Rows], items, judges) -> pd.DataFrame:
    left, right, judge, x_left, x_right = (
        np.concatenate([getattr(part, name) for part in rows])
        for name in ("left", "right", "judge", "x_left", "x_right")
    )
    # The human code is -1, hence the last of the labels.
    columns = {
        "model_a": np.asarray(items, dtype=object)[left],
        "model_b": np.asarray(items, dtype=object)[right],
        "judge": np.asarray([*judges, HUMAN], dtype=object)[judge],
    }
    n_features = x_left.shape[1]
    columns |= {f"x{k + 1}_a": x_left[:, k] for k in range(n_features)}
    columns |= {f"x{k + 1}_b": x_right[:, k] for k in range(n_features)}
    return pd.DataFrame(columns)


def _fixed(name, values, shape, why) -> np.ndarray:
    """Return `values` as a finite float array of `shape`, or say what is wrong."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}: {why}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite.")
    return array


def _check_together(
    n_historical, n_human, n_judges, item_corr, bias, bias_coef, n_features
):
    if n_human is not None and n_human > n_historical:
        raise ValueError(f"n_human={n_human} exceeds n_historical={n_historical}.")
    if n_judges > 1 and item_corr < -1 / (n_judges - 1):
        raise ValueError(
            f"item_corr={item_corr} is below -1/(n_judges - 1), the least correlation "
            f"that {n_judges} judges can all have with one another."
        )
    if bias_coef is not None and bias != "linear":
        raise ValueError("bias_coef needs bias='linear'.")
    if bias == "curved" and n_features % 3:
        raise ValueError(
            f"bias='curved' needs n_features to be a multiple of 3, got {n_features}."
        )


@validate_params(
    {
        "n_historical": [Interval(Integral, 1, None, closed="left")],
        "n_new": [Interval(Integral, 0, None, closed="left")],
        "n_models": [Interval(Integral, 2, None, closed="left")],
        "n_judges": [Interval(Integral, 1, None, closed="left")],
        "n_new_models": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "human_fraction": [Interval(Real, 0, 1, closed="both")],
        "n_human": [Interval(Integral, 0, None, closed="left"), None],
        "rho": [Interval(Real, 0, None, closed="left")],
        "tau": [Interval(Real, 0, None, closed="left")],
        "new_score": [Interval(Real, None, None, closed="neither"), "array-like"],
        "n_extra_human": [Interval(Integral, 0, None, closed="left")],
        "bias": [StrOptions({"linear", "curved"}), callable],
        "scores": ["array-like", None],
        "sensitivities": ["array-like", None],
        "bias_coef": ["array-like", None],
        "item_sd": [Interval(Real, 0, None, closed="left")],
        "item_corr": [Interval(Real, -1, 1, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def simulate_battles(
    n_historical: int = 8000,
    n_new: int = 500,
    *,
    n_models: int = 10,
    n_judges: int = 3,
    n_new_models: int = 1,
    human_fraction: float = 0.3,
    n_human: int | None = None,
    rho: float = 0.5,
    tau: float = 0.3,
    new_score: float | Sequence[float] = 0.5,
    n_extra_human: int = 150,
    bias: str | BiasMaker = "linear",
    scores: Sequence[float] | None = None,
    sensitivities: Sequence[float] | None = None,
    bias_coef: Sequence[Sequence[float]] | None = None,
    item_sd: float = 0.0,
    item_corr: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
    n_features: int = 3,
) -> Bunch:
    """Simulate human and judge comparisons of old models and of new ones.

    The defaults are the main design of the paper's simulation study. Every row has
    its own prompt ``u ~ N(0, I_2)``; the features of a response are a
    model-specific tanh network of u (five hidden units, standard normal weights,
    N(0, 0.5^2) offsets, output weights of variance 1/5) plus ``N(0, 0.3^2 I)`` noise.

    Parameters
    ----------
    n_historical : int, default=8000
        Comparisons among historical models, by humans and judges together.
    n_new : int, default=500
        Judge comparisons of each new model with uniform historical models.
    n_models, n_judges, n_new_models : int, default=10, 3, 1
        Historical models, LLM judges, and new models.
    human_fraction : float, default=0.3
        Probability that a historical row is judged by a human; the others go to
        uniformly drawn judges.
    n_human : int or None, default=None
        Exact number of historical human rows; overrides `human_fraction`.
    rho : float, default=0.5
        Size of the judge bias: ``sd(h_m) = rho * sd(c_m delta)`` over the judge's
        historical rows. Not used where `bias_coef` is given.
    tau : float, default=0.3
        The features of a new model are shifted by ``tau * sqrt(5)`` in a random
        direction.
    new_score : float or sequence of float, default=0.5
        Scores of the new models, in human log-odds on the scale where the historical
        scores have mean zero. One number serves all new models.
    n_extra_human : int, default=150
        Extra human rows of each new model, returned apart (for `HumanOnly`).
    bias : {"linear", "curved"} or callable, default="linear"
        Family of the bias functions psi, with standard normal coefficients before
        scaling. "curved" is ``a1 sin(2 x1) + a2 x2^2 / 2 + a3 x1 x3``, once for every
        three features. A callable
        ``maker(rng, n_features)`` returns one judge's unscaled ``psi(x)``, from
        features of shape (n, n_features) to an array of shape (n,).
    scores : array-like of shape (n_models,) or None, default=None
        Historical scores, centred on use; None draws N(0, 1).
    sensitivities : array-like of shape (n_judges,) or None, default=None
        Judge log-odds per unit of human log-odds; None draws U(0.5, 2).
    bias_coef : array-like of shape (n_judges, n_features) or None, default=None
        Linear bias coefficients, used as they are.
    item_sd, item_corr : float, default=0.0
        Standard deviation of the item deviations ``u_{m,i}`` in the judges' logits,
        and their correlation between judges.
    random_state : int, RandomState instance or None, default=None
        Seed. Scores, sensitivities, features, biases and rows have streams of their
        own: fixing one of them leaves the draws of the others as they were.
    n_features : int, default=3
        Features of a response.

    Returns
    -------
    data : Bunch
        - X : DataFrame with columns model_a, model_b, judge, x1_a to x3_a and x1_b to
          x3_b; the historical rows come first, then the arrival rows.
        - y : ndarray of int, 1 where model_a was preferred.
        - extra_X, extra_y : the same for the extra human rows.
        - truth : Bunch of scores and new_scores (Series by model), sensitivities
          (Series by judge), bias (dict from judge to psi), bias_coef (DataFrame, None
          unless bias is linear), item_effects (models x judges), feature_shift (new
          models x features), logits (of the rows of X), and the roles
          historical_models, new_models, judges, human.

    Examples
    --------
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(n_historical=200, n_new=20, random_state=0)
    >>> data.X.shape, data.truth.new_models
    ((220, 9), ['new-model'])
    """
    _check_together(
        n_historical, n_human, n_judges, item_corr, bias, bias_coef, n_features
    )
    historical = [f"model-{i + 1:02d}" for i in range(n_models)]
    new = [f"new-model-{g + 1}" for g in range(n_new_models)]
    new = ["new-model"] if n_new_models == 1 else new
    judges = [f"judge-{m + 1}" for m in range(n_judges)]
    items = [*historical, *new]
    seed = check_random_state(random_state).randint(2**31 - 1)
    streams = np.random.default_rng(seed).spawn(8)
    (score_rng, judge_rng, net_rng, bias_rng, item_rng, old_rng, new_rng, extra_rng) = (
        streams
    )

    drawn = score_rng.normal(size=n_models) if scores is None else scores
    old_scores = _fixed("scores", drawn, (n_models,), "one per historical model")
    given = [new_score] * n_new_models if np.ndim(new_score) == 0 else new_score
    new_scores = _fixed("new_score", given, (n_new_models,), "one per new model")
    theta = np.concatenate([old_scores - old_scores.mean(), new_scores])
    if sensitivities is None:
        sensitivities = judge_rng.uniform(0.5, 2.0, size=n_judges).tolist()
    c = _fixed("sensitivities", sensitivities, (n_judges,), "one per judge")

    responders = _make_responders(net_rng, n_models, n_new_models, tau, n_features)
    pairs = _historical_pairs(old_rng, n_historical, n_models)
    judge = _historical_judges(old_rng, n_historical, n_judges, human_fraction, n_human)
    old_rows = _make_rows(old_rng, pairs, judge, responders)
    pairs = _arrival_pairs(new_rng, n_new, n_models, n_new_models)
    judge = new_rng.integers(n_judges, size=pairs[0].size)
    new_rows = _make_rows(new_rng, pairs, judge, responders)
    pairs = _arrival_pairs(extra_rng, n_extra_human, n_models, n_new_models)
    judge = np.full(pairs[0].size, _HUMAN_CODE)
    extra_rows = _make_rows(extra_rng, pairs, judge, responders)

    if bias_coef is None:
        biases = _draw_biases(bias_rng, bias, rho, c, theta, old_rows, judges)
    else:
        shape = (n_judges, n_features)
        coefs = _fixed("bias_coef", bias_coef, shape, "a row per judge")
        biases = dict(zip(judges, map(LinearResponseBias, coefs), strict=True))
    u = _draw_item_effects(item_rng, len(items), n_judges, item_sd, item_corr)

    old_eta, new_eta, extra_eta = (
        _logits(rows, theta, c, biases, u) for rows in (old_rows, new_rows, extra_rows)
    )
    old_y, new_y, extra_y = (
        (rng.random(eta.size) < expit(eta)).astype(int)
        for rng, eta in zip(
            (old_rng, new_rng, extra_rng), (old_eta, new_eta, extra_eta), strict=True
        )
    )

    feature_names = [f"x{k + 1}" for k in range(n_features)]
    coef = None
    if bias == "linear":
        coef = pd.DataFrame(
            [psi.coef for psi in biases.values()], index=judges, columns=feature_names
        )
    truth = Bunch(
        scores=pd.Series(theta[:n_models], index=historical, name="score"),
        new_scores=pd.Series(theta[n_models:], index=new, name="score"),
        sensitivities=pd.Series(c, index=judges, name="sensitivity"),
        bias=biases,
        bias_coef=coef,
        item_effects=pd.DataFrame(u, index=items, columns=judges),
        feature_shift=pd.DataFrame(
            responders.shift[n_models:], index=new, columns=feature_names
        ),
        logits=np.concatenate([old_eta, new_eta]),
        historical_models=historical,
        new_models=new,
        judges=judges,
        human=HUMAN,
    )
    return Bunch(
        X=_battles([old_rows, new_rows], items, judges),
        y=np.concatenate([old_y, new_y]),
        extra_X=_battles([extra_rows], items, judges),
        extra_y=extra_y,
        truth=truth,
    )
