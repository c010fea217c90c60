"""Judges that lapse or see a curved scale: what they cost, and what may be done.

``python benchmarks/curved_judges.py [--draws 60] [--item-sd 0.3] [--laws ...] [--scores
...]`` draws the default simulation, without features, with judges of other laws, and
fits straight and curved scales of judges (``RieszDebiaser(judge_scale=...)``); it also
prints how often the test of curvature rejects at .05 by judge, and warns. With
``--item-sd`` judges deviate from models, too, and item effects are random. ``--table``
leaves each model of the arena out in turn.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import expit

from skanchor import AnchorPipeline, JudgeCalibrator, RieszDebiaser
from skanchor.datasets import fetch_arena
from skanchor.evaluation import leave_one_model_out
from skanchor.simulation import simulate_battles

Array = np.ndarray
SCALES = ("straight", "curved")

# Probability by the logit of a straight judge, and what is added to it by curvature.
LAWS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "straight": lambda eta, c, delta: expit(eta),
    "lapses .1": lambda eta, c, delta: 0.05 + 0.9 * expit(eta),
    "lapses .2": lambda eta, c, delta: 0.1 + 0.8 * expit(eta),
    "2 tanh(delta / 2)": lambda eta, c, delta: expit(
        eta + c * (2.0 * np.tanh(delta / 2.0) - delta)
    ),
    "2 sinh(delta / 2)": lambda eta, c, delta: expit(
        eta + c * (2.0 * np.sinh(delta / 2.0) - delta)
    ),
}


def pipeline(scale: str, item_effects: str, cv: int) -> AnchorPipeline:
    """The pipeline with this scale of the judges."""
    return AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=False),
        debiaser=RieszDebiaser("calibrator", judge_scale=scale),
        item_effects=item_effects,
        cv=cv,
        random_state=0,
    )


def drawn(law: str, score: float, item_sd: float, seed: int) -> list[list[float]]:
    """Error, coverage and width by scale; rejections of the test of curvature."""
    data = simulate_battles(
        new_score=score, n_extra_human=0, item_sd=item_sd, item_corr=0.6,
        rho=0.0, tau=0.0, random_state=seed,
    )  # fmt: skip
    X, truth = data.X[["model_a", "model_b", "judge"]], data.truth
    scores = pd.concat([truth.scores, truth.new_scores])
    delta = (X["model_a"].map(scores) - X["model_b"].map(scores)).to_numpy()
    slope = X["judge"].map(truth.sensitivities).fillna(1.0).to_numpy()
    eta = np.asarray(truth.logits)
    human = (X["judge"] == "human").to_numpy()
    p = np.where(human, expit(eta), LAWS[law](eta, slope, delta))
    y = (np.random.default_rng(seed).random(len(p)) < p).astype(int)
    found = []
    for scale in SCALES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchor = pipeline(scale, "random" if item_sd else "none", 2).fit(X, y)
        low, high = anchor.conf_int().iloc[0]
        error = float(anchor.scores_.iloc[0]) - score
        found.append([error, low <= score <= high, high - low])
        table = anchor.result_.diagnostics.arrivals.curvature
        tests = [
            float((table["p_value"] < 0.05).mean()),
            float((table["p_adjusted"] < 0.01).any()),
        ]
    return [*found, [*tests, 0.0]]


def simulated(options: argparse.Namespace) -> None:
    """Print a line for each law and score."""
    for law in options.laws or LAWS:
        for score in options.scores:
            done = np.array(
                Parallel(options.jobs)(
                    delayed(drawn)(law, score, options.item_sd, seed)
                    for seed in range(options.draws)
                )
            )
            line = f"{law}, score {score}"
            for number, scale in enumerate(SCALES):
                error, covered, width = done[:, number].T
                line += (
                    f" | {scale}: bias {error.mean():+.3f}, rmse "
                    f"{np.sqrt(np.mean(error**2)):.3f}, coverage {covered.mean():.2f}, "
                    f"width {np.median(width):.3f}"
                )
            rejected, warned = done[:, 2, :2].mean(axis=0)
            print(f"{line} | p < .05 {rejected:.2f}, warned {warned:.2f}", flush=True)


def table() -> None:
    """Leave the models of the arena out one by one."""
    battles = fetch_arena()
    decided = (battles.target != "tie").to_numpy()
    X = battles.data.loc[decided, ["model_a", "model_b", "judge"]]
    y = battles.target[decided]
    for effects in ("none", "random"):
        for scale in SCALES:
            anchor = pipeline(scale, effects, 5)
            anchor.set_params(calibrator=JudgeCalibrator())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = leave_one_model_out(anchor, X, y)
            error = found["score"] - found["true_score"]
            ends = np.abs(found["true_score"]).nlargest(6).index
            print(
                f"arena, item effects {effects!r}, {scale}: rmse "
                f"{np.sqrt(np.mean(error**2)):.3f} (six farthest out "
                f"{np.sqrt(np.mean(error[ends] ** 2)):.3f}), covered "
                f"{int(found['covered'].sum())} of {len(found)}, width "
                f"{(found['high'] - found['low']).median():.3f}",
                flush=True,
            )


def main() -> None:
    """Run the simulation, or the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--item-sd", type=float, default=0.0)
    parser.add_argument("--laws", nargs="+", choices=LAWS)
    parser.add_argument("--scores", nargs="+", type=float, default=[0.5, 1.5, 2.5, 3.2])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table()
    else:
        simulated(options)


if __name__ == "__main__":
    main()
