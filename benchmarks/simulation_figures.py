"""Figures of the simulation studies, drawn from their Parquet files alone.

``python benchmarks/simulation_figures.py FOLDER`` looks for the file of each
experiment in a folder, as ``skanchor simulate history -o FOLDER/history.parquet``
writes it. Measures go to ``benchmarks/results/simulation_NAME.csv``. The four
experiments that the paper has figures of are drawn in the panels of these, into
``docs/simulation_NAME.png``. Bars are two Monte-Carlo errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skanchor.studies import EXPERIMENTS, settings_of, summarize_study

ROOT = Path(__file__).resolve().parents[1]
STYLES = ["o-", "s-", "^-", "v-", "D-", "P-", "X-", "<--", ">--", "o--", "s--", "^--"]
# Panels of each figure: measures, and the setting along the axis.
PANELS = {
    "history": ("n_historical", ("coverage", "width", "rmse", "absolute_bias")),
    "insertion": ("gap", ("insertion_mae", "exact")),
}


def lines(name: str, table: pd.DataFrame) -> plt.Figure:
    """One panel for each measure, one line for each method."""
    axis, measures = PANELS[name]
    found = summarize_study(table, measures)
    at = settings_of(table)[axis].astype(float)
    figure, panels = plt.subplots(
        1, len(measures), figsize=(4 * len(measures), 4), layout="constrained"
    )
    for panel, measure in zip(panels, measures, strict=True):
        methods = found[measure].dropna().index.get_level_values("method").unique()
        for style, method in zip(STYLES * 2, methods, strict=False):
            own = found.xs(method, level="method").reindex(at.index)
            panel.errorbar(
                at, own[measure], 2 * own[f"{measure}_error"],
                fmt=style, ms=4, lw=1, label=method,
            )  # fmt: skip
        panel.set(xlabel=axis, title=measure.replace("_", " "))
        if measure == "coverage":
            panel.axhline(0.95, color="black", ls=":", lw=1)
        if axis == "gap":
            panel.set_xscale("log", base=2)
            panel.set_xticks(at, [f"{value:g}" for value in at])
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5
    )
    return figure


def variances(table: pd.DataFrame) -> plt.Figure:
    """Parts of ANCHOR's variance, and ratios, against the number of verdicts."""
    found = summarize_study(table, EXPERIMENTS["variance"].measures)
    own = found.xs("ANCHOR", level="method")
    at = settings_of(table)["n_judge"].astype(float).reindex(own.index)
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    shown = (
        ("mean_variance", "empirical_variance", "human_part", "judge_part",
         "lower_bound"),
        ("variance_by_human_part", "variance_by_lower_bound"),
    )  # fmt: skip
    for panel, measures in zip(panels, shown, strict=True):
        for style, measure in zip(STYLES, measures, strict=False):
            panel.errorbar(
                at, own[measure], 2 * own[f"{measure}_error"],
                fmt=style, ms=4, lw=1, label=measure.replace("_", " "),
            )  # fmt: skip
        panel.set(xscale="log", yscale="log", xlabel="verdicts, for 1,000 votes")
        panel.set_xticks(at, [f"{value:,.0f}" for value in at], minor=False)
        panel.minorticks_off()
        panel.legend()
    panels[1].axhline(1.0, color="black", ls=":", lw=1)
    return figure


def grid(table: pd.DataFrame) -> plt.Figure:
    """Coverage and RMSE of ANCHOR and of the defaults, by bias and shift."""
    found = summarize_study(table, ("coverage", "rmse"))
    at = settings_of(table)
    figure, panels = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    for row, method in zip(panels, ("ANCHOR", "defaults"), strict=True):
        own = found.xs(method, level="method").join(at)
        for panel, measure in zip(row, ("coverage", "rmse"), strict=True):
            wide = own.pivot(index="rho", columns="tau", values=measure)
            errors = own.pivot(index="rho", columns="tau", values=f"{measure}_error")
            values = wide.to_numpy(float)
            panel.imshow(values, cmap="Blues", origin="lower", aspect="auto")
            panel.set_xticks(range(len(wide.columns)), wide.columns)
            panel.set_yticks(range(len(wide.index)), wide.index)
            panel.set(xlabel="tau", ylabel="rho", title=f"{measure}, {method}")
            middle = np.nanmean(values)
            for (i, j), value in np.ndenumerate(values):
                panel.text(
                    j, i, f"{value:.3f}\n({errors.iloc[i, j]:.3f})",
                    ha="center", va="center", fontsize=8,
                    color="white" if value > middle else "black",
                )  # fmt: skip
    return figure


FIGURES: dict[str, Callable[[pd.DataFrame], plt.Figure]] = {
    "history": partial(lines, "history"),
    "variance": variances,
    "shift": grid,
    "insertion": partial(lines, "insertion"),
}


def main(folder: str) -> None:
    for name, experiment in EXPERIMENTS.items():
        path = Path(folder) / f"{name}.parquet"
        if not path.exists():
            print(f"no {path}")
            continue
        table = pd.read_parquet(path)
        if name in FIGURES:
            figure = FIGURES[name](table)
            figure.savefig(ROOT / "docs" / f"simulation_{name}.png", dpi=80)
            plt.close(figure)
        found = summarize_study(table, experiment.measures).round(7)
        found.to_csv(ROOT / "benchmarks" / "results" / f"simulation_{name}.csv")
        print(f"{name}: {table['seed'].nunique()} draws of each cell")


if __name__ == "__main__":
    main(*sys.argv[1:])
