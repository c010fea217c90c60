"""Scores by context and under a mix: pooled, by separate tables, with shared judges.

``python benchmarks/contexts.py [--draws 80]`` draws the default simulation in three
contexts with human shares .6, .3 and .1, a third of the judge rows each; the score of a
model departs from its mean by N(0, .3^2) in each context. Five folds, no item effects.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from report import write_rows
from scipy.special import expit

from skanchor import AnchorPipeline
from skanchor.contexts import rank_contexts
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles

HUMAN, SD, NEW, TRUTH = (0.6, 0.3, 0.1), 0.3, "new-model", 0.5
HEADER = ("fit", "target", "usable", "bias", "rmse", "coverage", "width")
TARGETS = ("1", "2", "3", "mix")
FITS = ("pooled", "separate", "shared judges")


def draw(seed: int) -> list[list[tuple[float, ...]]]:
    """Errors and limits of all fits, by target; NaN where there is no fit."""
    data = simulate_battles(random_state=seed)
    X, rng = data.X, np.random.default_rng([seed, 23])
    human = (X["judge"] == "human").to_numpy()
    kind = rng.integers(3, size=len(X))
    kind[human] = rng.choice(3, size=human.sum(), p=HUMAN)
    names = [*data.truth.historical_models, NEW]
    apart = SD * rng.normal(size=(len(names), 3))
    left, right = (
        X[side].map({name: i for i, name in enumerate(names)}).to_numpy()
        for side in ("model_a", "model_b")
    )
    slope = X["judge"].map(data.truth.sensitivities).fillna(1.0).to_numpy()
    logits = data.truth.logits + slope * (apart[left, kind] - apart[right, kind])
    y = (rng.random(len(X)) < expit(logits)).astype(int)
    truths = TRUTH + apart[-1] - apart[:-1].mean(axis=0)
    truths = [*truths, truths.mean()]
    anchor = AnchorPipeline(cv=5, item_effects=None, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pooled = [anchor.fit(X, y).result_] * 4
        separate: list[Any] = [None] * 4
        try:
            found = rank_contexts(anchor, X, y, kind)
            separate = [found[g] for g in range(3)]
            separate.append(found.under(dict.fromkeys(range(3), 1 / 3)))
        except (BattlesError, ValueError) as error:
            print(seed, error, flush=True)
        mixed = anchor.set_params(context="kind").fit(X.assign(kind=kind), y).result_
    shared = [*(mixed.by_context[g] for g in range(3)), mixed]
    return [
        [errors(result, truth) for result, truth in zip(results, truths, strict=True)]
        for results in (pooled, separate, shared)
    ]


def errors(result: Any, truth: float) -> tuple[float, ...]:
    """Error and limits of the new score, less the truth."""
    if result is None or not np.isfinite(result.standard_errors[NEW]):
        return (np.nan,) * 3
    low, high = result.conf_int().loc[NEW]
    return result.scores[NEW] - truth, low - truth, high - truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.draws)
    found = np.array(Parallel(options.jobs)(delayed(draw)(seed) for seed in seeds))
    rows = []
    for fit, of_fit in zip(FITS, found.swapaxes(0, 1), strict=True):
        for target, values in zip(TARGETS, of_fit.swapaxes(0, 1), strict=True):
            usable = ~np.isnan(values[:, 0])
            error, low, high = values[usable].T
            told = (
                usable.mean(), error.mean(), np.mean(error**2) ** 0.5,
                np.mean((low <= 0) & (high >= 0)), np.mean(high - low),
            )  # fmt: skip
            rows.append([fit, target, *(f"{value:.3f}" for value in told)])
            print(*rows[-1], flush=True)
    write_rows("contexts", HEADER, rows)


if __name__ == "__main__":
    main()
