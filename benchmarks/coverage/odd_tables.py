"""Tables that are thin, skewed or oddly judged, fitted with all defaults.

Unless its sentence says otherwise a design has ten historical models, three judges with
2,800 historical rows, 1,000 human votes, 500 rows of a new model of score 1, no
features and no item effects.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from cases import SIDES, Case, Design
from read_out_designs import sets_of_ranks
from scipy.special import expit
from scipy.stats import norm

from skanchor import BTLRegressor

PROBIT = np.sqrt(np.pi / 8.0)
"""A logit, in standard deviations of the normal law that is nearest."""


def table(seed: int, votes: int = 1000, verdicts: int = 2800, **settings: Any) -> Case:
    """Draw so many votes and historical verdicts."""
    settings = {"rho": 0.0, "new_score": 1.0} | settings
    return Case.drawn(seed, n_historical=verdicts + votes, n_human=votes, **settings)


def chain(seed: int) -> Case:
    """Have people compare only neighbours of a random order."""
    case = table(seed, 600)
    order = case.rng.permutation(case.data.truth.scores.index)
    votes = int(case.human.sum())
    at = case.rng.integers(len(order) - 1, size=votes)
    swap = case.rng.integers(2, size=votes)
    case.X.loc[case.human, "model_a"] = order[at + swap]
    case.X.loc[case.human, "model_b"] = order[at + 1 - swap]
    return case.redraw(expit(case.gaps()), case.human)


def thin_models(seed: int) -> Case:
    """Leave twelve votes to each of three models."""
    case = table(seed, 2400)
    models = case.data.truth.scores.index
    thin = case.rng.choice(models.to_numpy(object), 3, replace=False)
    count = case.X[SIDES].isin(thin).sum(axis=1).to_numpy()
    stay = ~case.human | (count == 0)
    for model in thin:
        its = (case.X[SIDES] == model).any(axis=1).to_numpy()
        its = np.flatnonzero(its & case.human & (count == 1))
        stay[case.rng.choice(its, min(12, len(its)), replace=False)] = True
    return case.only(stay)


def shown_first(seed: int) -> Case:
    """Show the new model first in 90 % of its rows to judges that favour this side."""
    case = table(seed)
    wanted = np.where(case.rng.random(len(case.X)) < 0.9, 1.0, -1.0)
    swap = case.side * wanted < 0
    case.X.loc[swap, SIDES] = case.X.loc[swap, SIDES[::-1]].to_numpy()
    return case.redraw(expit(case.slope * case.gaps() + 0.7), ~case.human)


def judges_change(seed: int) -> Case:
    """Make all judges less sensitive on the new model's rows."""
    case = table(seed)
    return case.redraw(expit(0.6 * case.logits), case.side != 0)


def judges_disagree(seed: int) -> Case:
    """Have judges deviate on the new model as they do on no old one."""
    case = table(seed, n_judges=5, item_sd=0.3, item_corr=0.6, new_score=1.5)
    offset = pd.Series(case.rng.normal(size=5), case.data.truth.sensitivities.index)
    off = case.X["judge"].map(offset).fillna(0.0).to_numpy() * case.side
    return case.redraw(expit(case.logits + case.slope * off), case.side != 0)


def wins(seed: int, **settings: Any) -> Case:
    """Count equal rows."""
    return table(seed, **settings).count_equal_rows()


def warm(seed: int) -> Case:
    """Have people decide a hundred rows of the new model."""
    case = table(seed)
    case.X.loc[np.flatnonzero(case.side != 0)[:100], "judge"] = "human"
    case.settings["new_models"] = [case.model]
    return case.redraw(expit(case.gaps()), case.human & (case.side != 0))


def one_opponent(seed: int, weakest: bool = False) -> Case:
    """Compare the new model with only one of the old ones."""
    case = table(seed)
    old = case.data.truth.scores
    opponent = case.rng.choice(old.index.to_numpy(object))
    if weakest:
        opponent = old.idxmin()
    case.X.loc[case.side > 0, "model_b"] = opponent
    case.X.loc[case.side < 0, "model_a"] = opponent
    return case.redraw(expit(case.slope * case.gaps()), case.side != 0)


def deviating_opponent(seed: int, item_sd: float) -> Case:
    """Compare it with one old model, whose item effects enter all its verdicts."""
    return table(seed, item_sd=item_sd, opponents=[seed % 10])


def one_pair(seed: int) -> Case:
    """Move all votes to the second best and the second worst model."""
    case = table(seed, 300)
    pair = case.data.truth.scores.sort_values().index[[1, -2]]
    swap = case.rng.integers(2, size=int(case.human.sum()))
    case.X.loc[case.human, "model_a"] = pair[swap]
    case.X.loc[case.human, "model_b"] = pair[1 - swap]
    # Zero is the mean of the models with votes.
    case.truth = case.truth - case.scores[pair].mean()
    return case.redraw(expit(case.gaps()), case.human)


def half_seen(seed: int) -> Case:
    """Leave one judge verdicts on five of the old models only."""
    case = table(seed)
    unseen = case.data.truth.scores.index[5:]
    its = (case.X["judge"] == case.data.truth.judges[0]).to_numpy()
    meets = case.X[SIDES].isin(unseen).any(axis=1).to_numpy()
    return case.only(~(its & meets & (case.side == 0)))


def with_each_other(seed: int) -> Case:
    """Make nine in ten rows of two new models comparisons with each other."""
    case = table(seed, n_new_models=2, new_score=[0.5, 1.0], n_new=250)
    rows = np.flatnonzero(case.side != 0)
    rows = case.rng.choice(rows, int(0.9 * len(rows)), replace=False)
    names = case.new_scores.index.to_numpy(object)
    swap = case.rng.integers(2, size=len(rows))
    case.X.loc[rows, "model_a"] = names[swap]
    case.X.loc[rows, "model_b"] = names[1 - swap]
    chosen = np.isin(np.arange(len(case.X)), rows)
    return case.redraw(expit(case.slope * case.gaps()), chosen)


def close_ties(seed: int) -> Case:
    """Tie nine in ten of close pairs; expected outcomes are as without ties."""
    spread = np.random.default_rng(seed).normal(size=10) * 0.6
    case = table(seed, scores=spread, new_score=0.5)
    chance = expit(case.logits)
    tie = 1.8 * np.minimum(chance, 1.0 - chance)
    drawn = case.rng.random(len(tie))
    case.y = np.where(drawn < tie, 0.5, np.where(drawn < chance + 0.5 * tie, 1.0, 0.0))
    return case


def copies(seed: int) -> Case:
    """Repeat every row five times; groups say which are copies."""
    case = table(seed, 400, n_new=200)
    history = np.flatnonzero((case.side == 0) & ~case.human)
    gone = case.rng.choice(history, len(history) * 3 // 4, replace=False)
    case.only(~np.isin(np.arange(len(case.X)), gone))
    group = np.repeat(np.arange(len(case.X)), 5)
    case.X = case.X.iloc[group].reset_index(drop=True)
    case.y, case.fit["groups"] = case.y[group], group
    return case


def probit(seed: int) -> Case:
    """Give judges normal errors."""
    case = table(seed)
    return case.redraw(norm.cdf(case.logits * PROBIT), ~case.human)


def lapses(seed: int, new_score: float = 1.5) -> Case:
    """Decide one verdict of ten by a coin."""
    case = table(seed, new_score=new_score)
    return case.redraw(0.05 + 0.9 * expit(case.logits), ~case.human)


def curved_scale(seed: int, new_score: float = 1.5) -> Case:
    """Show judges an S-shaped function of the scores."""
    case = table(seed, new_score=new_score)
    gaps = case.gaps(2.0 * np.tanh(case.scores / 2.0))
    return case.redraw(expit(case.slope * gaps), ~case.human)


def heavy_tails(seed: int, sd: float = 0.3) -> Case:
    """Draw item effects of three degrees of freedom, of this standard deviation."""
    case = table(seed)
    names, u = case.scores.index, np.zeros(len(case.X))
    for judge in case.data.truth.judges:
        effects = sd * case.rng.standard_t(3, len(names)) / np.sqrt(3.0)
        its = (case.X["judge"] == judge).to_numpy()
        u[its] += case.gaps(pd.Series(effects, names))[its]
    return case.redraw(expit(case.logits + u), ~case.human)


def plain(sentence: str, **settings: Any) -> Design:
    """Make a design that the simulation can draw."""
    return Design(sentence, partial(table, **settings))


def ridge(alpha: float) -> Design:
    """Make a design whose human scores have a ridge."""
    return Design(
        f"a ridge of {alpha} on the human scores",
        table,
        {"btl": BTLRegressor(alpha=alpha)},
    )


THREE = {"n_new_models": 3, "new_score": [0.0, 0.5, 1.0]}

DESIGNS: dict[str, Design] = {
    "200 votes": plain("few votes, score 1.5", votes=200, new_score=1.5),
    "2400 votes": plain("many votes, score 1.5", votes=2400, new_score=1.5),
    "chain of votes": Design("people compare neighbours only", chain),
    "three thin models": Design("three models have twelve votes each", thin_models),
    "shown first": Design("judges favour the side of the new model", shown_first),
    "judges change": Design("judges less sensitive on new rows", judges_change),
    "judges disagree": Design("judges differ about the new model", judges_disagree),
    "win table": Design("equal rows are counted", wins),
    "six models, one judge": plain(
        "item sd .15", n_models=6, n_judges=1, item_sd=0.15
    ),
    "ten models, one judge": plain("item sd .2", n_judges=1, item_sd=0.2),
    "three new models": Design(
        "scores 0, .5 and 1", partial(table, **THREE), measure=sets_of_ranks
    ),
    "warm arrival": Design("the new model has a hundred votes", warm),
    "one opponent": Design("the new model meets one old model", one_opponent),
    "ties": Design("nine in ten of close pairs are ties", close_ties),
    "twenty arrival rows": plain("few rows of the new model", n_new=20),
    "copies in groups": Design("every row five times, in groups", copies),
    "score 3": plain("above all old models", new_score=3.0),
    "score 5": plain("far above all old models", new_score=5.0),
    "probit judges": Design("judges with normal errors", probit),
    "lapsing judges": Design("one verdict of ten is a coin's, score 1.5", lapses),
    "curved scale": Design("judges see an S-shaped scale, score 1.5", curved_scale),
    "heavy-tailed item effects": Design("three degrees of freedom", heavy_tails),
    "lapsing judges, score 2.5": Design("further out", partial(lapses, new_score=2.5)),
    "curved scale, score 2.5": Design(
        "further out", partial(curved_scale, new_score=2.5)
    ),
    "heavy tails, sd 0.6": Design("twice the deviation", partial(heavy_tails, sd=0.6)),
    "thirty votes a model, one judge": plain(
        "twelve models", votes=180, n_models=12, n_judges=1
    ),
    "votes on one pair": Design("people compare two models only", one_pair),
    "judge of half the models": Design("a judge of five old models", half_seen),
    "new models with each other": Design(
        "nine in ten new rows compare two new models", with_each_other,
        measure=sets_of_ranks,
    ),
    "weakest opponent": Design(
        "the new model meets the weakest", partial(one_opponent, weakest=True)
    ),
    "one opponent, item sd 0.2": Design(
        "which judges deviate on", partial(deviating_opponent, item_sd=0.2)
    ),
    "one opponent, item sd 0.4": Design(
        "which judges deviate on", partial(deviating_opponent, item_sd=0.4)
    ),
    "ridge of 0.001": ridge(0.001),
    "ridge of 0.01": ridge(0.01),
    "counts to 50": Design(
        "large counts", partial(wins, votes=4000, verdicts=16_000, n_new=3000)
    ),
}  # fmt: skip
