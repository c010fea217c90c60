"""What unrecorded favours would change: figures, and what intervals then hold.

``python benchmarks/sensitivity.py simulated`` prints exposures, breakdowns,
and growing rank sets on two simulated designs: one with
features and without item effects, one with item effects and without features.
``arena`` takes
palm-2 as new, without ties, and ``models`` each of the twenty models in turn. All are
printed for the default settings and for those of the paper. ``cost`` times the parts on
arena, beside the whole fit.

``coverage`` draws tables in whose verdicts all judges favour the new model by .2, up or
down, and counts intervals and rank sets that hold the truth, with and without allowing
for such favours. ``family`` draws two new relatives whom all judges see as if their
scores were higher by one normal draw of standard deviation .4, and counts false
statements, and how many of them a breakdown beside recorded sizes would have warned of.
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import expit

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.datasets import fetch_arena
from skanchor.simulation import simulate_battles

SETTINGS = {
    "default": {},
    "paper": dict(
        historical_fit="two-step",
        item_effects="none",
        calibrator=JudgeCalibrator(position_effect=False),
    ),
    "two steps": dict(historical_fit="two-step", item_effects="random"),
    "paper, position effects": dict(historical_fit="two-step", item_effects="none"),
}
COLUMNS = ["model_a", "model_b", "judge"]
FAVOUR = 0.2
"""Favour of all judges in ``coverage``, in judge logits."""


def show(name: str, X: pd.DataFrame, y: pd.Series, **settings: object) -> None:
    """Fit, and print everything about favours for the one new model."""
    anchor = AnchorPipeline(random_state=0, **settings).fit(X, y)
    new = anchor.new_models_[0]
    print(f"\n{name}: score {anchor.scores_[new]:.4f}, "
          f"error {anchor.standard_errors_[new]:.4f}")  # fmt: skip
    print(anchor.benchmarks().droplevel("model").round(4).to_string())
    table = anchor.breakdown().droplevel("model")
    print(table.drop(columns="weakest_judge").round(4).to_string())
    sizes = np.arange(0, 1.51, 0.01)
    first = table.index[0]
    own = anchor.sensitivity(sizes, method="holm").loc[(new, first)]
    own = own[["rank_low", "rank_high"]].drop_duplicates()
    steps = [
        f"{low}-{high} from {size:.2f}"
        for size, (low, high) in zip(own.index, own.to_numpy(), strict=True)
    ]
    print("rank sets (Holm):", ", ".join(steps))


def simulated() -> None:
    """Both simulated designs."""
    data = simulate_battles(random_state=0)
    for name in ("paper", "default"):
        show(f"with features, {name}", data.X, data.y, **SETTINGS[name])
    data = simulate_battles(
        n_historical=4000, rho=0, item_sd=0.3, item_corr=0.6, random_state=0
    )
    for name in ("two steps", "default"):
        given = SETTINGS[name] | {"item_effects": "random"}
        show(f"item effects, {name}", data.X[COLUMNS], data.y, **given)


def without_votes(X: pd.DataFrame, y: pd.Series, model: str) -> tuple:
    """The table with a model as new: its votes are hidden."""
    on = (X["model_a"] == model) | (X["model_b"] == model)
    keep = ~(on & X["judge"].eq("human"))
    return X.loc[keep, COLUMNS], y[keep]


def battles_of_arena() -> tuple[pd.DataFrame, pd.Series]:
    """Arena without ties."""
    X, y = fetch_arena(return_X_y=True)
    decided = y != "tie"
    return X[decided], y[decided]


def arena() -> None:
    """palm-2 as new."""
    X, y = battles_of_arena()
    for name in ("default", "two steps", "paper, position effects"):
        show(f"palm-2, {name}", *without_votes(X, y, "palm-2"), **SETTINGS[name])


def models() -> None:
    """Each model as new, with five folds."""
    X, y = battles_of_arena()
    rows = []
    for model in sorted(set(X["model_a"])):
        anchor = AnchorPipeline(cv=5, random_state=0).fit(*without_votes(X, y, model))
        table = anchor.breakdown().droplevel("model")
        marks = anchor.benchmarks()
        clear = table[table["gamma_interval"] > 0]
        sizes = np.arange(0, 1.01, 0.02)
        sets = anchor.sensitivity(sizes, method="holm").loc[(model, table.index[0])]
        wide = (sets["rank_high"] - sets["rank_low"]).to_numpy()
        grown = np.flatnonzero(wide > wide[0])
        rows.append(
            {
                "model": model,
                "exposure": marks["exposure"].abs().sum(),
                "clear": len(clear),
                "first in doubt": clear["gamma_interval"].min(),
                "median in doubt": clear["gamma_interval"].median(),
                "in item sds": clear["ratio_item_sd"].min(),
                "rank set grows": sizes[grown[0]] if len(grown) else np.inf,
                "rank changes": table["gamma_sign"].min(),
                "item sd": marks["item_sd"].max(),
            }
        )
        print(rows[-1], flush=True)
    found = pd.DataFrame(rows).set_index("model")
    print(found.round(3).to_string())
    print(found.median().round(3).to_string())


def cost() -> None:
    """Processor time of the parts on arena, beside the whole fit, and bytes."""
    from skanchor import _assembly

    X, y = without_votes(*battles_of_arena(), "palm-2")
    inner, spent = _assembly.exposures_of_sums, []

    def timed(*args: object) -> object:
        start = time.process_time()
        found = inner(*args)
        spent.append(time.process_time() - start)
        return found

    _assembly.exposures_of_sums = timed
    whole = []
    for _ in range(5):
        start = time.process_time()
        anchor = AnchorPipeline(random_state=0).fit(X, y)
        whole.append(time.process_time() - start)
    seconds = {"fit": np.median(whole), "exposures": np.median(spent)}
    for name in ("breakdown", "benchmarks", "sensitivity"):
        start = time.process_time()
        getattr(anchor, name)()
        seconds[name] = time.process_time() - start
    print(pd.Series(seconds).round(4).to_string())
    print(f"exposures in a fit: {seconds['exposures'] / seconds['fit']:.2%}")
    bare = replace(anchor.result_, exposures=None)
    sizes = [len(pickle.dumps(one)) for one in (anchor.result_, bare)]
    print(f"a result has {sizes[0]} bytes, {sizes[0] - sizes[1]} of exposures")


DESIGNS = {
    "plain": {},
    "item effects": dict(n_historical=4000, rho=0.0, item_sd=0.3, item_corr=0.6),
}


def covered(design: str, seed: int) -> list[dict[str, float]]:
    """One table whose judges favour the new model; all contrasts to old models."""
    data = simulate_battles(random_state=seed, **DESIGNS[design])
    X = data.X if design == "plain" else data.X[COLUMNS]
    rng = np.random.default_rng([3, seed])
    size = FAVOUR * rng.choice([-1.0, 1.0])
    sign = X["model_a"].eq("new-model") * 1.0 - X["model_b"].eq("new-model") * 1.0
    y = rng.random(len(X)) < expit(data.truth.logits + size * sign.to_numpy())
    anchor = AnchorPipeline(cv=5, random_state=0).fit(X, y.astype(float))
    truth = data.truth.new_scores.iloc[0] - data.truth.scores
    table = anchor.sensitivity([0.0, FAVOUR]).loc["new-model"]
    rank = 1 + int((truth < 0).sum())
    rows = []
    half = anchor.contrasts().loc["new-model"]
    for opponent, due in truth.items():
        own = table.loc[opponent]
        naive, aware = own.iloc[0], own.iloc[1]
        plain = half.loc[opponent]
        rows.append(
            {
                "naive": naive["low"] <= due <= naive["high"],
                "aware": aware["low"] <= due <= aware["high"],
                "bias added": plain["low"] - aware["bias"]
                <= due
                <= plain["high"] + aware["bias"],
                "naive rank set": naive["rank_low"] <= rank <= naive["rank_high"],
                "aware rank set": aware["rank_low"] <= rank <= aware["rank_high"],
                "naive width": naive["high"] - naive["low"],
                "aware width": aware["high"] - aware["low"],
            }
        )
    return rows


def coverage(draws: int, first: int) -> None:
    """Shares of contrasts covered, with the Monte-Carlo error over tables."""
    for design in DESIGNS:
        means = pd.DataFrame(
            [pd.DataFrame(covered(design, s)).astype(float).mean()
             for s in range(first, first + draws)]
        )  # fmt: skip
        error = means.std() / np.sqrt(len(means))
        print(f"\n{design}, {draws} tables")
        print(pd.DataFrame({"mean": means.mean(), "error": error}).round(3).to_string())


def of_family(seed: int, sd: float) -> list[dict[str, object]]:
    """Statements on two new relatives, true or false, and their breakdowns."""
    data = simulate_battles(
        n_historical=4000, rho=0.0, item_sd=0.2, item_corr=0.5, n_new_models=2,
        new_score=[0.5, 0.0], random_state=seed,
    )  # fmt: skip
    X = data.X[COLUMNS]
    rng = np.random.default_rng([5, seed])
    favour = rng.normal(0.0, sd)
    new = data.truth.new_scores.index.tolist()
    liked = X["model_a"].isin(new) * 1.0 - X["model_b"].isin(new) * 1.0
    slope = data.truth.sensitivities.reindex(X["judge"]).fillna(0.0).to_numpy()
    eta = data.truth.logits + favour * slope * liked.to_numpy()
    y = (rng.random(len(X)) < expit(eta)).astype(float)
    anchor = AnchorPipeline(cv=5, random_state=0).fit(X, y)
    truth = pd.concat([data.truth.scores, data.truth.new_scores])
    table = anchor.breakdown("family", family=new)
    marks = anchor.benchmarks().max()
    sizes = [0.0, marks["item_sd"], marks["largest_deviation"]]
    sizes = np.maximum.accumulate(np.nan_to_num(sizes))
    limits = anchor.sensitivity(sizes, "family", family=new, method="holm")
    rows = []
    for pair, row in table.iterrows():
        model, opponent = pair
        if opponent in new:
            continue
        due = truth[model] - truth[opponent]
        own = limits.loc[pair]
        held = (own["low"] <= due) & (due <= own["high"])
        rows.append(
            {
                "held": held.iloc[0],
                "held at an item sd": held.iloc[1],
                "held at the largest item effect": held.iloc[2],
                "clear": row["gamma_interval"] > 0,
                "false": np.sign(due) != np.sign(row["difference"]),
                "sds": row["ratio_item_sd"],
                "effects": row["ratio_deviation"],
            }
        )
    return rows


def family(draws: int, first: int) -> None:
    """Coverage, false statements, and how many of them were warned of."""
    for sd in (0.4, 0.0):
        tables = [pd.DataFrame(of_family(s, sd)) for s in range(first, first + draws)]
        rows = pd.concat(tables)
        clear = rows[rows["clear"]]
        false = clear[clear["false"]]
        print(
            f"\ncommon favour of sd {sd}, {draws} tables: {len(clear)} clear "
            f"statements, {len(false)} of them false"
        )
        for name in [column for column in rows if column.startswith("held")]:
            means = np.array([table[name].mean() for table in tables])
            error = means.std(ddof=1) / np.sqrt(draws)
            print(f"  intervals that {name}: {means.mean():.3f} ± {error:.3f}")
        for name, words in (("sds", "item sd"), ("effects", "largest item effect")):
            print(
                f"  breakdown below the {words}: {(false[name] < 1).mean():.2f} of the "
                f"false, {(clear[~clear['false']][name] < 1).mean():.2f} of the true, "
                f"{(clear[~clear['held']][name] < 1).mean():.2f} of those whose "
                "interval misses"
            )


def main() -> None:
    """Print one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    alone = {"simulated": simulated, "arena": arena, "models": models, "cost": cost}
    drawn = {"coverage": coverage, "family": family}
    parser.add_argument("part", choices=[*alone, *drawn])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=30000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part in alone:
        alone[options.part]()
    else:
        drawn[options.part](options.draws, options.first)


if __name__ == "__main__":
    main()
