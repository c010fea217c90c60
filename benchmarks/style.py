"""People with a bias of their own: what it does to scores, and what controls for it.

``python benchmarks/style.py simulated [--draws 100]`` draws the default simulation, in
which people now like ``psi_0(x) = b'x`` with rho_0 times the standard deviation of the
score differences, and compares the fit without a human bias with the two targets of the
fit with one. ``python benchmarks/style.py mt_bench`` (or ``llmfao``) leaves each model
with votes out in turn, with four features, ties dropped and no item effects;
``--whole`` leaves none out, and shows what style moves.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from report import write_rows
from scipy.special import expit

from skanchor import AnchorPipeline, BTLRegressor, split_battles
from skanchor.datasets import fetch_llmfao, fetch_mt_bench
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles

RHO = (0.0, 0.5, 1.0)
NEW, TRUTH, MANY = "new-model", 0.5, 20_000
FITS: dict[str, dict[str, Any]] = {
    "none": {},
    "controlled": {"human_bias": "linear"},
    "included": {"human_bias": "linear", "target": "style_included"},
}
HEADER = ("rho_0", "fit", "against", "draws", "bias", "rmse", "coverage", "width")
FEATURES = ["x1", "x2", "x3"]


def sides(X: pd.DataFrame) -> tuple[NDArray, NDArray]:
    """Features of the two responses."""
    left, right = ([f"{name}_{side}" for name in FEATURES] for side in "ab")
    return X[left].to_numpy(), X[right].to_numpy()


def mean_responses(seed: int) -> pd.DataFrame:
    """Mean features of each model's responses, of very many."""
    X = simulate_battles(n_historical=MANY, n_new=MANY // 2, random_state=seed).X
    parts = []
    for side, values in zip("ab", sides(X), strict=True):
        parts.append(pd.DataFrame(values).groupby(X[f"model_{side}"].to_numpy()))
    sums = parts[0].sum().add(parts[1].sum(), fill_value=0.0)
    sizes = parts[0].size().add(parts[1].size(), fill_value=0.0)
    return sums.div(sizes, axis=0)


def draw(seed: int, rho: float, how: str) -> list[tuple[float, ...]]:
    """Errors and limits of every fit against both truths."""
    data = simulate_battles(random_state=seed)
    X, y = data.X, np.asarray(data.y).copy()
    human = (X["judge"] == "human").to_numpy()
    left, right = sides(X[human])
    delta, dx = data.truth.logits[human], left - right
    rng = np.random.default_rng([seed, 17])
    coef = rng.normal(size=dx.shape[1])
    coef *= rho * delta.std() / (dx @ coef).std()
    y[human] = rng.random(len(dx)) < expit(delta + dx @ coef)
    style = mean_responses(seed) @ coef
    included = TRUTH + style[NEW] - style.drop(NEW).mean()
    found = []
    for options in FITS.values():
        anchor = AnchorPipeline(
            cv=5, item_effects=None, historical_fit=how, random_state=seed, **options
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchor.fit(X, y)
        score, (low, high) = anchor.scores_[NEW], anchor.conf_int().loc[NEW]
        found += [(score - t, low - t, high - t) for t in (TRUTH, included)]
    return found


def simulated(options: argparse.Namespace) -> None:
    """The table of the simulation."""
    rows = []
    with Parallel(n_jobs=options.jobs) as parallel:
        for rho in options.rho:
            seeds = range(options.seed, options.seed + options.draws)
            found = np.array(
                parallel(
                    delayed(draw)(seed, rho, options.historical_fit) for seed in seeds
                )
            )
            names = [
                (fit, against) for fit in FITS for against in FITS if against != "none"
            ]
            for (fit, against), (error, low, high) in zip(
                names, found.transpose(1, 2, 0), strict=True
            ):
                values = (
                    error.mean(),
                    np.mean(error**2) ** 0.5,
                    np.mean((low <= 0) & (high >= 0)),
                    np.mean(high - low),
                )
                told = (f"{value:.3f}" for value in values)
                rows.append([rho, fit, against, options.draws, *told])
                print(*rows[-1], flush=True)
    write_rows("style_simulated", HEADER, rows)


def with_four_features(table: pd.DataFrame) -> pd.DataFrame:
    """Length, markup, code, exclamation marks of each response, as log(1 + count)."""
    kept = table[["model_a", "model_b", "judge", "winner"]].copy()
    for side in "ab":
        counts = {
            name: sum(table[f"n_{part}_{side}"] for part in parts)
            for name, parts in {
                "length": ("chars",),
                "markup": ("bullets", "numbered", "headers", "bold"),
                "code": ("code_blocks",),
                "exclamation": ("exclaim",),
            }.items()
        }
        for name, values in counts.items():
            kept[f"{name}_{side}"] = np.log1p(values)
    return kept[~kept["winner"].astype(str).str.startswith("tie")]


def published(options: argparse.Namespace) -> None:
    """Each model of a published table left out in turn."""
    fetch = fetch_mt_bench if options.design == "mt_bench" else fetch_llmfao
    X, y = split_battles(with_four_features(fetch().frame).reset_index(drop=True))
    y, human = np.asarray(y), (X["judge"] == "human").to_numpy()
    plain = BTLRegressor().fit(X[human], y[human])
    style = BTLRegressor(bias="linear").fit(X[human], y[human])
    bounded = plain.models_[~plain.unbounded_]
    tell_shifts(X, plain, style, bounded)
    if options.whole:
        tell_new_models(X, y)
        return
    rows = []
    for fit, settings in FITS.items():
        found = []
        for model in bounded.tolist():
            # As in the evaluation, rows of models without votes take no part.
            known = X["model_a"].isin(bounded) & X["model_b"].isin(bounded)
            own = (X["model_a"] == model) | (X["model_b"] == model)
            rest = (known & ~(own & human)).to_numpy()
            anchor = AnchorPipeline(
                new_models=[model], item_effects=options.item_effects,
                random_state=0, **settings,
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    anchor.fit(X[rest], y[rest])
                except (BattlesError, ValueError) as error:
                    print(fit, model, error)
                    continue
            low, high = anchor.conf_int().loc[model]
            truths = []
            for one in (plain, style):
                others = [m for m in bounded.tolist() if m != model]
                truths.append(one.scores_[model] - one.scores_[others].mean())
            found.append((anchor.scores_[model], low, high, *truths))
        score, low, high, *truths = np.array(found).T
        usable = np.isfinite(high - low)
        for against, truth in zip(("plain", "controlled"), truths, strict=True):
            rmse = np.mean((score - truth)[usable] ** 2) ** 0.5
            covered = ((low <= truth) & (truth <= high))[usable]
            width = np.median((high - low)[usable])
            rows.append(
                [fit, against, f"{rmse:.3f}", f"{covered.sum()} of {len(covered)}",
                 f"{width:.2f}"]
            )  # fmt: skip
            print(*rows[-1], flush=True)
    header = ("fit", "against", "rmse", "covered", "median width")
    write_rows(f"style_{options.design}", header, rows)


def tell_shifts(
    X: pd.DataFrame, plain: BTLRegressor, style: BTLRegressor, models: NDArray
) -> None:
    """Print what votes by themselves say of style, and what that moves."""
    names = [str(name).removesuffix("_a") for name in X.columns if name.endswith("_a")]
    print("people like", dict(zip(names[1:], style.bias_.coef_.round(2), strict=True)))
    scores = [fit.scores_[models] for fit in (plain, style)]
    shift = (scores[1] - scores[0]).abs()
    ranks = (scores[1].rank() - scores[0].rank()).abs()
    print(f"correlation {np.corrcoef(*scores)[0, 1]:.3f}, shift {shift.mean():.3f},"
          f" largest {shift.max():.2f}, median error "
          f"{plain.standard_errors_[models].median():.2f}, mean change of rank "
          f"{ranks.mean():.1f}")  # fmt: skip


def tell_new_models(X: pd.DataFrame, y: NDArray) -> None:
    """Print the scores of models that are new to the table, without and with style."""
    scores = {}
    for fit in ("none", "controlled"):
        anchor = AnchorPipeline(cv=5, item_effects=None, random_state=0, **FITS[fit])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchor.fit(X, y)
        scores[fit], scores[f"{fit} error"] = anchor.scores_, anchor.standard_errors_
    print(pd.DataFrame(scores).round(2).to_string())
    print(anchor.result_.diagnostics.style.round(2).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("design", choices=["simulated", "mt_bench", "llmfao"])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--item-effects", help="of the published tables")
    parser.add_argument("--historical-fit", default="joint")
    parser.add_argument("--rho", type=float, nargs="+", default=RHO)
    parser.add_argument("--whole", action="store_true", help="leave no model out")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    if options.design == "simulated":
        simulated(options)
    else:
        published(options)


if __name__ == "__main__":
    main()
