"""Why intervals miss on one side where votes are few: a plain joint maximum likelihood.

``python benchmarks/few_votes.py [--votes 50 100] [--draws 2000]`` draws the default
simulation with 5,600 historical verdicts and 500 of the new model, and maximises the
likelihood of all rows over scores, sensitivities and linear biases at once, in NumPy
alone: no folds, no weights, no position effects. It prints bias and error of the new
score; coverage, and the misses below and above the truth, of intervals by the inverse
information; coverage by likelihood ratio; and coverage and misses of limits on the log
scale.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2, norm

from skanchor._inference import limits_on_log_scale
from skanchor.simulation import simulate_battles

Array = NDArray[np.float64]
NEW, TRUTH, LEVEL = "new-model", 0.5, 0.95


class Likelihood:
    """Rows of one draw; the parameters are scores, sensitivities, then biases."""

    def __init__(self, seed: int, votes: int):
        data = simulate_battles(
            n_historical=5600 + votes, n_human=votes, random_state=seed
        )
        X, truth = data.X, data.truth
        names, judges = list(truth.historical_models), list(truth.judges)
        self.K, self.M = len(names), len(judges)
        # The last historical score is minus the sum of the others.
        rows = np.zeros((self.K + 1, self.K))
        rows[: self.K, : self.K] = np.eye(self.K)
        rows[self.K, 1:] = -1.0
        place = {name: i for i, name in enumerate([NEW, *names])}
        self.items = rows
        self.z = rows[X["model_a"].map(place)] - rows[X["model_b"].map(place)]
        self.judge = X["judge"].map({j: m for m, j in enumerate(judges)})
        self.judge = self.judge.fillna(-1).to_numpy(int)
        a, b = (X[[f"x{k}_{s}" for k in (1, 2, 3)]].to_numpy() for s in "ab")
        self.features = np.nan_to_num(a - b)
        self.y = np.asarray(data.y, float)
        self.start = np.concatenate(
            [[TRUTH], truth.scores.to_numpy()[:-1], truth.sensitivities.to_numpy(),
             np.zeros(3 * self.M)]
        )  # fmt: skip

    def parts(self, beta: Array) -> tuple[Array, Array]:
        """Log-odds and their gradient."""
        K, M = self.K, self.M
        slope = np.append(beta[K : K + M], 1.0)[self.judge]
        delta = self.z @ beta[:K]
        eta, gradient = slope * delta, np.zeros((len(delta), len(beta)))
        gradient[:, :K] = slope[:, None] * self.z
        for m in range(M):
            its = self.judge == m
            at = slice(K + M + 3 * m, K + M + 3 * m + 3)
            gradient[its, K + m], gradient[its, at] = delta[its], self.features[its]
            eta[its] += self.features[its] @ beta[at]
        return eta, gradient

    def loss(self, eta: Array) -> float:
        return float(np.sum(np.logaddexp(0.0, eta) - self.y * eta))

    def fit(self, fixed: bool = False) -> tuple[Array, float, Array]:
        """Maximum, its loss and information; the new score at its truth if fixed."""
        beta, free = self.start.copy(), slice(int(fixed), None)
        eta, gradient = self.parts(beta)
        for _ in range(200):
            p = expit(eta)
            information = (gradient * (p * (1.0 - p))[:, None]).T @ gradient
            score = gradient.T @ (self.y - p)
            step = np.linalg.solve(information[free, free], score[free])
            size, before = 1.0, self.loss(eta)
            while True:
                ahead = beta.copy()
                ahead[free] += size * step
                eta, gradient = self.parts(ahead)
                if self.loss(eta) <= before or size < 1e-8:
                    break
                size /= 2.0
            beta = ahead
            if abs(score[free] @ step) < 1e-10:
                break
        return beta, self.loss(eta), information


def one(seed: int, votes: int) -> tuple[float, ...]:
    """Estimate, its error, scale z and likelihood ratio of the truth."""
    rows = Likelihood(seed, votes)
    beta, loss, information = rows.fit()
    inverse = np.linalg.inv(information)
    theta = rows.items[1:] @ beta[: rows.K]
    direction = np.zeros(len(beta))
    direction[: rows.K] = rows.items[1:].T @ theta / (theta @ theta)
    scale_z = (direction @ inverse @ direction) ** -0.5
    ratio = 2.0 * (rows.fit(fixed=True)[1] - loss)
    return beta[0], inverse[0, 0] ** 0.5, scale_z, ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    q = norm.ppf(0.5 + LEVEL / 2.0)
    for votes in options.votes:
        found = np.array([one(seed, votes) for seed in range(options.draws)])
        usable = (np.abs(found[:, 0] - TRUTH) < 3.0) & np.isfinite(found).all(axis=1)
        estimate, error, z, ratio = found[usable].T
        print(f"{votes} votes, {usable.sum()} of {len(found)} draws, "
              f"bias {np.mean(estimate - TRUTH):+.3f}, "
              f"rmse {np.mean((estimate - TRUTH) ** 2) ** 0.5:.3f}")  # fmt: skip
        limits = [
            limits_on_log_scale(e[None], s[None], q * s[None], LEVEL, each)
            for e, s, each in zip(estimate, error, z, strict=True)
        ]
        on_log = np.array(limits)[:, :, 0].T
        for name, (low, high) in (
            ("even", (estimate - q * error, estimate + q * error)),
            ("log scale", on_log),
        ):
            below, above = np.mean(high < TRUTH), np.mean(low > TRUTH)
            held, width = 1.0 - below - above, np.median(high - low)
            print(f"  {name}: coverage {held:.3f}, below {below:.3f}, above "
                  f"{above:.3f}, median width {width:.3f}")  # fmt: skip
        print(f"  likelihood ratio: {np.mean(ratio < chi2.ppf(LEVEL, 1)):.3f}")


if __name__ == "__main__":
    main()
