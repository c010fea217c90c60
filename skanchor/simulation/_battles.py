"""A simulated set of battles: the draws, their order, and the true parameters."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skanchor.simulation._rows import (
    HUMAN,
    TERMS,
    BiasMaker,
    Design,
    ResponseBias,
    Rows,
    draw_biases,
    draw_item_effects,
    finite_array,
    logits_of,
    model_numbers,
)

_N_STREAMS = 9
_AT_LEAST_1, _COUNT = ([Interval(Integral, n, None, closed="left")] for n in (1, 0))
_SIZE = [Interval(Real, 0, None, closed="left")]
_NUMBERS = ("n_historical", "n_judges", "n_new_models", "n_features")
_FURTHER = ("n_new", "n_extra_human", "n_new_votes", "n_new_verdicts")


# Arrays are checked where they are read.
@validate_params(
    {
        **dict.fromkeys(_NUMBERS, _AT_LEAST_1),
        **dict.fromkeys(_FURTHER, _COUNT),
        **dict.fromkeys(("rho", "tau", "item_sd"), _SIZE),
        "n_models": [Interval(Integral, 2, None, closed="left")],
        "n_human": [*_COUNT, None],
        "human_fraction": [Interval(Real, 0, 1, closed="both")],
        "bias": [StrOptions({"linear", "curved"}), callable],
        "item_corr": [Interval(Real, -1, 1, closed="both")],
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
    human_pairs: Sequence[Sequence[int]] | None = None,
    opponents: Sequence[int] | None = None,
    n_new_votes: int = 0,
    n_new_verdicts: int = 0,
) -> Bunch:
    """Simulate human and judge comparisons of historical and of new models.

    The defaults are the main design of the paper's simulation study (subsec:sim-setup).
    Every row has its own prompt ``u ~ N(0, I_2)``; the features of a response are a
    model-specific tanh network of u (five hidden units, standard normal weights,
    N(0, 0.5^2) offsets, output weights of variance 1/5) plus ``N(0, 0.3^2 I)`` noise.

    Parameters
    ----------
    n_historical : int, default=8000
        Comparisons among historical models, by humans and judges together.
    n_new : int, default=500
        Judge comparisons of each new model with uniformly drawn historical models.
    n_models, n_judges, n_new_models : int, default=10, 3, 1
        Numbers of historical models, LLM judges, and new models.
    human_fraction : float, default=0.3
        Probability that a historical row is judged by a human; the others go to
        uniformly drawn judges.
    n_human : int or None, default=None
        Exact number of historical human rows; overrides `human_fraction`.
    rho : float, default=0.5
        Size of the judge bias: ``sd(h_m) = rho * sd(c_m delta)`` over the judge's
        historical rows. Ignored if `bias_coef` is given.
    tau : float, default=0.3
        The features of a new model are shifted by ``tau * sqrt(5)`` in a random
        direction.
    new_score : float or sequence of float, default=0.5
        Scores of the new models, in human log-odds on the scale where the historical
        scores have mean zero. One number serves all new models.
    n_extra_human : int, default=150
        Extra human rows of each new model, returned separately (for `HumanOnly`).
    bias : {"linear", "curved"} or callable, default="linear"
        Family of the bias functions psi, with standard normal coefficients before
        scaling. "curved" is ``a1 sin(2 x1) + a2 x2^2 / 2 + a3 x1 x3``, once for every
        three features. A callable
        ``maker(rng, n_features)`` returns one judge's unscaled ``psi(x)``, from
        features of shape (n, n_features) to an array of shape (n,).
    scores : array-like of shape (n_models,) or None, default=None
        Historical scores, centred on use; None draws them from N(0, 1).
    sensitivities : array-like of shape (n_judges,) or None, default=None
        Judge log-odds per unit of human log-odds; None draws them from U(0.5, 2).
    bias_coef : array-like of shape (n_judges, n_features) or None, default=None
        Linear bias coefficients, used as they are.
    item_sd, item_corr : float, default=0.0
        Standard deviation of the item effects ``u_{m,i}`` in the judges' logits, and
        their correlation between judges.
    random_state : int, RandomState instance or None, default=None
        Seed. Scores, sensitivities, features, biases and rows have separate random
        streams, so that fixing one of them does not change the draws of the others.
    n_features : int, default=3
        Number of features of a response.
    human_pairs : array-like of shape (n_pairs, 2) or None, default=None
        Pairs of historical models, as numbers from 0, on which people vote: each vote
        draws one of them, with equal probability. None means all pairs.
    opponents : array-like of int or None, default=None
        Historical models, as numbers from 0, that new models are compared with, also in
        `extra_X`. None means all of them.
    n_new_votes, n_new_verdicts : int, default=0
        Human votes, and judge verdicts, on uniform pairs of new models.

    Returns
    -------
    data : Bunch
        - X : DataFrame with columns model_a, model_b, judge, x1_a to x3_a and x1_b to
          x3_b; the historical rows come first, then the arrival rows, then votes and
          verdicts among new models.
        - y : ndarray of int, 1 where model_a was preferred.
        - extra_X, extra_y : X and y of the extra human rows.
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
    if n_human is not None and n_human > n_historical:
        raise ValueError(f"n_human={n_human} exceeds n_historical={n_historical}.")
    # An equicorrelation matrix of M judges has the eigenvalue 1 + (M - 1) r.
    if 1 + (n_judges - 1) * item_corr < 0:
        raise ValueError(
            f"item_corr={item_corr} is below -1/(n_judges - 1), the least correlation "
            f"that {n_judges} judges can all have with one another."
        )
    if bias == "curved" and n_features % 3:
        raise ValueError(
            f"bias='curved' needs n_features to be a multiple of 3, got {n_features}."
        )
    if bias_coef is not None and bias != "linear":
        raise ValueError("bias_coef needs bias='linear'.")
    if n_new_votes + n_new_verdicts and n_new_models < 2:
        raise ValueError(
            "n_new_votes and n_new_verdicts compare new models with each other, which "
            f"needs n_new_models of at least 2, got {n_new_models}."
        )
    pairs, met = None, np.arange(n_models)
    if human_pairs is not None:
        pairs = model_numbers("human_pairs", human_pairs, n_models, n_columns=2)
    if opponents is not None:
        met = model_numbers("opponents", opponents, n_models)
    historical = [f"model-{i + 1:02d}" for i in range(n_models)]
    new = [f"new-model-{g + 1}" for g in range(n_new_models)]
    new = ["new-model"] if n_new_models == 1 else new
    items, judges = historical + new, [f"judge-{m + 1}" for m in range(n_judges)]
    # Independent random streams, so that fixing one part leaves the others as they are.
    seed = check_random_state(random_state).randint(2**31 - 1)
    streams = np.random.default_rng(seed).spawn(_N_STREAMS)
    for_scores, for_slopes, for_networks, for_biases, for_effects, *of_rows = streams
    for_history, for_arrivals, for_extra, for_new = of_rows

    drawn = for_scores.normal(size=n_models)
    old = drawn if scores is None else scores
    old = finite_array("scores", old, (n_models,), "one per historical model")
    new_scores = [new_score] * n_new_models if np.ndim(new_score) == 0 else new_score
    added = finite_array("new_score", new_scores, (n_new_models,), "one per new model")
    # Items are the historical models, then the new ones: theta has shape (n_items,).
    theta = np.concatenate([old - old.mean(), added])
    drawn = for_slopes.uniform(0.5, 2.0, size=n_judges)
    slopes = drawn if sensitivities is None else sensitivities
    c = finite_array("sensitivities", slopes, (n_judges,), "one per judge")

    sizes = n_judges, n_models, n_new_models, n_features
    design = Design(for_networks, *sizes, tau)
    people = float(human_fraction) if n_human is None else n_human
    history = design.history(for_history, n_historical, people, pairs)
    arrivals = design.arrivals(for_arrivals, n_new, met)
    extra = design.arrivals(for_extra, n_extra_human, met, by_people=True)
    among = design.among_new(for_new, n_new_votes, n_new_verdicts)

    if bias_coef is None:
        # Biases are scaled by the contrasts that occur in the historical rows.
        delta = theta[history.left] - theta[history.right]
        ratios = rho * np.abs(c)
        biases = draw_biases(for_biases, bias, judges, history, delta, ratios)
    else:
        shape = n_judges, n_features
        coefs = finite_array("bias_coef", bias_coef, shape, "a row per judge")
        linear = [ResponseBias(TERMS["linear"], coef) for coef in coefs]
        biases = dict(zip(judges, linear, strict=True))
    shape = len(items), n_judges
    effects = draw_item_effects(for_effects, shape, item_sd, item_corr)

    # Outcomes come last, from the streams of their rows.
    parts, outcomes = (history, arrivals, among, extra), []
    logits = [logits_of(rows, theta, c, biases, effects) for rows in parts]
    for rng, eta in zip((*of_rows[:2], for_new, for_extra), logits, strict=True):
        outcomes.append((rng.random(eta.size) < expit(eta)).astype(int))
    names = [f"x{k + 1}" for k in range(n_features)]
    coef = None
    if bias == "linear":
        table = [psi.coef for psi in biases.values()]
        coef = pd.DataFrame(table, index=judges, columns=names)
    truth = Bunch(
        scores=pd.Series(theta[:n_models], index=historical, name="score"),
        new_scores=pd.Series(added, index=new, name="score"),
        sensitivities=pd.Series(c, index=judges, name="sensitivity"),
        bias=biases,
        bias_coef=coef,
        item_effects=pd.DataFrame(effects, index=items, columns=judges),
        feature_shift=pd.DataFrame(design.shift, index=new, columns=names),
        logits=np.concatenate(logits[:3]),
        historical_models=historical,
        new_models=new,
        judges=judges,
        human=HUMAN,
    )
    return Bunch(
        X=Rows(*map(np.concatenate, zip(*parts[:3], strict=True))).table(items, judges),
        y=np.concatenate(outcomes[:3]),
        extra_X=extra.table(items, judges),
        extra_y=outcomes[3],
        truth=truth,
    )
