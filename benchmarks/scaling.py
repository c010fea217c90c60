"""How time and memory of the inference grow with each size of the problem.

``python benchmarks/scaling.py``: one size is doubled at a time around a middle case;
writes ``results/scaling.csv`` and, with matplotlib, ``docs/scaling.png``.
``python benchmarks/scaling.py large``: one fit of 1,000 models and 100 judges, in a
process of its own for the sake of its peak memory.
``python benchmarks/scaling.py crowd``: fits with item effects of ever more judges with
few verdicts each, beside one whose covariance takes longer steps; writes
``results/scaling_crowd.csv``.
``python benchmarks/scaling.py many JUDGES MODELS ROWS EFFECTS``: processor seconds and
peak memory of one fit of JUDGES judges of ROWS verdicts each on MODELS models, which
judges deviate from, with three features and ``item_effects=EFFECTS``.
"""

from __future__ import annotations

import functools
import gc
import resource
import sys
import time
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from report import peak_bytes, timed, write_rows
from speed import make_table
from threadpoolctl import threadpool_limits

from skanchor import AnchorPipeline, Comparisons
from skanchor._items import _expansion as item_covariance
from skanchor.exceptions import SkanchorWarning

MIDDLE = {"rows": 64_000, "models": 20, "judges": 7, "features": 12, "folds": 10}
VALUES = {
    "rows": [16_000, 32_000, 64_000, 128_000, 256_000, 512_000],
    "models": [10, 20, 40, 80, 160],
    "judges": [2, 4, 8, 16, 32],
    "features": [3, 6, 12, 24, 48],
    "folds": [5, 10, 20, 40],
}
HEADER = ("size", "value", "seconds", "peak MiB")
CROWDS = [25, 50, 100]
LONG = 200
"""EM steps between two updates of the evidence of the items; the default is 3."""
PICTURE = Path(__file__).parent.parent / "docs" / "scaling.png"


def measure(sizes: dict[str, int]) -> tuple[float, float]:
    n_human = sizes["rows"] // 4
    X, y = make_table(
        n_models=sizes["models"],
        n_judges=sizes["judges"],
        n_features=sizes["features"],
        n_human=n_human,
        n_judge=sizes["rows"] - n_human,
    )
    encoded = Comparisons.from_battles(X)
    pipeline = AnchorPipeline(cv=sizes["folds"], item_effects=None, random_state=0)

    def fit() -> None:
        # As new rows, which know nothing yet that an earlier fit has derived.
        pipeline.fit(encoded.with_rows(), y).rank_sets()

    fit()
    seconds = timed(fit, 5)
    gc.collect()
    return seconds, peak_bytes(fit) / 2**20


def slopes(rows: list[tuple[str, int, float, float]]) -> list[tuple[str, str, str]]:
    """Power of each size in time and memory, between its two largest values."""
    result = []
    for name in VALUES:
        cells = [row for row in rows if row[0] == name][-2:]
        step = np.log(cells[1][1] / cells[0][1])
        powers = [np.log(cells[1][k] / cells[0][k]) / step for k in (2, 3)]
        result.append((name, f"{powers[0]:.2f}", f"{powers[1]:.2f}"))
    return result


def draw(rows: list[tuple[str, int, float, float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(VALUES), figsize=(11, 4.6), sharey="row")
    labels = ("time of the inference (s)", "peak memory (MiB)")
    for column, (name, values) in enumerate(VALUES.items()):
        cells = [row for row in rows if row[0] == name]
        for line, label in enumerate(labels):
            ax = axes[line, column]
            measured = np.array([cell[2 + line] for cell in cells])
            share = np.array(values) / values[-1]
            ax.loglog(values, measured[-1] * share, "--", color="0.6", label="linear")
            ax.loglog(values, measured, "o-", markersize=4, label="measured")
            ax.set_xticks(values[::2], [f"{value:,}" for value in values[::2]])
            ax.minorticks_off()
            ax.grid(alpha=0.3)
            if line:
                ax.set_xlabel(name)
            if not column:
                ax.set_ylabel(label)
    axes[0, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=80)


def large() -> None:
    """Fit 1,000 models, 100 judges and a million rows without features."""
    X, y = make_table(
        n_models=1_000, n_judges=100, n_features=0, n_human=200_000, n_judge=800_000
    )
    before = _resident_gb()
    start = time.perf_counter()
    anchor = AnchorPipeline(item_effects=None, cv=2, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    print(
        f"{seconds:.0f} s; peak {_resident_gb():.2f} GB, {before:.2f} GB before the fit"
    )
    print(anchor.result_)


def _resident_gb() -> float:
    """Most memory that this process ever had, in GB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e9


def _fit_crowd(n_judges: int) -> None:
    """Fit five models and a new one, with 150 verdicts of each judge."""
    X, y = make_table(
        n_models=6, n_judges=n_judges, n_features=0, n_human=600, n_judge=150 * n_judges
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkanchorWarning)
        AnchorPipeline(item_effects="random", random_state=0).fit(X, y)


@threadpool_limits.wrap(limits=1)
def crowd() -> None:
    """Compare the steps that the covariance of many judges takes."""
    long_steps = functools.partial(item_covariance.fit_covariance, max_iter=LONG)
    rows = []
    _fit_crowd(CROWDS[0])
    for n_judges in CROWDS:
        fit = functools.partial(_fit_crowd, n_judges)
        seconds = timed(fit, 1)
        with mock.patch.object(item_covariance, "fit_covariance", long_steps):
            longer = timed(fit, 1)
        rows.append(
            (n_judges, f"{seconds:.1f}", f"{longer:.1f}", f"{longer / seconds:.1f}")
        )
    write_rows("scaling_crowd", ("judges", "seconds", "long steps", "ratio"), rows)


@threadpool_limits.wrap(limits=1)
def many(n_judges: int, n_models: int, rows: int, effects: str) -> None:
    """Fit many judges with item effects, and print what it cost."""
    X, y = make_table(
        n_models=n_models,
        n_judges=n_judges,
        n_features=3,
        n_human=3_000,
        n_judge=rows * n_judges,
        item_sd=0.3,
    )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkanchorWarning)
        anchor = AnchorPipeline(item_effects=effects, random_state=0).fit(X, y)
    seconds = time.process_time() - start
    print(f"{seconds:.1f} processor seconds; peak {_resident_gb():.2f} GB")
    print(anchor.result_)


@threadpool_limits.wrap(limits=1)
def main() -> None:
    rows = [
        (name, value, *measure(MIDDLE | {name: value}))
        for name, values in VALUES.items()
        for value in values
    ]
    write_rows(
        "scaling", HEADER, [(a, b, f"{c:.3f}", f"{d:.1f}") for a, b, c, d in rows]
    )
    write_rows("scaling_powers", ("size", "power in time", "in memory"), slopes(rows))
    try:
        draw(rows)
    except ImportError:
        print("matplotlib is not installed: no picture.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["many"]:
        many(*map(int, sys.argv[2:5]), sys.argv[5])
    else:
        {"large": large, "crowd": crowd}.get(" ".join(sys.argv[1:]), main)()
