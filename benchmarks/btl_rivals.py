"""BTL from a million votes against other packages, and from ten million codes.

``pip install evalica arena-rank``, then ``python benchmarks/btl_rivals.py``. Every
package takes its turn in every round, on one core and timed by the processor, so that
whatever else the machine does hits all alike; ratios are medians over the rounds
(``--rounds 5``).
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from report import timed, write_rows
from threadpoolctl import threadpool_limits

from skanchor import BTLRegressor

ADAPTERS = ("skanchor_btl", "evalica_points", "evalica_ready", "arena_rank_sandwich")


def make_votes(
    n_rows: int, n_models: int = 200, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of the two models and whether the first won."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n_models)
    a = rng.integers(0, n_models, n_rows)
    b = (a + rng.integers(1, n_models, n_rows)) % n_models
    won = rng.random(n_rows) < 1.0 / (1.0 + np.exp(theta[b] - theta[a]))
    return a, b, won


def make_tables(n_rows: int) -> dict[str, pd.DataFrame]:
    """The same votes, a tenth of them ties, with text stored in several ways."""
    a, b, won = make_votes(n_rows)
    tied = np.random.default_rng(1).random(n_rows) < 0.1
    names = np.array([f"vendor/model-{i:03d}-chat" for i in range(200)], dtype=object)
    verdicts = np.array(["model_b", "model_a", "tie"], dtype=object)
    columns = {
        "model_a": names[a],
        "model_b": names[b],
        "winner": verdicts[np.where(tied, 2, won)],
    }
    # As pyarrow and pandas read files: equal texts are one object.
    shared = pd.DataFrame(columns, dtype=object)
    return {
        "pyarrow strings": shared.astype("string[pyarrow]"),
        "object strings": shared,
    }


def compare(
    table: pd.DataFrame, adapters: list[ModuleType], rounds: int
) -> list[dict[str, Any]]:
    ready = [(adapter, adapter.prepare(table)) for adapter in adapters]
    fitted = {adapter.NAME: adapter.fit(given) for adapter, given in ready}
    times: dict[str, list[float]] = {adapter.NAME: [] for adapter in adapters}
    for _ in range(rounds):
        for adapter, given in ready:
            times[adapter.NAME].append(timed(lambda a=adapter, g=given: a.fit(g), 1))
    ours = times[adapters[0].NAME]
    reference = adapters[0].scores(fitted[adapters[0].NAME])
    rows = []
    for adapter in adapters:
        theirs = times[adapter.NAME]
        found = adapter.scores(fitted[adapter.NAME]).reindex(reference.index)
        gap = np.abs((found - found.mean()) - (reference - reference.mean())).max()
        rows.append(
            {
                "package": adapter.NAME,
                "intervals": "yes" if adapter.INTERVALS else "no",
                "seconds": f"{statistics.median(theirs):.3f}",
                "times skanchor's": f"{statistics.median(np.divide(theirs, ours)):.1f}",
                "largest gap of scores": f"{gap:.1e}",
            }
        )
    return rows


def codes_against_sums(n_rows: int, rounds: int) -> list[tuple[str, str, str]]:
    a, b, won = make_votes(n_rows)
    y = won.astype(int)
    table = pd.DataFrame({"model_a": a, "model_b": b})

    def sums() -> None:
        a.sum(), b.sum(), y.sum()

    def btl() -> None:
        BTLRegressor().fit(table, y).conf_int()

    sums(), btl()
    pairs = [(timed(sums, 1), timed(btl, 1)) for _ in range(3 * rounds)]
    ratio = statistics.median(fit / total for total, fit in pairs)
    one, other = np.median(pairs, axis=0)
    return [
        ("rows", f"{n_rows:,}", ""),
        ("a.sum(), b.sum(), y.sum()", f"{one:.3f}", "s"),
        ("BTL with intervals", f"{other:.3f}", "s"),
        ("ratio", f"{ratio:.1f}", "times"),
    ]


@threadpool_limits.wrap(limits=1)
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        # Threads that wait for one another would count as work.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    adapters = [importlib.import_module(f"rivals.{name}") for name in ADAPTERS]
    rows = [
        {"table": kind, **row}
        for kind, table in make_tables(1_000_000).items()
        for row in compare(table, adapters, options.rounds)
    ]
    write_rows("btl_rivals", tuple(rows[0]), [tuple(row.values()) for row in rows])
    write_rows(
        "btl_codes",
        ("quantity", "value", "unit"),
        codes_against_sums(10_000_000, options.rounds),
    )


if __name__ == "__main__":
    main()
