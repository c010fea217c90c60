"""Families of models that all judges favour: the test on history, and coverage.

``python benchmarks/families.py [--replications 400] [--sd 0.4] [--lone]`` draws ten
historical models in five families and a new model of a sixth. All judges see the models
of a family as if their scores were higher by one normal draw; with ``--lone`` those of
the new model's family alone. One line says how often the test of families rejects at
.05, how often 99 % intervals hold the effects, how often the interval of the new score
holds it, and in what share of the draws a favour as large as the largest one seen in
history would change the rank.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import expit
from scipy.stats import norm

from skanchor import AnchorPipeline
from skanchor.simulation import simulate_battles

NEW = "new-model"


def draw(seed: int, sd: float, lone: bool) -> dict[str, float]:
    """Fit one table, and compare with the truth."""
    data = simulate_battles(rho=0.0, random_state=seed)
    X, truth = data.X[["model_a", "model_b", "judge"]], data.truth
    scores = pd.concat([truth.scores, truth.new_scores])
    old = sorted(truth.scores.index)
    families = {model: f"f{k // 2}" for k, model in enumerate(old)} | {NEW: "new"}
    rng = np.random.default_rng([7, seed])
    favours = pd.Series(
        {f: rng.normal(0.0, sd) for f in sorted(set(families.values()))}
    )
    if lone:
        favours[favours.index != "new"] = 0.0
    seen = scores + pd.Series(families).map(favours).reindex(scores.index)

    def difference(values: pd.Series) -> np.ndarray:
        left, right = (values.reindex(X[f"model_{side}"]).to_numpy() for side in "ab")
        return left - right

    slopes = truth.sensitivities.reindex(X["judge"]).to_numpy()
    is_human = (X["judge"] == "human").to_numpy()
    eta = np.where(is_human, difference(scores), slopes * difference(seen))
    y = (rng.random(len(X)) < expit(eta)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor = AnchorPipeline(cv=5, random_state=0, families=families).fit(X, y)
    low, high = anchor.conf_int().loc[NEW]
    found = anchor.family_effects_
    effects = found.effects
    # Effects are against the mean of the historical models.
    known = favours.reindex(effects.index)
    gap = (effects["effect"] - (known - known.mean())).abs()
    return {
        "rejected": found.p_value < 0.05,
        "effects held": np.mean(gap < norm.ppf(0.995) * effects["standard_error"]),
        "score held": low <= scores[NEW] <= high,
        "rank would change": effects["effect"].abs().max()
        >= found.new.loc[NEW, "changes_rank"],
    }


def main() -> None:
    """Print one line of shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=400)
    parser.add_argument("--sd", type=float, default=0.4)
    parser.add_argument("--lone", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rows = Parallel(options.jobs)(
        delayed(draw)(seed, options.sd, options.lone)
        for seed in range(options.replications)
    )
    shares = pd.DataFrame(rows).astype(float).mean()
    print(", ".join(f"{name} {share:.3f}" for name, share in shares.items()))


if __name__ == "__main__":
    main()
