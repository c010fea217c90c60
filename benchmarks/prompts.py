"""Rows of one prompt, and votes of one rater: coverage and width of intervals.

``python benchmarks/prompts.py [--draws 400] [--jobs 1] [--designs NAME ...]
[--item-effects auto]`` draws the default simulation with fewer rows and has three
annotators, or three runs of a judge, decide each of its pairs. Every outcome has the
law of the simulation; only the dependence between outcomes differs:

- ``dependent``: each annotator repeats the first outcome with probability .6, and
  decides anew otherwise. So outcomes of one prompt depend on each other;
- ``independent``: the same with a repetition of probability zero;
- ``raters``: votes are independent between prompts, but each is by one of 50 people,
  about 45 votes each, who differ in what they think of each model: half of the
  variance of the (normal) number that decides a vote is their taste;
- ``raters alike``: the same 50 people without tastes.

Intervals are those of ``groups="auto"`` (by prompt, and by rater where raters are
many), by prompt alone, and row by row.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import norm

from skanchor import AnchorPipeline
from skanchor.simulation import simulate_battles

NEW, COPIES = "new-model", 3
MEANINGS = {"auto": "auto", "by prompt": "prompt_id", "row by row": None}


@dataclass(frozen=True)
class Design:
    """How outcomes depend on each other.

    Attributes
    ----------
    repeated : float
        Probability that an annotator repeats the first outcome of a prompt.
    n_raters : int
        Number of people, each of whom votes on some prompts; zero for three annotators
        who vote on all.
    taste : float
        Share of their tastes in the variance of what decides a vote.
    n_historical, n_new : int
        Number of rows between historical models, and of the new one.
    """

    repeated: float = 0.0
    n_raters: int = 0
    taste: float = 0.0
    n_historical: int = 800
    n_new: int = 150


DESIGNS = {
    "dependent": Design(repeated=0.6),
    "independent": Design(),
    "raters": Design(0.0, 50, 0.5, 2500, 1500),
    "raters alike": Design(0.0, 50, 0.0, 2500, 1500),
}


def table(seed: int, design: Design) -> tuple[pd.DataFrame, np.ndarray, float]:
    """Battles, outcomes and the true score of the new model."""
    data = simulate_battles(design.n_historical, design.n_new, n_models=8,
                            n_judges=3, random_state=seed)  # fmt: skip
    rng = np.random.default_rng([1, seed])
    p, first = 1.0 / (1.0 + np.exp(-data.truth.logits)), np.asarray(data.y, dtype=float)
    again = [np.where(rng.random(len(p)) < design.repeated, first,
                      rng.random(len(p)) < p)
             for _ in range(COPIES - 1)]  # fmt: skip
    y = np.concatenate([first, *again])
    X = pd.concat([data.X.assign(prompt_id=np.arange(len(p)))] * COPIES)
    # Annotators, without whom equal outcomes would count as copies.
    X = X.assign(rater=np.repeat(np.arange(COPIES), len(p))).reset_index(drop=True)
    if design.n_raters:
        human, n = (X["judge"] == "human").to_numpy(), len(X)
        rater = rng.integers(0, design.n_raters, n)
        names = pd.unique(X[["model_a", "model_b"]].to_numpy().ravel())
        left, right = (pd.Index(names).get_indexer(X[side]) for side in
                       ("model_a", "model_b"))  # fmt: skip
        tastes = rng.standard_normal((design.n_raters, len(names)))
        taste = (tastes[rater, left] - tastes[rater, right]) / 2**0.5
        # Standard normal whatever the rater is, so that each vote keeps its law.
        decides = design.taste**0.5 * taste
        decides += (1.0 - design.taste) ** 0.5 * rng.standard_normal(n)
        y = np.where(human, decides < norm.ppf(np.tile(p, COPIES)), y)
        X["rater"] = np.where(human, rater, X["rater"])
    return X, y.astype(float), float(data.truth.new_scores[NEW])


def draw(
    seed: int, design: Design, item_effects: str
) -> list[tuple[float, float, bool]]:
    """Error, width and coverage of the new score, for each meaning of the rows."""
    X, y, truth = table(seed, design)
    found = []
    for groups in MEANINGS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchor = AnchorPipeline(item_effects=item_effects, random_state=seed)
            anchor.fit(X, y, groups=groups)
        low, high = anchor.conf_int().loc[NEW]
        error = float(anchor.scores_[NEW]) - truth
        found.append((error, high - low, bool(low <= truth <= high)))
    return found


def main() -> None:
    """Print a line for each design and meaning of the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    parser.add_argument("--item-effects", default="auto")
    options = parser.parse_args()
    for name in options.designs:
        done = np.array(
            Parallel(options.jobs)(
                delayed(draw)(seed, DESIGNS[name], options.item_effects)
                for seed in range(options.draws)
            )
        )
        for meaning, (error, width, held) in zip(
            MEANINGS, done.transpose(1, 2, 0), strict=True
        ):
            finite = width[np.isfinite(width)]
            mc = (held.mean() * (1 - held.mean()) / len(held)) ** 0.5
            print(
                f"{name}, {meaning}: coverage {held.mean():.3f} ± {mc:.3f}, "
                f"width {np.median(finite):.3f}, rmse {np.sqrt(np.mean(error**2)):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
