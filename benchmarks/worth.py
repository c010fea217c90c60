"""What verdicts are worth in human votes, on simulated designs and on real battles.

``python benchmarks/worth.py simulated`` prints the tables of two simulated designs: one
with features and without item effects, one with item effects and without features.
``arena`` takes palm-2 as new, without ties, and ``models`` each of the twenty models in
turn, whose median and range it prints. All are printed for the default settings and for
those of the paper.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.datasets import fetch_arena
from skanchor.exceptions import SkanchorWarning
from skanchor.simulation import simulate_battles

SETTINGS = {
    "default": {},
    "paper": dict(
        historical_fit="two-step",
        item_effects="none",
        calibrator=JudgeCalibrator(position_effect=False),
    ),
    "two steps": dict(historical_fit="two-step", item_effects="random"),
}
COLUMNS = ["model_a", "model_b", "judge"]


def show(
    name: str, X: pd.DataFrame, y: pd.Series, price: float, **settings: object
) -> None:
    """Fit, and print the score, its error, the tables and two designs."""
    anchor = AnchorPipeline(random_state=0, **settings).fit(X, y)
    start = time.process_time()
    worth, outlook = anchor.worth(), anchor.outlook()
    seconds = time.process_time() - start
    new = anchor.new_models_[0]
    print(
        f"\n{name}: score {anchor.scores_[new]:.4f}, error "
        f"{anchor.standard_errors_[new]:.4f}, item part "
        f"{anchor.variance_.loc[new, 'items']:.4f}; worth and outlook took "
        f"{seconds:.3f} s"
    )
    print(worth.table.droplevel("model").round(3).to_string())
    print(outlook.table.droplevel("model").to_string())
    print((outlook.limits / 1.96).round(5).to_string())
    print(mean_gains(anchor).round(3).to_string())
    for targets in ("scores", "neighbours"):
        start = time.process_time()
        design = anchor.design(50, {"human": 1.0, "judges": price}, targets)
        seconds = time.process_time() - start
        print(
            f"design for {targets}, budget 50, a verdict at {price:g}: {seconds:.2f} s"
        )
        print("\n".join(design.lines()))


def mean_gains(anchor: AnchorPipeline) -> pd.DataFrame:
    """Mean of V a^2 in 1e-6, of rows on the new model and between old ones."""
    sample = anchor.distinct_sample_
    X, new = sample.X, np.flatnonzero(sample.X.is_new)[0]
    a, p = anchor.debiaser_.weights(X)[:, new], expit(X.logits())
    rows = pd.DataFrame(
        {
            "source": np.where(X.is_human, "human", np.append(X.judges, "")[X.judge]),
            "rows": np.where(X.involves_new, "on the new model", "between old ones"),
            "gain": 1e6 * sample.weight * p * (1.0 - p) * a**2,
            "number": 1.0 if sample.multiplicity is None else sample.multiplicity,
        }
    )
    sums = rows.groupby(["source", "rows"])[["gain", "number"]].sum()
    return (sums["gain"] / sums["number"]).unstack()


def without_votes(X: pd.DataFrame, y: pd.Series, model: str) -> tuple:
    """The table with a model as new: its votes are hidden."""
    on = (X["model_a"] == model) | (X["model_b"] == model)
    keep = ~(on & X["judge"].eq("human"))
    return X.loc[keep, COLUMNS], y[keep]


def main() -> None:
    """Print the tables of a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["simulated", "arena", "models"])
    options = parser.parse_args()
    warnings.simplefilter("ignore", SkanchorWarning)
    if options.part == "simulated":
        data = simulate_battles(random_state=0)
        for name in ("default", "paper"):
            show(f"features, {name}", data.X, data.y, 0.1, **SETTINGS[name])
        data = simulate_battles(
            n_historical=4000, rho=0, item_sd=0.3, item_corr=0.6, random_state=0
        )
        for name in ("default", "two steps"):
            show(
                f"item effects, {name}", data.X[COLUMNS], data.y, 0.05, **SETTINGS[name]
            )
        return
    X, y = fetch_arena(return_X_y=True)
    untied = (y != "tie").to_numpy()
    X, y = X[untied].reset_index(drop=True), y[untied].reset_index(drop=True)
    if options.part == "arena":
        for name in ("default", "two steps", "paper"):
            show(
                f"arena, {name}", *without_votes(X, y, "palm-2"), 0.02, **SETTINGS[name]
            )
        return
    found = {}
    for model in sorted(set(X["model_a"])):
        anchor = AnchorPipeline(random_state=0, cv=5)
        anchor.fit(*without_votes(X, y, model))
        found[model] = anchor.worth().table.droplevel("model").stack()
        found[model]["half width", "now"] = anchor.outlook().limits["now"].iloc[0]
    table = pd.DataFrame(found)
    summary = pd.DataFrame(
        {
            "median": table.median(axis=1),
            "low": table.min(axis=1),
            "high": table.max(axis=1),
        }
    )
    print(summary.round(3).to_string())
    print(table.loc["all judges"].T.replace(np.inf, np.nan).round(3).to_string())


if __name__ == "__main__":
    main()
