"""Length and coverage of rank sets, Holm's and Romano and Wolf's.

``python benchmarks/rank_sets.py draws [--draws 400]`` draws estimates from the normal
law with a known truth, ``arena`` leaves each model of the arena out in turn (ties
dropped), ``time`` takes the processor time. All print one line per setting.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from report import timed

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor.datasets import fetch_arena
from skanchor.metrics import insertion_rank
from skanchor.results import RankingResult

METHODS = ("holm", "romano-wolf")


def make_result(scores: Any, covariance: Any, n_new: int) -> RankingResult:
    """Scores with a covariance, the last models new."""
    n = len(scores)
    return RankingResult(
        np.array([f"m{i}" for i in range(n)], dtype=object),
        np.arange(n) >= n - n_new,
        np.asarray(scores, float)[None],
        np.asarray(covariance)[None],
        np.zeros(n, bool),
        np.ones(n, int),
        np.ones(n, int),
    )


def redraw(truth: RankingResult, rng: np.random.Generator) -> RankingResult:
    """Estimates drawn around these scores; the item part is estimated, too."""
    scores, covariance = truth.estimates[0], truth.covariances[0]
    drawn = rng.multivariate_normal(scores, covariance, method="eigh")
    items = truth.item_covariances
    if items is None:
        return replace(truth, estimates=drawn[None])
    ratio = rng.chisquare(truth.item_df) / truth.item_df
    return replace(
        truth,
        estimates=drawn[None],
        covariances=truth.covariances + (ratio - 1.0) * items,
        item_covariances=ratio * items,
    )


def true_sets(truth: RankingResult, among: str) -> pd.DataFrame:
    """The ranks that a set must hold: several where scores are equal."""
    scores = pd.Series(truth.estimates[0], index=truth.models)
    rows = truth.models if among == "board" else truth.models[truth.is_new]
    opponents = scores if among == "board" else scores[~truth.is_new]
    low = [1 + int((opponents > scores[m]).sum()) for m in rows]
    own = among == "board"
    high = [1 - own + int((opponents >= scores[m]).sum()) for m in rows]
    return pd.DataFrame({"low": low, "high": high}, index=rows)


def report_sets(
    name: str, truth: RankingResult, n: int, among: str, levels: dict[str, float]
) -> None:
    """Coverage of all sets together, and their mean length."""
    true = true_sets(truth, among)
    for label, level in levels.items():
        rng, held, lengths = np.random.default_rng(0), 0, []
        for _ in range(n):
            sets = redraw(truth, rng).rank_sets(level, among, label.split()[0])
            held += ((sets.low <= true.low) & (sets.high >= true.high)).all()
            lengths.append((sets.high - sets.low + 1).mean())
        print(
            f"{name:36} {label:16} {n:4d} draws  coverage {held / n:.3f}"
            f"  length {np.mean(lengths):.2f}",
            flush=True,
        )


def report_best(name: str, truth: RankingResult, n: int) -> None:
    """Coverage of the best models together, and how many are kept."""
    order = truth.models[np.argsort(-truth.estimates[0])]
    for tau in (1, 3):
        for simultaneous in (True, False):
            rng, held, sizes = np.random.default_rng(0), 0, []
            for _ in range(n):
                best = redraw(truth, rng).best_set(tau, simultaneous=simultaneous)
                held += set(order[:tau]) <= set(best)
                sizes.append(len(best))
            how = "one family" if simultaneous else "inversion"
            print(
                f"{f'{name}, {tau} best':36} {how:16} {n:4d} draws"
                f"  coverage {held / n:.3f}  size {np.mean(sizes):.2f}",
                flush=True,
            )


@cache
def arena() -> tuple[pd.DataFrame, pd.Series]:
    """Battles without ties."""
    X, y = fetch_arena(return_X_y=True)
    decided = (y != "tie").to_numpy()
    return X[decided].drop(columns="prompt_id"), y[decided]


def fit_without(model: str, item_effects: str) -> RankingResult:
    """The arena with a model as new: people's votes on it are left out."""
    X, y = arena()
    involved = (X["model_a"] == model) | (X["model_b"] == model)
    keep = ~(involved & (X["judge"] == "human")).to_numpy()
    pipeline = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=True),
        item_effects=item_effects,
        new_models=[model],
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipeline.fit(X[keep], y[keep]).result_


def run_draws(n: int) -> None:
    result = fit_without("vicuna-13b", "random")
    # A plain record: draws need neither influence values nor diagnostics.
    board = replace(
        make_result(result.moments[0], result.covariances[0], 1),
        models=result.models,
        is_new=result.is_new,
        item_covariances=result.item_covariances,
        item_df=result.item_df,
    )
    one = {method: 0.95 for method in METHODS}
    both = {"holm alpha/2": 0.975, **one}
    report_sets("arena, one new", board, n, "historical", one)
    equal = replace(board, estimates=np.zeros_like(board.estimates))
    report_sets("arena, all scores equal", equal, n, "historical", one)
    own, shared = np.full(15, 0.08**2), np.arange(15) >= 10
    group = make_result(
        [*np.arange(10) * 0.1, *np.linspace(0.05, 0.85, 5)],
        np.diag(own) + 0.08**2 * np.outer(shared, shared),
        5,
    )
    report_sets("5 new, shared error .08, K 10", group, n, "historical", one)
    report_sets("board, arena", board, max(n // 8, 2), "board", both)
    steps = make_result(np.arange(10) * 0.1, np.eye(10) * 0.08**2, 1)
    report_sets("board, gaps .1, se .08", steps, n // 2, "board", both)
    level = make_result(np.zeros(10), np.eye(10) * 0.08**2, 1)
    report_sets("board, ten equal models", level, n // 2, "board", both)
    report_best("may be best, gaps .1, se .08", steps, n // 2)


def one_left_out(model: str, item_effects: str) -> dict[str, Any]:
    """Sets of one model, and whether they hold its rank among the human scores."""
    X, y = arena()
    votes = (X["judge"] == "human").to_numpy()
    human = BTLRegressor().fit(X[votes], y[votes]).scores_
    true = insertion_rank(human[model], human.drop(model))
    result = fit_without(model, item_effects)
    row: dict[str, Any] = {"model": model}
    for method in METHODS:
        low, high = result.rank_sets(method=method).loc[model, ["low", "high"]]
        row[method] = high - low + 1
        row[f"{method} holds"] = low <= true <= high
    row["best"] = list(result.best_set())
    row["prob"] = result.prob_best()[model]
    return row


def run_arena(jobs: int) -> None:
    X, _ = arena()
    models = sorted(set(X["model_a"]))
    for how in ("random", "none"):
        rows = Parallel(jobs)(delayed(one_left_out)(model, how) for model in models)
        found = pd.DataFrame(rows).set_index("model")
        for method in METHODS:
            print(
                f"{how:8} {method:12} mean length {found[method].mean():.2f}"
                f"  hold the human rank {found[f'{method} holds'].sum()}"
                f" of {len(found)}"
            )
        top = found.loc["gpt-4"]
        print(f"{how:8} gpt-4 as new: may be best {top['best']}, P {top['prob']:.3f}")


def timings(result: RankingResult) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "new among historical", result.rank_sets
    yield "whole board", lambda: result.rank_sets(among="board")
    yield "whole board, Holm", lambda: result.rank_sets(among="board", method="holm")
    yield "may be best", result.best_set
    yield "probability", result.prob_best


def run_time() -> None:
    for n in (20, 60, 200):
        rng = np.random.default_rng(0)
        items = 0.02 * (np.eye(n) - 1.0 / n)
        plain = make_result(rng.normal(size=n), 0.01 * np.eye(n), 1)
        mixed = replace(
            plain,
            covariances=plain.covariances + items,
            item_covariances=items[None],
            item_df=17.0,
        )
        for kind, result in (("normal", plain), ("item effects", mixed)):
            for name, call in timings(result):
                seconds = timed(call, 1 if n == 200 else 3)
                print(f"{n:4d} models  {kind:12}  {name:22} {seconds:7.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("draws", "arena", "time"))
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.study == "draws":
        run_draws(options.draws)
    elif options.study == "arena":
        run_arena(options.jobs)
    else:
        run_time()


if __name__ == "__main__":
    main()
