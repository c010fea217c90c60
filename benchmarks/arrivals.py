"""Are arrivals looked at well: size and power of the checks, and what widening does.

``python benchmarks/arrivals.py changes [--draws 200]`` simulates judges that change on
arrival rows, ``disagree`` judges that differ about a new model, ``widening`` intervals
with and without the scale factor, and ``table BATTLES`` prints how far the judges of a
real table disagree about each of its models, taken as new in turn.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import expit
from scipy.stats import chi2, ncx2

from skanchor import AnchorPipeline, split_battles
from skanchor._diagnostics import FitSums, check_arrivals
from skanchor.io import read_battles
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles

NEW = "new-model"


def simulated(seed, factor=1.0, favour=0.0, shown=0.0, judges=1, **design):
    """A table on whose arrival rows the first judges behave otherwise.

    Their sensitivity is ``factor`` times that of history; they favour the new model by
    ``favour`` logits, and the side shown first by ``shown``.
    """
    settings = dict(n_models=10, n_judges=3, n_new=500, new_score=1.0) | design
    data = simulate_battles(**settings, random_state=seed)
    X, truth = data.X, data.truth
    first, second = (X[f"model_{side}"] == NEW for side in "ab")
    rows = ((first | second) & X["judge"].isin(truth.judges[:judges])).to_numpy()
    scores = pd.concat([truth.scores, truth.new_scores])
    delta = (X["model_a"].map(scores) - X["model_b"].map(scores)).to_numpy()
    slope = X["judge"].map(truth.sensitivities).to_numpy()
    push = (factor - 1.0) * slope * delta + shown
    push += favour * (first.astype(float) - second.astype(float)).to_numpy()
    odds = np.exp(truth.logits + push)
    fresh = np.random.default_rng(seed).random(len(X)) < odds / (1.0 + odds)
    data.y = np.where(rows, fresh, data.y).astype(int)
    return data


def checked(data, item_effects):
    """The check of arrivals after the plug-in alone, which folds do not enter."""
    anchor = AnchorPipeline(debiaser="passthrough", item_effects=item_effects)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor.fit(data.X, data.y)
    known = anchor.comparisons_
    sample = Sample.admit(known, data.y)
    return check_arrivals(known, FitSums.of(sample, known.order, anchor.calibrator_))


def one_change(seed, item_effects, judges=1, **design):
    """P-values of one draw: of the changed judges, of the others, together, least."""
    data = simulated(seed, judges=judges, **design)
    found = checked(data, item_effects).changes
    names = data.truth.judges
    p = found["p_value"].unstack()
    values = {}
    for change in ("sensitivity", "position"):
        values[change] = (p.loc[names[:judges], change] < 0.05).mean()
        values[f"{change} of others"] = (p.loc[names[judges:], change] < 0.05).mean()
        told = found["p_adjusted"].xs(change, level="change").min()
        values[f"{change} told"] = told < 0.05
        values[f"{change} warned of"] = told < 0.01
    values["together"] = p.loc["all judges", "sensitivity"] < 0.05
    return values


def run_changes(draws: int, jobs: int) -> None:
    """Size and power of the tests of a change."""
    for item_effects in ("none", "random"):
        for name, design in DESIGNS.items():
            found = Parallel(jobs)(
                delayed(one_change)(seed, item_effects, **design)
                for seed in range(draws)
            )
            print(item_effects, name)
            print(pd.DataFrame(found).astype(float).mean().round(3).to_string())


DESIGNS = {
    "nothing changes": {},
    "one judge x 0.6": {"factor": 0.6},
    "all judges x 0.6": {"factor": 0.6, "judges": 3},
    "one judge + 0.5 first": {"shown": 0.5},
}


def one_disagreement(seed, item_effects, favour=0.0, **design):
    """Chi-square over df, and p-value, of the new model."""
    data = simulated(seed, favour=favour, **design)
    row = checked(data, item_effects).models.loc[NEW]
    return row["chi2"] / row["df"], row["p_value"]


def run_disagree(draws: int, jobs: int) -> None:
    """Size under exchangeable deviations, power for a judge that favours its own."""
    rows = []
    for n_models, n_judges, sd, corr in CELLS:
        for favour in (0.0, 2.0):
            for item_effects in ("none", "random") if sd == 0 else ("random",):
                push = favour * (sd or 0.3)
                found = Parallel(jobs)(
                    delayed(one_disagreement)(
                        seed, item_effects, push, n_models=n_models,
                        n_judges=n_judges, item_sd=sd, item_corr=corr, new_score=0.5,
                    )
                    for seed in range(draws)
                )  # fmt: skip
                ratio, p = np.array(found).T
                rows.append(
                    {
                        "models": n_models, "judges": n_judges, "item sd": sd,
                        "corr": corr, "favour": push, "item effects": item_effects,
                        "median": np.median(ratio), "p < .05": np.mean(p < 0.05),
                        "p < .01": np.mean(p < 0.01),
                        "expected .05": expected_power(
                            n_models, n_judges, sd, corr, push, 0.05
                        ),
                    }
                )  # fmt: skip
                print(pd.DataFrame(rows[-1:]).round(3).to_string(index=False))


def expected_power(n_models, n_judges, sd, corr, favour, level, draws=200):
    """Power of the chi-square if item effects and errors were known exactly."""
    rng = np.random.default_rng(0)
    shape = np.full((n_judges, n_judges), corr) + (1.0 - corr) * np.eye(n_judges)
    found = []
    for _ in range(draws):
        slope = rng.uniform(0.5, 2.0, n_judges)
        gaps = 0.5 - rng.normal(size=(500 // n_judges, n_judges))
        chance = expit(slope * gaps)
        noise = np.diag(1.0 / (chance * (1.0 - chance)).sum(axis=0))
        inverse = np.linalg.inv(sd**2 * (1.0 + 1.0 / n_models) * shape + noise)
        seen = inverse @ slope
        distance = inverse[0, 0] - seen[0] ** 2 / (slope @ seen)
        cut = chi2.isf(level, n_judges - 1)
        found.append(ncx2.sf(cut, n_judges - 1, favour**2 * distance))
    return np.mean(found)


CELLS = [
    # models, judges, item sd, correlation between judges
    (10, 3, 0.0, 0.0),
    (10, 3, 0.3, 0.0),
    (10, 3, 0.3, 0.6),
    (20, 3, 0.3, 0.6),
    (10, 10, 0.3, 0.6),
]


def one_width(seed, favour, n_models, n_judges, sd, corr):
    """Error and half width of one draw, and the chi-square over df, its p-value."""
    data = simulated(
        seed, favour=favour * sd, n_models=n_models, n_judges=n_judges,
        n_historical=4000, item_sd=sd, item_corr=corr, rho=0.0, new_score=0.5,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]]
    anchor = AnchorPipeline(item_effects="random", cv=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor.fit(X, data.y)
    low, high = anchor.conf_int().loc[NEW]
    row = anchor.result_.diagnostics.arrivals.models.loc[NEW]
    error = anchor.scores_[NEW] - data.truth.new_scores[NEW]
    half = 0.5 * (high - low) / row["scale"]
    return error, half, row["chi2"] / row["df"], row["p_value"]


def run_widening(draws: int, jobs: int) -> None:
    """Coverage and median width without widening, where the check rejects, always."""
    for cell in CELLS[2:4]:
        for favour in (0.0, 2.0):
            found = Parallel(jobs)(
                delayed(one_width)(seed, favour, *cell) for seed in range(draws)
            )
            error, half, ratio, p = np.array(found).T
            factors = {
                "none": np.ones(draws),
                "p < .01": np.sqrt(np.where(p < 0.01, ratio, 1.0)),
                "ratio > 1": np.sqrt(np.maximum(ratio, 1.0)),
            }
            for name, factor in factors.items():
                inside = np.mean(np.abs(error) <= factor * half)
                width = np.median(2.0 * factor * half)
                print(*cell, favour, name, f"{inside:.3f} {width:.2f}", flush=True)


def of_table(model, X, y):
    """Chi-square of one model of a table, taken as new without its votes."""
    own = (X["model_a"] == model) | (X["model_b"] == model)
    kept = (~own | (X["judge"] != "human")).to_numpy()
    anchor = AnchorPipeline(
        debiaser="passthrough", item_effects="random", new_models=[model]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor.fit(X[kept], y[kept])
        known = anchor.comparisons_
        sample = Sample.admit(known, y[kept])
        found = check_arrivals(
            known, FitSums.of(sample, known.order, anchor.calibrator_)
        )
    return found.models.loc[model].rename(model)


def run_table(path: str, jobs: int) -> None:
    """Disagreement about each model of a table, no features, ties dropped."""
    X, y = split_battles(read_battles(path), features=[])
    kept = (y != 0.5) & (y != "tie")
    X, y = X[kept].reset_index(drop=True), y[kept].reset_index(drop=True)
    votes = X[X["judge"] == "human"]
    models = sorted(set(votes["model_a"]) | set(votes["model_b"]))
    found = Parallel(jobs)(delayed(of_table)(model, X, y) for model in models)
    table = pd.DataFrame(found)
    print(table.round(3).to_string())
    print("median of chi2 / df", round((table["chi2"] / table["df"]).median(), 2))


def main() -> None:
    """Run the part that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["changes", "disagree", "widening", "table"])
    parser.add_argument("path", nargs="?")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.part == "table":
        run_table(options.path, options.jobs)
    else:
        run = {
            "changes": run_changes,
            "disagree": run_disagree,
            "widening": run_widening,
        }
        run[options.part](options.draws, options.jobs)


if __name__ == "__main__":
    main()
