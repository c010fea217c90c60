"""Time of the full cross-fitted inference, against plain fits of the judges.

``python benchmarks/speed.py``: 19 historical models, 7 judges, 12 features, 21,000
human and 188,000 judge rows. The yardstick is ten plain fits of each of the seven
judges with scikit-learn's newton-cholesky logistic regression, in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from skanchor import AnchorPipeline, Comparisons


def make_table(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    n_models, n_judges, n_features = 20, 7, 12
    n_human, n_judge = 21_000, 188_000
    n = n_human + n_judge
    judge = np.r_[np.full(n_human, -1), rng.integers(0, n_judges, n_judge)]
    a = rng.integers(0, n_models, n)
    b = (a + rng.integers(1, n_models, n)) % n_models
    # The last model has no human rows.
    for side in (a, b):
        votes = (judge < 0) & (side == n_models - 1)
        side[votes] = rng.integers(0, n_models - 1, votes.sum())
    b = np.where(a == b, (a + 1) % (n_models - 1), b)
    theta = rng.normal(size=n_models)
    left, right = rng.normal(size=(2, n, n_features))
    c = np.append(rng.uniform(0.5, 2.0, n_judges), 1.0)
    coef = np.vstack([0.2 * rng.normal(size=(n_judges, n_features)), np.zeros(12)])
    eta = c[judge] * (theta[a] - theta[b]) + np.sum(
        (left - right) * coef[judge], axis=1
    )
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    names = np.array([f"model-{i:02d}" for i in range(n_models)])
    judges = np.array([*(f"judge-{m}" for m in range(n_judges)), "human"])
    table = {"model_a": names[a], "model_b": names[b], "judge": judges[judge]}
    for side, block in (("a", left), ("b", right)):
        table |= {f"x{j}_{side}": block[:, j] for j in range(n_features)}
    return pd.DataFrame(table), y


def timed(function: Callable[[], Any], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    X, y = make_table()
    encoded = Comparisons.from_battles(X)

    def plain() -> None:
        for m in range(7):
            cut = encoded.by_judge(m)
            delta = (cut.left - cut.right).astype(float) / 10.0
            design = np.column_stack([delta, cut.pairs.contrast])
            for _ in range(10):
                LogisticRegression(
                    C=np.inf, solver="newton-cholesky", fit_intercept=False
                ).fit(design, y[cut.rows])

    def anchor() -> None:
        fitted = AnchorPipeline(random_state=0).fit(encoded, y)
        fitted.contrasts()
        fitted.rank_sets()

    plain_time, anchor_time = timed(plain), timed(anchor)
    print(f"encode the table     {timed(lambda: Comparisons.from_battles(X)):.2f} s")
    print(f"seventy plain fits   {plain_time:.2f} s")
    print(f"full inference       {anchor_time:.2f} s")
    print(f"ratio                {anchor_time / plain_time:.2f}")


if __name__ == "__main__":
    main()
