"""Bias learners compared: error and coverage of the new model's score, and cost.

``nonlinear``: default simulation but rho = 1, tau = 0.6, with smooth and non-smooth
bias in three and twelve features, and truly linear bias. ``weights``: what the class
of the Riesz weights, inner folds, routes, ridges and bounds do. ``paper``: linear bias
functions with linear and with network Riesz weights, on the same draws. ``cost``:
multiples of the linear run. ``luck``: how far other seeds of a network move the score.
``search``: a grid search over learners on a real table.
``report``: summary of the results written so far.

Every finished draw is appended to the CSV file of ``--output``; a study that is run
again goes on where it stopped.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skanchor import AnchorPipeline, JudgeCalibrator, RieszDebiaser
from skanchor.bias import BoostedBias, LinearBias, NetworkBias
from skanchor.simulation import simulate_battles


# ------------------------------------------------------------------------- bias designs
class Jagged:
    """Kinks and steps: |x1|, a step in x2 and the larger of x1 and x3, in threes."""

    def __init__(self, rng: np.random.Generator, n_features: int):
        self.slopes = rng.normal(size=n_features)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        terms = [
            term
            for x1, x2, x3 in x.T.reshape(x.shape[1] // 3, 3, len(x))
            for term in (np.abs(x1), 1.0 * (x2 > 0), np.maximum(x1, x3))
        ]
        return np.column_stack(terms) @ self.slopes


DESIGNS: dict[str, dict[str, Any]] = {
    "smooth-3": {"bias": "curved", "n_features": 3},
    "jagged-3": {"bias": Jagged, "n_features": 3},
    "smooth-12": {"bias": "curved", "n_features": 12},
    "jagged-12": {"bias": Jagged, "n_features": 12},
    "linear-3": {"bias": "linear", "n_features": 3},
}


def cubic() -> LinearBias:
    feature_map = make_pipeline(
        StandardScaler(), PolynomialFeatures(3, include_bias=False)
    )
    return LinearBias(feature_map, alpha=0.01)


Pair = Callable[[], tuple[Any, Any]]
LEARNERS: dict[str, Pair] = {
    "linear": lambda: (LinearBias(), None),
    "cubic": lambda: (cubic(), None),
    "network": lambda: (NetworkBias(), None),
    "narrow network": lambda: (NetworkBias(width=128), None),
    # A generator is copied as it is, so that all folds draw the same first weights.
    "narrow, one body": lambda: (
        NetworkBias(width=128, random_state=np.random.RandomState(0)),
        None,
    ),
    "boosted": lambda: (BoostedBias(), None),
    "auto": lambda: ("auto", None),
}
ASIDE = {"auto", "narrow network", "narrow, one body"}
"""Learners that run only when they are named."""

WEIGHTS: dict[str, Pair] = {
    "linear weights": lambda: (NetworkBias(), RieszDebiaser()),
    "in sample": lambda: (NetworkBias(), RieszDebiaser(NetworkBias(), inner_folds=1)),
    "inner folds 2": lambda: (NetworkBias(), RieszDebiaser(NetworkBias())),
    "inner folds 5": lambda: (
        NetworkBias(),
        RieszDebiaser(NetworkBias(), inner_folds=5),
    ),
    # Other settings than the calibrator's: the weights choose a ridge of their own.
    "own ridge": lambda: (NetworkBias(), RieszDebiaser(NetworkBias(random_state=1))),
    "direct": lambda: (NetworkBias(), RieszDebiaser(NetworkBias(), route="direct")),
    "alpha 0.001": lambda: (NetworkBias(), RieszDebiaser(NetworkBias(alpha=0.001))),
    "alpha 0.1": lambda: (NetworkBias(), RieszDebiaser(NetworkBias(alpha=0.1))),
    "ridge 0.1": lambda: (NetworkBias(), RieszDebiaser(NetworkBias(), ridge=0.1)),
    "bound 4": lambda: (NetworkBias(), RieszDebiaser(NetworkBias(), weight_bound=4.0)),
    "bound 2": lambda: (NetworkBias(), RieszDebiaser(NetworkBias(), weight_bound=2.0)),
    "undersmoothed psi": lambda: (NetworkBias(alpha=0.001), RieszDebiaser("network")),
    "boosted direct": lambda: (
        BoostedBias(),
        RieszDebiaser(BoostedBias(), route="direct"),
    ),
}
PAPER: dict[str, Pair] = {
    "linear weights": lambda: (LinearBias(), RieszDebiaser()),
    "network weights": lambda: (LinearBias(), RieszDebiaser(NetworkBias())),
    "network in sample": lambda: (
        LinearBias(),
        RieszDebiaser(NetworkBias(), inner_folds=1),
    ),
}


# ------------------------------------------------------------------------------- draws
def draw(
    study: str, design: str, name: str, pair: Pair, seed: int, folds: int, repeats: int
) -> dict[str, Any]:
    settings = {"rho": 1.0, "tau": 0.6} if study != "paper" else {}
    data = simulate_battles(**DESIGNS[design], **settings, random_state=seed)
    bias, debiaser = pair()
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(bias=bias),
        debiaser=debiaser,
        item_effects=None,
        cv=folds,
        n_repeats=repeats,
        random_state=0,
    )
    started, busy = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor.fit(data.X, data.y)
    seconds, cpu = time.perf_counter() - started, time.process_time() - busy
    low, high = anchor.conf_int().iloc[0]
    truth = float(data.truth.new_scores.iloc[0])
    result = anchor.result_
    return {
        "study": study,
        "design": design,
        "learner": name,
        "folds": folds,
        "repeats": repeats,
        "seed": seed,
        "error": float(anchor.scores_.iloc[0]) - truth,
        "covered": int(low <= truth <= high),
        "width": float(high - low),
        "plug_in": float(np.median(result.plug_in[:, result.is_new])) - truth,
        "seconds": seconds,
        "cpu": cpu,
    }


def run(
    options: argparse.Namespace, designs: list[str], pairs: dict[str, Pair]
) -> None:
    output = Path(options.output)
    done: set[tuple[Any, ...]] = set()
    keys = ["study", "design", "learner", "folds", "repeats", "seed"]
    if output.exists():
        done = set(pd.read_csv(output)[keys].itertuples(index=False, name=None))
    jobs = [
        (options.study, design, name, pair, seed, options.folds, options.repeats)
        for seed in range(options.first, options.first + options.replications)
        for design in designs
        for name, pair in pairs.items()
    ]
    jobs = [j for j in jobs if (*j[:3], j[5], j[6], j[4]) not in done]
    found = Parallel(options.jobs, return_as="generator")(
        delayed(draw)(*job) for job in jobs
    )
    for row in found:
        pd.DataFrame([row]).to_csv(
            output, mode="a", header=not output.exists(), index=False
        )


def report(options: argparse.Namespace) -> None:
    rows = pd.read_csv(options.output)
    lines = []
    by = ["study", "design", "learner", "folds", "repeats"]
    for key, part in rows.groupby(by, sort=False):
        n = len(part)
        low, high = binom.interval(0.999, n, 0.95) if n else (0, 0)
        lines.append(
            dict(zip(by, key, strict=True))
            | {
                "draws": n,
                "RMSE": np.sqrt(np.mean(part["error"] ** 2)),
                "bias": part["error"].mean(),
                "coverage": part["covered"].mean(),
                "99.9 % interval": f"{low / n:.3f}-{high / n:.3f}",
                "width": part["width"].mean(),
                "median width": part["width"].median(),
                "plug-in RMSE": np.sqrt(np.mean(part["plug_in"] ** 2)),
                "cpu s": part["cpu"].median(),
            }
        )
    with pd.option_context("display.width", 200, "display.max_columns", 20):
        print(pd.DataFrame(lines).round(3).to_string(index=False))


# -------------------------------------------------------------------------------- cost
def cost(options: argparse.Namespace) -> None:
    data = simulate_battles(random_state=0)
    known = {name: LEARNERS[name] for name in ("linear", "network", "boosted")}
    if options.device != "cpu":
        known = {"network": lambda: (NetworkBias(device=options.device), None)}
        data = simulate_battles(n_historical=options.rows, random_state=0)
    # CPU time is what a busy machine can tell; a GPU is waited for.
    clock = time.process_time if options.device == "cpu" else time.perf_counter
    times: dict[str, list[float]] = {name: [] for name in known}
    for _ in range(options.replications):
        for name, pair in known.items():
            anchor = AnchorPipeline(
                calibrator=JudgeCalibrator(bias=pair()[0]),
                item_effects=None,
                random_state=0,
            )
            started = clock()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                anchor.fit(data.X, data.y)
            times[name].append(clock() - started)
    base = statistics.median(times.get("linear", [np.nan]))
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:8} {middle:8.2f} s  {middle / base:6.1f} x linear")


def luck(options: argparse.Namespace) -> None:
    """Spread of the score over seeds of the learner, on each draw."""
    learners: dict[str, Callable[[int], Pair]] = {
        "narrow, one body": lambda seed: (
            lambda: (
                NetworkBias(width=128, random_state=np.random.RandomState(seed)),
                None,
            )
        ),
        "network": lambda seed: lambda: (NetworkBias(random_state=seed), None),
    }
    at = options.folds, options.repeats
    for name, seeded in learners.items():
        spreads = []
        for first in range(options.replications):
            found = Parallel(options.jobs)(
                delayed(draw)("luck", "smooth-12", name, seeded(seed), first, *at)
                for seed in range(8)
            )
            spreads.append(np.var([row["error"] for row in found], ddof=1))
        print(f"{name:16} {np.sqrt(np.mean(spreads)):.3f} logits", flush=True)


def stack(options: argparse.Namespace) -> None:
    """Thirty small networks together, in threes as the judges of a fold, and alone."""
    from skanchor._comparisons import FeaturePairs
    from skanchor.bias import FitTask

    rng = np.random.default_rng(0)
    print("rows  together  in threes  one by one")
    for n in (300, 1000, 2000):
        tasks = []
        for _ in range(30):
            left, right = rng.normal(size=(2, n, 3))
            y = 1.0 * (rng.random(n) < 0.5)
            tasks.append(FitTask(FeaturePairs(left, right), y))
        seconds = []
        for _ in range(options.replications):
            times = []
            for size in (30, 3, 1):
                started = time.process_time()
                for first in range(0, 30, size):
                    some = tasks[first : first + size]
                    NetworkBias.fit_many([NetworkBias() for _ in some], some)
                times.append(time.process_time() - started)
            seconds.append(times)
        together, threes, alone = np.median(seconds, axis=0)
        print(f"{n:4d} {together:9.2f} {threes:10.2f} {alone:11.2f} s", flush=True)


def search(options: argparse.Namespace) -> None:
    from sklearn.model_selection import GridSearchCV

    from skanchor import SourceKFold, split_battles
    from skanchor.io import read_battles

    X, y = split_battles(read_battles(options.table))
    grid = {"calibrator__bias": [LinearBias(alpha=0.001), "network", "boosted"]}
    anchor = AnchorPipeline(cv=3, new_models=options.new, random_state=0)
    cv = SourceKFold(3, random_state=0)
    found = GridSearchCV(anchor, grid, cv=cv).fit(X, y)
    columns = ["param_calibrator__bias", "mean_test_score", "std_test_score"]
    columns += ["rank_test_score", "mean_fit_time"]
    print(pd.DataFrame(found.cv_results_)[columns].round(4).to_string(index=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "study",
        choices=[
            "nonlinear",
            "weights",
            "paper",
            "cost",
            "luck",
            "stack",
            "search",
            "report",
        ],
    )
    parser.add_argument("table", nargs="?", help="battles table of the grid search")
    parser.add_argument("--new", nargs="+", help="new models of the grid search")
    parser.add_argument("--designs", nargs="+", choices=list(DESIGNS))
    parser.add_argument("--learners", nargs="+")
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--output", default="bias_learners.csv")
    options = parser.parse_args()
    studies = {
        "nonlinear": (list(DESIGNS), LEARNERS),
        "weights": (["smooth-3"], WEIGHTS),
        "paper": (["linear-3"], PAPER),
    }
    if options.study in studies:
        designs, pairs = studies[options.study]
        chosen = options.learners or [name for name in pairs if name not in ASIDE]
        run(options, options.designs or designs, {name: pairs[name] for name in chosen})
        report(options)
    else:
        others = (cost, luck, stack, search, report)
        {other.__name__: other for other in others}[options.study](options)


if __name__ == "__main__":
    main()
