"""The paper's simulation studies: draw, have methods place the new models, measure.

``python benchmarks/studies NAME ... [--replications N] [--jobs J]`` runs experiments
(``--list`` shows them) and prints their measures, with Monte-Carlo errors in brackets.
Finished draws are stored by joblib in the folder of ``--cache``, so that a later call
with more replications goes on; a draw is made anew if its settings, methods or library
versions change, or the code of ``placing.py``. ``--results`` writes the measures to
``benchmarks/results`` and the figures to ``docs``. Draws have the seeds 0, 1, and so
on in every cell, so that cells and methods are compared on the same draws.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from experiments import EXPERIMENTS, Experiment
from joblib import Memory, Parallel, delayed
from placing import measure_draw
from summary import in_words, summarize

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("skanchor", "numpy", "scipy", "pandas", "scikit-learn")


def run(
    experiment: Experiment, replications: int, jobs: int, cache: str
) -> pd.DataFrame:
    """A row for each draw, cell and method."""
    versions = json.dumps({name: version(name) for name in PACKAGES})
    measure = Memory(cache, verbose=0).cache(measure_draw)
    # By seed first: an interrupted run has nearly equal numbers of draws in all cells.
    tasks = [
        (name, (experiment.draw, dict(cell), experiment.methods, seed, versions))
        for seed in range(replications)
        for name, cell in experiment.cells.items()
    ]
    rows_of_tasks = Parallel(jobs)(delayed(measure)(*task) for _, task in tasks)
    rows = [
        {"cell": name, **row}
        for (name, _), rows in zip(tasks, rows_of_tasks, strict=True)
        for row in rows
    ]
    # Cells in their order; seeds are in order within each.
    order = list(experiment.cells)
    rows.sort(key=lambda row: order.index(row["cell"]))
    return pd.DataFrame(rows)


def write_results(name: str, experiment: Experiment, table: pd.DataFrame) -> None:
    """Write the measures, and the figure if the paper has one."""
    measured = summarize(table, experiment.measures).round(7)
    measured.to_csv(ROOT / "benchmarks" / "results" / f"simulation_{name}.csv")
    from figures import FIGURES

    if name in FIGURES:
        FIGURES[name](table).savefig(ROOT / "docs" / f"simulation_{name}.png", dpi=80)


def main() -> None:
    """Run the experiments that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="show the experiments")
    parser.add_argument("--replications", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", default=".studies", help="folder of finished draws")
    parser.add_argument("--results", action="store_true", help="write CSV and figures")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(EXPERIMENTS))
    if unknown:
        parser.error(f"no experiment {', '.join(unknown)}; --list shows all")
    if options.list or not options.names:
        for name, experiment in EXPERIMENTS.items():
            cells, n_methods = len(experiment.cells), len(experiment.methods)
            print(f"{name}: {experiment.title}; {cells} cells, {n_methods} methods, "
                  f"{experiment.replications} draws")  # fmt: skip
        return
    for name in options.names:
        experiment = EXPERIMENTS[name]
        replications = options.replications or experiment.replications
        table = run(experiment, replications, options.jobs, options.cache)
        print(f"{name}: {experiment.title}")
        print(in_words(table, experiment.measures))
        if options.results:
            write_results(name, experiment, table)


if __name__ == "__main__":
    main()
