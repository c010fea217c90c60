"""Votes: few, apart, of raters, of people with a style; ties, counts and ratings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from cases import KEYS, NEW, SIDES, Array, Case, Design
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm
from sklearn.utils import Bunch

from skanchor import BTLRegressor

# -------------------------------------------------------------------- few votes, apart
Rule = Callable[[Array, Array], Array]
APART: dict[str, tuple[int, Rule]] = {
    # Votes, and which pairs of the models, best first, people see.
    "two halves": (1000, lambda a, b: a % 2 == b % 2),
    "three models": (300, lambda a, b: np.isin(a, (0, 4, 8)) & np.isin(b, (0, 4, 8))),
    "five pairs": (300, lambda a, b: a % 5 == b % 5),
}


def votes(seed: int, n_human: int, rule: Rule | None = None, **settings: Any) -> Case:
    """Draw 5,600 historical verdicts, and votes on the pairs that the rule allows."""
    n_drawn = n_human if rule is None else 20 * n_human
    case = Case.drawn(
        seed, True, n_historical=5600 + n_drawn, n_human=n_drawn, **settings
    )
    if rule is None:
        return case
    scores = case.data.truth.scores
    order = scores.rank(ascending=False).astype(int) - 1
    left, right = (case.X[side].map(order).to_numpy() for side in SIDES)
    stays = case.human & rule(left, right)
    stays[np.flatnonzero(stays)[n_human:]] = False
    # Zero is the mean of the models with votes.
    seen = case.X.loc[stays, SIDES].stack().unique()
    case.truth = case.truth - scores[seen].mean()
    return case.only(~case.human | stays)


def identification(anchor: Any, case: Case) -> dict[str, float]:
    """Standard errors between the scale of the votes and zero."""
    return {"scale z": anchor.result_.diagnostics.scale_z}


# -------------------------------------------------------------------------------- ties
Law = Callable[[Array, Array], tuple[Array, Array]]
"""Probabilities of a win of the first side, and of a tie, by logit and level."""


def davidson(nu: float, slope: float = 0.0) -> Law:
    """Davidson's ties, whose log-odds change with the level by ``slope``."""

    def law(eta: Array, level: Array) -> tuple[Array, Array]:
        weight = nu * np.exp(slope * level)
        total = 2.0 * np.cosh(0.5 * eta) + weight
        return np.exp(0.5 * eta) / total, weight / total

    return law


def decided(law: Law, eta: Array, level: Array) -> tuple[Array, Array]:
    """The law of the outcomes that are no ties."""
    win, tie = law(eta, level)
    return win / (1.0 - tie), np.zeros_like(win)


TIES: dict[str, list[Law]] = {
    # People, and the three judges in turn.
    "Davidson": [davidson(nu) for nu in (0.8, 0.0, 0.8, 2.0)],
    "like arena": [
        davidson(*law) for law in ((2.0, -0.17), (2.0, 0.31), (2.0, 0.31), (0.0, 0.0))
    ],
}


def tied(seed: int, laws: str, score: float, ties: str) -> Case:
    """Draw outcomes with ties.

    The truth is the score that people's votes would give the new model, with ties as
    half a win or without them.
    """
    case = Case.drawn(seed, True, new_score=score, n_extra_human=0)
    levels = [case.X[side].map(case.scores).to_numpy() for side in SIDES]
    level = 0.5 * (levels[0] + levels[1])
    win, tie = np.zeros(len(level)), np.zeros(len(level))
    for source, law in zip(["human", *case.data.truth.judges], TIES[laws], strict=True):
        rows = (case.X["judge"] == source).to_numpy()
        win[rows], tie[rows] = law(case.logits[rows], level[rows])
    if ties == "half":
        case.truth = target(case, win + 0.5 * tie, TIES[laws][0])
    else:
        case.truth = target(case, win / (1.0 - tie), partial(decided, TIES[laws][0]))
    drawn = np.random.default_rng(seed).random(len(win))
    case.y = np.select([drawn < win, drawn < win + tie], [1.0, 0.5], 0.0)
    case.settings["ties"] = ties
    return case


def target(case: Case, share: Array, law: Law) -> float:
    """The score that people's votes would give the new model on the scale of a fit."""
    votes = case.X.loc[case.human, SIDES]
    fitted = BTLRegressor().fit(votes, share[case.human]).scores_
    new = case.X[case.side != 0]
    other = new["model_b"].where(new["model_a"] == NEW, new["model_a"])
    score, met = case.scores[NEW], other.map(case.scores).to_numpy()
    win, tie = law(score - met, 0.5 * (score + met))
    expected, met_scores = win + 0.5 * tie, other.map(fitted).to_numpy()

    def gap(score: float) -> float:
        return np.mean(expected - expit(score - met_scores))

    return float(brentq(gap, -10.0, 10.0))


# ------------------------------------------------------------------------------- style
def styled(seed: int, rho: float, controlled: bool) -> Case:
    """Have people like a linear function of the features, too.

    The truth is the score at equal style, as with a human bias.
    """
    case = Case.drawn(seed, True)
    human = case.human
    left, right = (
        case.X.loc[human, [f"x{k}_{side}" for k in (1, 2, 3)]].to_numpy()
        for side in "ab"
    )
    delta, dx = case.logits[human], left - right
    rng = np.random.default_rng([seed, 17])
    coef = rng.normal(size=dx.shape[1])
    coef *= rho * delta.std() / (dx @ coef).std()
    case.y = case.y.copy()
    case.y[human] = rng.random(len(dx)) < expit(delta + dx @ coef)
    if controlled:
        case.settings["human_bias"] = "linear"
    return case


# --------------------------------------------------------------------- prompts, raters
def repeated(
    seed: int,
    groups: str | None,
    again: float = 0.0,
    n_raters: int = 0,
    taste: float = 0.0,
    n_historical: int = 800,
    n_new: int = 150,
) -> Case:
    """Have three annotators, or runs of a judge, decide each pair.

    Every outcome has the law of the simulation; an annotator repeats the first outcome
    with probability ``again``. With ``n_raters`` votes are by so many people instead,
    whose tastes of models are a share of the variance of what decides a vote.
    """
    case = Case.drawn(
        seed, True, n_historical=n_historical, n_new=n_new, n_models=8, n_judges=3
    )
    rng, p = np.random.default_rng([1, seed]), expit(case.logits)
    first = case.y.astype(float)
    others = [
        np.where(rng.random(len(p)) < again, first, rng.random(len(p)) < p)
        for _ in range(2)
    ]
    y = np.concatenate([first, *others])
    X = pd.concat([case.X.assign(prompt_id=np.arange(len(p)))] * 3)
    # Annotators, without whom equal outcomes would count as copies.
    X = X.assign(rater=np.repeat(np.arange(3), len(p))).reset_index(drop=True)
    if n_raters:
        human, n = (X["judge"] == "human").to_numpy(), len(X)
        rater = rng.integers(0, n_raters, n)
        names = pd.unique(X[SIDES].to_numpy().ravel())
        left, right = (pd.Index(names).get_indexer(X[side]) for side in SIDES)
        tastes = rng.standard_normal((n_raters, len(names)))
        likes = (tastes[rater, left] - tastes[rater, right]) / 2**0.5
        # Standard normal whatever the rater is, so that each vote keeps its law.
        decides = taste**0.5 * likes + (1.0 - taste) ** 0.5 * rng.standard_normal(n)
        y = np.where(human, decides < norm.ppf(np.tile(p, 3)), y)
        X["rater"] = np.where(human, rater, X["rater"])
    case.X, case.y, case.fit["groups"] = X, y.astype(float), groups
    return case


RATERS = {"n_raters": 50, "n_historical": 2500, "n_new": 1500}
PROMPTS: dict[str, dict[str, Any]] = {
    "dependent": {"again": 0.6},
    "independent": {},
    "raters": {**RATERS, "taste": 0.5},
    "raters alike": RATERS,
}


# --------------------------------------------------------------------- counts, ratings
def counted(seed: int, how: str) -> Case:
    """Count equal rows of the default design without features.

    As counts, which is the fit of all rows; as importance, each cell whole in a fold,
    which chooses folds by their outcomes; or list every row by itself.
    """
    case = Case.drawn(seed, tau=0.0, rho=0.0)
    if how == "rows":
        return case
    return case.count_equal_rows("frequency" if how == "counts" else "importance")


RATED = [f"model-{k}" for k in range(6)] + [NEW]
QUALITY = np.array([-0.6, -0.3, 0.0, 0.2, 0.4, 0.7, 0.3])
STRETCH = {"human": 1.0, "judge-1": 1.4, "judge-2": 0.8}
"""How far each rater stretches the scale."""


def ratings(rng: np.random.Generator, n_prompts: int) -> dict[str, Array]:
    """Ratings from 1 to 5 of each rater, of shape (n_prompts, n_models)."""
    shape = (n_prompts, len(RATED))
    # The response of a model to a prompt is better or worse for every rater.
    response = QUALITY + 0.8 * rng.standard_normal(shape)
    return {
        rater: np.clip(
            np.rint(3.0 + stretch * response + 0.8 * rng.standard_normal(shape)), 1, 5
        )
        for rater, stretch in STRETCH.items()
    }


@cache
def rated_truth() -> float:
    """Score of the new model by people's comparisons on 20,000 further prompts."""
    by_people = ratings(np.random.default_rng(10**6), 20_000)["human"]
    pairs = [(a, b) for a in range(len(RATED)) for b in range(a)]
    shares = [
        0.5 + 0.5 * np.sign(by_people[:, a] - by_people[:, b]).mean() for a, b in pairs
    ]
    X = pd.DataFrame([(RATED[a], RATED[b]) for a, b in pairs], columns=SIDES)
    scores = BTLRegressor(tol=1e-12).fit(X, shares).scores_
    return float(scores[NEW] - scores.drop(NEW).mean())


def rated(seed: int, groups: str | None) -> Case:
    """Compare the ratings of 80 prompts by rater; people rate no new model."""
    by_rater = ratings(np.random.default_rng(seed), 80)
    rows = [
        (f"p{prompt}", RATED[a], RATED[b], rater, 0.5 + 0.5 * np.sign(one[a] - one[b]))
        for rater, table in by_rater.items()
        for prompt, one in enumerate(table)
        for b in range(len(RATED) - (rater == "human"))
        for a in range(b)
    ]
    X = pd.DataFrame(rows, columns=["prompt_id", *KEYS, "y"])
    case = Case(X, X.pop("y").to_numpy(), rated_truth(), seed, Bunch())
    case.fit["groups"] = groups
    return case


MEANINGS = {"auto": "auto", "by prompt": "prompt_id", "row by row": None}
DESIGNS: dict[str, dict[str, Design]] = {
    "votes": {
        f"{n} votes": Design("few votes", partial(votes, n_human=n), {}, identification)
        for n in (25, 50, 100, 200, 500, 1000, 2400)
    }
    | {
        f"{n} votes, item sd 0.3": Design(
            "judges deviate",
            partial(votes, n_human=n, item_sd=0.3, item_corr=0.6, rho=0.0),
            {"item_effects": "random"},
            identification,
        )
        for n in (100, 500, 2400)
    },
    "apart": {
        name: Design(
            "people see few pairs", partial(votes, n_human=n, rule=rule),
            {"item_effects": None}, identification,
        )
        for name, (n, rule) in APART.items()
    },
    "ties": {
        f"{laws}, score {score}, {ties}": Design(
            "ties by a law", partial(tied, laws=laws, score=score, ties=ties),
            {"item_effects": None, "cv": 5},
        )
        for laws in TIES
        for score in (-2.0, 0.5, 2.0)
        for ties in ("half", "drop")
    },
    "style": {
        f"rho {rho}, {'controlled' if controlled else 'plain'}": Design(
            "people like a style of this size",
            partial(styled, rho=rho, controlled=controlled),
            {"item_effects": None, "cv": 5},
        )
        for rho in (0.0, 0.5, 1.0)
        for controlled in (False, True)
    },
    "prompts": {
        f"{name}, {meaning}": Design(
            "three annotators", partial(repeated, groups=groups, **settings)
        )
        for name, settings in PROMPTS.items()
        for meaning, groups in MEANINGS.items()
    },
    "counts": {
        how: Design("tables of wins", partial(counted, how=how),
                    {"item_effects": "none"})
        for how in ("rows", "counts", "cells as importance")
    },
    "ratings": {
        meaning: Design("pairs made of ratings", partial(rated, groups=groups),
                        {"cv": 5})
        for meaning, groups in (("by prompt", "auto"), ("row by row", None))
    },
}  # fmt: skip
