"""Time and memory of the full cross-fitted inference, against plain fits of the judges.

``python benchmarks/speed.py``: 19 historical models, 7 judges, 12 features, 21,000
human and 188,000 judge rows. The yardstick is ten plain fits of each of the seven
judges with scikit-learn's newton-cholesky logistic regression, in the same run. BLAS
has one thread, so that the figures do not depend on the number of free cores.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from report import peak_bytes, timed, write_rows
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from skanchor import AnchorPipeline, Comparisons


def make_table(
    n_models: int = 20,
    n_judges: int = 7,
    n_features: int = 12,
    n_human: int = 21_000,
    n_judge: int = 188_000,
    seed: int = 0,
    item_sd: float = 0.0,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Votes and verdicts in one table; the last model has no votes.

    Judges deviate from models by ``item_sd`` judge logits, at a correlation of .3.
    """
    rng = np.random.default_rng(seed)
    n = n_human + n_judge
    judge = np.r_[np.full(n_human, -1), rng.integers(0, n_judges, n_judge)]
    a = rng.integers(0, n_models, n)
    b = (a + rng.integers(1, n_models, n)) % n_models
    for side in (a, b):
        votes = (judge < 0) & (side == n_models - 1)
        side[votes] = rng.integers(0, n_models - 1, votes.sum())
    b = np.where(a == b, (a + 1) % (n_models - 1), b)
    theta = rng.normal(size=n_models)
    left, right = rng.normal(size=(2, n, n_features))
    c = np.append(rng.uniform(0.5, 2.0, n_judges), 1.0)
    coef = np.vstack(
        [0.2 * rng.normal(size=(n_judges, n_features)), np.zeros(n_features)]
    )
    eta = c[judge] * (theta[a] - theta[b]) + np.sum(
        (left - right) * coef[judge], axis=1
    )
    if item_sd:
        own = np.sqrt(0.7) * rng.normal(size=(n_judges, n_models))
        u = item_sd * (own + np.sqrt(0.3) * rng.normal(size=n_models))
        u = np.vstack([u, np.zeros(n_models)])
        eta += u[judge, a] - u[judge, b]
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    names = np.array([f"model-{i:03d}" for i in range(n_models)])
    judges = np.array([*(f"judge-{m}" for m in range(n_judges)), "human"])
    table = {"model_a": names[a], "model_b": names[b], "judge": judges[judge]}
    for side, block in (("a", left), ("b", right)):
        table |= {f"x{j}_{side}": block[:, j] for j in range(n_features)}
    return pd.DataFrame(table), y


@threadpool_limits.wrap(limits=1)
def main() -> None:
    X, y = make_table()
    encoded = Comparisons.from_battles(X)

    def plain() -> None:
        for m in range(7):
            cut = encoded.by_judge(m)
            delta = (cut.left - cut.right).astype(float) / 10.0
            # Rows side by side, as scikit-learn wants them, so that it copies nothing.
            design = np.ascontiguousarray(np.column_stack([delta, cut.pairs.contrast]))
            for _ in range(10):
                LogisticRegression(
                    C=np.inf, solver="newton-cholesky", fit_intercept=False
                ).fit(design, y[cut.rows])

    def anchor(item_effects: str | None = None, how: str = "two-step") -> None:
        fitted = AnchorPipeline(
            item_effects=item_effects, historical_fit=how, random_state=0
        )
        fitted.fit(encoded, y)
        fitted.contrasts()
        fitted.rank_sets()

    # Taken in turn, so that whatever else the machine does hits all alike.
    kinds = {
        "two steps, None": lambda: anchor(),
        'two steps, "random"': lambda: anchor("random"),
        'two steps, "auto"': lambda: anchor("auto"),
        "joint, None": lambda: anchor(None, "joint"),
        'joint, "random"': lambda: anchor("random", "joint"),
        'joint, "auto" (the default)': lambda: anchor("auto", "joint"),
    }
    runs = [plain, *kinds.values()]
    turns = np.array([[timed(run, 1) for run in runs] for _ in range(5)])
    plain_time = np.median(turns[:, 0])
    ratios = np.median(turns[:, 1:] / turns[:, [0]], axis=0)
    encode_time = timed(lambda: Comparisons.from_battles(X))
    table_bytes = int(X.memory_usage(deep=True).sum())
    default = AnchorPipeline()
    paper = AnchorPipeline(item_effects=None, historical_fit="two-step")
    peak = peak_bytes(lambda: paper.fit(encoded, y))
    peak_default = peak_bytes(lambda: default.fit(encoded, y))
    whole = peak_bytes(lambda: paper.fit(X, y))
    rows = [
        ("encode the table", f"{encode_time:.3f}", "s"),
        ("seventy plain fits", f"{plain_time:.2f}", "s"),
        *(
            (kind, f"{ratio:.2f}", "times the plain fits")
            for kind, ratio in zip(kinds, ratios, strict=True)
        ),
        ("input table", f"{table_bytes / 2**20:.0f}", "MiB"),
        ("peak memory of the inference", f"{peak / table_bytes:.2f}", "tables"),
        ('with item_effects="auto"', f"{peak_default / table_bytes:.2f}", "tables"),
        ("with encoding the table", f"{whole / table_bytes:.2f}", "tables"),
    ]
    write_rows("speed", ("quantity", "value", "unit"), rows)


if __name__ == "__main__":
    main()
