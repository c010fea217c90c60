"""A history as a table and as a stream, and both fits of it."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.base import clone

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor.history._place import fit_arrivals
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles


@cache
def tables(n_votes=3000, n_verdicts=3000, seed=0):
    """History with its outcomes, arrivals, and the outcomes of these."""
    data = simulate_battles(
        n_votes,
        n_verdicts,
        n_models=7,
        n_new_models=1,
        item_sd=0.3,
        random_state=seed,
    )
    X, y = data.X.copy(), np.asarray(data.y)
    rng = np.random.default_rng(seed)
    X["shown_first"] = rng.choice(["model_a", "model_b"], len(X))
    X["winner"] = y
    X["times"] = rng.integers(0, 4, len(X))
    X["importance"] = rng.exponential(size=len(X))
    new = X.model_a.str.startswith("new") | X.model_b.str.startswith("new")
    # Neither people nor judges come in order.
    history = X[~new].sample(frac=1.0, random_state=seed).reset_index(drop=True)
    return history, X[new].iloc[:400].reset_index(drop=True)


def anchor_of(bias="linear", **settings):
    """Settings of most streams."""
    settings = {"cv": 3, "item_effects": None, "random_state": 0, **settings}
    return AnchorPipeline(calibrator=JudgeCalibrator(bias), **settings)


def battles(table):
    return table.drop(columns=["winner", "times", "importance"])


def in_memory(table, anchor, plans, weight=None):
    """The state of the history of a table, by the engine that holds all rows."""
    anchor = clone(anchor).set_params(cv=plans)
    return AnchorHistory(anchor).fit(battles(table), table["winner"], weight).state_


def arrivals(n_splits, n_repeats=1):
    """Arrivals as a sample, and folds of theirs."""
    _, table = tables()
    sample = Sample.admit(battles(table), table["winner"].to_numpy())
    new = tuple(m for m in sample.X.models if m.startswith("new"))
    sample = sample.with_battles(sample.X.with_columns(new_models=new))
    fold = np.random.default_rng(0).integers(0, n_splits, len(table))
    plan = [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)
    ]
    return sample, [plan] * n_repeats


def in_pieces(table, size):
    return [table.iloc[i : i + size] for i in range(0, len(table), size)]


def apart(one, other, n_splits, n_repeats=1):
    """How far two histories place arrivals apart, in standard errors."""
    sample, plans = arrivals(n_splits, n_repeats)
    found, stages = [], anchor_of().stages()
    first, second = (
        fit_arrivals(state, stages, sample, plans)[1] for state in (one, other)
    )
    for mine, theirs in zip(first.repeats, second.repeats, strict=True):
        error = np.sqrt(np.diag(mine.covariance))
        found.append(np.abs(mine.estimate - theirs.estimate) / error)
        found.append(np.abs(np.sqrt(np.diag(theirs.covariance)) / error - 1.0))
    return np.max(found)


def sums_of(state):
    """All arrays of the sums of a history, side by side."""
    people, *judges = state.fits.sources
    arrays = [array for one in judges for array in (one.gram, one.score, one.outer)]
    # The display order of votes, which nothing reads, comes last.
    arrays.append(people.score[:, :-1])
    return np.concatenate([array.ravel() for array in arrays])


def whole_sums_of(state):
    """Information of all rows."""
    return np.concatenate([one.gram[0] for one in state.fits.sources])


def repeated(table):
    """A table that lists each row as often as it counts."""
    return table.loc[np.repeat(table.index, table["times"])].reset_index(drop=True)


def as_frame(*columns):
    return pd.DataFrame(dict(columns))
