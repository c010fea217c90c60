"""Figures of the experiments that the paper has figures of; bars are two errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from experiments import EXPERIMENTS
from summary import summarize

STYLES = ["o-", "s-", "^-", "v-", "D-", "P-", "X-", "<--", ">--", "o--", "s--", "^--"]


def settings_of(name: str) -> pd.DataFrame:
    """Settings of every cell of an experiment, as columns."""
    return pd.DataFrame.from_dict(EXPERIMENTS[name].cells, orient="index")


def bars(
    panel: Any, at: pd.Series, rows: pd.DataFrame, measure: str, **how: Any
) -> None:
    """Draw one line of a measure with its bars."""
    error = 2 * rows[f"{measure}_error"]
    panel.errorbar(at, rows[measure], error, ms=4, lw=1, **how)


def lines(name: str, axis: str, measures: Sequence[str], table: pd.DataFrame) -> Any:
    """One panel for each measure, one line for each method."""
    measured, at = summarize(table, measures), settings_of(name)[axis].astype(float)
    figure, panels = plt.subplots(
        1, len(measures), figsize=(4 * len(measures), 4), layout="constrained"
    )
    for panel, measure in zip(panels, measures, strict=True):
        methods = measured[measure].dropna().index.get_level_values("method").unique()
        for style, method in zip(STYLES * 2, methods, strict=False):
            rows = measured.xs(method, level="method").reindex(at.index)
            bars(panel, at, rows, measure, fmt=style, label=method)
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


def variances(table: pd.DataFrame) -> Any:
    """Parts of ANCHOR's variance, and ratios, against the number of verdicts."""
    measures = EXPERIMENTS["variance"].measures
    rows = summarize(table, measures).xs("ANCHOR", level="method")
    at = settings_of("variance")["n_judge"].astype(float).reindex(rows.index)
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for panel, shown in zip(panels, (measures[:5], measures[5:]), strict=True):
        for style, measure in zip(STYLES, shown, strict=False):
            label = measure.replace("_", " ")
            bars(panel, at, rows, measure, fmt=style, label=label)
        panel.set(xscale="log", yscale="log", xlabel="verdicts, for 1,000 votes")
        panel.set_xticks(at, [f"{value:,.0f}" for value in at], minor=False)
        panel.minorticks_off()
        panel.legend()
    panels[1].axhline(1.0, color="black", ls=":", lw=1)
    return figure


def grid(table: pd.DataFrame) -> Any:
    """Coverage and RMSE of ANCHOR and of the defaults, by bias and shift."""
    measured, at = summarize(table, ("coverage", "rmse")), settings_of("shift")
    figure, panels = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    for row, method in zip(panels, ("ANCHOR", "defaults"), strict=True):
        cells = measured.xs(method, level="method").join(at)
        for panel, measure in zip(row, ("coverage", "rmse"), strict=True):
            wide, errors = (
                cells.pivot(index="rho", columns="tau", values=name)
                for name in (measure, f"{measure}_error")
            )
            values = wide.to_numpy(float)
            panel.imshow(values, cmap="Blues", alpha=0.5, origin="lower", aspect="auto")
            panel.set_xticks(range(len(wide.columns)), wide.columns)
            panel.set_yticks(range(len(wide.index)), wide.index)
            panel.set(xlabel="tau", ylabel="rho", title=f"{measure}, {method}")
            for (i, j), value in np.ndenumerate(values):
                panel.text(
                    j, i, f"{value:.3f}\n({errors.iloc[i, j]:.3f})",
                    ha="center", va="center", fontsize=8,
                )  # fmt: skip
    return figure


FIGURES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "history": partial(
        lines, "history", "n_historical", EXPERIMENTS["history"].measures
    ),
    "variance": variances,
    "shift": grid,
    "insertion": partial(lines, "insertion", "gap", ("insertion_mae", "exact")),
}
