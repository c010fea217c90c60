"""Scores by context and under a mix: pooled, by separate tables, with shared judges.

``python benchmarks/contexts.py [--draws 80]`` draws the default simulation in three
contexts with human shares .6, .3 and .1, a third of the judge rows each; the score of a
model departs from its mean by N(0, .3^2) in each context. Five folds, no item effects.

With ``--deviations alike`` or ``apart`` twelve models, and judges that deviate from
each by N(0, .3^2), correlated by .6 between judges, alike in all contexts or anew in
each; only the fit with shared judges, with ``item_effects="random"``.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from report import write_rows
from scipy.special import expit

from skanchor import AnchorPipeline
from skanchor.contexts import rank_contexts
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles

HUMAN, SD, NEW, TRUTH = (0.6, 0.3, 0.1), 0.3, "new-model", 0.5
ITEM_SD = 0.3
HEADER = ("fit", "target", "usable", "bias", "rmse", "coverage", "width")
TARGETS = ("1", "2", "3", "mix")
FITS = ("pooled", "separate", "shared judges")


@dataclass(frozen=True)
class Table:
    """Battles in three contexts, and the truth of each target."""

    X: pd.DataFrame
    y: NDArray[np.int_]
    truths: list[float]


def make(seed: int, deviations: str = "none") -> Table:
    """Draw scores by context, deviations of the judges where asked, and outcomes."""
    models = {} if deviations == "none" else {"n_models": 12}
    data = simulate_battles(random_state=seed, **models)
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
    if deviations != "none":
        numbers = {name: m for m, name in enumerate(data.truth.sensitivities.index)}
        judges = X["judge"].map(numbers).fillna(-1).astype(int).to_numpy()
        root = ITEM_SD * np.linalg.cholesky(0.4 * np.eye(3) + 0.6)
        u = rng.normal(size=(len(names), 3, 3)) @ root.T
        if deviations == "alike":
            u[:] = u[:, :1]
        seen = u[left, kind, judges] - u[right, kind, judges]
        logits = logits + np.where(human, 0.0, seen)
    y = (rng.random(len(X)) < expit(logits)).astype(int)
    truths = TRUTH + apart[-1] - apart[:-1].mean(axis=0)
    return Table(X.assign(kind=kind), y, [*truths, truths.mean()])


def shared(table: Table, **settings: Any) -> list[Any]:
    """Results of the fit with shared judges: by context, and of the equal mix."""
    anchor = AnchorPipeline(cv=5, context="kind", **settings)
    mixed = anchor.fit(table.X, table.y).result_
    return [*(mixed.by_context[g] for g in range(3)), mixed]


def draw(seed: int) -> list[list[tuple[float, ...]]]:
    """Errors and limits of all fits, by target; NaN where there is no fit."""
    table = make(seed)
    X, y = table.X.drop(columns="kind"), table.y
    settings = {"item_effects": None, "random_state": seed}
    anchor = AnchorPipeline(cv=5, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pooled = [anchor.fit(X, y).result_] * 4
        separate: list[Any] = [None] * 4
        try:
            found = rank_contexts(anchor, X, y, table.X["kind"])
            separate = [found[g] for g in range(3)]
            separate.append(found.under(dict.fromkeys(range(3), 1 / 3)))
        except (BattlesError, ValueError) as error:
            print(seed, error, flush=True)
        fits = (pooled, separate, shared(table, **settings))
    return [of_fit(results, table) for results in fits]


def draw_deviating(seed: int, deviations: str) -> list[list[tuple[float, ...]]]:
    """Errors and limits of the fit with shared judges that deviate by model."""
    table = make(seed, deviations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = shared(table, item_effects="random", random_state=seed)
    return [of_fit(results, table)]


def of_fit(results: list[Any], table: Table) -> list[tuple[float, ...]]:
    """Errors and limits of a fit by target."""
    both = zip(results, table.truths, strict=True)
    return [errors(result, truth) for result, truth in both]


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
    parser.add_argument(
        "--deviations", choices=["none", "alike", "apart"], default="none"
    )
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.draws)
    names: tuple[str, ...] = FITS
    jobs = [delayed(draw)(seed) for seed in seeds]
    if options.deviations != "none":
        names = (f"shared judges, deviations {options.deviations}",)
        jobs = [delayed(draw_deviating)(seed, options.deviations) for seed in seeds]
    found = np.array(Parallel(options.jobs)(jobs))
    rows = []
    for fit, drawn in zip(names, found.swapaxes(0, 1), strict=True):
        for target, values in zip(TARGETS, drawn.swapaxes(0, 1), strict=True):
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
