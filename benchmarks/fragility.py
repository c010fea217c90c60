"""How few rows change what is said of a new model: a simulation, and real battles.

``python benchmarks/fragility.py simulated`` prints, for the default settings and for
those of the paper, how many rows turn or unsettle four differences (first order,
re-solved, confirmed by refits), how far scores move without the most influential
verdicts, and the time for all differences. ``arena`` prints the same numbers for
palm-2 as new, without ties, and ``models`` how many rows turn the nearest difference of
each of the twenty models in turn (``--by-influence``: to first order, in a minute).
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone

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
}
COLUMNS = ["model_a", "model_b", "judge"]


def number(value: float) -> str:
    """A number of rows: more than may be dropped, none, or the number."""
    return "more" if np.isinf(value) else "none" if np.isnan(value) else f"{value:.0f}"


def table(
    anchor: AnchorPipeline,
    X: pd.DataFrame,
    y: pd.Series,
    opponents: list,
    goals: tuple = ("sign", "interval"),
    sources: tuple = ("any", "human", "arrival", "history"),
    **asked: object,
) -> pd.DataFrame:
    """First order / re-solved / confirmed, by opponent, goal and source."""
    found = {}
    for goal in goals:
        for rows in sources:
            for opponent in opponents:
                result = anchor.fragility(X, y, opponent, goal, rows=rows, **asked)
                row = result.table.iloc[0]
                confirmed = row["k"] if row["confirmed"] else np.nan
                if row["status"] == "not fragile":
                    confirmed = np.inf
                cell = "/".join(
                    map(number, (row["first_order"], row["re_solved"], confirmed))
                )
                if np.isfinite(row["anew"]) and not row["anew_confirmed"]:
                    cell += "*"
                found[f"{opponent} ({row['t']:.2f})", (goal, rows)] = cell
    series = pd.Series(found)
    series.index = pd.MultiIndex.from_tuples(
        [(label, *kind) for label, kind in found], names=["opponent", "goal", "rows"]
    )
    return series.unstack(["goal", "rows"], sort=False)


def accuracy(anchor: AnchorPipeline, X: pd.DataFrame, y: pd.Series) -> pd.DataFrame:
    """Shift of the score without the verdicts of the largest influence."""
    from skanchor.fragility._resolved import Fitted
    from skanchor.fragility._units import Queue, Units

    model = anchor.new_models_[0]
    new = anchor.models_.tolist().index(model)
    units = Units.of(anchor.distinct_sample_, [model], "arrival", "drop", "row")
    fit = Fitted.of(anchor.result_, anchor.debiaser_, units, 1.0)
    influence = anchor.debiaser_.influence_of_rows(
        anchor.distinct_sample_, np.arange(len(X))
    )
    rows = np.flatnonzero(units.unit >= 0)
    own = influence[rows, new]
    order = np.argsort(-own)
    found = {}
    for size in (5, 20, 50, 100):
        some = order[:size]
        gone = fit.without(Queue(some, np.ones(size, np.intp)))
        weight = np.ones(len(X))
        weight[rows[some]] = 0.0
        again = clone(anchor).set_params(cv=anchor.fold_plan_)
        again.fit(X, y, sample_weight=weight)
        found[size] = {
            "first order": -own[some].sum(),
            "re-solved": gone.total[new] - fit.base.total[new],
            "refit": again.scores_[model] - anchor.scores_[model],
        }
    return pd.DataFrame.from_dict(found, orient="index")


def without_votes(X: pd.DataFrame, y: pd.Series, model: str) -> tuple:
    """The table with a model as new: its votes are hidden."""
    on = (X["model_a"] == model) | (X["model_b"] == model)
    keep = ~(on & X["judge"].eq("human"))
    return X.loc[keep, COLUMNS].reset_index(drop=True), y[keep].reset_index(drop=True)


def simulated() -> None:
    """The default simulation."""
    data = simulate_battles(random_state=0)
    for name, settings in SETTINGS.items():
        anchor = AnchorPipeline(random_state=0, **settings).fit(data.X, data.y)
        print(f"\n{name}: score {anchor.scores_.iloc[0]:.4f}")
        opponents = ["model-04", "model-03", "model-10", "model-01"]
        shown = table(anchor, data.X, data.y, opponents)
        print(shown.T.to_string())
        print("reversed")
        some = table(
            anchor, data.X, data.y, ["model-04", "model-10"], ("sign",),
            ("arrival", "human", "history"), action="reverse",
        )  # fmt: skip
        print(some.T.to_string())
        print(accuracy(anchor, data.X, data.y).round(3).to_string())
        for goal in ("sign", "interval", "rank"):
            start = time.process_time()
            found = anchor.fragility(data.X, data.y, goal=goal)
            seconds = time.process_time() - start
            refits = sum((own["by"] == "refit").sum() for own in found.paths.values())
            print(f"{goal}: {seconds:.1f} s of CPU, {refits} refits")
            print("\n".join(found.lines()))


def arena(models: list, opponents: list, *, by_influence: bool = False) -> None:
    """Real battles, with some models as new in turn."""
    X, y = fetch_arena(return_X_y=True)
    untied = (y != "tie").to_numpy()
    X, y = X[untied].reset_index(drop=True), y[untied].reset_index(drop=True)
    if models:
        own = without_votes(X, y, models[0])
        anchor = AnchorPipeline(random_state=0).fit(*own)
        print(table(anchor, *own, opponents).T.to_string())
        for goal in ("sign", "interval", "rank"):
            start = time.process_time()
            found = anchor.fragility(*own, goal=goal)
            print(f"{goal}: {time.process_time() - start:.1f} s of CPU")
            print("\n".join(found.lines()))
        return
    found = {}
    for model in sorted(set(X["model_a"])):
        own = without_votes(X, y, model)
        anchor = AnchorPipeline(random_state=0, cv=5).fit(*own)
        contrasts = anchor.contrasts().loc[model]
        nearest = contrasts["difference"].abs().idxmin()
        if by_influence:
            tables = [anchor.fragility_by_influence(nearest).table,
                      anchor.fragility_by_influence(goal="rank").table]  # fmt: skip
            numbers = [one["first_order"].iloc[0] for one in tables]
            found[model] = dict(
                zip(("rank moves", "rank set moves"), numbers, strict=True)
            )
            print(model, found[model], flush=True)
            continue
        row = anchor.fragility(*own, nearest).table.iloc[0]
        ranks = anchor.fragility(*own, goal="rank").table.iloc[0]
        found[model] = {
            "nearest": nearest,
            "t": row["t"],
            "rank moves": row["k"],
            "confirmed": row["confirmed"],
            "rank set moves": ranks["k"],
            "set confirmed": ranks["confirmed"],
            "rows": row["allowed"],
        }
        print(model, found[model], flush=True)
    shown = pd.DataFrame.from_dict(found, orient="index")
    print(shown.round(2).to_string())
    print(shown[["rank moves", "rank set moves"]].describe().round(0).to_string())


def main() -> None:
    """Print the tables of a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["simulated", "arena", "models"])
    parser.add_argument(
        "--by-influence", action="store_true", help="models: first order alone"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", SkanchorWarning)
    if options.part == "simulated":
        simulated()
    elif options.part == "arena":
        arena(["palm-2"], ["vicuna-13b", "vicuna-7b", "koala-13b"])
    else:
        arena([], [], by_influence=options.by_influence)


if __name__ == "__main__":
    main()
