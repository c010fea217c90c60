"""Draws of designs: fits, the file that stores them, their summary and comparison."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cases import Case, Design
from joblib import Parallel, delayed
from registry import DESIGNS
from scipy.stats import binom
from threadpoolctl import threadpool_limits

Row = dict[str, Any]
LOSS, RATIO = 0.02, 1.03
"""A version fails where it loses more coverage, or intervals grow by more."""


def measure(name: str, changes: Mapping[str, Any], seed: int) -> Row:
    """Fit one draw of a design, and measure the interval of its new model.

    Parameters
    ----------
    name : str
        Name of the design.
    changes : mapping
        Parameters of the estimator that replace those of the design.
    seed : int
        Seed of the draw and of the folds.

    Returns
    -------
    dict
        ``error``, and the limits less the truth; whether item effects were random;
        codes of the warnings; the design's further measures. Where the fit was refused,
        ``problem`` is the class of the error.
    """
    design = DESIGNS[name]
    row: Row = {"design": name, "changes": json.dumps(changes), "seed": seed}
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case = design.draw(seed)
        try:
            row |= _fitted(design, case, changes, seed)
        except ValueError as error:
            return row | {"problem": type(error).__name__}
    codes = {
        # Warnings of other packages have no code.
        getattr(one.message, "code", "") or one.category.__name__
        for one in caught
    }
    return row | {"codes": sorted(codes.union(row.pop("findings", ())))}


def _fitted(design: Design, case: Case, changes: Mapping[str, Any], seed: int) -> Row:
    estimator = design.estimator()
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=seed)
    # Objects of the registry serve every draw.
    settings = deepcopy({**design.settings, **case.settings})
    estimator.set_params(**settings).set_params(**changes)
    estimator.fit(case.X, case.y, **case.fit)
    row: Row = {}
    if case.truth is not None:
        result = case.result_of(estimator)
        low, high = result.conf_int().loc[case.model]
        row["error"] = float(result.scores[case.model]) - case.truth
        row |= {"low": float(low) - case.truth, "high": float(high) - case.truth}
    diagnostics = getattr(estimator.result_, "diagnostics", None)
    if diagnostics is not None:
        # The parts of what the warning of the diagnostics says.
        row["findings"] = [finding.code for finding in diagnostics.findings()]
    row["random"] = float(getattr(estimator, "item_effects_", None) == "random")
    if design.measure is not None:
        measured = design.measure(estimator, case)
        row["more"] = {key: float(value) for key, value in measured.items()}
    return row


def stored_rows(path: Path | None) -> list[Row]:
    """Rows of a file of draws; a last line that was cut off is dropped."""
    if path is None or not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def run(
    name: str, changes: Mapping[str, Any], seeds: range, jobs: int, path: Path | None
) -> list[Row]:
    """Rows of these seeds: those of the file, and those that it lacks."""
    by_seed = {
        row["seed"]: row
        for row in stored_rows(path)
        if row["design"] == name and row["changes"] == json.dumps(changes)
    }
    fresh = Parallel(jobs, return_as="generator")(
        delayed(measure)(name, changes, seed) for seed in seeds if seed not in by_seed
    )
    for row in fresh:
        by_seed[row["seed"]] = row
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    return [by_seed[seed] for seed in seeds]


def summary(rows: list[Row]) -> tuple[dict[str, str], dict[str, str]]:
    """One line of the table, and further measures with their Monte-Carlo errors."""
    table = pd.DataFrame(rows)
    line: dict[str, str] = {"draws": f"{len(table)}"}
    if "error" in table:
        limits = table[["low", "high"]].astype(float)
        usable = table[np.isfinite(limits).all(axis=1)].infer_objects()
        line["usable"] = f"{len(usable) / len(table):.3f}"
        line |= _of_intervals(usable) if len(usable) else {}
    more = pd.DataFrame([row["more"] for row in rows if "more" in row])
    further = {name: mean_and_error(more[name]) for name in more}
    counted = Counter(code for row in rows for code in row.get("codes", ()))
    counted.update(f"refused: {row['problem']}" for row in rows if "problem" in row)
    shares = {name: f"{n / len(rows):.2f}" for name, n in counted.most_common()}
    return line, further | shares


def _of_intervals(usable: pd.DataFrame) -> dict[str, str]:
    n, error = len(usable), usable["error"].to_numpy(float)
    below, above = usable["high"] < 0, usable["low"] > 0
    hits, width = int(n - below.sum() - above.sum()), usable["high"] - usable["low"]
    low, high = binom.interval(0.999, n, 0.95)
    share, rmse = hits / n, np.sqrt(np.mean(error**2))
    # The root's derivative, 1 / (2 root), carries the error of the mean square over.
    spread = np.std(error**2) / (2.0 * rmse * np.sqrt(n)) if rmse > 0 else 0.0
    return {
        "coverage": f"{share:.3f} ({np.sqrt(share * (1 - share) / n):.3f})"
        # A star outside the 99.9 % binomial bounds around .95.
        + "*" * (not low <= hits <= high),
        "below": f"{below.mean():.3f}",
        "above": f"{above.mean():.3f}",
        "bias": f"{error.mean():+.3f}",
        "rmse": f"{rmse:.3f} ({spread:.3f})",
        "width": f"{width.median():.3f}",
        "mean width": f"{width.mean():.3f}",
        "random": f"{usable['random'].mean():.2f}",
    }


def mean_and_error(values: pd.Series) -> str:
    """Mean of the finite values with its Monte-Carlo error, and how many are not."""
    finite = values[np.isfinite(values)]
    lost = len(values) - len(finite)
    text = f"{finite.mean():.4g} ({finite.sem():.2g})"
    return text + f", {lost} not finite" * (lost > 0)


def compare(here: Iterable[Row], there: Iterable[Row]) -> pd.DataFrame:
    """Compare two versions of the package on the same draws, by design.

    Returns the paired loss of coverage with its error, the ratio of mean widths, both
    RMSE, and whether a design fails: a loss above .02 and above two of its errors, or
    a ratio above 1.03.
    """
    keys = ["design", "changes", "seed"]
    one, other = (pd.DataFrame(list(rows)).set_index(keys) for rows in (here, there))
    both = one.join(other.add_suffix(" there"), how="inner")
    lines = {}
    for name, rows in both.groupby(keys[:2], sort=False):
        limits = rows[["low", "high", "low there", "high there"]].astype(float)
        usable = limits[np.isfinite(limits).all(axis=1)]
        low, high, low_there, high_there = usable.to_numpy().T
        covered = 1.0 * ((low <= 0) & (0 <= high))
        covered_there = 1.0 * ((low_there <= 0) & (0 <= high_there))
        loss = covered_there - covered
        error = loss.std(ddof=1) / np.sqrt(len(loss)) if len(loss) > 1 else np.nan
        ratio = np.mean(high - low) / np.mean(high_there - low_there)
        fails = (loss.mean() > max(LOSS, 2.0 * error)) or ratio > RATIO
        errors = rows.loc[usable.index, ["error", "error there"]].astype(float)
        rmse, rmse_there = np.sqrt((errors**2).mean())
        lines[name] = {
            "pairs": len(usable),
            "coverage": covered.mean(),
            "there": covered_there.mean(),
            "loss": loss.mean(),
            "(error)": error,
            "ratio of widths": ratio,
            "rmse": rmse,
            "rmse there": rmse_there,
            "": "FAILS" if fails else "below .93" if covered.mean() < 0.93 else "",
        }
    return pd.DataFrame.from_dict(lines, orient="index").round(4)
