"""Summary of a study: measures by cell and method with their Monte-Carlo errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from skanchor._typing import Array

Measure = Callable[[pd.DataFrame], tuple[float, float]]


def _mean_and_error(values: Array) -> tuple[float, float]:
    """Mean of the draws, and its Monte-Carlo error."""
    values = values[np.isfinite(values)]
    if not len(values):
        return np.nan, np.nan
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def _of(column: str) -> Measure:
    return lambda rows: _mean_and_error(rows[column].to_numpy(float))


def _ratio(column: str) -> Measure:
    """Mean ratio of the variance to a part."""

    def measure(rows: pd.DataFrame) -> tuple[float, float]:
        return _mean_and_error(
            rows["variance"].to_numpy(float) / rows[column].to_numpy(float)
        )

    return measure


def _rmse_and_error(rows: pd.DataFrame) -> tuple[float, float]:
    mean, error = _mean_and_error(rows["squared_error"].to_numpy(float))
    root = np.sqrt(mean)
    # The root's derivative, 1 / (2 root), carries the error of the mean square over.
    return float(root), float(error / (2.0 * root)) if root > 0 else np.nan


def _absolute_bias(rows: pd.DataFrame) -> tuple[float, float]:
    mean, error = _mean_and_error(rows["error"].to_numpy(float))
    return abs(mean), error


def _empirical_variance(rows: pd.DataFrame) -> tuple[float, float]:
    values = rows["error"].to_numpy(float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return np.nan, np.nan
    off = (values - values.mean()) ** 2
    variance = off.sum() / (len(values) - 1)
    return float(variance), float(off.std() / np.sqrt(len(values)))


def _failed(rows: pd.DataFrame) -> tuple[float, float]:
    return _mean_and_error(np.asarray(rows["failed"] != "", dtype=np.float64))


MEASURES: Mapping[str, Measure] = {
    "coverage": _of("covered"),
    "width": _of("width"),
    "rmse": _rmse_and_error,
    "absolute_bias": _absolute_bias,
    "insertion_mae": _of("displaced"),
    "exact": _of("exact"),
    "order": _of("order"),
    "rank_coverage": _of("rank_covered"),
    "rank_size": _of("rank_size"),
    "mean_variance": _of("variance"),
    "empirical_variance": _empirical_variance,
    "human_part": _of("human"),
    "judge_part": _of("judge"),
    "lower_bound": _of("lower_bound"),
    "variance_by_human_part": _ratio("human"),
    "variance_by_lower_bound": _ratio("lower_bound"),
    "failed": _failed,
}
"""Measures of a summary by name: functions from rows to a value and its error."""


def summarize_study(table: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Measures of every cell and method.

    Parameters
    ----------
    table : DataFrame
        Rows of one experiment.
    measures : sequence of str
        Names from :data:`MEASURES`.

    Returns
    -------
    DataFrame
        By ``cell`` and ``method``, in the order of the table: ``draws``, and each
        measure with its Monte-Carlo error, in columns such as ``rmse`` and
        ``rmse_error``. Draws that failed count in ``draws`` and in no other measure.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import run_study, study_table, summarize_study
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> rows = [row for _, found in run_study([experiment], 2) for row in found]
    >>> table = study_table(rows, [experiment])
    >>> summarize_study(table, ["rmse"]).columns.tolist()
    ['draws', 'rmse', 'rmse_error']
    """
    lines = []
    for (cell, method), rows in table.groupby(["cell", "method"], sort=False):
        line: dict[str, Any] = {"cell": cell, "method": method, "draws": len(rows)}
        for name in measures:
            line[name], line[f"{name}_error"] = MEASURES[name](rows)
        lines.append(line)
    return pd.DataFrame(lines).set_index(["cell", "method"])


def paired_differences(
    table: pd.DataFrame, column: str, method: str = "ANCHOR"
) -> pd.DataFrame:
    """Differences of every method to one of them, draw by draw.

    Parameters
    ----------
    table : DataFrame
        Rows of one experiment.
    column : str
        Column whose means are compared, such as ``"displaced"``.
    method : str, default="ANCHOR"
        The method that is subtracted.

    Returns
    -------
    DataFrame
        By ``cell`` and ``method``: mean ``difference``, its Monte-Carlo ``error``, and
        ``z``.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import paired_differences, run_study, study_table
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> rows = [row for _, found in run_study([experiment], 2) for row in found]
    >>> table = study_table(rows, [experiment])
    >>> paired_differences(table, "error", "plug-in").columns.tolist()
    ['difference', 'error', 'z']
    """
    lines = []
    for cell, rows in table.groupby("cell", sort=False):
        wide = rows.pivot(index="seed", columns="method", values=column)
        for name in rows["method"].unique():
            if name != method:
                mean, error = _mean_and_error(
                    (wide[name] - wide[method]).to_numpy(float)
                )
                z = mean / error if error > 0 else np.nan
                lines.append((cell, name, mean, error, z))
    columns = ["cell", "method", "difference", "error", "z"]
    return pd.DataFrame(lines, columns=columns).set_index(["cell", "method"])


def settings_of(table: pd.DataFrame) -> pd.DataFrame:
    """Settings of every cell, as columns.

    Parameters
    ----------
    table : DataFrame
        Rows of one experiment.

    Returns
    -------
    DataFrame
        By ``cell``, in the order of the table.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import run_study, settings_of, study_table
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> rows = [row for _, found in run_study([experiment], 2) for row in found]
    >>> table = study_table(rows, [experiment])
    >>> settings_of(table)
               n_historical  n_new
    200 votes          1000    200
    """
    known = table.drop_duplicates("cell").set_index("cell")["settings"]
    return pd.DataFrame({cell: json.loads(text) for cell, text in known.items()}).T
