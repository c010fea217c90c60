"""Why the paper's estimate of the variance is above the empirical variance.

``python benchmarks/variance.py`` draws the battles of ``skanchor simulate variance``.
With the true parameters the error of an efficient estimate is, to first order, a sum
of known weights times the residuals of the rows. Its variance is known, so that two
questions can be told apart. Was the empirical variance low by chance? (That of the
first-order error beside its known value; ``--known-only`` fits nothing.) And what
makes the estimated variance larger than the known one? It is shown for historical
scores from votes alone ("two-step", as in the paper) and from all rows ("joint"), as
reported (from rows held out) and with weights and residuals of the fit of all rows.
The squared error of the fits is compared with that of the first-order error, draw by
draw.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone

from skanchor.studies import EXPERIMENTS, Drawn

EXPERIMENT = EXPERIMENTS["variance"]
FITS = "two-step", "joint"


def first_order(drawn: Drawn) -> tuple[float, float]:
    """Error of an efficient estimate to first order, and its known variance."""
    X, y, truth = drawn.data.X, drawn.data.y, drawn.data.truth
    scores = pd.concat([truth.scores, truth.new_scores])
    n_old = len(truth.scores)
    # Old scores in a basis of sum zero, the new one as it is.
    basis = np.zeros((n_old + 1, n_old))
    basis[:-1, :-1] = np.linalg.qr(np.eye(n_old) - 1.0 / n_old)[0][:, :-1]
    basis[-1, -1] = 1.0
    at = [scores.index.get_indexer(X[side]) for side in ("model_a", "model_b")]
    contrast = basis[at[0]] - basis[at[1]]
    delta = scores.to_numpy()[at[0]] - scores.to_numpy()[at[1]]
    names = [name[:-2] for name in X if name.endswith("_a") and name != "model_a"]
    left, right = ([f"{name}_{side}" for name in names] for side in "ab")
    features = X[left].to_numpy(float) - X[right].to_numpy(float)
    slope = X["judge"].map(truth.sensitivities).fillna(1.0).to_numpy(float)
    columns = [slope[:, None] * contrast]
    for judge in truth.sensitivities.index:
        own = (X["judge"] == judge).to_numpy()[:, None]
        columns += [own * delta[:, None], own * features]
    design = np.hstack(columns)
    p = expit(truth.logits)
    information = design.T @ (design * (p * (1.0 - p))[:, None])
    target = np.zeros(design.shape[1])
    target[n_old - 1] = 1.0
    by_column = np.linalg.solve(information, target)
    return float(by_column @ (design.T @ (y - p))), float(by_column[n_old - 1])


def fitted(drawn: Drawn, historical_fit: str) -> tuple[float, float, float]:
    """Error, variance as reported, and that of the fit of all rows."""
    anchor = clone(EXPERIMENT.methods[0].estimator).set_params(
        random_state=drawn.seed, historical_fit=historical_fit
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor.fit(drawn.data.X, drawn.data.y)
    (model,) = drawn.new_models
    rows = anchor.comparisons_
    for stage in (anchor.btl_, anchor.calibrator_, anchor.arrival_):
        rows = stage.transform(rows)
    column = anchor.debiaser_.models_.tolist().index(model)
    influence: NDArray = anchor.debiaser_.influence(rows, drawn.data.y)[:, column]
    error = anchor.scores_[model] - drawn.data.truth.new_scores[model]
    reported = anchor.standard_errors_[model] ** 2
    return float(error), float(reported), float(influence @ influence)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", type=int, nargs="+", default=[1000, 4000, 16000])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--known-only", action="store_true")
    options = parser.parse_args()
    for cell in EXPERIMENT.cells:
        if cell.settings["n_judge"] not in options.verdicts:
            continue
        known, fits = [], {fit: [] for fit in FITS}
        for seed in range(options.first, options.first + options.draws):
            drawn = EXPERIMENT.draw(cell.settings, seed)
            known.append(first_order(drawn))
            if not options.known_only:
                for fit, found in fits.items():
                    found.append(fitted(drawn, fit))
        linear, variance = np.array(known).T
        print(
            f"{cell.name}: first-order error, empirical variance "
            f"{linear.var(ddof=1):.5f}, known {variance.mean():.5f}; mean squared "
            f"over known {np.mean(linear**2 / variance):.3f}",
            flush=True,
        )
        for fit, found in fits.items():
            if not found:
                continue
            error, reported, all_rows = np.array(found).T
            parts = {
                "squared error": error**2 - linear**2 + variance,
                "reported": reported,
                "of the fit of all rows": all_rows,
            }
            told = [
                f"{name} {np.mean(part / variance):.3f} "
                f"({(part / variance).std(ddof=1) / len(part) ** 0.5:.3f})"
                for name, part in parts.items()
            ]
            print(f"  {fit}, over known: {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
