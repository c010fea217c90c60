"""Measures of a study by cell and method, with their Monte-Carlo errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Measure = Callable[[pd.DataFrame], tuple[float, float]]


def mean_and_error(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean of the draws, and its Monte-Carlo error."""
    values = values[np.isfinite(values)]
    if not len(values):
        return np.nan, np.nan
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def _column(name: str) -> Measure:
    return lambda rows: mean_and_error(rows[name].to_numpy(float))


def _ratio(name: str) -> Measure:
    """Mean ratio of the variance to one of its parts."""
    return lambda rows: mean_and_error((rows["variance"] / rows[name]).to_numpy(float))


def _rmse(rows: pd.DataFrame) -> tuple[float, float]:
    mean, error = mean_and_error(rows["squared_error"].to_numpy(float))
    root = np.sqrt(mean)
    # The root's derivative, 1 / (2 root), carries the error of the mean square over.
    return float(root), float(error / (2.0 * root)) if root > 0 else np.nan


def _absolute_bias(rows: pd.DataFrame) -> tuple[float, float]:
    mean, error = mean_and_error(rows["error"].to_numpy(float))
    return abs(mean), error


def _empirical_variance(rows: pd.DataFrame) -> tuple[float, float]:
    values = rows["error"].dropna().to_numpy(float)
    if len(values) < 2:
        return np.nan, np.nan
    off = (values - values.mean()) ** 2
    return float(off.sum() / (len(off) - 1)), float(off.std() / np.sqrt(len(off)))


def _failed(rows: pd.DataFrame) -> tuple[float, float]:
    return mean_and_error((rows["failed"] != "").to_numpy(float))


MEASURES: Mapping[str, Measure] = {
    "coverage": _column("covered"),
    "width": _column("width"),
    "rmse": _rmse,
    "absolute_bias": _absolute_bias,
    "insertion_mae": _column("displaced"),
    "exact": _column("exact"),
    "mean_variance": _column("variance"),
    "empirical_variance": _empirical_variance,
    "human_part": _column("human"),
    "judge_part": _column("judge"),
    "lower_bound": _column("lower_bound"),
    "variance_by_human_part": _ratio("human"),
    "variance_by_lower_bound": _ratio("lower_bound"),
    "failed": _failed,
}
"""Measures of a summary by name: functions from rows to a value and its error."""


def summarize(table: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Each measure by cell and method, with columns such as rmse and rmse_error.

    Draws that failed count in ``draws`` and in no other measure but ``failed``.
    """
    lines = {}
    for key, rows in table.groupby(["cell", "method"], sort=False):
        line: dict[str, Any] = {"draws": len(rows)}
        for name in measures:
            line[name], line[f"{name}_error"] = MEASURES[name](rows)
        lines[key] = line
    measured = pd.DataFrame.from_dict(lines, orient="index")
    return measured.rename_axis(["cell", "method"])


def in_words(table: pd.DataFrame, measures: Sequence[str]) -> str:
    """Print the measures with their errors in brackets."""
    measured = summarize(table, measures)
    shown = measured[["draws"]].astype(str)
    for name in measures:
        shown[name.replace("_", " ")] = [
            "" if np.isnan(value) else f"{value:.4g} ({error:.1g})"
            for value, error in zip(
                measured[name], measured[f"{name}_error"], strict=True
            )
        ]
    return shown.to_string()
