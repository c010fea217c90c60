"""What ties do: bias of half-wins, their cost against leaving ties out, real tables.

``python benchmarks/ties.py bias`` fits expected outcomes, so that nothing but bias is
left, under laws of ties of which some depend on the level of a pair; ``draws [--draws
120]`` draws the default simulation with ties and compares the scores of half-wins with
those of decided votes; ``tables`` says how ties depend on the level in published
tables, and what leaving them out does to the human scores.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.optimize import brentq
from scipy.special import expit

from skanchor import AnchorPipeline, BTLRegressor
from skanchor.datasets import fetch_arena, fetch_llmfao, fetch_mt_bench
from skanchor.simulation import simulate_battles

Array = np.ndarray
Law = Callable[[Array, Array], tuple[Array, Array]]
"""Probabilities of a win of the first side, and of a tie, by logit and level."""

NEW = "new-model"


def davidson(nu: float, slope: float = 0.0) -> Law:
    """Davidson's ties, whose log-odds change with the level by ``slope``."""

    def law(eta: Array, level: Array) -> tuple[Array, Array]:
        weight = nu * np.exp(slope * level)
        total = 2.0 * np.cosh(0.5 * eta) + weight
        return np.exp(0.5 * eta) / total, weight / total

    return law


def rao_kupper(nu: float) -> Law:
    """Rao and Kupper's ties, as many at equal scores as Davidson's."""
    k = 2.0 * np.arctanh(nu / (2.0 + nu))

    def law(eta: Array, level: Array) -> tuple[Array, Array]:
        win = expit(eta - k)
        return win, expit(eta + k) - win

    return law


# People, and the three judges in turn.
CASES: dict[str, list[Law]] = {
    "Davidson .8 / 0 .8 2": [davidson(nu) for nu in (0.8, 0.0, 0.8, 2.0)],
    "Davidson .8 / 0 0 0": [davidson(nu) for nu in (0.8, 0.0, 0.0, 0.0)],
    "Rao-Kupper 2 / 0 0 0": [rao_kupper(2.0), *[davidson(0.0)] * 3],
    "people .8 exp(-.5 level) / .8": [davidson(0.8, -0.5), *[davidson(0.8)] * 3],
    "like arena": [
        davidson(2.0, -0.17),
        davidson(2.0, 0.31),
        davidson(2.0, 0.31),
        davidson(0.0),
    ],
}


def simulated(seed: int, score: float, laws: list[Law]) -> tuple[Any, ...]:
    """A table, and the probabilities of a win and a tie in each of its rows."""
    data = simulate_battles(new_score=score, n_extra_human=0, random_state=seed)
    truth, X = data.truth, data.X
    scores = pd.concat([truth.scores, truth.new_scores])
    sides = [X[side].map(scores).to_numpy() for side in ("model_a", "model_b")]
    source = X["judge"].map(
        {"human": 0, **dict(zip(truth.judges, (1, 2, 3), strict=True))}
    )
    eta = np.where(source == 0, sides[0] - sides[1], np.asarray(truth.logits))
    win, tie = np.zeros(len(X)), np.zeros(len(X))
    for number, law in enumerate(laws):
        rows = (source == number).to_numpy()
        level = 0.5 * (sides[0] + sides[1])
        win[rows], tie[rows] = law(eta[rows], level[rows])
    return X, win, tie, scores


def target(X: pd.DataFrame, win: Array, tie: Array, scores: Any, law: Law) -> float:
    """The score that people's votes would give the new model on the half-win scale."""
    human = (X["judge"] == "human").to_numpy()
    votes = X.loc[human, ["model_a", "model_b"]]
    with warnings.catch_warnings():
        # Expected outcomes have no noise, which is warned of.
        warnings.simplefilter("ignore")
        known = BTLRegressor().fit(votes, (win + 0.5 * tie)[human]).scores_
    arrivals = X[(X["model_a"] == NEW) | (X["model_b"] == NEW)]
    first = arrivals["model_a"] == NEW
    other = arrivals["model_b"].where(first, arrivals["model_a"])
    opponents = other.map(scores).to_numpy()
    wins, ties = law(scores[NEW] - opponents, 0.5 * (scores[NEW] + opponents))
    expected, met = wins + 0.5 * ties, other.map(known).to_numpy()
    return float(brentq(lambda t: np.mean(expected - expit(t - met)), -10.0, 10.0))


def fitted(X: pd.DataFrame, y: Array, weight: Any = None, **params: Any) -> Any:
    """The pipeline, quietly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AnchorPipeline(item_effects=None, cv=5, random_state=0, **params).fit(
            X, y, sample_weight=weight
        )


def bias_of(name: str, score: float, seed: int) -> tuple[float, float]:
    """Bias of half-wins and of decided votes, each against its own scale."""
    laws = CASES[name]
    X, win, tie, scores = simulated(seed, score, laws)
    half = fitted(X, win + 0.5 * tie).scores_[NEW] - target(
        X, win, tie, scores, laws[0]
    )
    decided = fitted(X, win / (1.0 - tie), 1.0 - tie).scores_[NEW]
    # Votes without ties have a scale of their own, where that of people is not BTL's.
    plain = np.zeros(len(X))
    share = win / (1.0 - tie)

    def only(eta: Array, level: Array) -> tuple[Array, Array]:
        wins, ties = laws[0](eta, level)
        return wins / (1.0 - ties), np.zeros_like(wins)

    return half, decided - target(X, share, plain, scores, only)


def bias(options: argparse.Namespace) -> None:
    """Bias without noise, by law of the ties and score of the new model."""
    truths = (-2.5, -1.5, 0.5, 1.5, 2.5)
    lines = []
    for name in CASES:
        found = np.array(
            [
                [bias_of(name, score, seed) for seed in range(options.designs)]
                for score in truths
            ]
        )
        means, spreads = found.mean(axis=1), found.std(axis=1)
        for what, kept in enumerate(("half", "drop")):
            cells = zip(truths, means[:, what], spreads[:, what], strict=True)
            errors = {f"{t:+}": f"{mean:+.3f} ({sd:.3f})" for t, mean, sd in cells}
            lines.append({"ties": name, "kept": kept, **errors})
    print(pd.DataFrame(lines).to_string(index=False))


def drawn(score: float, seed: int) -> dict[str, list[float]]:
    """Error, coverage, width and scale of half-wins and of decided votes."""
    laws = CASES["Davidson .8 / 0 .8 2"]
    X, win, tie, scores = simulated(seed, score, laws)
    uniform = np.random.default_rng(seed).random(len(X))
    y = np.select([uniform < win, uniform < win + tie], [1.0, 0.5], 0.0)
    half_win = target(X, win, tie, scores, laws[0])
    found = {}
    for ties, truth in (("half", half_win), ("drop", score)):
        anchor = fitted(X, y, ties=ties)
        low, high = anchor.conf_int().loc[NEW]
        error = anchor.scores_[NEW] - truth
        found[ties] = [error, low <= truth <= high, high - low, truth / score]
    return found


def draws(options: argparse.Namespace) -> None:
    """Errors of the two ways over draws, each on its own scale."""
    for score in (0.5, 2.0):
        done = Parallel(options.jobs)(
            delayed(drawn)(score, seed) for seed in range(options.draws)
        )
        for ties in ("half", "drop"):
            error, covered, width, scale = np.array([each[ties] for each in done]).T
            rmse = np.sqrt(np.mean(error**2))
            print(
                f"score {score} {ties}: bias {error.mean():+.3f}, rmse {rmse:.3f}, "
                f"coverage {covered.mean():.2f}, width {width.mean():.3f} "
                f"({rmse / scale.mean():.3f}, {width.mean() / scale.mean():.3f} in "
                f"decided logits; scale {scale.mean():.3f})"
            )


def tables(options: argparse.Namespace) -> None:
    """How ties depend on the level, and human scores with and without them."""
    for fetch in (fetch_arena, fetch_mt_bench, fetch_llmfao):
        battles = fetch()
        names = ["model_a", "model_b", "judge", "shown_first"]
        X = battles.data[[name for name in names if name in battles.data]]
        human = (X["judge"] == "human").to_numpy()
        votes = X.loc[human, ["model_a", "model_b"]], battles.target[human]
        kept, decided = (
            BTLRegressor(ties=ties).fit(*votes) for ties in ("half", "drop")
        )
        bounded = kept.models_[~kept.unbounded_]
        half, drop = kept.scores_[bounded], decided.scores_[bounded]
        slope = float(half @ drop / (drop @ drop))
        moved = int((half.rank() != drop.rank()).sum())
        print(
            f"{fetch.__name__}: half-win score = {slope:.3f} x decided, residual sd "
            f"{np.std(half - slope * drop):.3f}, {moved} of {len(half)} ranks change"
        )
        # Levels in the logits of decided votes; every model with votes is historical.
        rows = X["model_a"].isin(bounded) & X["model_b"].isin(bounded)
        anchor = fitted(
            X[rows].reset_index(drop=True),
            battles.target[rows].reset_index(drop=True),
            new_models=[],
            historical_fit="two-step",
        )
        seen = anchor.result_.diagnostics.ties
        seen[["level", "level_error"]] *= slope
        print(seen.round(3).to_string())


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["bias", "draws", "tables"])
    parser.add_argument("--designs", type=int, default=4)
    parser.add_argument("--draws", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    {"bias": bias, "draws": draws, "tables": tables}[options.what](options)


if __name__ == "__main__":
    main()
