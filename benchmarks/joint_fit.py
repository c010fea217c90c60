"""The joint historical fit against the two-step fit, by number of human votes.

``python benchmarks/joint_fit.py votes [--votes 100 200] [--draws 60]`` draws the
default simulation with 5,600 historical judge rows and 500 of the new model;
``apart`` lets people vote only within two halves of five models, among three models,
or within five pairs, which only the joint fit can place; ``items`` has judges deviate
from models, with ``item_effects="random"``. ``--defaults`` takes `AnchorPipeline` as it
comes instead. A fit is usable where its error is finite and its score lies within three
logits of the truth; "even" is the coverage of symmetric intervals, "below" the share
that lie below the truth. ``--jobs`` draws in parallel.

``python benchmarks/joint_fit.py arena BATTLES [--votes 500]`` draws votes of a battles
table, leaves out ten models in turn, and takes the fit of all votes as the truth.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from report import write_rows
from scipy.stats import t

from skanchor import (
    AnchorPipeline,
    BTLRegressor,
    JudgeCalibrator,
    split_battles,
)
from skanchor.exceptions import BattlesError
from skanchor.io import read_battles
from skanchor.simulation import simulate_battles

Rule = Callable[[NDArray, NDArray], NDArray]

NEW, SIDES = "new-model", ["model_a", "model_b"]
FAR = 3.0
VOTES = (25, 50, 100, 200, 500, 1000, 2400)
HEADER = ("design", "fit", "draws", "usable", "bias", "rmse", "coverage", "width",
          "median width", "scale z", "below", "even", "even width", "even below",
          "z < 3", "coverage there", "even there")  # fmt: skip
APART: dict[str, tuple[int, Rule]] = {
    # Votes, and which pairs of the models, best first, people see.
    "two halves": (1000, lambda a, b: a % 2 == b % 2),
    "three models": (300, lambda a, b: np.isin(a, (0, 4, 8)) & np.isin(b, (0, 4, 8))),
    "five pairs": (300, lambda a, b: a % 5 == b % 5),
}


def table(
    seed: int, n_human: int, rule: Rule | None = None, **settings: Any
) -> tuple[pd.DataFrame, NDArray, float]:
    """One draw with this many human votes, on the pairs that the rule lets stand.

    And the score of the new model; zero is the mean of the models with votes.
    """
    n_drawn = n_human if rule is None else 20 * n_human
    data = simulate_battles(
        n_historical=5600 + n_drawn, n_human=n_drawn, random_state=seed, **settings
    )
    X, y, score = data.X, np.asarray(data.y), data.truth.new_scores[NEW]
    if rule is None:
        return X, y, score
    places = data.truth.scores.rank(ascending=False).astype(int) - 1
    human = (X["judge"] == "human").to_numpy()
    left, right = (X[side].map(places).to_numpy() for side in SIDES)
    stands = human & rule(left, right)
    stands[np.flatnonzero(stands)[n_human:]] = False
    rows = ~human | stands
    seen = X.loc[stands, SIDES].stack().unique()
    return X[rows], y[rows], score - data.truth.scores[seen].mean()


def fitted(
    X: pd.DataFrame, y: NDArray, truth: float, seed: int, **settings: Any
) -> tuple[float, ...]:
    """Error, distances to the limits, scale z, half an even width; or NaN."""
    nothing = (np.nan,) * 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            anchor = AnchorPipeline(random_state=seed, **settings).fit(X, y)
        except (BattlesError, ValueError):
            return nothing
        low, high = anchor.conf_int().loc[NEW, ["low", "high"]]
    error, result = anchor.scores_[NEW] - truth, anchor.result_
    if not np.isfinite(high - low) or abs(error) > FAR:
        return nothing
    _, spread, df = (each[result.is_new][0] for each in result.moments)
    half = t.ppf(0.975, df) * spread
    return error, low - truth, high - truth, result.diagnostics.scale_z, half


def draw(seed: int, how: str, arguments: dict[str, Any], **settings: Any) -> Any:
    """Fit one draw."""
    X, y, truth = table(seed, **arguments)
    return fitted(X, y, truth, seed, historical_fit=how, **settings)


def draw_of_table(
    seed: int, how: str, arguments: dict[str, Any], **settings: Any
) -> list[tuple[float, ...]]:
    """Fits of one draw of votes, each with another model left out."""
    X, y, n_human = arguments["X"], arguments["y"], arguments["n_human"]
    human = (X["judge"] == "human").to_numpy()
    truth = BTLRegressor().fit(X[human], y[human]).scores_
    rng = np.random.default_rng(seed)
    votes = rng.choice(np.flatnonzero(human), n_human, replace=False)
    rows = np.sort(np.append(votes, np.flatnonzero(~human)))
    found = []
    for model in rng.choice(truth.index.to_numpy(object), 10, replace=False):
        part, outcomes = X.iloc[rows], y[rows]
        known = (part["judge"] != "human") | (
            (part["model_a"] != model) & (part["model_b"] != model)
        )
        part = part[known].replace({side: {model: NEW} for side in SIDES})
        target = truth[model] - truth.drop(model).mean()
        found.append(
            fitted(part, outcomes[known], target, 0, historical_fit=how, **settings)
        )
    return found


def summary(found: NDArray) -> list[str]:
    """Usable share, bias, rmse, coverage, widths and scale z."""
    error, low, high, z, half = found[~np.isnan(found[:, 0])].T
    usable = f"{len(error) / len(found):.2f}"
    if not len(error):
        return [usable, *[""] * 13]
    covered, width, weak = (low <= 0) & (high >= 0), high - low, z < 3.0
    even = np.abs(error) <= half
    values = (np.mean(error), np.mean(error**2) ** 0.5, np.mean(covered),
              np.mean(width), np.median(width), np.mean(z), np.mean(high < 0),
              np.mean(even), np.mean(2.0 * half), np.mean(error < -half),
              np.mean(weak), *(np.mean(each[weak]) if weak.any() else np.nan
                               for each in (covered, even)))  # fmt: skip
    return [usable, *(f"{value:.3f}" for value in values)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("design", choices=["votes", "apart", "items", "arena"])
    parser.add_argument("battles", nargs="?", help="table of the design arena")
    parser.add_argument("--votes", type=int, nargs="+")
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--score", type=float, default=0.5, help="of the new model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    settings: dict[str, Any] = {"item_effects": None}
    votes = options.votes or ((500,) if options.design == "arena" else VOTES)
    cells: dict[str, dict[str, Any]] = {f"{n} votes": {"n_human": n} for n in votes}
    task = draw
    if options.design == "apart":
        cells = {
            name: {"n_human": n, "rule": rule} for name, (n, rule) in APART.items()
        }
    if options.design == "items":
        settings = {"item_effects": "random"}
        for cell in cells.values():
            cell |= {"item_sd": 0.3, "item_corr": 0.6, "rho": 0.0}
    if options.design != "arena":
        for cell in cells.values():
            cell |= {"new_score": options.score}
    else:
        task = draw_of_table
        battles = read_battles(options.battles)
        battles = battles[~battles["winner"].astype(str).str.startswith("tie")]
        X, y = split_battles(battles.reset_index(drop=True))
        judges = JudgeCalibrator(position_effect=True)
        settings = {"item_effects": "random", "cv": 5, "calibrator": judges}
        for cell in cells.values():
            cell |= {"X": X, "y": np.asarray(y)}
    if options.defaults:
        settings = {}
    alone = options.design == "apart" or options.defaults
    fits = ("joint",) if alone else ("two-step", "joint")
    rows = []
    with Parallel(n_jobs=options.jobs) as parallel:
        for name, arguments in cells.items():
            for how in fits:
                found = parallel(
                    delayed(task)(options.seed + i, how, arguments, **settings)
                    for i in range(options.draws)
                )
                rows.append(
                    [name, how, options.draws, *summary(np.reshape(found, (-1, 5)))]
                )
                print(*rows[-1], flush=True)
    name = options.design + "_defaults" * options.defaults
    write_rows(f"joint_fit_{name}", HEADER, rows)


if __name__ == "__main__":
    main()
