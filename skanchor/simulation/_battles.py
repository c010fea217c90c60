"""A simulated set of battles: the draws, their order, and the true parameters."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skanchor.simulation._biases import (
    BiasMaker,
    LinearResponseBias,
    draw_biases,
    given_biases,
)
from skanchor.simulation._checks import check_rows_among_new, check_together
from skanchor.simulation._law import (
    Law,
    draw_item_effects,
    draw_outcomes,
    draw_scores,
    draw_sensitivities,
)
from skanchor.simulation._responses import Responders
from skanchor.simulation._rows import (
    HUMAN,
    Graph,
    Labels,
    SimulatedRows,
    arrival_rows,
    historical_rows,
    rows_among_new,
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
        "human_pairs": ["array-like", None],
        "opponents": ["array-like", None],
        "n_new_votes": [Interval(Integral, 0, None, closed="left")],
        "n_new_verdicts": [Interval(Integral, 0, None, closed="left")],
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
    check_together(
        n_historical, n_human, n_judges, item_corr, bias, bias_coef, n_features
    )
    graph = Graph.of(human_pairs, opponents, n_models)
    check_rows_among_new(n_new_votes + n_new_verdicts, n_new_models)
    labels = Labels.numbered(n_models, n_new_models, n_judges)
    rng = _Streams.of(random_state)
    # Items are the historical models, then the new ones: theta has shape (n_items,).
    theta = draw_scores(rng.scores, labels, scores, new_score)
    c = draw_sensitivities(rng.sensitivities, n_judges, sensitivities)
    responders = Responders.draw(rng.networks, n_models, n_new_models, tau, n_features)
    old = historical_rows(
        rng.historical, n_historical, labels, responders, human_fraction, n_human, graph
    )
    new = arrival_rows(rng.arrival, n_new, labels, responders, graph)
    extra = arrival_rows(
        rng.extra, n_extra_human, labels, responders, graph, human=True
    )
    among = rows_among_new(rng.among, n_new_votes, n_new_verdicts, labels, responders)
    if bias_coef is None:
        # Biases are scaled by the contrasts that occur in the historical rows.
        biases = draw_biases(rng.biases, bias, rho, labels.judges, theta, c, old)
    else:
        biases = given_biases(bias_coef, labels.judges, n_features)
    effects = draw_item_effects(rng.item_effects, labels, item_sd, item_corr)
    law = Law(theta, c, biases, effects)
    # Outcomes come last, from the streams of their rows.
    logits = [law.logits(rows) for rows in (old, new, among, extra)]
    streams = (rng.historical, rng.arrival, rng.among, rng.extra)
    *outcomes, extra_y = map(draw_outcomes, streams, logits)
    logits_of_X = np.concatenate(logits[:3])
    return Bunch(
        X=SimulatedRows.joined([old, new, among]).table(labels),
        y=np.concatenate(outcomes),
        extra_X=extra.table(labels),
        extra_y=extra_y,
        truth=_truth(labels, law, responders, logits_of_X, linear=bias == "linear"),
    )


class _Streams(NamedTuple):
    """Independent random streams, so that fixing one part leaves the others as is."""

    scores: np.random.Generator
    sensitivities: np.random.Generator
    networks: np.random.Generator
    biases: np.random.Generator
    item_effects: np.random.Generator
    historical: np.random.Generator
    arrival: np.random.Generator
    extra: np.random.Generator
    among: np.random.Generator

    @classmethod
    def of(cls, random_state: int | np.random.RandomState | None) -> _Streams:
        """One stream for each field, in their order, from one seed."""
        seed = check_random_state(random_state).randint(2**31 - 1)
        return cls(*np.random.default_rng(seed).spawn(len(cls._fields)))


def _truth(
    labels: Labels,
    law: Law,
    responders: Responders,
    logits: np.ndarray,
    *,
    linear: bool,
) -> Bunch:
    """The true parameters, indexed by names of models and judges."""
    historical, new, judges = labels.historical, labels.new, labels.judges
    n_models = len(historical)
    shift = responders.shift[n_models:]
    names = [f"x{k + 1}" for k in range(shift.shape[1])]
    coef = None
    if linear:
        rows = [
            psi.coef
            for psi in law.biases.values()
            if isinstance(psi, LinearResponseBias)
        ]
        coef = pd.DataFrame(rows, index=judges, columns=names)
    return Bunch(
        scores=pd.Series(law.scores[:n_models], index=historical, name="score"),
        new_scores=pd.Series(law.scores[n_models:], index=new, name="score"),
        sensitivities=pd.Series(law.sensitivities, index=judges, name="sensitivity"),
        bias=law.biases,
        bias_coef=coef,
        item_effects=pd.DataFrame(law.item_effects, index=labels.items, columns=judges),
        feature_shift=pd.DataFrame(shift, index=new, columns=names),
        logits=logits,
        historical_models=historical,
        new_models=new,
        judges=judges,
        human=HUMAN,
    )
